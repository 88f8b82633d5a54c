"""Codes that a release chose: bins of numbers and categories, coarser than those of the domain file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..later import np
from .attributes.attribute import Attribute
from .attributes.categorical import CategoricalAttribute
from .domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .attributes.numeric import NumericAttribute
    from .table import Table


@dataclass(frozen=True)
class Coding:
    """The chosen codes of the open attributes of a domain (`Domain.open`); public.

    Attributes:
        runs: of numbers and dates, by name: the first code of each run of codes that are merged, increasing
            from 0. Of numbers without bounds, the first and the last bin lie beyond the bounds that the
            release found, and their values are clipped.
        labels: for open categories, by name: the chosen categories, beside those of the domain.
    """

    runs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def domain(self, domain: Domain) -> Domain:
        """The domain with the chosen codes.

        Raises:
            DataError: the choice is for another domain.
        """
        return replace(domain, attributes=tuple(map(self._apply_choice, domain.attributes)))

    def table(self, table: Table) -> Table:
        """The rows of a table of the open domain with the chosen codes.

        Raises:
            DataError: the choice is for another domain, or the table lacks the texts of open categories.
        """
        from .table import Table, code_dtype

        domain = self.domain(table.domain)
        return Table(
            domain,
            tuple(self._column(table, one).astype(code_dtype(one.size)) for one in domain.attributes),
            weights=table.weights,
        )

    def check_complete(self, domain: Domain) -> None:
        """Refuses a choice that is not for exactly the open attributes of a domain, or of a larger one.

        Raises:
            DataError: it leaves an open attribute without codes, or has codes for an attribute that is not
                open.
        """
        chosen = {*self.runs, *self.labels}
        if any((attribute.name in chosen) != attribute.open for attribute in domain.attributes):
            raise DataError(
                "expected chosen bins of exactly the attributes that the domain leaves open, got others; "
                "choose them again"
            )
        self.domain(domain)

    def codes(self, attribute: Attribute) -> NDArray[np.int64]:
        """The new code of each code of an attribute with chosen bins, shape (size,); they never decrease."""
        runs = merged_codes(attribute, self.runs[attribute.name])
        if not _has_no_bounds(attribute):
            return runs
        numbers = numbers_of(attribute)
        chosen = _with_learned_bounds(numbers, runs)
        old, new = (one.cells[:, 0] for one in (numbers, chosen))
        within = np.where(np.isin(old, numbers.atoms), old, np.clip(old, chosen.minimum, chosen.maximum))
        codes = np.searchsorted(new, within, side="right") - 1
        return np.append(codes, len(new) + np.arange(numbers.others))

    def _column(self, table: Table, chosen: Attribute) -> NDArray[Any]:
        """The codes of a column of a table of the open domain in a chosen attribute."""
        name = chosen.name
        if name in self.runs:
            merged: NDArray[np.int64] = self.codes(table.domain[name])[table.column(name)]
            return merged
        if name not in self.labels:
            return table.column(name)
        if name not in table.texts:
            raise DataError(
                f"attribute {name!r}: expected the texts of its open categories beside its codes, found "
                "codes alone; read the table from its source"
            )
        return table.texts[name].encode(chosen)

    def _apply_choice(self, attribute: Attribute) -> Attribute:
        if attribute.name in self.runs:
            runs = merged_codes(attribute, self.runs[attribute.name])
            if _has_no_bounds(attribute):
                return _with_learned_bounds(numbers_of(attribute), runs)
            merged = attribute.merged(runs)
            if merged.size != runs[-1] + 1:
                raise _other(attribute)
            return merged
        if isinstance(attribute, CategoricalAttribute) and attribute.name in self.labels:
            known = (*attribute.categories, *self.labels[attribute.name])
            return replace(attribute, categories=known, open=False)
        return attribute


def merged_codes(attribute: Attribute, firsts: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of the run of each code of an attribute, shape (size,).

    Args:
        attribute: the open attribute.
        firsts: the first code of each run, increasing from 0.

    Raises:
        DataError: these are no runs of its codes.
    """
    if not firsts or firsts[0] or firsts[-1] >= attribute.size or any(np.diff(firsts) <= 0):
        raise _other(attribute)
    starts = np.zeros(attribute.size, dtype=np.int64)
    starts[list(firsts[1:])] = 1
    return np.cumsum(starts)


def numbers_of(attribute: Attribute) -> NumericAttribute:
    """The numbers whose bins an attribute has: its own, or its units of time.

    Raises:
        DataError: it has no bins.
    """
    from .attributes.dates import bins_of

    bins = bins_of(attribute)
    if bins is None:
        raise _other(attribute)
    return bins


def _has_no_bounds(attribute: Attribute) -> bool:
    return numbers_of(attribute).minimum is None


def _with_learned_bounds(attribute: NumericAttribute, runs: NDArray[np.int64]) -> NumericAttribute:
    """An attribute of unknown bounds with the bins between the first and the last."""
    cells, runs = attribute.cells, runs[: len(attribute.cells)]
    single = attribute.alone
    within = ~single & (runs > runs[~single][0]) & (runs < runs[~single][-1])
    if not within.any():
        raise _other(attribute)
    starts = np.flatnonzero(within & (np.diff(runs, prepend=-1) > 0))
    # The cell after an atom begins at the next float.
    edges = [float(cells[k - 1, 0] if single[k - 1] else cells[k, 0]) for k in starts]
    last = float(cells[np.flatnonzero(within)[-1], 1])
    if attribute.integer:
        # The largest integer ends the last bin, unless it is alone in it.
        last = max(edges[-1] + 1, np.ceil(last) - 1)
    edges.append(last)
    return replace(attribute, minimum=edges[0], maximum=edges[-1], bins=len(edges) - 1, edges=tuple(edges))


def _other(attribute: Attribute) -> DataError:
    return DataError(
        f"attribute {attribute.name!r}: the chosen bins are for another domain; choose them again"
    )
