"""The columns of records as terms state them, so that parties can compute them."""

from __future__ import annotations

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import bins_of
from ...common.data.related.joint import joint_name
from ...common.data.related.pairs import checked_pairs
from ...common.data.related.steps import place_names
from ...common.errors import DataError
from ...common.protocols.related import KnownColumn, Way
from ..people.files import check_file_names
from ..people.numbers_of_rows import ROW_CLASSES
from ..people.rows import known_columns
from ..people.shape import Column, Family, names_above, number_name
from ..releasing.planning.tables import PlannedTables
from .summaries import stated_summary

_CLASSES = (0, *(1 << place for place in range(ROW_CLASSES - 1)))
"""The smallest number of rows of each class."""


def stated_columns(family: Family, name: str) -> tuple[KnownColumn, ...]:
    """The columns of a table's records."""
    return tuple(_stated(family, column) for column in known_columns(family, name))


def _stated(family: Family, column: Column) -> KnownColumn:
    table, name, groups = column.table, column.attribute.name, column.groups or ()
    steps = family[table].steps
    if steps is not None and column.source == steps.attribute.name:
        return KnownColumn(name, table, Way.STEP, "", column.before, groups)
    for child in family.children(table):
        if column.source == number_name(child.name):
            starts = _starts(family, table, column.source)
            return KnownColumn(name, table, Way.NUMBER, child.name, column.before, groups, starts)
        for way, place in zip((Way.FIRST, Way.SPAN), child.places, strict=False):
            if column.source == place.name:
                return KnownColumn(name, table, way, child.name, column.before, groups)
        for summary, said in family.summaries_in_release(child.name):
            if column.source == said.name:
                held = family.summarised_columns(child.name)[summary.column]
                numbers = _starts(family, table, number_name(child.name))
                return stated_summary(child, summary, said, held, column, numbers)
    of_series = column.before and column.source == family[table].series
    way = Way.SERIES if of_series else Way.CODE
    return KnownColumn(name, table, way, column.source, column.before, groups)


def _starts(family: Family, table: str, number: str) -> tuple[int, ...]:
    """The smallest number of rows of each code."""
    domain = family[table].domain
    assert domain is not None, "it has numbers of rows"
    bins = bins_of(domain[number])
    assert bins is not None
    return tuple(int(start) for start in bins.cells[:, 0])


def choice_columns(
    tables: PlannedTables, name: str
) -> tuple[tuple[tuple[Attribute, KnownColumn], ...], tuple[str, ...]]:
    """The columns of a part that chooses the bins of a table's open columns and of its numbers of rows.

    Every party of a slice answers for some column; one that would have none answers for one that is not asked
    for.

    Returns:
        The columns, and the names of those that are asked for; none if there is nothing to choose.
    """
    domain = tables.domains.get(name)
    found: list[tuple[Attribute, KnownColumn]] = []
    if domain is not None:
        found += [(domain[one], KnownColumn(one, name, Way.CODE, one)) for one in domain.open]
    children = [one.name for one in tables.tables if one.parent == name]
    found += [_classes(number_name(child), name, child) for child in children]
    asked = tuple(column.name for _, column in found)
    root, held = tables.tables[0], {column.holder for _, column in found}
    for party in tables.holds:
        if held.isdisjoint(tables.holds[party]):
            found.append(_filler(tables, root.name, tables.holds[party]))
            held.add(found[-1][1].holder)
    return tuple(found), asked


def _classes(column: str, table: str, child: str) -> tuple[Attribute, KnownColumn]:
    """The classes of the number of rows of a table below."""
    attribute = CategoricalAttribute(column, tuple(f"from {start}" for start in _CLASSES))
    return attribute, KnownColumn(column, table, Way.NUMBER, child, starts=_CLASSES)


def _filler(tables: PlannedTables, root: str, held: tuple[str, ...]) -> tuple[Attribute, KnownColumn]:
    """A column of people that a party with these tables knows."""
    if root in held:
        first = tables.domains[root].names[0]
        name = joint_name(root, first)
        return CategoricalAttribute(
            name, tuple(map(str, range(tables.domains[root][first].size)))
        ), KnownColumn(name, root, Way.CODE, first)
    child = next(one.name for one in tables.tables if one.name in held and one.parent == root)
    return _classes(joint_name(child, "number"), root, child)


def check_names(tables: PlannedTables, family: Family) -> None:
    """Refuses columns that the release makes itself, texts that are not listed, and names of equal files.

    Raises:
        DataError: there is one.
    """
    check_file_names([*(one.name for one in tables.tables), *tables.public])
    for table in tables.tables:
        if table.domain is None:
            continue
        made = _made(tables, family, table.name)
        if twice := [name for place, name in enumerate(made) if name in made[:place]]:
            raise DataError(
                f"{table.name}: expected names of new columns that differ, got {twice[0]!r} twice; rename a "
                "summary"
            )
        if taken := sorted({*made}.intersection(table.columns)):
            raise DataError(
                f"{table.name}: expected no column {taken[0]!r}, which the release makes; rename it"
            )
        texts = [one for one in table.domain.open if isinstance(table.domain[one], CategoricalAttribute)]
        if texts:
            raise DataError(
                f"{table.name}: expected listed categories of {texts[0]!r} of people with all rows, got open "
                "ones; list them"
            )


def _made(tables: PlannedTables, family: Family, name: str) -> list[str]:
    orders = {one.name: one.order for one in tables.tables}
    found = [*family.numbers(name), *family.said_of(name)]
    for child in family.children(name):
        if order := orders[child.name]:
            found += place_names(order, child.name)
    return [*found, *([f"step_of_{orders[name]}"] if orders[name] else [])]


def asked_pairs(tables: PlannedTables, name: str) -> tuple[tuple[str, str], ...]:
    """The pairs that the release of a table is asked for; none for all.

    Raises:
        DataError: it belongs to no other; or see `checked_pairs`.
    """
    named = {one.name: one for one in tables.tables}
    table = named[name]
    if table.pairs is None:
        return ()
    if not table.parent or table.domain is None:
        raise DataError(
            f"workload of {name!r}: expected pairs of a table with columns that belongs to another, got "
            "those of another table; take them out"
        )

    def columns(above: str) -> tuple[str, ...]:
        domain = named[above].domain
        return (*(() if domain is None else domain.names), *tables.said_of(above))

    above = names_above(name, {one.name: one.parent for one in tables.tables}, columns)
    return checked_pairs(name, table.pairs, table.domain.names, bool(table.order), above)
