"""Models in one file in numpy's .npz format, without pickled objects: JSON values and arrays."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.errors import DataError, MosaicError

GENERATOR = "dpmosaic generator 1"
"""Format of a trained network, which is written for the record and not read back."""

Arrays = Mapping[str, NDArray[Any]]
Model = TypeVar("Model")


def write(path: str | Path, form: Mapping[str, Any], arrays: Arrays) -> None:
    """Writes one file.

    Args:
        path: of the file.
        form: JSON values.
        arrays: by name; the name "form" is reserved.

    Raises:
        DataError: the file cannot be written.
    """
    encoded = json.dumps(form, allow_nan=False).encode("ascii")
    try:
        with open(path, "wb") as file:
            np.savez(file, allow_pickle=False, form=np.frombuffer(encoded, dtype=np.uint8), **arrays)
    except OSError as cause:
        raise DataError(f"cannot write the model to {path}: {cause.strerror}; choose another") from cause


def format_of(path: str | Path) -> str:
    """The format that a model file says it has.

    Raises:
        DataError: the file cannot be read, or is none.
    """
    return read(path, lambda form, _: str(form["format"]), "model")


def read(path: str | Path, model_of: Callable[[dict[str, Any], Arrays], Model], kind: str) -> Model:
    """Reads a file that `write` wrote.

    Args:
        path: of the file.
        model_of: makes the model from form and arrays; raises ValueError, TypeError or KeyError if they
            are invalid.
        kind: of model, for the error message.

    Raises:
        DataError: the file cannot be read, or holds no such model.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return model_of(json.loads(arrays["form"].tobytes()), arrays)
    except OSError as cause:
        raise DataError(f"the model file {path} cannot be read: {cause.strerror}") from cause
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, MosaicError) as cause:
        raise DataError(
            f"{path} holds no {kind} of this program ({type(cause).__name__}); give a file written by save"
        ) from cause


def counts(array: NDArray[Any]) -> NDArray[np.float64]:
    """The array, if it holds finite floats.

    Raises:
        ValueError: it does not.
    """
    if array.dtype != np.float64 or not np.all(np.isfinite(array)):
        raise ValueError("numbers that are not finite")
    return array
