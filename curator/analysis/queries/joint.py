"""The joint distribution of a query's columns, from the model of a release or from its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.attributes.date_parts import DatePartsAttribute, Part
from ....common.data.attributes.dates import bins_of
from ....common.data.domain import Clique
from ....common.errors import DataError, ModelError
from ...mechanisms.parts.released import ReleasedModel
from ..published import Published
from ..terms import Support
from .axes import Array, Axis, LabelAxis, NumberAxis, Truth
from .language import (
    Below,
    Both,
    Comparison,
    Condition,
    Either,
    Equal,
    Like,
    Literal,
    Missing,
    Not,
    Query,
    Surely,
)
from .parts_of_dates import number_of

LARGEST_MARGINAL = 2**20
"""Cells of the largest marginal that is asked of a model."""

MOST_PIECES = 2**22
"""Combinations of pieces of all columns, at most."""


class OpaqueAxis(Axis):
    """A column of dates by parts: only these, and whether it is missing, are known."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.name = attribute.name
        self.codes = np.arange(attribute.size)
        self.shares = np.ones(attribute.size)
        self.missing = self.codes == (attribute.size - 1 if getattr(attribute, "nullable", False) else -1)

    def equal(self, value: Literal) -> Truth:
        """See `Axis`."""
        raise self._error()

    def below(self, value: Literal, also: bool) -> Truth:
        """See `Axis`."""
        raise self._error()

    def parts(self, part: Part) -> NDArray[np.int64]:
        """See `Axis`."""
        if not isinstance(self.attribute, DatePartsAttribute) or part not in self.attribute.parts:
            raise self._error()
        times = self.attribute.decode(self.codes, np.random.default_rng(0))
        return np.where(self.missing, -1, number_of(part, np.where(self.missing, times[0], times)))

    @property
    def numbers(self) -> Array:
        """See `Axis`."""
        raise self._error()

    def labels(self) -> list[Any]:
        """See `Axis`."""
        raise self._error()

    def _error(self) -> DataError:
        parts = getattr(self.attribute, "parts", ())
        known = "".join(f", and of {each.upper()}({self.name})" for each in parts)
        return DataError(
            f"the column {self.name!r} is known by parts of its dates only; ask COUNT({self.name}) of it"
            f"{known}"
        )


def axis_of(attribute: Attribute, counts: Array, compared: Sequence[Comparison]) -> Axis:
    """The axis of an attribute.

    Args:
        attribute: the column.
        counts: records of each of its codes, shape (size,).
        compared: all comparisons of the query with it.

    Raises:
        DataError: a value in a comparison is not of the column's kind.
    """
    if bins_of(attribute) is not None:
        return NumberAxis(attribute, counts, compared)
    if isinstance(attribute, (CategoricalAttribute, BooleanAttribute, CodedAttribute)):
        return LabelAxis(attribute)
    return OpaqueAxis(attribute)


@dataclass(frozen=True, eq=False)
class Joint:
    """Combinations of codes with their records, each divided into combinations of pieces.

    Attributes:
        support: the combinations of codes, n of them.
        from_model: whether they are of the model, and not of the release's rows.
        axes: the columns by name.
        cells: shape (m,), increasing: the combination of codes of each combination of pieces.
        shares: shape (m,): its share of that.
        pieces: for each column the piece of each combination, shape (m,).
    """

    support: Support
    from_model: bool
    axes: Mapping[str, Axis]
    cells: NDArray[np.int64]
    shares: Array
    pieces: Mapping[str, NDArray[np.int64]]

    @property
    def weights(self) -> Array:
        """Records of each combination of pieces, shape (m,)."""
        return self.support.weights[self.cells] * self.shares

    def means(self, values: Array) -> Array:
        """The mean of a function of pieces at each combination of codes; shape (m, ...) to (n, ...)."""
        weighted = values * self.shares.reshape(-1, *[1] * (values.ndim - 1))
        starts = np.searchsorted(self.cells, np.arange(len(self.support.weights)))
        found: Array = np.add.reduceat(weighted, starts, axis=0)
        return found

    def holds(self, condition: Condition | None) -> Truth:
        """Where a condition is true, shape (m,)."""
        if condition is None:
            return np.ones(len(self.cells), dtype=np.bool_)
        return self.truth(condition)[0]

    def truth(self, condition: Condition) -> tuple[Truth, Truth]:
        """Where a condition is true, and where it is false; elsewhere it is unknown."""
        match condition:
            case Not(inner):
                true, false = self.truth(inner)
                return false, true
            case Surely(inner):
                true = self.truth(inner)[0]
                return true, ~true
            case Both(first, second):
                (true, false), (also_true, also_false) = self.truth(first), self.truth(second)
                return true & also_true, false | also_false
            case Either(first, second):
                (true, false), (also_true, also_false) = self.truth(first), self.truth(second)
                return true | also_true, false & also_false
        axis, pieces = self.axes[condition.column], self.pieces[condition.column]
        missing = (axis.no_number if isinstance(condition, Below) else axis.missing)[pieces]
        match condition:
            case Missing():
                return missing, ~missing
            case Like():
                true = axis.like(condition)[pieces]
            case Equal(_, value, part):
                true = (axis.equal(value) if part is None else axis.parts(part) == _whole(value))[pieces]
            case Below(_, value, also, None):
                true = axis.below(value, also)[pieces]
            case Below(_, value, also, Part() as part):
                parts, bound = axis.parts(part), _whole(value)
                true = (parts <= bound if also else parts < bound)[pieces]
        return true & ~missing, ~true & ~missing


