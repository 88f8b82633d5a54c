"""What is wrong with a party's folder, ledger, certificate, source and daemon, and what to do about it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ...common.bounded import json_of
from ...common.crypto.clocks import ALLOWED_S, REMEDY
from ...common.errors import DataError, MosaicError
from ...common.federation.protocol_versions import SPOKEN
from ...common.formats import is_of_disk
from ...common.version import __version__
from ..accounts.file_format import FORMAT, check_ledger
from ..approving.approvals import FORMAT as OF_REQUESTS
from ..disk import check_room
from ..home.folder import LEDGER, SHAREABLE_LOG
from ..home.home import PartyHome
from ..names import REQUESTS
from ..policies.file import Settings
from ..serving.asking import is_serving

_OLDEST_SQLITE = (3, 37, 0)
_READ_LOG_BYTES = 1 << 16


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check.

    Attributes:
        about: what was checked.
        passed: whether nothing has to be done.
        finding: what was found, for the operator; it may name files and hosts.
        remedy: what to do; empty if nothing has to be done.
    """

    about: str
    passed: bool
    finding: str
    remedy: str = ""


def diagnose(home: PartyHome, address: str | None = None, now: datetime | None = None) -> Iterator[Diagnosis]:
    """Checks everything that a party needs, and changes nothing.

    Args:
        home: folder of the party.
        address: host and port where the daemon should be reached; None for the policy's `listen`.
        now: current time; None for the clock's.
    """
    now = now or datetime.now(UTC)
    yield _versions()
    yield _diagnose("modes", home.check_files, "only the owner can read or change the files")
    yield _diagnose("disk", lambda: check_room(home.folder), "there is room in the folder and in TMPDIR")
    yield _clock(home, now)
    yield _certificate(home, now)
    yield _diagnose_pins(home, now)
    ledger, requests = home.folder / LEDGER, home.folder / REQUESTS
    yield (form := _diagnose("ledger format", lambda: check_ledger(ledger), f"format {FORMAT.number}"))
    yield _ledger_content(ledger)
    if form.passed:
        yield _mark(ledger)
    if requests.exists():
        check = partial(OF_REQUESTS.check_file, requests)
        yield _diagnose("requests format", check, f"format {OF_REQUESTS.number}")
    yield _diagnose(
        "source", lambda: _read_columns(home), "policy and domain hold together, the source is there"
    )
    yield _reachable(home, address)


def _diagnose(about: str, check: Callable[[], object], found: str) -> Diagnosis:
    """A diagnosis by a check whose errors say what to do."""
    try:
        check()
    except MosaicError as fault:
        finding, _, remedy = str(fault).rpartition("; ")
        return Diagnosis(about, False, finding or str(fault), remedy)
    except (OSError, sqlite3.Error) as fault:
        remedy = "repair the file, or restore it from a backup"
        if is_of_disk(fault):
            remedy = "make room on its disk, or let this user write there"
        return Diagnosis(about, False, str(fault), remedy)
    return Diagnosis(about, True, found)


def _versions() -> Diagnosis:
    found = f"dpmosaic {__version__}, protocol {SPOKEN}, SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        return Diagnosis("versions", False, found, "install Python with SQLite 3.37 or newer")
    return Diagnosis("versions", True, found)


def _clock(home: PartyHome, now: datetime) -> Diagnosis:
    """Without another clock, only one that is behind what was written by it can be noticed."""
    written = max(
        path.stat().st_mtime for path in (home.folder / LEDGER, home.keyring.folder) if path.exists()
    )
    if now.timestamp() + ALLOWED_S < written:
        return Diagnosis("clock", False, "files were written in its future", REMEDY)
    return Diagnosis("clock", True, "not behind the files; preflight of a curator compares it with its own")


def _certificate(home: PartyHome, now: datetime) -> Diagnosis:
    remedy = "dpmosaic party renew, or another one of your authority; give out a new card"
    try:
        certificate = home.keyring.certificate
        certificate.check_valid(now)
    except MosaicError as fault:
        return Diagnosis("certificate", False, str(fault), remedy)
    if warning := certificate.warning(now):
        return Diagnosis("certificate", False, warning.partition(";")[0], remedy)
    return Diagnosis("certificate", True, f"valid until {certificate.not_after:%Y-%m-%d}")


def _diagnose_pins(home: PartyHome, now: datetime) -> Diagnosis:
    try:
        federations = home.federations()
    except MosaicError as fault:
        return Diagnosis("pins", False, str(fault), "pin the curator's list again by dpmosaic party trust")
    if not federations:
        return Diagnosis("pins", False, "no curator is pinned", "dpmosaic party trust")
    own = home.keyring.identity.public
    if any(own not in {card.identity for card in known.members} for known in federations):
        remedy = "enroll the new card, and trust the federation that the curator writes then"
        return Diagnosis("pins", False, "a federation has a former identity of this party", remedy)
    cards = [card for known in federations for card in known.members]
    ending = sorted({c.name for c in cards if c.certificate.warning(now) or c.certificate.not_after < now})
    if ending:
        remedy = "their owners renew them and give out new cards"
        return Diagnosis("pins", False, f"certificates end or have ended: {', '.join(ending)}", remedy)
    return Diagnosis(
        "pins", True, f"{len(federations)} curators, {len(home.pinned_identities())} parties and dealers"
    )


def _ledger_content(path: Path) -> Diagnosis:
    def check() -> None:
        with _reading(path) as database:
            (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise DataError("the file of the ledger is damaged; restore a backup: dpmosaic party restore")

    return _diagnose("ledger content", check, "the file is whole")


def _mark(path: Path) -> Diagnosis:
    def check() -> None:
        with _reading(path) as database:
            last, events = database.execute("SELECT max(number), count(*) FROM history").fetchone()
            held = database.execute("SELECT 1 FROM restoration WHERE counted IS NULL").fetchone()
        if (last or 0) != events:
            raise DataError(
                "events are missing in the ledger's history; restore a backup: dpmosaic party restore"
            )
        if held:
            raise DataError("the ledger was restored from a backup and is held; run dpmosaic party recount")

    return _diagnose("high-water mark", check, "no event is missing, and nothing has to be counted")


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        yield database


def _read_columns(home: PartyHome) -> None:
    for source in Settings.load(home.folder).sources().values():
        source.columns()


def _reachable(home: PartyHome, address: str | None) -> Diagnosis:
    about = "daemon"
    if not home.is_served():
        return Diagnosis(about, True, "not running; dpmosaic party serve starts it")
    if _dials(home.folder / SHAREABLE_LOG):
        return Diagnosis(about, True, "running, and dials its curator; its log says whether the link is up")
    try:
        asked = address or Settings.load(home.folder).serve.listen
        serving = is_serving(home.side(), asked)
    except MosaicError as fault:
        return Diagnosis(about, False, str(fault), "restart it, and compare listen in [serve] with its log")
    if not serving:
        return Diagnosis(about, False, f"running at {asked}, and unhealthy", "its log says which check fails")
    return Diagnosis(about, True, f"serves at {asked}")


def _dials(log: Path) -> bool:
    """Whether the daemon that was started last dials its curator, by its log of codes."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _READ_LOG_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    for line in reversed(lines):
        with contextlib.suppress(ValueError):
            entry = json_of(line)
            if entry.get("event") == "started":
                return bool(entry.get("code") == "DIALLING")
    return False
