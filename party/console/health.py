"""Whether a party can answer: its files, its disk, its source, its daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from ...common.errors import MosaicError
from ..disk import check_room
from ..folder import SHAREABLE_LOG
from ..home import PartyHome
from ..policy_file import Settings
from .trail import last_event


@dataclass(frozen=True)
class Line:
    """One check.

    Attributes:
        what: what was looked at.
        passed: whether it is as it should be.
        finding: what was found, or what to do.
    """

    what: str
    passed: bool
    finding: str


def health(home: PartyHome) -> Iterator[Line]:
    """Looks at everything that keeps a party from answering; changes nothing, and reads no row.

    Args:
        home: folder of the party.
    """
    served = home.is_served()
    last = last_event(home.folder / SHAREABLE_LOG)
    heard = "" if last is None else f"; the last event of its log was at {last[0]}"
    yield Line("Daemon", served, f"{'running' if served else 'not running: dpmosaic party serve'}{heard}")
    yield _line("Keys and files", home.check_files, "only their owner can read or change them")
    ends = home.keyring.certificate.not_after
    left = f"valid until {ends:%Y-%m-%d}, for {(ends - datetime.now(UTC)).days} days"
    yield _line("Certificate", home.check_certificate, left)
    yield _line("Disk", lambda: check_room(home.folder), "has room")
    yield _line("Policy and domain", lambda: _load(home), "can be read")
    yield _line("Source of the rows", lambda: _look(home), "can be reached")


def _load(home: PartyHome) -> None:
    Settings.load(home.folder)


def _look(home: PartyHome) -> None:
    Settings.load(home.folder).source().columns()


def _line(what: str, check: Callable[[], None], fine: str) -> Line:
    try:
        check()
    except MosaicError as error:
        return Line(what, False, str(error))
    except OSError as error:
        return Line(what, False, f"{error.strerror}; fix the file or its folder")
    return Line(what, True, fine)
