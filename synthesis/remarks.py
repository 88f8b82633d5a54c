"""What a user should know of a release whose columns were learned: post-processing."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..common.data.attributes.categorical import CategoricalAttribute
from ..common.data.attributes.numeric import NumericAttribute
from ..common.data.attributes.unmodelled import Dropped
from ..common.data.table import Table
from ..curator.report.unseen import beyond_bounds
from .learning.first_step import Begun

_MANY_BEYOND = 0.05
"""Records beyond bounds are worth a remark if they may be this share of the rows; the report names all."""

_REMARKED_COLUMNS = 8
"""At most so many columns are named in a remark."""


def remarks(synthetic: Table, begun: Begun) -> Iterator[str]:
    """The columns that a release has lost, what it may not have seen, and what would keep them.

    Args:
        synthetic: the synthetic table.
        begun: what the first step found.
    """
    domain, lost, others = synthetic.domain, begun.lost, begun.others
    if lost:
        yield (
            f"left out, since too few rows agreed on what they hold: {_name_some(lost)}; describe them in a "
            'domain, such as {"NAME": {"type": "numeric", "min": 0, "max": 100, "bins": "auto"}}'
        )
    if others:
        yield (
            "texts among numbers or dates, or dates in other formats, count as missing values in "
            f"{_name_some(others)}; a category for such a text needs a domain that lists it"
        )
    free = [one.name for one in domain.unmodelled if isinstance(one, Dropped) and one.name not in lost]
    if free:
        yield (
            "left out as free text, or as several numbers in one cell, of which no release keeps anything: "
            f"{_name_some(free)}; give each number a column of its own"
        )
    new = [one.name for one in domain.identifiers]
    if new:
        yield f"new values were drawn for what seems to name the rows: {_name_some(new)}"
    many = [
        one for one in begun.order.unseen if one.below + one.above >= _MANY_BEYOND * synthetic.record_count
    ]
    yield from beyond_bounds(synthetic.domain, many)
    coded = [one.name for one in domain.attributes if isinstance(one, CategoricalAttribute) and one.prefixes]
    if coded:
        yield (
            "codes that too few rows share may be cut to their first characters, which most rows of theirs "
            f"have in common, in {_name_some(coded)}; list public codes in a domain to keep them whole"
        )
    flagged = [
        one.name for one in domain.attributes if isinstance(one, NumericAttribute) and one.format.has_flags
    ]
    if flagged:
        yield (
            f"flags behind numbers, such as * or H, are left out in {_name_some(flagged)}; give them a "
            "column of their own to keep them"
        )
    near = [one.name for one in domain.attributes if isinstance(one, CategoricalAttribute) and one.nearest]
    if near:
        yield (
            "several numbers in one cell count as the nearest that many rows share, some of them rounded, in "
            f"{_name_some(near)}; give each number a column of its own to keep them"
        )
    if begun.merged:
        yield (
            f'more than half of the rows are "other" in {_name_some(begun.merged)}, since too few rows share '
            "their texts, or these are long or of several lines; list public texts in a domain, such as "
            '{"NAME": ["first", "second", "other"]}'
        )


def _name_some(names: Collection[str]) -> str:
    shown = ", ".join(map(repr, list(names)[:_REMARKED_COLUMNS]))
    more = len(names) - _REMARKED_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown
