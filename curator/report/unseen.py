"""What a first step may not have seen of the columns that it learned, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import DateAttribute, bins_of
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.values import text_of
from ..certificates.unseen import Unseen

_UNSEEN_NAMED = 8
"""At most so many columns are named in one sentence."""


def beyond_bounds(domain: Domain, unseen: Sequence[Unseen]) -> Iterator[str]:
    """One sentence on the records beyond learned bounds; none if there are no such bounds."""
    found = []
    for one in unseen:
        if round(one.below + one.above) and bins_of(domain[one.name]) is not None:
            found.append(
                f"{one.name!r} up to {one.below + one.above:,.0f} beyond {_bounds(domain, one.name)}"
            )
    if found:
        more = f" and {len(found) - _UNSEEN_NAMED} more columns" if len(found) > _UNSEEN_NAMED else ""
        yield (
            "records may lie beyond the bounds that were found, and count at them: "
            f"{'; '.join(found[:_UNSEEN_NAMED])}{more}"
        )


def notes_on_unseen(synthetic: Table, unseen: Sequence[Unseen]) -> Iterator[str]:
    """What a reader should know of columns that a first step learned, as sentences."""
    if not unseen:
        return
    for sentence in beyond_bounds(synthetic.domain, unseen):
        yield sentence[0].upper() + sentence[1:]
    for one in synthetic.domain.attributes:
        if isinstance(one, CategoricalAttribute) and one.other is not None:
            share = float(np.mean(synthetic.column(one.name) == one.categories.index(one.other)))
            yield f"{share:.1%} of the rows are {text_of(one.other)!r} in {one.name!r}: too few share texts"


def _bounds(domain: Domain, name: str) -> str:
    bins, attribute = bins_of(domain[name]), domain[name]
    assert bins is not None
    least, most = bins.ends
    if isinstance(attribute, DateAttribute):
        return f"{attribute.moments.bound_text(int(least))} to {attribute.moments.bound_text(int(most))}"
    return f"{least:,.6g} to {most:,.6g}"
