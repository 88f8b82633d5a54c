"""Rows of people, of whom each counts as one record whatever the number of rows: each row counts in part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import DataError
from ..later import np
from .domain import Clique, Domain
from .grouping import Groups
from .rows import Rows, codes_digest
from .table import Table
from .vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """Rows in the order of their people. A person is one record: the weighted sum of the one-hot rows.

    Attributes:
        table: the rows, with weights; those of one person add up to at most `parts`.
        person: person of each row, never decreasing, shape (N,), int64.
        record_count: number of people; some may have no row.
        parts: parts of one person in which rows are counted.
    """

    table: Table
    person: NDArray[np.int64]
    record_count: int
    parts: int

    @classmethod
    def evenly(cls, table: Table, person: NDArray[np.int64], people: int, parts: int) -> PeopleRows:
        """Rows of which those of each person count the same, up to one part, and add up to one person.

        Args:
            table: rows, in any order.
            person: person of each, shape (N,), below `people`.
            people: number of people.
            parts: parts of one person.
        """
        order = np.argsort(person, kind="stable")
        numbers = np.bincount(person, minlength=people)
        firsts = np.cumsum(numbers) - numbers
        person = person[order].astype(np.int64, copy=False)
        place, number = np.arange(len(order)) - firsts[person], numbers[person]
        weights = (parts * (place + 1) // number - parts * place // number).astype(np.int64)
        held = table.take(order)
        return cls(Table(held.domain, held.columns, held.texts, weights=weights), person, people, parts)

    @property
    def domain(self) -> Domain:
        """Meaning of the codes."""
        return self.table.domain

    @property
    def weights(self) -> NDArray[np.int64]:
        """In how many parts each row counts, shape (N,)."""
        assert self.table.weights is not None, "rows of people have weights"
        return self.table.weights

    def digest(self) -> str:
        """SHA-256 (hex) of rows and people."""
        digest = hashlib.sha256(f"{self.table.digest()} {self.record_count} ".encode("ascii"))
        digest.update(self.person.astype("<i8").data)
        return digest.hexdigest()

    def project(self, attributes: Iterable[str]) -> PeopleRows:
        """Only these attributes, in domain order."""
        return replace(self, table=self.table.project(attributes))

    def rows(self, start: int, stop: int) -> PeopleRows:
        """The rows of the people start to stop - 1."""
        within = slice(*np.searchsorted(self.person, (start, stop)).tolist())
        held = self.table.rows(within.start, within.stop)
        return replace(self, table=held, person=self.person[within] - start, record_count=stop - start)

    def take(self, people: NDArray[np.integer]) -> PeopleRows:
        """The rows of these people, in this order, none twice."""
        positions = np.full(self.record_count, -1, dtype=np.int64)
        positions[people] = np.arange(len(people))
        return self.place_people(positions, len(people))

    def place_people(self, positions: NDArray[np.integer], size: int) -> PeopleRows:
        """The rows at the positions of an alignment.

        Args:
            positions: of each person, shape (people,), none twice; -1 for a person who is not used.
            size: number of positions.
        """
        at = positions[self.person].astype(np.int64)
        order = np.argsort(at, kind="stable")[np.count_nonzero(at < 0) :]
        return replace(self, table=self.table.take(order), person=at[order], record_count=size)

    def in_parts(self, parts: int) -> PeopleRows:
        """The rows in fewer parts, of which a person has as many as before, up to one.

        Args:
            parts: a power of two, at most as many as before.
        """
        if parts == self.parts:
            return self
        # Sums within each person: what others have changes nothing.
        total, first = np.cumsum(self.weights), np.searchsorted(self.person, self.person)
        after = total - (total[first] - self.weights[first])
        fewer = self.parts // parts
        weights = after // fewer - (after - self.weights) // fewer
        held = self.table
        return replace(self, table=Table(held.domain, held.columns, held.texts, weights=weights), parts=parts)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Sums of weights, shape (n_r,); see `Table.marginal`."""
        return self.table.marginal(clique, groups)

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """Several marginals, not to be written to; see `Table.marginals`."""
        return self.table.marginals(cliques, groups)

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """Refuses: a person has no single cell.

        Raises:
            DataError: always.
        """
        raise DataError(
            "expected one row of each person, got people with all rows; plan a protocol that counts them"
        )

    def vectors(self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()) -> Vectors:
        """The cells of the people start to stop - 1, in parts."""
        stop = min(stop, self.record_count)
        first, last = np.searchsorted(self.person, (start, stop)).tolist()
        cells = self.table.cell_codes(clique, first, last, groups)
        return Vectors(stop - start, self.person[first:last] - start, cells, self.weights[first:last])


def vectors_of(
    rows: Rows, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
) -> NDArray[np.int64] | Vectors:
    """The rows start to stop - 1 of a matrix of the cells: codes of one-hot rows, or vectors of people."""
    if isinstance(rows, PeopleRows):
        return rows.vectors(clique, start, stop, groups)
    return rows.cell_codes(clique, start, stop, groups)


def rows_digest(rows: Rows, clique: Clique, within: range, groups: Groups = ()) -> str:
    """SHA-256 (hex) of these rows of a matrix: what a mask of each row hides."""
    if not isinstance(rows, PeopleRows):
        return codes_digest(rows, clique, within, groups)
    held = rows.vectors(clique, within.start, within.stop, groups)
    digest = hashlib.sha256()
    for part in (held.rows, held.cells, rows.weights[:0] if held.weights is None else held.weights):
        digest.update(part.astype("<i8").data)
    return digest.hexdigest()


def number_people(keys: Iterable[Hashable]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """People by their keys, in the order of their first rows.

    Args:
        keys: key of each row.

    Returns:
        The number of the person of each row, shape (N,), and the first row of each person, shape (people,).
    """
    numbers: dict[Hashable, int] = {}
    person = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    return person, np.unique(person, return_index=True)[1]
