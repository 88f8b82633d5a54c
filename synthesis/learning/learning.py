"""Learns what the columns of a raw table hold: post-processing of few noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...common.data.attributes.unmodelled import Dropped, Identifier, Unmodelled
from ...common.data.domain import Domain
from .asking import Asking, Rows
from .cells import Cells
from .columns import Column, categories
from .kinds import Numbers, Texts, Times, Words, kind_voted
from .of_numbers import learned_numbers
from .of_texts import different_texts, is_many, learned_labels, learned_texts, learned_words
from .of_times import learned_times
from .private_counts import PrivateCounts

_VOTES = 0.15
"""Share of the budget for the votes of all columns; the rest is shared by the columns."""

_OTHERS_REMARKED = 0.01
"""Cells of another kind than their column are worth a remark if they are this share of the rows."""


_MOSTLY = 0.5
"""Texts that are not listed are worth a remark if they are in more than this share of the rows."""


@dataclass(frozen=True)
class Learned:
    """What was learned of a raw table.

    Attributes:
        columns: name -> column that is released, in order; bins of numbers are open.
        unmodelled: identifiers, and columns that are left out.
        lost: columns that are left out since too few records were seen anywhere.
        others: columns in many of whose cells stands something of another kind, which counts as missing.
        merged: columns of which most rows have a text that is not listed.
    """

    columns: Mapping[str, Column]
    unmodelled: tuple[Unmodelled, ...]
    lost: tuple[str, ...]
    others: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()

    @property
    def reading(self) -> Domain:
        """The domain as which the table is read."""
        return Domain(tuple(column.reading for column in self.columns.values()), self.unmodelled)


def learn(cells: Cells, counts: PrivateCounts, rows: Rows, zcdp_rho: float, delta: float) -> Learned:
    """Learns all columns of a raw table.

    Args:
        cells: the table.
        counts: what counts its rows.
        rows: their number.
        zcdp_rho: what may be spent, with the choice of bins.
        delta: probability with which texts of single rows may be found, for all columns together.
    """
    names, records = cells.names, rows.records
    asked = {name: partial(cells.forms, name) for name in names if name not in cells.listed}
    voting = _VOTES * zcdp_rho / len(names)
    whole = zcdp_rho / len(names)
    described = learned_labels(cells, counts, rows, whole)
    forms = counts.histograms("forms", asked, voting)
    votes = {name: kind_voted(vote, records) for name, vote in forms.items()}
    kinds = {name: vote.kind for name, vote in votes.items()}
    costly = [name for name, kind in kinds.items() if not isinstance(kind, Words)]
    left = (1 - _VOTES) * (zcdp_rho - whole * len(described))
    asking = Asking(cells, counts, rows, left / max(1, len(costly)))
    texts = {name: kind for name, kind in kinds.items() if isinstance(kind, Texts)}
    different = different_texts(asking, texts)
    many = {name: vote.instead for name, vote in votes.items() if name in texts and is_many(different[name])}
    votes |= {name: vote for name, vote in many.items() if vote is not None}
    kinds = {name: vote.kind for name, vote in votes.items()}
    texts = {name: kind for name, kind in texts.items() if many.get(name) is None}
    numbers = {name: kind for name, kind in kinds.items() if isinstance(kind, Numbers)}
    times = {name: kind for name, kind in kinds.items() if isinstance(kind, Times)}
    found: dict[str, Column | Unmodelled | None] = {**described}
    for name, kind in kinds.items():
        if isinstance(kind, Words):
            found[name] = learned_words(votes[name], forms[name], name, rows, voting)
    each = delta / max(1, len(texts) + len(numbers))
    found |= learned_numbers(asking, numbers, votes, each)
    found |= learned_times(asking, times, votes)
    found |= learned_texts(asking, texts, votes, forms, different, each)
    lost = tuple(name for name in names if found[name] is None)
    others = tuple(name for name in votes if votes[name].others > _OTHERS_REMARKED * records)
    if not any(isinstance(one, Column) for one in found.values()):
        # What was spent ends in a release, though one of nothing but the number of rows.
        nothing = np.zeros(0)
        return Learned({name: categories(name, (), nothing, False, True) for name in names}, (), names)
    return Learned(
        {name: one for name in names if isinstance(one := found[name], Column)},
        (
            *(one for name in names if isinstance(one := found[name], (Identifier, Dropped))),
            *map(Dropped, lost),
        ),
        lost,
        others,
        tuple(
            name for name, one in found.items() if isinstance(one, Column) and one.merged > _MOSTLY * records
        ),
    )
