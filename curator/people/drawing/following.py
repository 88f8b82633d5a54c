"""Columns of related tables that are computed from the same row, those above it and those below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ....common.data.domain import Domain
from ....common.data.related.rows import Rows
from ...results.columns.formulas import (
    TRIED_ROWS,
    Formula,
    Names,
    Place,
    Surroundings,
    in_order_of_need,
)
from ...results.columns.typed import typed_column, values_of_codes
from ..rows import lineage
from ..shape import Family

_Cells = Mapping[str, Mapping[str, Any]]
"""Columns of tables, by table and name."""


def check_following(family: Family, domains: Mapping[str, Domain]) -> None:
    """Refuses columns that cannot be computed, before anything is spent.

    Args:
        family: the tables, as they are released.
        domains: of those that are described.

    Raises:
        DataError: an expression is none, names what there is not, or has values of another kind.
    """
    formulas = _formulas(family, domains)
    rows = np.arange(TRIED_ROWS)
    tried = {name: _values_to_try(family, name, domain) for name, domain in domains.items() if formulas}
    for one in family.tables[1:]:
        # A parent that is not released itself is so with its rows.
        if one.name in tried and not family[one.parent].columns:
            tried[one.name] = {**tried.get(one.parent, {}), **tried[one.name]}
        if one.name in tried:
            repeated = ((column, tried.get(above, {}).get(of)) for column, (above, of) in one.repeats.items())
            tried[one.name] |= {column: cells for column, cells in repeated if cells is not None}
    for table, column in in_order_of_need(formulas):
        formula = formulas[table, column]
        if all(name in tried.get(of or table, {}) for of, name in formula.needs if name):
            named = {of or table for of, _ in formula.needs}
            places = {of: Place(tried.get(of, {}), rows) for of in named}
            formula.values(Surroundings(places.get(table, Place({}, rows)), places, places))


def with_followers(family: Family, rows: Mapping[str, Rows], found: _Cells) -> dict[str, dict[str, Any]]:
    """The columns of tables with those that are computed; missing where the release lacks what they need.

    Args:
        family: the tables.
        rows: of each.
        found: their columns.
    """
    made = {name: dict(cells) for name, cells in found.items()}
    domains = {table.name: table.domain for table in family.tables if table.domain is not None}
    formulas = _formulas(family, domains)
    for table, column in in_order_of_need(formulas):
        formula = formulas[table, column]
        if all(name in made[of or table] for of, name in formula.needs if name):
            at = rows[table].parent
            above = {one: Place(made[one], lineage(family, table, one, rows)) for one in formula.names.above}
            below = {one: Place(made[one], lineage(family, one, table, rows)) for one in formula.names.below}
            values = formula.values(Surroundings(Place(made[table], at), above, below))
            # In its table, an end is how far it comes after another column.
            written = Domain((formula.column.attribute,))
            made[table][column] = typed_column(written, column, values)
        elif not formula.column.measured:
            made[table][column] = pd.Series([None] * len(rows[table]), dtype=object)
    return made


def _formulas(family: Family, domains: Mapping[str, Domain]) -> dict[tuple[str, str], Formula]:
    """The expressions of all columns that are computed, by table and column."""
    found = dict[tuple[str, str], Formula]()
    for name, domain in domains.items():
        if domain.followers and family[name].columns:
            above = {one.name: one.columns for one in family.above(name) if one.columns}
            below = {one.name: one.columns for one in family.tables if family[name] in family.above(one.name)}
            names = Names(family[name].columns, above, below)
            # The model may hold how far a column comes after another one: it is as its table shows it.
            shown = {one.name: one for one in family.shown_attributes(name)}
            for one in domain.followers:
                written = replace(one, attribute=shown.get(one.name, one.attribute))
                found[name, one.name] = Formula(f"{name}.{one.name}", written, names)
    return found


def _values_to_try(family: Family, name: str, domain: Domain) -> dict[str, pd.Series]:
    """Typed values of the columns of a table, to try expressions with."""
    keys = {column: pd.Series(one.draw(TRIED_ROWS)) for column, one in family.key_columns(name).items()}
    values = values_of_codes(domain, TRIED_ROWS)
    return keys | {column: typed_column(domain, column, cells) for column, cells in values.items()}
