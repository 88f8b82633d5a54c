"""Columns of a real and of a synthetic CSV file, compared as their readers see them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmosaic.common.data.attributes.attribute import Attribute
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.lattice import Lattice
from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.evaluation.values.number_distances import distribution_gaps

BINS = 20
"""Pairs are compared on so many bins of each column."""

FEW = 10
"""Of so many different real values, every other value is impossible."""

_NOTHING = ("", "NA", "nan", "None")
_UNITS = (1000, 100, 50, 25, 10, 5, 1, 0.5, 0.25, 0.1, 0.05, 0.01, *(10.0**-k for k in range(3, 9)))
_DECIMALS = 9
"""Numbers that differ by less are the same: 18 times 1.15078 is written as 20.714039999999997 in places."""

_ROUNDED = 0.99

Texts = Mapping[str, NDArray[np.str_]]


@dataclass(frozen=True)
class Column:
    """How far a synthetic column is from the real one.

    Attributes:
        distance: Kolmogorov distance of numbers and dates, total variation distance of texts.
        impossible: share of rows whose value is none of a few real ones, lies beyond what is publicly known,
            or cannot be read.
        other: share of rows that hold "other" where no real row does.
        missing: share of rows without a value.
        unit: 99 % of the numbers are multiples of it; 0 for any numbers, None for other columns.
    """

    distance: float
    impossible: float
    other: float
    missing: float
    unit: float | None


def read_texts(path: Path) -> Texts:
    """The cells of a CSV file, shape (N,) each; what stands for no value is empty."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    texts = {name: rows[name].str.strip().to_numpy(dtype=np.str_) for name in rows.columns}
    return {name: np.where(np.isin(cells, _NOTHING), "", cells) for name, cells in texts.items()}


def compared(attribute: Attribute, real: NDArray[np.str_], synthetic: NDArray[np.str_]) -> Column:
    """The figures of a column.

    Args:
        attribute: the column in a reviewed domain.
        real: the real cells, shape (N,).
        synthetic: the synthetic cells, shape (M,).
    """
    missing = float(np.mean(synthetic == ""))
    known, made = numbers(attribute, real), numbers(attribute, synthetic)
    if known is None or made is None:
        other = float(np.mean(synthetic == "other")) if "other" not in real else 0.0
        odd = ~np.isin(synthetic, [*np.unique(real), "", "other"])
        return Column(_total_variation(real, synthetic), float(odd.mean()), other, missing, None)
    wrong = np.isnan(made) & (synthetic != "")
    values = np.unique(known[~np.isnan(known)])
    if len(values) <= FEW:
        wrong |= ~np.isnan(made) & ~np.isin(made, values)
    elif isinstance(attribute, NumericAttribute):
        assert attribute.minimum is not None
        assert attribute.maximum is not None
        beyond = (made < attribute.minimum) | (made > attribute.maximum)
        wrong |= beyond & ~np.isin(made, attribute.atoms)
    distance, _ = distribution_gaps(known, made)
    return Column(distance, float(wrong.mean()), 0.0, missing, unit_of(made))


def numbers(attribute: Attribute, cells: NDArray[np.str_]) -> NDArray[np.float64] | None:
    """The numbers or the seconds since 1970 of cells, NaN where there is none; None for texts."""
    held = pd.Series(cells).where(cells != "")
    if isinstance(attribute, DateAttribute):
        times = pd.to_datetime(held, format=attribute.moments.format or "ISO8601", errors="coerce", utc=True)
        return ((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64)
    found = pd.to_numeric(held, errors="coerce").to_numpy(dtype=np.float64).round(_DECIMALS)
    return found if isinstance(attribute, NumericAttribute) or _is_numeric(attribute) else None


def unit_of(found: NDArray[np.float64]) -> float:
    """The largest unit of which 99 % of the numbers are multiples; 0 for any numbers."""
    held = found[~np.isnan(found)]
    return next((unit for unit in _UNITS if Lattice(unit).holds(held).mean() >= _ROUNDED), 0.0)


def pairs(domain: Domain, real: Texts, synthetic: Texts) -> float:
    """The mean total variation distance of all pairs of columns, on bins of the real ones."""
    codes = {name: _binned(domain[name], real[name], synthetic[name]) for name in domain if name in synthetic}
    found = []
    for one, two in itertools.combinations(codes.values(), 2):
        joint = [a * (BINS + 3) + b for a, b in zip(one, two, strict=True)]
        found.append(_total_variation(*joint))
    return float(np.mean(found))


def _binned(
    attribute: Attribute, real: NDArray[np.str_], synthetic: NDArray[np.str_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes up to BINS + 2 of both columns: of frequent texts, or of quantiles of the real numbers."""
    known, made = numbers(attribute, real), numbers(attribute, synthetic)
    if known is None or made is None:
        texts, counts = np.unique(real, return_counts=True)
        top = texts[np.argsort(-counts, kind="stable")[:BINS]]
        coded = [pd.Categorical(cells, top).codes.astype(np.int64) + 1 for cells in (real, synthetic)]
    else:
        edges = np.unique(np.nanquantile(known, np.linspace(0, 1, BINS + 1)))
        coded = [np.where(np.isnan(x), 0, np.searchsorted(edges, x, "right") + 1) for x in (known, made)]
    return coded[0], coded[1]


def _is_numeric(attribute: Attribute) -> bool:
    """Whether an attribute's values, each with a code of its own, are numbers."""
    if not isinstance(attribute, CategoricalAttribute):
        return isinstance(attribute, CodedAttribute)
    values = pd.Series([value for value in attribute.categories if value != ""])
    return bool(pd.to_numeric(values, errors="coerce").notna().all())


def _total_variation(real: NDArray[Any], synthetic: NDArray[Any]) -> float:
    values, places = np.unique(np.concatenate([real, synthetic]), return_inverse=True)
    shares = [
        np.bincount(found, minlength=len(values)) / len(found)
        for found in (places[: len(real)], places[len(real) :])
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
