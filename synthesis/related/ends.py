"""Columns that come after the order of rows, such as the end of a stay: released as how far after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import DateAttribute, GapAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.binning.scale import Scale
from ...common.data.domain import Domain
from ...common.data.gaps import gaps_after
from ...common.data.related.steps import Steps
from ...common.data.rules.follows import Follows, following_from
from ...common.data.rules.impossible import Impossible, NullWhen
from ...common.data.rules.order import AtMost
from ...common.data.rules.rule import Rule
from ...common.errors import DataError
from ...curator.results.raw_frames import cells_of
from .tables import Raw


def with_ends(
    raw: Raw, domain: Domain
) -> tuple[Domain, tuple[NumericAttribute, ...], tuple[Follows, ...], pd.DataFrame]:
    """A domain in which columns that a rule puts after the order say how far.

    Args:
        raw: the table; a column says the order of its rows.
        domain: its columns, perhaps with rules `at_most` that begin with the order.

    Returns:
        The domain, what such columns of numbers are without it, the rules of columns that follow from the
        order or from such a column, which the domain has not, and the rows for it.

    Raises:
        DataError: another rule is about the order or about values of such a column.
    """
    order = str(raw.order)
    after = {
        rule.columns[1] for rule in domain.rules if isinstance(rule, AtMost) and rule.columns[0] == order
    }
    after |= {order, *(one.name for one in gaps_after(order, domain))}
    follows = following_from(after, domain)
    rest = [rule for rule in domain.rules if rule not in follows]
    about = [rule for rule in rest if order in rule.columns]
    others = tuple(rule for rule in rest if order not in rule.columns)
    for rule in about:
        if not isinstance(rule, AtMost) or rule.names[0] != order or len(rule.names) != 2:
            raise DataError(
                f'{raw.name}: expected rules about the order as "at_most": [{order!r}, another column], '
                "or of columns that follow from it, got another; take it out"
            )
    rows, ends = raw.rows, []
    attributes = {one.name: one for one in domain.attributes}
    for name in (rule.columns[1] for rule in about):
        held = domain[name]
        if not all(_asks_only_whether_missing(name, rule) for rule in others if name in rule.columns):
            raise DataError(
                f"{raw.name}: expected no rule about {name!r}, which comes after the order, but the order's "
                "and those on whether it is missing, got another; take it out"
            )
        if isinstance(held, DateAttribute) and isinstance(domain[order], DateAttribute):
            units = _far(held, replace(held.units, name=name))
            attributes[name] = GapAttribute(name, units, held.moments, reviewed=held.reviewed, other=order)
        elif isinstance(held, NumericAttribute) and isinstance(domain[order], NumericAttribute):
            start, end = (domain[one].within(cells_of(domain, rows, one)) for one in (order, name))
            assert start is not None
            assert end is not None
            rows = rows.assign(**{name: np.maximum(end - start, 0)})
            attributes[name] = _far(held, held)
            ends.append(held)
        else:
            raise DataError(
                f"{raw.name}: expected numbers or dates after the order {order!r} alike, got another kind in "
                f"{name!r}; leave out the rule"
            )
    known = Domain(tuple(attributes.values()), domain.unmodelled, others)
    return known, tuple(ends), follows, rows


def ends_of(order: str, numbers: tuple[NumericAttribute, ...], domain: Domain) -> tuple[Attribute, ...]:
    """The columns that come after the order, each after those that it counts from.

    Args:
        order: the column of the order.
        numbers: those of numbers.
        domain: the columns of the table, as `with_ends` gives it.
    """
    return (*numbers, *gaps_after(order, domain))


def _asks_only_whether_missing(name: str, rule: Rule) -> bool:
    """Whether a rule says nothing of the values of a column."""
    return isinstance(rule, Impossible | NullWhen) and all(
        condition.listed == (None,) for condition in rule.conditions if condition.column == name
    )


def _far(held: Attribute, units: NumericAttribute) -> NumericAttribute:
    """The bins of how far a column comes after another."""
    steps = Steps(held)
    edges = (steps.gaps * steps.unit).tolist()
    return replace(
        units,
        minimum=edges[0],
        maximum=edges[-1],
        bins=len(edges) - 1,
        edges=tuple(edges),
        atoms=(),
        scale=Scale.LINEAR,
        outside="clip",
    )
