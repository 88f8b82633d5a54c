"""Rows of people, of whom each counts as one record whatever the number of rows: each row counts in part."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..later import np
from .counting import COUNTED_AT_ONCE, count_cells
from .domain import Clique, Domain
from .grouping import Groups, grouped_shape
from .rows import Rows, codes_digest, count_one_by_one
from .table import Table
from .vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class ByLength:
    """How rows of a person weigh in a view whose noise hides the length of a vector, and no sum.

    With n rows, h of them in each cell of the view, and s^2 = prod(1 - 1/n_i) over those columns of the view
    in which rows of a person differ, without the one of the fewest codes, each counts
    1 / max(min(n, |h| / s), evened). Neither the view nor its interaction changes by more than by one record:
    rows of a person agree in the other columns; in these, the interaction of h is no longer than that of one
    row times n, nor than |h| times sqrt(1 - 1/m), with m the fewest codes, since h is not negative.

    Attributes:
        varying: columns in which rows of a person may differ.
        evened: people whose rows would weigh more count the same in each row.
    """

    varying: frozenset[str]
    evened: int

    def share(self, clique: Iterable[str], shape: Iterable[int]) -> float:
        """The number s of a view.

        Args:
            clique: its columns.
            shape: numbers of their codes or groups.
        """
        sizes = [n for name, n in zip(clique, shape, strict=True) if name in self.varying and n > 1]
        return math.sqrt(math.prod(1 - 1 / n for n in sorted(sizes)[1:]))


def even_weights(person: NDArray[np.integer[Any]], people: int, parts: int, evened: int) -> NDArray[np.int64]:
    """In how many parts rows count of which those of each person are the same and add up to one, shape (N,).

    Args:
        person: person of each row, shape (N,), below `people`.
        people: number of people.
        parts: parts of one person.
        evened: up to so many rows of a person all weigh the same.
    """
    numbers = np.bincount(person, minlength=people)
    found: NDArray[np.int64] = (parts // np.maximum(numbers, evened))[person]
    return found


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """Rows in the order of their people. A person is one record: the weighted sum of the one-hot rows.

    Attributes:
        table: the rows, with weights; those of one person add up to at most `parts`.
        person: person of each row, never decreasing, shape (N,), signed.
        record_count: number of people; some may have no row.
        parts: parts of one person in which rows are counted.
        by_length: how rows weigh instead; None if by the weights of the table.
    """

    table: Table
    person: NDArray[np.signedinteger[Any]]
    record_count: int
    parts: int
    by_length: ByLength | None = None

    @classmethod
    def evenly(
        cls, table: Table, person: NDArray[np.signedinteger[Any]], people: int, parts: int
    ) -> PeopleRows:
        """Rows of which those of each person count the same, up to one part, and add up to one person.

        Args:
            table: rows, in any order.
            person: person of each, shape (N,), below `people`.
            people: number of people.
            parts: parts of one person.
        """
        if (person[1:] < person[:-1]).any():
            order = np.argsort(person, kind="stable")
            table, person = table.take(order), person[order]
        numbers, weights = np.bincount(person, minlength=people), np.empty(len(person), dtype=np.int64)
        firsts = np.cumsum(numbers) - numbers
        for start in range(0, len(person), COUNTED_AT_ONCE):
            of = person[start : start + COUNTED_AT_ONCE]
            place, number = np.arange(start, start + len(of)) - firsts[of], numbers[of]
            weights[start : start + len(of)] = parts * (place + 1) // number - parts * place // number
        return cls(Table(table.domain, table.columns, table.texts, weights=weights), person, people, parts)

    @classmethod
    def weighing_evenly(
        cls,
        table: Table,
        person: NDArray[np.signedinteger[Any]],
        people: int,
        parts: int,
        evened: int,
        varying: frozenset[str] = frozenset(),
    ) -> PeopleRows:
        """Rows of which those of each person weigh the same, where weights have to add up.

        Args:
            table: rows in the order of their people.
            person: person of each, shape (N,), below `people`.
            people: number of people.
            parts: parts of one person.
            evened: up to so many rows of a person all weigh the same.
            varying: columns in which rows of a person may differ, by whose cells they weigh by length; empty
                if they do not.
        """
        weights = even_weights(person, people, parts, evened)
        rule = ByLength(varying, evened) if varying else None
        return cls(Table(table.domain, table.columns, weights=weights), person, people, parts, rule)

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
        first, last = self._ends(start, stop)
        held, person = self.table.rows(first, last), self.person[first:last] - self.person.dtype.type(start)
        return replace(self, table=held, person=person, record_count=stop - start)

    def rows_of(self, people: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows of these people are, one after the other, and whose each is, by places here."""
        firsts = self._firsts
        numbers = firsts[people + 1] - firsts[people]
        before = np.cumsum(numbers) - numbers
        rows = np.repeat(firsts[people] - before, numbers) + np.arange(int(numbers.sum()))
        return rows, np.repeat(np.arange(len(people)), numbers)

    def take(self, people: NDArray[np.integer]) -> PeopleRows:
        """The rows of these people, in this order, none twice."""
        rows, person = self.rows_of(people)
        return replace(self, table=self.table.take(rows), person=person, record_count=len(people))

    def place_people(self, positions: NDArray[np.integer], size: int) -> PlacedPeople:
        """The rows at the positions of an alignment.

        Args:
            positions: of each person, shape (people,), none twice; -1 for a person who is not used.
            size: number of positions.
        """
        people = np.full(size, -1, dtype=np.int64)
        used = np.flatnonzero(positions >= 0)
        people[positions[used]] = used
        return PlacedPeople(self, people)

    def in_parts(self, parts: int) -> PeopleRows:
        """The rows in fewer parts, of which a person has as many as before, up to one.

        Args:
            parts: a power of two, at most as many as before.
        """
        if parts == self.parts:
            return self
        weights, fewer = np.empty_like(self.weights), self.parts // parts
        for start in range(0, self.record_count, self.people_at_once):
            at = slice(*self._ends(start, start + self.people_at_once))
            held, person = self.weights[at], self.person[at]
            # Sums within each person: what others have changes nothing.
            total, first = np.cumsum(held), np.searchsorted(person, person)
            after = total - (total[first] - held[first])
            weights[at] = after // fewer - (after - held) // fewer
        held_rows = self.table
        return replace(
            self,
            table=Table(held_rows.domain, held_rows.columns, held_rows.texts, weights=weights),
            parts=parts,
        )

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """The first row of each person, and the number of rows, shape (people + 1,)."""
        people = np.arange(self.record_count + 1, dtype=self.person.dtype)
        return np.searchsorted(self.person, people).astype(np.int64, copy=False)

    def _ends(self, start: int, stop: int) -> tuple[int, int]:
        """The first row of the person `start`, and that of the person `stop`."""
        # Of the type of the persons: otherwise all of them would be copied.
        most = np.iinfo(self.person.dtype).max
        people = np.minimum([start, stop], most).astype(self.person.dtype)
        first, last = np.searchsorted(self.person, people).tolist()
        return first, last

    @property
    def people_at_once(self) -> int:
        """Number of people who have about as many rows as are computed at once."""
        return max(1, self.record_count * COUNTED_AT_ONCE // max(1, len(self.person)))

    @property
    def adding_up(self) -> PeopleRows:
        """The rows by the weights of the table, which add up: for sums over boxes, and distances."""
        return replace(self, by_length=None)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Sums of weights, shape (n_r,); see `Table.marginal`."""
        return self.table.marginal(clique, groups) if self.by_length is None else _sums(self, clique, groups)

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """Several marginals, not to be written to; see `Table.marginals`."""
        if self.by_length is None:
            return self.table.marginals(cliques, groups)
        return count_one_by_one(self, cliques, groups)

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """Refuses: a person has no single cell.

        Raises:
            DataError: always.
        """
        raise _no_single_cell()

    def vectors(self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()) -> Vectors:
        """The cells of the people start to stop - 1, in parts."""
        stop, names = min(stop, self.record_count), tuple(clique)
        first, last = self._ends(start, stop)
        cells = self.table.cell_codes(names, first, last, groups)
        rows = self.person[first:last].astype(np.int64) - start
        return self.weigh(Vectors(stop - start, rows, cells, self.weights[first:last]), names, groups)

    def weigh(self, rows: Vectors, clique: Clique, groups: Groups) -> Vectors:
        """The cells of some people, in parts.

        Args:
            rows: an entry for each of their rows, with the weights of the table.
            clique: columns of the cells.
            groups: groups of their codes.
        """
        rule = self.by_length
        if rule is None:
            return rows
        shape = grouped_shape(self.domain.shape(clique), groups)
        cells = math.prod(shape)
        keys = np.sort(rows.rows * cells + rows.cells)
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        held = np.diff(np.append(first, len(keys)))
        person, cell = np.divmod(keys[first], cells)
        numbers = np.bincount(person, held, rows.size)
        squares = np.bincount(person, held.astype(np.float64) ** 2, rows.size)
        # Of a length, somewhat less: the root and the quotient are rounded.
        length = (1 - 2.0**-40) * rule.share(clique, shape) / np.sqrt(np.maximum(squares, 1))
        whole = np.maximum(numbers, rule.evened)[person].astype(np.int64)
        longest = np.minimum(length, 1 / rule.evened)[person] * held
        weights = np.maximum(self.parts * held // whole, (self.parts * longest).astype(np.int64))
        return Vectors(rows.size, person, cell, weights)


@dataclass(frozen=True, eq=False)
class PlacedPeople:
    """People at the positions of an alignment; their rows stay where they are.

    Attributes:
        rows: of all people.
        people: the person at each position, shape (positions,); -1 for none.
    """

    rows: PeopleRows
    people: NDArray[np.int64]

    @property
    def domain(self) -> Domain:
        """Meaning of the codes."""
        return self.rows.domain

    @property
    def record_count(self) -> int:
        """Number of positions."""
        return self.people.size

    @property
    def people_at_once(self) -> int:
        """See `PeopleRows`."""
        return self.rows.people_at_once

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """See `PeopleRows.cell_codes`."""
        raise _no_single_cell()

    def vectors(self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()) -> Vectors:
        """The cells of the positions start to stop - 1, in parts."""
        at, names = self.people[start:stop], tuple(clique)
        held = np.flatnonzero(at >= 0)
        rows, person = self.rows.rows_of(at[held])
        # A presence has no columns, and a table has some.
        read = self.rows.table.take(rows, names or self.domain.names[:1])
        found = Vectors(len(at), held[person], read.cell_codes(names, 0, len(rows), groups), read.weights)
        return self.rows.weigh(found, names, groups)

    @property
    def adding_up(self) -> PlacedPeople:
        """See `PeopleRows.adding_up`."""
        return replace(self, rows=self.rows.adding_up)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Sums of weights, shape (n_r,); see `Table.marginal`."""
        return _sums(self, clique, groups)

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """Several marginals; see `Table.marginals`."""
        return count_one_by_one(self, cliques, groups)


def _sums(rows: PeopleRows | PlacedPeople, clique: Iterable[str], groups: Groups) -> NDArray[np.int64]:
    """The sums of the vectors of all people, shape (n_r,)."""
    names = tuple(clique)
    counts = np.zeros(math.prod(grouped_shape(rows.domain.shape(names), groups)), dtype=np.int64)
    for start in range(0, rows.record_count, rows.people_at_once):
        found = rows.vectors(names, start, start + rows.people_at_once, groups)
        counts += count_cells(found.cells, len(counts), found.weights)
    return counts


def adding_up(rows: Rows) -> Rows:
    """Rows as they are, but of people by weights that add up; see `PeopleRows.adding_up`."""
    return rows.adding_up if isinstance(rows, PeopleRows | PlacedPeople) else rows


def _no_single_cell() -> DataError:
    return DataError(
        "expected one row of each person, got people with all rows; plan a protocol that counts them"
    )


def vectors_of(
    rows: Rows, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
) -> NDArray[np.int64] | Vectors:
    """The rows start to stop - 1 of a matrix of the cells: codes of one-hot rows, or vectors of people."""
    if isinstance(rows, PeopleRows | PlacedPeople):
        return rows.vectors(clique, start, stop, groups)
    return rows.cell_codes(clique, start, stop, groups)


def vectors_at_once(rows: Rows, most: int) -> int:
    """How many rows of a matrix are computed at once.

    Args:
        rows: of whom they are.
        most: at most so many.
    """
    return min(most, rows.people_at_once) if isinstance(rows, PeopleRows | PlacedPeople) else most


def rows_digest(rows: Rows, clique: Clique, within: range, groups: Groups = ()) -> str:
    """SHA-256 (hex) of these rows of a matrix: what a mask of each row hides."""
    if not isinstance(rows, PeopleRows | PlacedPeople):
        return codes_digest(rows, clique, within, groups)
    digest = hashlib.sha256()
    for start in within[:: rows.people_at_once]:
        held = rows.vectors(clique, start, min(start + rows.people_at_once, within.stop), groups)
        weights = held.cells[:0] if held.weights is None else held.weights
        for part in (held.rows + (start - within.start), held.cells, weights):
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