def axes_of(published: Published, query: Query) -> dict[str, Axis]:
    """The axes of all columns of a query.

    Args:
        published: the release.
        query: its columns are in the release's domain.

    Raises:
        DataError: a value is not of its column's kind.
    """
    domain = published.domain
    return {
        name: axis_of(
            domain[name],
            _marginal(published.model, (name,)),
            [leaf for leaf in query.comparisons if leaf.column == name],
        )
        for name in domain.canonical(query.columns)
    }


def joint_of(published: Published, axes: Mapping[str, Axis]) -> Joint:
    """The joint distribution of some columns.

    Args:
        published: the release.
        axes: the columns, in domain order.

    Raises:
        DataError: there are too many combinations.
    """
    # Whatever the query, some column says which combinations there are.
    domain = published.domain
    clique = tuple(axes) or (min(domain, key=lambda name: domain[name].size),)
    found = _support_of_model(published, clique)
    support = found or _support_of_rows(published, clique)
    cells, shares = np.arange(len(support.weights)), np.ones(len(support.weights))
    pieces: dict[str, NDArray[np.int64]] = {}
    for place, (name, axis) in enumerate(axes.items()):
        codes = support.codes[cells, place]
        first, beyond = np.searchsorted(axis.codes, codes), np.searchsorted(axis.codes, codes, side="right")
        times = beyond - first
        if times.sum() > MOST_PIECES:
            raise DataError(
                "the query needs too many combinations of values; ask for fewer columns or conditions"
            )
        rows = np.repeat(np.arange(len(cells)), times)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        taken = first[rows] + within
        pieces = {name: piece[rows] for name, piece in pieces.items()} | {name: taken}
        cells, shares = cells[rows], shares[rows] * axis.shares[taken]
    return Joint(support, found is not None, axes, cells, shares, pieces)


def _marginal(model: ReleasedModel, clique: Clique) -> Array:
    return np.maximum(model.marginal(clique), 0)


def _support_of_model(published: Published, clique: Clique) -> Support | None:
    """Combinations of the model; None if it cannot compute so large a marginal."""
    shape = published.domain.shape(clique)
    if math.prod(shape) > LARGEST_MARGINAL:
        return None
    try:
        counts = _marginal(published.model, clique)
    except ModelError:
        return None
    used = np.flatnonzero(counts > 0)
    codes = np.stack(np.unravel_index(used, shape), axis=1).astype(np.int64)
    return _support(published, clique, codes, counts[used])


def _support_of_rows(published: Published, clique: Clique) -> Support:
    columns = [published.rows.column(name).astype(np.int64) for name in clique]
    codes, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return _support(published, clique, codes, counts.astype(np.float64))


def _support(published: Published, clique: Clique, codes: NDArray[np.int64], counts: Array) -> Support:
    return Support(clique, codes, counts * (published.records / counts.sum()))


def _whole(value: Literal) -> float:
    """A value with which a part of dates is compared.

    Raises:
        DataError: it is no number.
    """
    if isinstance(value, (bool, str)):
        raise DataError(f"a part of a date is a whole number, such as MONTH(x) = 3; got {value!r}; fix it")
    return float(value)
