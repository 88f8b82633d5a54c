"""Models in one file in numpy's .npz format, without pickled objects: JSON values and arrays."""

from __future__ import annotations

import json
import math
import struct
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.bounded import json_of
from ...common.errors import DataError

GENERATOR = "dpmosaic generator 1"
"""Format of a trained network, which is written for the record and not read back."""

_END, _END_BYTES = "<4s4H2LH", 22
"""The last bytes of a zip file without a comment."""

_MOST_DIRECTORY_BYTES = 1 << 22
"""Of a zip file's list of members: some forty thousand arrays."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_PLAIN = "biuf"
"""Kinds of arrays that models have: truths and numbers."""

Arrays = Mapping[str, NDArray[Any]]
Model = TypeVar("Model")


class Archived(ABC):
    """A value that can be one file.

    Attributes:
        format: of the file, which says it.
        kind: what a file of it holds, for the error message.
    """

    format: ClassVar[str]
    kind: ClassVar[str]

    def save(self, path: str | Path) -> None:
        """Write it to one file in numpy's .npz format, without pickled objects.

        Raises:
            DataError: the file cannot be written.
        """
        write(path, *self.parts())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            DataError: the file cannot be read, or is not of this format.
        """
        return read(path, cls.of_parts, cls.kind)

    def parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """It as JSON values, the format first, and arrays."""
        form, arrays = self._parts()
        return {"format": self.format, **form}, arrays

    @classmethod
    def of_parts(cls, form: Mapping[str, Any], arrays: Arrays) -> Self:
        """The value of these `parts`.

        Raises:
            ValueError: they are of another format, or of no such value; or TypeError, KeyError.
        """
        if form["format"] != cls.format:
            raise ValueError("another format")
        return cls._of_parts(form, arrays)

    @abstractmethod
    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Without the format."""

    @classmethod
    @abstractmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: Arrays) -> Self:
        """See `of_parts`."""


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
        with open(path, "rb") as file:
            _check_members(file)
            with np.load(file, allow_pickle=False) as arrays:
                return model_of(json_of(arrays["form"].tobytes()), arrays)
    except OSError as cause:
        raise DataError(f"the model file {path} cannot be read: {cause.strerror}") from cause
    # Whatever the content of a stranger's file makes numpy, zipfile or a model raise.
    except Exception as cause:
        raise DataError(
            f"{path} holds no {kind} of this program ({type(cause).__name__}); give a file written by save"
        ) from cause


def _check_members(file: IO[bytes]) -> None:
    """Refuses a file whose arrays would take more memory than it has bytes, before any of them is read.

    Raises:
        ValueError: members are compressed, overlap, have one name, or are no arrays of numbers.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_BYTES))
    mark, *_, directory_bytes, _, _ = struct.unpack(_END, file.read(_END_BYTES))
    if mark != b"PK\5\6" or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise ValueError("no zip file, or one of too many members")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members):
            raise ValueError("two members of one name")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member that is compressed")
        if sum(member.file_size for member in members) > size:
            raise ValueError("members of more bytes than the file")
        for member in members:
            with archive.open(member) as content:
                _check_header(content, member.file_size)
    file.seek(0)


def _check_header(content: IO[bytes], size: int) -> None:
    """Refuses an array of another kind than numbers, or of another size than its member's."""
    shape, _, dtype = _HEADERS[np.lib.format.read_magic(content)](content)
    if dtype.kind not in _PLAIN or min(shape, default=0) < 0:
        raise ValueError("an array of no numbers")
    if content.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError("an array of another size than its header states")


def counts(array: NDArray[Any]) -> NDArray[np.float64]:
    """The array, if it holds finite floats.

    Raises:
        ValueError: it does not.
    """
    if array.dtype != np.float64 or not np.all(np.isfinite(array)):
        raise ValueError("numbers that are not finite")
    return array
