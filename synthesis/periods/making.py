"""The release of a period in the making: people who were published stay, and lead to expect what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.table import Table
from ...curator.analysis.conditions import Condition
from ...curator.analysis.drawing import Drawing
from ...curator.people.drawing.children import Model
from ...curator.people.drawn import draw_table, numbers_of
from ...curator.people.kin import Kin
from ...curator.people.rows import drawn_records
from ...curator.people.shape import Family, number_name
from ..related.asked import Asked
from ..related.frames import ROWS
from ..related.keyed import PEOPLE
from ..related.making import Making
from ..related.tables import Raw
from .period import NEW
from .period_before import PeriodBefore


@dataclass(frozen=True, eq=False)
class Known:
    """What was published before a period.

    Attributes:
        codes: of the synthetic people, by what was published of each of them, shape (people,).
        column: the one that says how long ago their last row is; its first code is of new people.
        last: the period before; None if no period is before that one, of which people could be known.
    """

    codes: Mapping[str, NDArray[np.int64]]
    column: str
    last: PeriodBefore | None


class PeriodMaking(Making):
    """The release of a period in the making.

    Before the records of people are measured, and again before those of rows, the synthetic people go through
    the new period as people went through the one before. What they do is what is expected (`mosaic.earlier`).
    All of it follows from what was published.

    Args:
        tables: people and their rows in the period.
        asked: the release.
        known: what was published before; None in a first release.
    """

    def __init__(self, tables: tuple[Raw, ...], asked: Asked, known: Known | None) -> None:
        self._known = known
        super().__init__(tables, asked)

    def _expectation(self, name: str) -> Table | None:
        known = self._known
        if known is None or known.last is None:
            return None
        model, stream = known.last.model(self._family, name), self._stream.child("expected", name)
        if name == self._family.root.name:
            new = np.flatnonzero(model.records.column(known.column) == 0)
            found = self._people_by(known, model, model.records.take(new), stream.generator())
        else:
            found = self._rows_by(model, name, stream.generator())
        return found if found.record_count else None

    def _rows_by(self, model: Model, name: str, rng: np.random.Generator) -> Table:
        """The records of rows that the people get by a model."""
        family, people = self._family, self._people()
        codes = {one: people.column(one).astype(np.int64) for one in people.domain}
        held = Rows(codes, np.arange(people.record_count), people.record_count)
        numbers = numbers_of(family, name, codes[number_name(name)], rng)
        above = {family.root.name: held}
        rows = draw_table(family, name, above, model, numbers, rng)
        counted = [one.name for one in family.counted_attributes(name)]
        when = {one: _codes_of(model, one, len(rows), rng) for one in counted}
        rows = replace(rows, codes={**rows.codes, **when})
        return drawn_records(family, name, {**above, name: rows})

    def _people(self) -> Table:
        return self._people_in_period

    @cached_property
    def _people_in_period(self) -> Table:
        """The people of before and new ones, with what the release of people says of them."""
        known, whole = self._known, super()._people()
        if known is None:
            return whole
        rng = self._stream.child("people of before").generator()
        model = self._releases[self._family.root.name].model
        return self._people_by(known, model, self._new_people(whole, known), rng)

    def _people_by(self, known: Known, model: Model, new: Table | None, rng: np.random.Generator) -> Table:
        """The people of before and new ones, with what a model says of them in the period.

        Args:
            known: what was published.
            model: of the records of people.
            new: the new ones; of their columns those are of use that people have before the period.
            rng: draws the others.
        """
        given = dict(known.codes)
        if new is not None:
            for name, codes in known.codes.items():
                given[name] = np.append(codes, new.column(name).astype(np.int64))
        root, rows = self._family.root, self._family[ROWS]
        domain = self._family.record(root.name)
        drawn = tuple(one for one in domain.attributes if one.name not in given)
        held = tuple(one for one in domain.attributes if one.name in given)
        size = len(given[known.column])
        # What a period says of a person is drawn as a row is that belongs to them, one of each.
        below = Kin(rows.name + "_", Domain(drawn), parent=PEOPLE, alone=True)
        as_rows = Family((Kin(PEOPLE, Domain(held)), below))
        people = {PEOPLE: Rows(given, np.arange(size), size)}
        found = draw_table(as_rows, below.name, people, model, np.ones(size, dtype=np.int64), rng)
        return Table.from_codes(domain, {**given, **found.codes})

    def _new_people(self, whole: Table, known: Known) -> Table | None:
        """New people by the release of people; None if it has none."""
        number = int((whole.column(known.column) == 0).sum())
        if not number:
            return None
        published = self._releases[self._family.root.name].published
        condition = Condition.of(published.domain, {known.column: NEW})
        drawing = Drawing.of(published, number, condition, self._asked.seed)
        return Table.concatenate([block.table for block in drawing.blocks()])


def _codes_of(model: Model, name: str, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Codes of a column by itself."""
    (mass,) = model.marginals_within_limits([(name,)])
    assert mass is not None
    return rng.choice(len(mass), size, p=mass / mass.sum())
