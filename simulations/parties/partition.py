"""Partitions a table across K x S parties."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.bounded import json_of, read_bytes
from ...common.data.domain import Clique, Domain
from ...common.data.gaps import check_together
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.errors import DataError


@dataclass(frozen=True)
class SliceLayout:
    """One horizontal slice.

    Attributes:
        rows: number of rows, consecutive in the table.
        groups: attributes of each party.
    """

    rows: int
    groups: tuple[Clique, ...]


@dataclass(frozen=True)
class Grid:
    """A partition of a table; slices may differ in their parties and groups of attributes.

    Attributes:
        slices: slices in the order of the table's rows.
        shuffle_seed: seed to shuffle the rows first; None keeps their order.
    """

    slices: tuple[SliceLayout, ...]
    shuffle_seed: int | None = None

    @classmethod
    def even(cls, domain: Domain, records: int, horizontal: int, vertical: int) -> Grid:
        """K slices of consecutive rows, each over S parties with consecutive attributes, as even as possible.

        Raises:
            DataError: there are more slices than records, or more parties than attributes.
        """
        if not 1 <= vertical <= len(domain):
            raise DataError(
                f"grid: expected 1 to {len(domain)} parties in a slice, at least one attribute each, "
                f"got {vertical}"
            )
        groups = tuple(tuple(part) for part in np.array_split(np.array(domain.names, dtype=object), vertical))
        return cls._of(domain, records, horizontal, groups)

    @classmethod
    def by_attributes(
        cls, domain: Domain, records: int, horizontal: int, groups: Sequence[Sequence[str]]
    ) -> Grid:
        """K slices of consecutive rows, each with one party per given group of attributes."""
        return cls._of(domain, records, horizontal, tuple(domain.canonical(group) for group in groups))

    @classmethod
    def random(cls, domain: Domain, records: int, horizontal: int, vertical: int, seed: int) -> Grid:
        """K slices of random rows; in each slice, attributes are assigned to S parties at random."""
        rng = np.random.default_rng(seed)
        even = cls.even(domain, records, horizontal, vertical)
        slices = []
        for layout in even.slices:
            dealt = np.array_split(rng.permutation(np.array(domain.names, dtype=object)), vertical)
            slices.append(SliceLayout(layout.rows, tuple(domain.canonical(part) for part in dealt)))
        return cls(tuple(slices), shuffle_seed=seed)

    @classmethod
    def parse(cls, text: str, domain: Domain, records: int) -> Grid:
        """Parses a grid: `2x3`, or a JSON file of [{"rows": n, "groups": [[names], ...]}, ...].

        Raises:
            DataError: the text is neither form, or the grid does not fit the table, or divides columns of
                which one comes after the other.
        """
        cut = cls._parse(text, domain, records)
        for number, layout in enumerate(cut.slices, start=1):
            for group in layout.groups:
                check_together(domain, group, f"its party of slice {number}")
        return cut

    @classmethod
    def _parse(cls, text: str, domain: Domain, records: int) -> Grid:
        if match := re.fullmatch(r"(\d+)\s*[xX]\s*(\d+)", text.strip()):
            return cls.even(domain, records, int(match[1]), int(match[2]))
        try:
            layouts = json_of(read_bytes(text))
            slices = tuple(
                SliceLayout(
                    operator.index(layout["rows"]),
                    tuple(domain.canonical(_names(group)) for group in layout["groups"]),
                )
                for layout in layouts
            )
        except (OSError, TypeError, KeyError, ValueError):
            raise DataError(
                f"grid {text!r}: expected KxS such as 2x2, or a JSON file of "
                '[{"rows": 100, "groups": [["a"], ["b", "c"]]}, ...]'
            ) from None
        return cls(slices)

    def order(self, records: int) -> NDArray[np.intp]:
        """The rows of a table in the order in which slices take them."""
        if self.shuffle_seed is None:
            return np.arange(records)
        return np.random.default_rng(self.shuffle_seed).permutation(records)

    @classmethod
    def _of(cls, domain: Domain, records: int, horizontal: int, groups: tuple[Clique, ...]) -> Grid:
        if horizontal < 1 or not groups:
            raise DataError(
                f"grid: expected at least 1 x 1 parties, got {horizontal} x {len(groups)}; use more"
            )
        if horizontal > records:
            raise DataError(
                f"grid: expected at most one slice per record, got {horizontal} slices; use fewer"
            )
        sizes = [len(part) for part in np.array_split(np.empty(records), horizontal)]
        return cls(tuple(SliceLayout(size, groups) for size in sizes))


def _names(group: object) -> list[str]:
    if not isinstance(group, list):
        raise TypeError("a group is a list of attribute names")
    return group


Rows = TypeVar("Rows", Table, PeopleRows, Table | PeopleRows)


def partition(table: Rows, grid: Grid) -> list[list[Rows]]:
    """The table of each party, slice by slice; of people with all rows, slices are of people.

    Raises:
        DataError: the slices do not add up to the table, or a slice is empty or does not cover the domain
            with disjoint non-empty groups of attributes.
    """
    if sum(layout.rows for layout in grid.slices) != table.record_count:
        raise DataError(
            "grid: expected slices whose rows add up to the rows of the table, but they do not add up; fix "
            "them"
        )
    for number, layout in enumerate(grid.slices, start=1):
        held = [name for group in layout.groups for name in group]
        if layout.rows < 1 or not all(layout.groups):
            raise DataError(
                f"grid: slice {number} or one of its parties is empty; use fewer slices or parties"
            )
        if sorted(held) != sorted(table.domain.names):
            raise DataError(
                f"grid: the groups of slice {number} do not cover every attribute exactly once; fix them"
            )
    if grid.shuffle_seed is not None:
        table = table.take(grid.order(table.record_count))
    pieces: list[list[Rows]] = []
    start = 0
    for layout in grid.slices:
        rows = table.rows(start, start + layout.rows)
        pieces.append([rows.project(group) for group in layout.groups])
        start += layout.rows
    return pieces
