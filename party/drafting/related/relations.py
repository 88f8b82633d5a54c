"""Drafts of relations: which tables of a folder belong to which, from names and keys. Not private."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from ....common.data.attributes.unmodelled import UUID, UUIDS, WHOLE_NUMBERS
from ....common.errors import DataError
from ....common.files.writing import write_text
from ...sources.source import SUFFIXES, FileSource, suffix_of
from ..draft import names_in
from ..following import NOWHERE, Around, columns_around
from ..inference import draft_rows
from ..profile import Rows
from .courses import Related, courses_of
from .drafted import Drafted
from .formulas import with_formulas
from .gaps import gaps_of
from .implied import counts_of, repeats_of
from .joint import joint_link
from .links import Kinship, keys_of, kinship_of, rows_of
from .names import is_of_people

_HEAD = (
    "# Drafted from private rows: which column is whose key, by which one rows are in order, by which of\n"
    "# the table above they lie, and which columns follow from it. Review it: a release is marked as not\n"
    "# private until `reviewed = false` is taken out of each table.\n"
    "# A table belongs to the one nearest to it; that of people belongs to none, and others may be public.\n"
)


_BOUNDS_SAMPLE = 50_000
"""Columns between which rows lie are looked for in so many rows."""

_MOST_KEYS_LISTED = 1_000
"""A domain lists so many keys of a table that is perhaps public, where rows may refer to none of them."""


def draft_folder(folder: Path, blanks: Collection[str] = ()) -> tuple[Drafted, ...]:
    """Drafts relations and domains of the tables of a folder.

    Which tables belong to which, `kinship_of` finds. Of tables of one parent, one belongs to another if both
    have a column more that the other has once for each row of the parent, such as a visit.

    Args:
        folder: with a CSV or Parquet file for each table.
        blanks: see `draft_file`.

    Raises:
        DataError: there are no files, two of one table, or one cannot be read.
    """
    sources: dict[str, FileSource] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and (suffix := suffix_of(path)):
            source = sources.setdefault(path.name[: -len(suffix)], FileSource(path))
            if source.path != path:
                raise DataError(
                    f"expected one file of each table, got {source.name} and {path.name}; move one"
                )
    if not sources:
        raise DataError(f"expected tables in {folder}, files that end in {', '.join(SUFFIXES)}, found none")
    rows = {name: rows_of(source) for name, source in sources.items()}
    kinship = kinship_of(sources, rows)
    plain = {}
    for name, source in sources.items():
        draft = None if name in kinship.apart else draft_rows(source, blanks, keys_alone=True)
        plain[name] = Drafted(name, source.name, rows[name], draft, doubts=kinship.doubts[name])
    drafts = {
        name: table if table.draft is None else _of_people(table, kinship, sources)
        for name, table in plain.items()
    }
    kinship = _with_joint_keys(drafts, plain, kinship, sources)
    drafts = _bound_by_dates(drafts, sources)
    drafts = _bound_by_dates(with_formulas(drafts, kinship, sources), sources)
    return tuple(sorted(drafts.values(), key=lambda one: (one.draft is None, len(kinship.above(one.name)))))


def _bound_by_dates(drafts: Mapping[str, Drafted], sources: Mapping[str, FileSource]) -> dict[str, Drafted]:
    """The tables with the columns of those above between which their rows lie."""
    return {
        name: replace(one, around=_around(one, drafts[one.parent], sources))
        if one.order in one.dates
        else one
        for name, one in drafts.items()
    }


def _with_joint_keys(
    drafts: dict[str, Drafted],
    plain: Mapping[str, Drafted],
    kinship: Kinship,
    sources: dict[str, FileSource],
) -> Kinship:
    """Which tables belong to which, some of them by two columns.

    Args:
        drafts: the tables; those that are bound otherwise, and those above them, are changed.
        plain: they, without relations.
        kinship: without such keys.
        sources: of each; those that belong together so get the key.
    """
    pairs = permutations([name for name in drafts if name in kinship.belongs], 2)
    for child, other in sorted(pairs, key=lambda pair: (-drafts[pair[1]].rows, drafts[pair[0]].rows)):
        found = joint_link(drafts[child], drafts[other], sources)
        if found is not None:
            link, column, joined = found
            sources |= joined
            kinship = replace(kinship, belongs={**kinship.belongs, child: link})
            drafts[child], above = _of_people(plain[child], kinship, sources), drafts[other]
            if column == above.order:
                drafts[other] = replace(above, once=tuple(dict.fromkeys((*above.once, column))))
    return kinship


def _of_people(table: Drafted, kinship: Kinship, sources: Mapping[str, FileSource]) -> Drafted:
    """A table of people, or below them, with its relations and without the columns that these state."""
    name, draft, held = table.name, table.draft, kinship.refers.get(table.name, ())
    assert draft is not None
    belongs, inward = kinship.belongs.get(name), kinship.inward.get(name, ())
    keys = {one.key for one in kinship.belongs.values() if one.parent == name}
    entries = {
        column: _names(name, entry) if column in keys else entry for column, entry in draft.entries.items()
    }
    rules = [rule for rule in draft.suggested_rules if not names_in(rule) & keys]
    draft = replace(draft, entries=entries, suggested_rules=rules)
    refers = tuple(one for one in held if one.parent in kinship.apart)
    aside = tuple(one for one in held if one not in refers and one.foreign not in keys)
    links = (*filter(None, [belongs]), *refers, *aside)
    bound = {own for one in links for own, _ in one.columns} - keys
    draft = draft.without({*bound, *inward})
    blank = {one.foreign: keys_of(sources[one.parent], one.key) for one in refers if one.blanks}
    listed = {
        column: {"type": "categorical", "categories": ["", *keys], "reviewed": False}
        for column, keys in blank.items()
        if len(keys) <= _MOST_KEYS_LISTED
    }
    draft = replace(draft, entries={**draft.entries, **listed})
    table = replace(table, draft=draft, belongs=belongs, refers=refers, inward=inward)
    if belongs:
        table = _with_implied(table, kinship, sources)
    return replace(table, aside=tuple(one for one in aside if one.foreign not in table.repeats))


def _with_implied(table: Drafted, kinship: Kinship, sources: Mapping[str, FileSource]) -> Drafted:
    """A table without the columns that follow from the rows above and the order; its relations state them."""
    source, line, name = sources[table.name], list[tuple[str, FileSource, str, str]](), table.name
    links = kinship.belongs
    foreign = links[name].foreign
    while name in links:
        link = links[name]
        name = link.parent
        line.append((name, sources[name], link.key, links[name].foreign if name in links else ""))
    keys = {one.key for one in links.values() if one.parent == table.name}
    bound = {*(own for one in table.links for own, _ in one.columns), foreign, *table.inward, *keys}
    columns = [one for one in source.columns() if one not in bound]
    table = table.without(repeats=dict(repeats_of(source, foreign, line, columns)))
    assert table.draft is not None
    listed = [one.foreign for one in table.refers]
    if not (table.attributes or listed):
        return table
    order, rows = table.dates.get(table.order), Related.of(source, foreign, [*{*table.attributes, *listed}])
    table = table.without(counts=dict(counts_of(source, foreign, table.draft.entries, rows, order)))
    attributes = {one: table.attributes[one] for one in table.attributes if one not in (table.order, *listed)}
    found = rows.in_order(order, next(iter(table.counts), ""))
    if order is not None:
        table = table.with_gaps(gaps_of(found, order))
    others = [*listed, order.name] if order else listed
    return table.with_courses(courses_of(found, attributes, bool(order or table.counts), others))


def _around(table: Drafted, parent: Drafted, sources: Mapping[str, FileSource]) -> Around:
    """Columns of the table above by which the order of a table lies."""
    link, order, above = table.belongs, table.dates[table.order], parent.dates
    if not above or not link:
        return NOWHERE
    child = Rows.of(sources[table.name], {link.foreign, order.name})
    with child.connection:
        cells = child.sample(_BOUNDS_SAMPLE, link.foreign)
    rows = Rows.of(sources[parent.name], {link.key, *above})
    with rows.connection:
        others = rows.cells_of_keys(link.key, cells[link.foreign])
    return columns_around(order, cells[order.name], cells[link.foreign], above, others)


def notes_of(tables: Sequence[Drafted]) -> Iterator[str]:
    """What the owner of the tables should know before a release, who alone may see it."""
    for table in tables:
        yield from (*table.notes(), *table.doubts)
    first = tables[0].name
    if apart := [table.name for table in tables if table.draft is None]:
        yield (
            f"{', '.join(apart)}: nothing says whose of {first!r} their rows are; state of each in the "
            "relations that it is public, if everybody may see it, or what it belongs to; or take it out "
            "with the columns that refer to it, and join to their tables what these should know of it"
        )
        if people := [name for name in apart if is_of_people(name)]:
            yield (
                f"{', '.join(people)}: named as people, whose rows no release protects if they are public; "
                "rather join their columns to the tables that refer to them"
            )
    if alone := [table.name for table in tables if table.draft is not None and not table.belongs][1:]:
        yield (
            f"{', '.join([first, *alone])}: no column is named as one that holds the keys of another table; "
            "state in the relations what each but that of people belongs to"
        )


def save_folder(tables: Sequence[Drafted], out: Path) -> Path:
    """Writes a draft of relations, and a domain file for each table of more than keys.

    Returns:
        The path of the relations.

    Raises:
        DataError: the folder cannot be written.
    """
    path = out / "relations.toml"
    write_text(path, _HEAD + "".join(table.section() for table in tables))
    for table in tables:
        if table.draft is not None and table.has_domain:
            table.draft.save(out / f"{table.name}.json")
    return path


def _names(table: str, entry: Any) -> Any:
    """The entry of the key of a table, which names its rows however few they are."""
    known = entry if isinstance(entry, Mapping) else {"type": "categorical", "categories": entry}
    if known.get("type") == "identifier":
        return entry
    listed = known.get("categories", ())
    if known.get("type") == "numeric" or (listed and all(isinstance(one, int) for one in listed)):
        pattern = WHOLE_NUMBERS
    elif listed and all(UUID.fullmatch(str(one)) for one in listed):
        pattern = UUIDS
    else:
        pattern = f"{re.sub('[{}]', '', table)}-{{:06d}}"
    return {"type": "identifier", "pattern": pattern}
