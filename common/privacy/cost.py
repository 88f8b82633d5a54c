"""Costs of noise: exact zCDP arithmetic in multiples of 2^-64.

Every cost is rounded up and every grant is a float, so sums and comparisons of costs are exact: the spent
budget can never exceed the grant, not even by rounding.

One rule covers both promises. Discrete Gaussian noise of scale sigma on the grid (1/g) Z, for counts on that
grid, is within a factor exp(+-1e-21) of a post-processed Gaussian of variance sigma^2 - 2.5 / g^2
(docs/adr/0003). It is charged as that Gaussian: rho = sensitivity^2 / (2 (sigma^2 - 2.5 / g^2)), which bounds
its zCDP and lets adaptively chosen measurements compose as Gaussian differential privacy with
mu^2 = 2 * sum of rho. With g * sigma >= 256 this increases the cost by a factor below 1.00004.

If only an interaction is released (`common/data/interactions.py`), the same holds with its smaller
sensitivity (docs/adr/0020).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from ..errors import BudgetError
from ..forms.nearest import hint

_UNIT = 2**64
_MIN_GRID_SIGMA = 256.0
_MIN_SIGMA = 2.0**-20
MAX_SIGMA = 2.0**40
"""Largest scale of noise."""

_SMOOTHING_VARIANCE = Fraction(5, 2)
_ASKED_AGAIN = 4096
"""Number of cached results of exact arithmetic: thousands of marginals have the same size."""

MAX_INTERACTION_SIZE = 1 << 14
"""Largest number of values of an attribute of a measured interaction; the proof of the cost needs it."""

MAX_INTERACTION_CELLS = 1 << 40
"""Largest number of cells of its marginal; the proof sums an error over them."""


ALL_ROWS = 0
"""Stands for any number of rows of one person, which count as one record together."""

WORDS_OF_PARTS = ("together count as one record at most", "add up to at most one")
"""What is said of the parts of a person, and what certificates of version 0.1.0 say of them."""

ROWS_PER_PERSON = "rows_per_person"
"""How plans, and forms of terms, call the number of rows of one person."""

WEIGHT_PARTS = 1 << 20
"""Parts of one person into which such weights divide."""


class Neighbours(Protocol):
    """Sensitivities of queries to the records that differ between neighbouring tables."""

    @property
    def squared_sensitivity(self) -> int:
        """Squared L2 sensitivity of a marginal."""

    @property
    def squared_score_sensitivity(self) -> int:
        """Squared sensitivity of an L1 distance of a marginal to a reference."""

    def squared_interaction_sensitivity(self, shape: Sequence[int]) -> Fraction:
        """Squared L2 sensitivity of the interaction of a marginal of this shape."""


class Adjacency(enum.StrEnum):
    """Definition of neighbouring tables; the value is its name in plans and certificates."""

    ZERO_OUT = "zero-out"
    """One record is replaced by a null record that counts in no cell; the record count is public."""
    REPLACE_ONE = "replace-one"
    """One record is replaced by any other."""
    ADD_REMOVE = "add-remove"
    """One record is added or removed; their number is released with noise, or hidden by an alignment."""

    @property
    def squared_sensitivity(self) -> int:
        """Squared L2 sensitivity of a marginal: one cell changes by 1, or two cells do."""
        return 2 if self is Adjacency.REPLACE_ONE else 1

    @property
    def squared_score_sensitivity(self) -> int:
        """Squared sensitivity of an L1 distance: every cell that changes by 1 changes it by at most 1."""
        return self.squared_sensitivity**2

    def squared_interaction_sensitivity(self, shape: Sequence[int]) -> Fraction:
        """Squared L2 sensitivity of the interaction of a marginal of this shape.

        The interaction of one cell has squared norm prod (1 - 1/n_i). The interactions of two cells are
        farthest apart if the cells differ only in the smallest attribute.

        Raises:
            BudgetError: an attribute has too many values or only one, or there are too many cells.
        """
        fits = all(2 <= n <= MAX_INTERACTION_SIZE for n in shape)
        if not fits or math.prod(shape) > MAX_INTERACTION_CELLS:
            raise BudgetError(
                f"expected an interaction of attributes of 2 to {MAX_INTERACTION_SIZE} values and of at most "
                "2^40 cells, got one of other sizes; measure the whole marginal"
            )
        squared = math.prod((1 - Fraction(1, n) for n in shape), start=Fraction(1))
        if self is not Adjacency.REPLACE_ONE:
            return squared
        return 2 * squared / (1 - Fraction(1, min(shape)))

    @classmethod
    def named(cls, name: str) -> Adjacency:
        """The adjacency of that name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(member.value for member in cls)
            raise BudgetError(f"adjacency: expected one of {known}, got {name!r}{hint(name, cls)}") from None


