"""How far the numbers of a synthetic table are from the real ones: not for publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import bins_of
from ....common.data.domain import Domain
from ....common.data.gaps import readable
from ....common.data.values import RawColumn
from .distribution import Compared, Distribution
from .values import Array, Values

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)

_PLACES_TRIED = 12
_ROUNDED = 0.99
"""Share of the values that have at most the stated number of decimals."""


@dataclass(frozen=True)
class NumberSummary:
    """One column of numbers.

    Attributes:
        missing: share of the records without a value.
        mean: mean of the values; this and the next two are None without any value.
        deviation: their standard deviation.
        quantiles: those of `QUANTILES`, by linear interpolation.
        decimals: decimals with which 99 % of the values are written exactly; None if there are more than 12.
    """

    missing: float
    mean: float | None
    deviation: float | None
    quantiles: tuple[float, ...]
    decimals: int | None


@dataclass(frozen=True)
class NumberDistance:
    """How far the numbers of one attribute are from the real ones.

    Attributes:
        name: name of the attribute.
        kolmogorov: largest difference of the distribution functions of the values, in 0..1.
        wasserstein: area between the distribution functions, in the unit of the values; None if one table has
            no value.
        real: the real numbers.
        synthetic: the synthetic numbers.
        atoms: zero and each atom of the domain -> its share of the real and of the synthetic records.
    """

    name: str
    kolmogorov: float
    wasserstein: float | None
    real: NumberSummary
    synthetic: NumberSummary
    atoms: Mapping[str, tuple[float, float]]

    @property
    def mean_error(self) -> float | None:
        """The difference of the means, as a share of the real one; None if that is 0 or unknown."""
        if not self.real.mean or self.synthetic.mean is None:
            return None
        return abs(self.synthetic.mean - self.real.mean) / abs(self.real.mean)


def number_distances(real: Values, synthetic: Values) -> list[NumberDistance]:
    """The distance of every attribute that holds numbers, the largest Kolmogorov distance first."""
    return _furthest_first(real.table.domain, real.numbers, synthetic.numbers)


class MainFigures:
    """The most telling figures of every attribute that holds numbers, from blocks of rows; thread-safe.

    Args:
        domain: of the real and the synthetic table; every value has a code in it.
        real: the distributions of the real numbers, by name.
    """

    def __init__(self, domain: Domain, real: Mapping[str, Distribution]) -> None:
        self._domain = domain
        self._compared = {name: Compared(distribution) for name, distribution in real.items()}

    def add(self, values: Mapping[str, RawColumn]) -> None:
        """Counts more rows of the synthetic table."""
        for name, compared in self._compared.items():
            numbers = self._domain[name].within(readable(self._domain, values, name))
            assert numbers is not None
            compared.add(numbers)

    def to_json(self) -> dict[str, Any]:
        """The figures of all rows as JSON values, the largest distance first."""
        figures = {name: _figures(compared) for name, compared in self._compared.items()}
        return dict(sorted(figures.items(), key=lambda item: -item[1]["kolmogorov"]))


def _figures(compared: Compared) -> dict[str, Any]:
    real = compared.real
    return {
        "kolmogorov": compared.kolmogorov,
        "zeros": {"real": real.zeros, "synthetic": compared.zeros},
        "mean": {"real": real.mean, "synthetic": compared.mean},
    }


def _furthest_first(
    domain: Domain, real: Mapping[str, Array], synthetic: Mapping[str, Array]
) -> list[NumberDistance]:
    found = [
        _distance(attribute, real[attribute.name], synthetic[attribute.name])
        for attribute in domain.attributes
        if attribute.name in real
    ]
    return sorted(found, key=lambda distance: -distance.kolmogorov)


def _sort_known(numbers: Array) -> Array:
    """The numbers that are not missing, sorted."""
    return np.sort(numbers[~np.isnan(numbers)])


def distribution_gaps(real: Array, synthetic: Array) -> tuple[float, float | None]:
    """The Kolmogorov and the Wasserstein distance of the values that are not missing.

    Without any value in one table the former is 1, in both 0, and the latter None.
    """
    left, right = _sort_known(real), _sort_known(synthetic)
    if not (len(left) and len(right)):
        return float(len(left) != len(right)), None
    # Two sorted runs: a stable sort merges them.
    points = np.sort(np.concatenate([left, right]), kind="stable")
    points = points[np.append(True, points[1:] != points[:-1])]
    below = [np.searchsorted(numbers, points, side="right") / len(numbers) for numbers in (left, right)]
    gaps = np.abs(below[0] - below[1])
    return float(gaps.max()), float(gaps[:-1] @ np.diff(points))


def summary(numbers: Array) -> NumberSummary:
    """Describes a column of numbers, NaN being a missing value."""
    held = numbers[~np.isnan(numbers)]
    missing = 1 - len(held) / len(numbers)
    if not len(held):
        return NumberSummary(missing, None, None, (), None)
    quantiles = tuple(np.quantile(held, QUANTILES).tolist())
    return NumberSummary(missing, float(held.mean()), float(held.std()), quantiles, _decimals(held))


def _distance(attribute: Attribute, real: Array, synthetic: Array) -> NumberDistance:
    kolmogorov, wasserstein = distribution_gaps(real, synthetic)
    bins = bins_of(attribute)
    atoms = () if bins is None else bins.atoms
    shares = {
        f"{atom:g}": (float(np.mean(real == atom)), float(np.mean(synthetic == atom)))
        for atom in sorted({0.0, *atoms})
    }
    return NumberDistance(attribute.name, kolmogorov, wasserstein, summary(real), summary(synthetic), shares)


def _decimals(held: Array) -> int | None:
    for places in range(_PLACES_TRIED + 1):
        if np.mean(np.round(held, places) == held) >= _ROUNDED:
            return places
    return None
