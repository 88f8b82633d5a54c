"""All faults of a party's folder at once, for its operator: files, room on disk, rows against the domain."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ...common.data.attributes.attribute import CENSUS
from ...common.data.related.joint import joint_name
from ...common.errors import DataError, MosaicError
from ...common.privacy.cost import ALL_ROWS
from ...common.processes.private_folders import empty
from ..counting.catalogue import engine_of
from ..counting.identifiers import names_of_people
from ..counting.people import People, rows_left_out
from ..counting.rows import CountedRows
from ..counting.source import EngineSource
from ..disk import check_room
from ..home.home import PartyHome
from ..institution.reading import read_related
from ..institution.records import kept_rows, records_of
from ..names import CODES
from ..policies.file import Settings
from ..sources.checking import Finding, check_rows
from ..sources.query import QuerySource
from ..sources.source import FileSource, Source

_SPELLED = (
    ", such as a decimal comma; write query in [source] of the policy, and cast the column in it, or "
    "format in the domain if every party writes it so"
)
_STRAY = "values that are no key of a public table, whose rows are left out"
_COLUMN = "the policy names this column, and the rows have none of this name"


def check_home(home: PartyHome) -> Iterator[Finding]:
    """Everything that keeps the party from answering, or that its daemon changes in the rows.

    Args:
        home: folder of the party.

    Raises:
        DataError: the policy or the domain cannot be read.
    """
    settings = Settings.load(home.folder)
    for where, check in (
        ("files", home.check_files),
        ("certificate", home.check_certificate),
        ("disk", lambda: check_room(home.folder)),
    ):
        yield from _findings_of(where, check)
    with contextlib.suppress(DataError):
        if warning := home.keyring.certificate.warning():
            yield Finding("certificate", warning, 0, False)
    if settings.tables:
        yield from _check_tables(settings)
        return
    try:
        source = settings.source()
        yield from _cautions_of("source", source)
        columns = source.columns()
    except MosaicError as fault:
        yield Finding("source", str(fault), 0, True)
        return
    named = {*settings.identifiers.values(), *filter(None, [settings.key])}
    lacking = [column for column in sorted(named) if column not in columns]
    for column in lacking:
        yield Finding(column, _COLUMN, 0, True)
    if isinstance(source, FileSource | QuerySource):
        found = list(check_rows(source, settings.domain, named))
        for finding in found:
            spelled = finding.what == CENSUS["unreadable"]
            yield replace(finding, what=finding.what + _SPELLED) if spelled else finding
        if not lacking and not any(finding.refused for finding in found):
            yield from _findings_of("key", lambda: _read(source, settings, home.folder / CODES))
    elif not lacking:
        yield from _findings_of("source", lambda: _read(source, settings, home.folder / CODES))


def _check_tables(settings: Settings) -> Iterator[Finding]:
    """What keeps related tables from being read; columns and cells by joint names."""
    faults = False
    for table in settings.tables:
        try:
            source = table.source()
            yield from _cautions_of(f"tables.{table.name}", source)
            columns = source.columns()
        except MosaicError as fault:
            faults = True
            yield Finding(f"tables.{table.name}", str(fault), 0, True)
            continue
        for column in table.keys:
            if column not in columns:
                faults = True
                yield Finding(joint_name(table.name, column), _COLUMN, 0, True)
        # Rows that are left out are no fault.
        domain = table.with_strays if table.drop_incomplete else table.domain
        if isinstance(source, FileSource | QuerySource) and domain is not None:
            for found in check_rows(source, domain, set(table.keys)):
                faults = faults or found.refused
                stray = table.drop_incomplete and found.where in table.references
                what = _STRAY if stray else found.what
                yield replace(found, where=joint_name(table.name, found.where), what=what)
    if not faults:
        yield from _findings_of("tables", lambda: _read_related(settings))


def _read_related(settings: Settings) -> None:
    read_related(settings.tables, most_mb=settings.policy.max_disk_mb)


def _read(source: Source, settings: Settings, folder: Path) -> Iterator[Finding]:
    """Reads the rows as the daemon does."""
    empty(folder)
    people = People(settings.key, settings.policy.max_rows_per_person, settings.identifiers)
    rows, _, _ = records_of(
        source, settings.domain, people, settings.timeout_s, folder, settings.policy.max_disk_mb
    )
    if isinstance(rows, CountedRows):
        rows.close()
    if people.key is not None and people.most != ALL_ROWS:
        yield from _left_out(source, settings, people, people.key, folder)


def _left_out(
    source: Source, settings: Settings, people: People, key: str, folder: Path
) -> Iterator[Finding]:
    """Rows that the policy leaves out of every release."""
    connect = engine_of(source, folder)
    if connect is None:
        _, texts = source.read_with_texts(settings.domain, [key])
        total = len(texts[key])
        rows = total - len(kept_rows(names_of_people(texts[key]), people.most))
    else:
        with contextlib.closing(connect()) as engine:
            rows, total = rows_left_out(engine, people)
    if rows:
        what = (
            f"{rows / total:.1%} of all rows are left out of every release, since max_rows_per_person = "
            f'{people.most} in the policy; raise it, or set "all", unless that is meant'
        )
        yield Finding(key, what, rows, False, warned=True)


def _cautions_of(where: str, source: Source) -> Iterator[Finding]:
    """That an engine was never tried."""
    if isinstance(source, EngineSource) and source.caution:
        yield Finding(where, source.caution, 0, False, warned=True)


def _findings_of(where: str, check: Callable[[], Iterable[Finding] | None]) -> Iterator[Finding]:
    try:
        yield from check() or ()
    except MosaicError as fault:
        yield Finding(where, str(fault), 0, True)
    except OSError as fault:
        yield Finding(where, str(DataError(f"{fault.strerror}; fix the file or its folder")), 0, True)