@dataclass(frozen=True)
class PrivacyUnit:
    """What differs between neighbouring tables: a person with up to a number of records of one slice.

    m records change every query by at most m times what one record changes, so each cost is m^2 times that
    of one record (group privacy; mu becomes m mu).

    Rows of weights that add up to at most one for a person change a query by a convex combination of what
    single records change, and of nothing. Every sensitivity is a norm of the change, or that of a distance,
    so it is at most that of one record, whatever the number of rows (`docs/adr/0112`). So it is with weights
    by which a person is no longer than one record in a query (`ByLength`, `docs/adr/0188`).

    Attributes:
        adjacency: what becomes of each record.
        rows_per_person: number m of records, at least 1; `ALL_ROWS` for weights.
    """

    adjacency: Adjacency
    rows_per_person: int = 1

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> PrivacyUnit:
        """The unit whose JSON values are among these."""
        return cls(Adjacency(values["adjacency"]), values[ROWS_PER_PERSON])

    def values(self) -> dict[str, str | int]:
        """The unit as JSON values, by the names of its attributes."""
        return {"adjacency": self.adjacency.value, ROWS_PER_PERSON: self.rows_per_person}

    @property
    def squared_sensitivity(self) -> int:
        """Squared L2 sensitivity of a marginal."""
        return self.multiple**2 * self.adjacency.squared_sensitivity

    @property
    def squared_score_sensitivity(self) -> int:
        """Squared sensitivity of an L1 distance of a marginal to a reference."""
        return self.multiple**2 * self.adjacency.squared_score_sensitivity

    def squared_interaction_sensitivity(self, shape: Sequence[int]) -> Fraction:
        """Squared L2 sensitivity of an interaction; see `Adjacency.squared_interaction_sensitivity`."""
        return self.multiple**2 * self.adjacency.squared_interaction_sensitivity(shape)

    @property
    def multiple(self) -> int:
        """How many records change a query at least as much as a person does."""
        return max(1, self.rows_per_person)

    @property
    def parts(self) -> int:
        """Parts of one record in which rows are counted."""
        return WEIGHT_PARTS if self.rows_per_person == ALL_ROWS else 1

    @property
    def phrase(self) -> str:
        """The unit in a few words, for messages."""
        several = f"{ROWS_PER_PERSON} = {self.rows_per_person}"
        return f"{self.adjacency.value} with {several if self.rows_per_person else 'all rows of a person'}"

    def factor_in(self, other: PrivacyUnit) -> Fraction:
        """By how much a rho for this unit is multiplied to bound the same noise's rho for another unit.

        Replacing a record is blanking it and filling it again: mu at most doubles (group privacy). Blanking,
        adding or removing a record changes no query by more than replacing it does. A person with all rows
        is a person with any number of them.
        """
        twice = other.adjacency is Adjacency.REPLACE_ONE is not self.adjacency
        several = 1 if self.rows_per_person == ALL_ROWS else other.multiple
        rows = max(Fraction(1), Fraction(several, self.multiple))
        return (4 if twice else 1) * rows**2

    def over_slices(self, slices: int) -> str:
        """`in_words` for tables of so many slices."""
        several = self.rows_per_person == ALL_ROWS and slices > 1
        rest = " A person with rows in several slices is protected by the sum over these slices."
        return self.in_words + rest if several else self.in_words

    @property
    def in_words(self) -> str:
        """What one record is, and who is protected, for readers."""
        if self.rows_per_person == ALL_ROWS:
            return (
                "One record is one person with all rows in all tables. Each row counts in part, and the "
                f"parts of a person {WORDS_OF_PARTS[0]}, so the promise is for the person, whatever the "
                "number of rows."
            )
        if self.rows_per_person == 1:
            return (
                "One record is one row of one slice. The promise is for one record: a person with several "
                "rows, or with rows in several slices, is protected by the sum over these rows."
            )
        return (
            "One record is one row of one slice. The promise is for a person with up to "
            f"{self.rows_per_person} rows of one slice; the parties left out further rows. A person with "
            "rows in several slices is protected by the sum over these slices."
        )


def grid_of(sigma: float, parts: int = 1) -> int:
    """The grid g of noise of scale sigma: multiples of 1/g, with g the least power of two >= 256 / sigma.

    Counts in parts have a finer grid, which costs no more; `docs/adr/0112` has the proof.

    Args:
        sigma: scale of the noise, in counts.
        parts: parts of one in which rows are counted, a power of two (`PrivacyUnit.parts`).
    """
    if sigma < _MIN_SIGMA:
        raise BudgetError(
            "expected noise of at least 2^-20 counts, got a budget that allows less; lower the budget"
        )
    if sigma * parts > MAX_SIGMA:
        raise BudgetError(
            f"expected noise of at most 2^{40 - parts.bit_length() + 1} counts, got more; grant more for the "
            "measurement"
        )
    grid = 1 << max(0, math.ceil(math.log2(_MIN_GRID_SIGMA / sigma)))
    return grid if parts == 1 else max(parts, 2 * grid)


def coarser_sigma(sigma: float) -> float:
    """The least scale of noise with a coarser grid than noise of this scale; that grid is not 1."""
    return 2 * _MIN_GRID_SIGMA / grid_of(sigma)


