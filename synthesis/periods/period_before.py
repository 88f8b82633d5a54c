"""What the published rows of the period before lead to expect of the records of a new one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.related.rows import Rows
from ...common.data.table import Table
from ...curator.people.rows import drawn_records
from ...curator.people.shape import Family, number_name, numbers_on
from ...curator.results.columns.typed import typed_column
from ...curator.results.raw_frames import encode_frame
from ..related.frames import ROWS
from ..related.keyed import PEOPLE
from ..related.tables import Raw
from .period import Before, Period, rows_after


@dataclass(frozen=True, eq=False)
class PeriodBefore:
    """The published people and rows of the period before, moved in time into the new one.

    Attributes:
        tables: people up to the end of that period, and their rows in it.
    """

    tables: tuple[Raw, ...]

    @classmethod
    def of(
        cls, published: Sequence[Raw], last: Period, new: Period, domain: Domain, before: Before
    ) -> PeriodBefore:
        """Takes the rows of the period before, and what was known of people then.

        Both periods have one value, or both have several.

        Args:
            published: synthetic people and all their rows.
            last: the period before.
            new: the new period.
            domain: of the columns of rows but the order.
            before: what is known of people before a period.
        """
        people, rows = rows_after(published, last, domain, before)
        if rows.order:
            rows = replace(rows, rows=rows.rows.assign(**{rows.order: _move(rows, last, new)}))
        return cls((people, rows))

    def model(self, family: Family, name: str) -> CountedModel:
        """The records of a table, as a release of the new period has them.

        Args:
            family: the tables of the new period.
            name: one of them.
        """
        return CountedModel(drawn_records(family, name, _encode(family, self.tables)))


@dataclass(frozen=True, eq=False)
class CountedModel:
    """Records in place of a released model of them.

    Attributes:
        records: with their weights.
    """

    records: Table

    def marginals_within_limits(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        """Marginals with one more record, spread over all cells, so that nothing is impossible."""
        table = self.records
        one = table.total / max(table.record_count, 1) or 1.0
        return [
            table.marginal(clique).astype(np.float64) + one / math.prod(table.domain.shape(clique))
            for clique in cliques
        ]


def _move(rows: Raw, last: Period, new: Period) -> pd.Series:
    """The values of the order, as far from the beginning of the new period as from that of theirs."""
    values = np.clip(last.of(rows.rows[rows.order]) + new.start - last.start, new.low, new.end)
    when = new.steps.when
    moved = when.of_numbers(values, np.zeros(len(values), dtype=np.bool_))  # type: ignore[attr-defined]
    return typed_column(Domain((when,)), when.name, moved)


def _encode(family: Family, tables: Sequence[Raw]) -> dict[str, Rows]:
    """The codes of people and of their rows, in the domains of a family."""
    (people, rows), kin = tables, family[ROWS]
    held = Rows({}, rows.parent, len(people.rows))
    theirs = {} if kin.domain is None else _codes_in(kin.domain, rows.rows)
    known: dict[str, NDArray[np.int64]] = {}
    if kin.steps is not None:
        values = numbers_on(kin.steps, rows.rows[rows.order], kin.steps.units.ends[0])
        theirs |= _codes_in(Domain((kin.steps.when,)), rows.rows)
        theirs |= {kin.steps.attribute.name: kin.steps.codes(values, held.first)}
        places = kin.steps.codes_of_places(values, rows.parent, held.parents)
        known = {one.name: codes for one, codes in zip(kin.places, places, strict=True)}
    assert family.root.domain is not None
    given = Domain(tuple(one for one in family.root.domain.attributes if one.name not in known))
    numbers = pd.Series(held.numbers, name=number_name(ROWS))
    known |= _codes_in(given, pd.concat([people.rows, numbers], axis=1))
    return {PEOPLE: Rows(known, np.arange(held.parents), held.parents), ROWS: replace(held, codes=theirs)}


def _codes_in(domain: Domain, rows: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
    coded = encode_frame(domain, rows)
    return {name: coded.column(name).astype(np.int64) for name in domain}
