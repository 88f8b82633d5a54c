"""Parties of a slice that hold columns of overlapping people, and the table that linkage makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import TextColumn
from ...common.data.domain import Domain
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.protocols.aligned import Population
from ...party.counting.identifiers import names_of_people
from ...party.sources.source import Source
from .partition import Grid, Rows, partition

ROW_NUMBER = "row_number"
"""Name of the column of identifiers if the table has none."""


@dataclass(frozen=True, eq=False)
class Held:
    """The people of a slice that one party holds, in the order of its rows.

    Attributes:
        rows: rows of the slice, shape (n,); no row twice.
        identifiers: identifier of each row as the party writes it.
    """

    rows: NDArray[np.intp]
    identifiers: tuple[str, ...]

    def with_all_rows(self, person: NDArray[np.intp]) -> Held:
        """All rows of these people, person by person.

        Args:
            person: number of the person of each row of a table, shape (N,); `rows` are then such numbers.
        """
        order = np.argsort(person, kind="stable")
        first, last = (np.searchsorted(person[order], self.rows, side=side) for side in ("left", "right"))
        counts = last - first
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        rows = order[np.repeat(first - before, counts) + np.arange(counts.sum())]
        return Held(rows, tuple(np.repeat(np.array(self.identifiers, dtype=object), counts)))


@dataclass(frozen=True)
class Overlap:
    """How the parties of a slice share its people.

    Attributes:
        everywhere: share of the people of a slice who are at all of its parties, in 0..1. Each other person
            is at a non-empty set of them, but not at all, every such set with the same probability.
        shuffle: whether each party has its rows in a random order of its own.
        typos: share of the identifiers of each party that it writes wrongly, in 0..1; they match nobody's.
    """

    everywhere: float = 1.0
    shuffle: bool = False
    typos: float = 0.0

    def __post_init__(self) -> None:
        for name, share in (("overlap", self.everywhere), ("typos", self.typos)):
            if not 0 <= share <= 1:
                raise DataError(f"{name}: expected a share from 0 to 1, got {share:g}; fix it")

    @classmethod
    def of(cls, key: object, share: float | None, shuffle: bool, typos: float | None) -> Overlap | None:
        """The overlap that options ask for; None if they leave the rows of a slice in one order."""
        if key is None and share is None and typos is None and not shuffle:
            return None
        return cls(1.0 if share is None else share, shuffle, typos or 0.0)

    def hold(self, identifiers: Sequence[str], parties: int, rng: np.random.Generator) -> tuple[Held, ...]:
        """What each party of a slice holds of its people.

        Args:
            identifiers: identifier of each person of the slice.
            parties: number of parties of the slice.
            rng: draws who is where, orders and typos.

        Raises:
            DataError: a party holds nobody.
        """
        people, everyone = len(identifiers), (1 << parties) - 1
        patterns = np.full(people, everyone)
        if everyone > 1:
            partial = rng.permutation(people)[round(self.everywhere * people) :]
            patterns[partial] = rng.integers(1, everyone, len(partial))
        held = [np.flatnonzero(patterns >> party & 1) for party in range(parties)]
        if not all(map(len, held)):
            raise DataError(
                "overlap: expected somebody at every party, got a party without; raise the overlap"
            )
        return tuple(
            self._write_identifiers(rows, identifiers, party, rng) for party, rows in enumerate(held)
        )

    def _write_identifiers(
        self, rows: NDArray[np.intp], identifiers: Sequence[str], party: int, rng: np.random.Generator
    ) -> Held:
        if self.shuffle:
            rows = rng.permutation(rows)
        written = [identifiers[row] for row in rows]
        for place in rng.permutation(len(rows))[: round(self.typos * len(rows))]:
            # Other parties write other ends; what is missing matches nobody anyway.
            if written[place]:
                written[place] += f" (typo {party + 1})"
        return Held(rows, tuple(written))


@dataclass(frozen=True, eq=False)
class Linkage:
    """What the parties of a simulation have that align their rows.

    Attributes:
        identifiers: identifier of the person of each row of the table, or of each person with all rows.
        overlap: which people of a slice each party holds.
    """

    identifiers: Sequence[str]
    overlap: Overlap

    def scatter(
        self, table: Rows, grid: Grid, rng: np.random.Generator
    ) -> tuple[list[list[Rows]], list[list[tuple[str, ...]]]]:
        """The table and the identifiers of each party, slice by slice; of people with all rows, one of each.

        Raises:
            DataError: the identifiers or the grid do not fit the table.
        """
        if len(self.identifiers) != table.record_count:
            raise DataError("expected one identifier for each row of the table, got more or fewer; fix them")
        tables: list[list[Rows]] = []
        written: list[list[tuple[str, ...]]] = []
        start = 0
        texts = [self.identifiers[row] for row in grid.order(table.record_count)]
        for row in partition(table, grid):
            stop = start + row[0].record_count
            people = self.overlap.hold(texts[start:stop], len(row), rng)
            tables.append([piece.take(held.rows) for piece, held in zip(row, people, strict=True)])
            written.append([held.identifiers for held in people])
            start = stop
        return tables, written


def everywhere(rows: PeopleRows, people: Linkage, identifiers: Sequence[Sequence[Sequence[str]]]) -> Table:
    """All rows of the people whom all parties of a slice know by one identifier.

    Args:
        rows: of all people.
        people: their identifiers.
        identifiers: for each slice and party, those that it holds.
    """
    known = {text for row in identifiers for text in set.intersection(*map(set, row))}
    held = [place for place, text in enumerate(people.identifiers) if text in known]
    return rows.take(np.array(held, dtype=np.intp)).table


def link_tables(
    domain: Domain, tables: Sequence[Table], identifiers: Sequence[Sequence[str]], population: Population
) -> Table:
    """The join of the tables of a slice by identifiers: what a central place would release.

    Args:
        domain: attributes of all tables; with the population "anywhere", each with the value `absent` as its
            last code.
        tables: the parties' tables, whose attributes make up the domain.
        identifiers: for each party, the identifier of each row; of equal ones the first counts, and an empty
            one matches nobody.
        population: whose records the join has.

    Returns:
        The records in the order in which the parties hold them.
    """
    named = [
        [text or (party, row) for row, text in enumerate(texts)] for party, texts in enumerate(identifiers)
    ]
    places = [{person: row for row, person in reversed(list(enumerate(people)))} for people in named]
    everybody = list(dict.fromkeys(person for people in named for person in people))
    if population is Population.EVERYWHERE:
        everybody = [person for person in everybody if all(person in rows for rows in places)]
    columns = {}
    cells: dict[str, TextColumn] = {}
    for table, rows in zip(tables, places, strict=True):
        found = np.array([rows.get(person, -1) for person in everybody], dtype=np.intp)
        for name in table.domain:
            columns[name] = np.where(found < 0, domain[name].size - 1, table.column(name)[found])
        cells |= {name: column.take(found) for name, column in table.texts.items()}
    return replace(Table.from_codes(domain, columns), texts=cells)


def read_people(source: Source, domain: Domain, key: str | None) -> tuple[Table, list[str]]:
    """A table, and the identifier of each row: its key, or its number.

    Args:
        source: the whole table.
        domain: attributes of the table.
        key: column that identifies people; None numbers the rows.

    Raises:
        DataError: the column is an attribute, or see `Source.read_with_texts`.
    """
    if key is None:
        table = source.read(domain)
        return table, row_numbers(table.record_count)
    if key in domain.names:
        raise DataError(
            f"key: expected a column that is no attribute, got {key!r}, which would be released; take it out "
            "of the domain"
        )
    table, texts = source.read_with_texts(domain, (key,))
    return table, names_of_people(texts[key])


def row_numbers(records: int) -> list[str]:
    """Identifiers of so many rows or people who have none."""
    return [str(number) for number in range(records)]