def gaussian_cost(sigma: float, adjacency: Neighbours, interaction: Sequence[int] = ()) -> Fraction:
    """The zCDP cost of one marginal with discrete Gaussian noise of scale sigma, rounded up to 2^-64.

    Guarantee: rho-zCDP, and mu-GDP with mu^2 = 2 rho, under `adjacency`.

    Args:
        sigma: noise scale of every cell, in counts.
        adjacency: which tables are neighbours.
        interaction: shape of the marginal if only its noisy interaction is released; else empty.
    """
    return _cost(sigma, _squared_sensitivity(adjacency, interaction))


def score_cost(sigma: float, adjacency: Neighbours, count: int) -> Fraction:
    """The zCDP cost of L1 distances of `count` marginals to references, each with noise of scale sigma.

    A record changes one cell by 1, and so each distance by at most 1; under replace-one two cells, and each
    distance by at most 2.

    Guarantee: rho-zCDP, and mu-GDP with mu^2 = 2 rho, under `adjacency`.
    """
    return count * _cost(sigma, adjacency.squared_score_sensitivity)


def counting_cost(sigma: float, adjacency: Neighbours) -> Fraction:
    """The zCDP cost of counts with discrete Gaussian noise on whole numbers, rounded up to 2^-64.

    Counts that only whole dummies can hide have no finer grid. The cost is in zCDP alone, and not also in
    Gaussian differential privacy as that of the other noise.

    Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Theorem 4.
    Guarantee: rho-zCDP under `adjacency`, if the counts have its squared sensitivity.

    Args:
        sigma: scale of the noise of every count.
        adjacency: which tables are neighbours.
    """
    return _rounded_up(adjacency.squared_sensitivity / (2 * Fraction(sigma) ** 2))


def counting_sigma(rho: Fraction, adjacency: Neighbours) -> float:
    """The smallest scale, to a float's precision, at which `counting_cost` is at most rho.

    Raises:
        BudgetError: rho is less than 2^-62; costs are not that precise.
    """
    if rho < Fraction(4, _UNIT):
        raise BudgetError("expected a budget of at least 2^-62 for noisy counts, got less; grant more")
    sigma = math.sqrt(adjacency.squared_sensitivity / (2 * (rho - Fraction(1, _UNIT))))
    while counting_cost(sigma, adjacency) > rho:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def score_sigma(rho: Fraction, adjacency: Neighbours, count: int) -> float:
    """The smallest scale, to a float's precision, at which `count` scores cost at most rho.

    Raises:
        BudgetError: rho is less than 2^-62 for each score; costs are not that precise.
    """
    more = Fraction(adjacency.squared_score_sensitivity, adjacency.squared_sensitivity)
    return gaussian_sigma(rho / (count * more), adjacency)


def exponential_cost(epsilon: float) -> Fraction:
    """The zCDP cost epsilon^2 / 8 of an exponential mechanism with parameter epsilon, rounded up to 2^-64.

    Source: Cesar and Rogers 2021 (bounded range); RandDPGen, Lemma 3.4.
    """
    return _rounded_up(Fraction(epsilon) ** 2 / 8)


def gaussian_sigma(rho: Fraction, adjacency: Neighbours, interaction: Sequence[int] = ()) -> float:
    """The smallest scale, to a float's precision, whose cost is at most rho.

    Args:
        rho: budget of the measurement.
        adjacency: which tables are neighbours.
        interaction: see `gaussian_cost`.

    Raises:
        BudgetError: rho is less than 2^-62; costs are not that precise.
    """
    if rho < Fraction(4, _UNIT):
        raise BudgetError("expected a budget of at least 2^-62 for a measurement, got less; grant more")
    return _smallest_sigma(rho, _squared_sensitivity(adjacency, interaction))


@lru_cache(maxsize=_ASKED_AGAIN)
def _smallest_sigma(rho: Fraction, squared_sensitivity: Fraction | int) -> float:
    # One unit less, because the cost is rounded up.
    ideal = squared_sensitivity / (2 * (rho - Fraction(1, _UNIT)))
    sigma = math.sqrt(ideal)
    # Twice, because the added variance can move the scale to a coarser grid.
    for _ in range(2):
        sigma = math.sqrt(ideal + _SMOOTHING_VARIANCE / grid_of(sigma) ** 2)
    while _cost(sigma, squared_sensitivity) > rho:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def charged_variance(sigma: float, factor: float = 1.0) -> Fraction:
    """Variance of the Gaussian as which noise of scale factor * sigma on the grid of sigma is charged."""
    return (Fraction(factor) * Fraction(sigma)) ** 2 - _SMOOTHING_VARIANCE / grid_of(sigma) ** 2


def _squared_sensitivity(adjacency: Neighbours, interaction: Sequence[int]) -> Fraction | int:
    if interaction:
        return adjacency.squared_interaction_sensitivity(interaction)
    return adjacency.squared_sensitivity


@lru_cache(maxsize=_ASKED_AGAIN)
def _cost(sigma: float, squared_sensitivity: Fraction | int) -> Fraction:
    return _rounded_up(squared_sensitivity / (2 * charged_variance(sigma)))


def _rounded_up(rho: Fraction) -> Fraction:
    return Fraction(math.ceil(rho * _UNIT), _UNIT)
