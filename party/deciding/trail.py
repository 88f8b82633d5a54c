"""The audit trail of an institution: requests, decisions, events of the ledger and of the daemon."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ...common.bounded import json_of
from ...common.showing.formulas import as_text
from ...common.showing.printable import printable
from ..accounts.rows import CERTIFIED, LedgerCharge, LedgerEvents, LedgerRestoration, LedgerSummary, moment
from ..approving.approvals import Request, approved_at
from ..names import CONSOLE_LOG, SHAREABLE_LOG
from .desk import Desk

REQUESTED, DECIDED, LEDGER, DAEMON = "requested", "decided", "ledger", "daemon"
CONSOLE = "console"
KINDS = (REQUESTED, DECIDED, LEDGER, DAEMON, CONSOLE)

_MAX_LOG_BYTES = 8 << 20
_CALL, _OK = "call", "OK"


@dataclass(frozen=True)
class Entry:
    """One line of the trail.

    Attributes:
        at: time, ISO 8601 in UTC; of an event of the ledger without a time, that of the approval before it.
        exact: "yes", or "not before" of such an event.
        kind: `REQUESTED`, `DECIDED`, `LEDGER`, `DAEMON` or `CONSOLE`.
        release_id: id of the release; empty for none.
        by: who did it.
        what: what happened.
        outcome: "asked", "approved", "denied", "accepted", "charged", how a release ended, "restored", or
            the code of the daemon's event.
    """

    at: str
    exact: str
    kind: str
    release_id: str
    by: str
    what: str
    outcome: str

    @cached_property
    def event_id(self) -> str:
        """Tells the entry from others, 32 hexadecimal digits: receivers that get one twice keep it once."""
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Filter:
    """Which lines are wanted; an empty text wants all.

    Attributes:
        kind: kind of the line.
        since: first day, ISO 8601.
        until: last day, ISO 8601.
        words: text that release, person or event contains, in any case.
    """

    kind: str = ""
    since: str = ""
    until: str = ""
    words: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Filter:
        """A filter from the fields of a form; others are ignored."""
        return cls(**{one.name: values.get(one.name, "").strip() for one in fields(cls)})

    def takes(self, entry: Entry) -> bool:
        """Whether a line is wanted."""
        day, text = entry.at[:10], f"{entry.release_id}\n{entry.by}\n{entry.what}".casefold()
        return (
            self.kind in ("", entry.kind)
            and (not self.since or day >= self.since)
            and (not self.until or day <= self.until)
            and self.words.casefold() in text
        )


def trail(desk: Desk) -> list[Entry]:
    """All that happened at a party, the latest first."""
    names = {curator.identity: curator.name for curator in desk.home.curators()}
    requests, ledger = desk.approvals.requests(), desk.ledger
    found = [
        *_of_requests(requests, names, desk.home.keyring.identities),
        *_of_ledger(requests, ledger.summaries(), ledger.events(), ledger.charges()),
        *_of_restorations(ledger.restorations()),
        *_of_daemon(desk.home.folder / SHAREABLE_LOG),
        *_of_console(desk.home.folder / CONSOLE_LOG),
    ]
    # Sorting keeps the order of lines of one time: a request, its decision, what the ledger did then.
    return sorted(found, key=lambda entry: entry.at)[::-1]


def as_csv(entries: Iterable[Entry]) -> str:
    """Lines of the trail as CSV; no cell of it is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([one.name for one in fields(Entry)])
    writer.writerows([as_text(printable(cell)) for cell in astuple(entry)] for entry in entries)
    return out.getvalue()


def _of_requests(
    requests: Sequence[Request], names: Mapping[bytes, str], identities: Collection[bytes]
) -> Iterator[Entry]:
    for request in requests:
        release_id, purpose = request.terms.release_id, request.terms.spec.about.purpose
        by = names.get(request.curator, "a curator that is not pinned any more")
        yield Entry(
            request.at,
            "yes",
            REQUESTED,
            release_id,
            by,
            f"asked for a release: {purpose or 'no purpose stated'}",
            "asked",
        )
        for number, decision in enumerate(request.decisions):
            because = f": {decision.reason}" if decision.reason else ""
            signed = (
                ""
                if any(request.is_signed(number, public) for public in identities)
                else " (NOT SIGNED by this party)"
            )
            what = f"{decision.verdict}{because}{signed}"
            yield Entry(decision.at, "yes", DECIDED, release_id, decision.by, what, decision.verdict)


def _of_ledger(
    requests: Sequence[Request],
    summaries: Sequence[LedgerSummary],
    events: Sequence[LedgerEvents],
    charges: Sequence[LedgerCharge],
) -> Iterator[Entry]:
    approved = approved_at(requests)
    spent = {one.release_id: one for one in summaries}
    charged: dict[str, list[LedgerCharge]] = defaultdict(list)
    for charge in charges:
        charged[charge.release_id].append(charge)
    for one in events:
        summary = spent[one.release_id]

        def entry_at(at: int | None, what: str, outcome: str, release_id: str = one.release_id) -> Entry:
            known = moment(at)
            time, exact = (known, "yes") if known else (approved.get(release_id, ""), "not before")
            return Entry(time, exact, LEDGER, release_id, "this party", what, outcome)

        granted = f"accepted (event {one.accepted}); rho {float(summary.granted):.6g} was reserved"
        yield entry_at(one.accepted_at, granted, "accepted")
        for charge in charged[one.release_id]:
            cost = f"charged rho {float(charge.zcdp_rho):.6g} for the query {charge.query_id}"
            yield entry_at(charge.at, cost, "charged")
        if one.closed is not None:
            ended = f"{summary.state} (event {one.closed}); rho {float(summary.spent):.6g} was spent"
            if summary.state == CERTIFIED and one.certificate is not None:
                ended += f"; SHA-256 of the certificate {one.certificate.hex()}"
            yield entry_at(one.closed_at, ended, summary.state)


def _of_restorations(restorations: Iterable[LedgerRestoration]) -> Iterator[Entry]:
    for one in restorations:
        counted = "nothing is counted yet, and nothing accepted"
        if one.counted is not None:
            counted = f"rho {float(one.counted):.6g} was counted as spent since: {one.reason}"
        what = f"restored from a backup; {counted}"
        yield Entry(moment(one.at), "yes", LEDGER, "", "this party", what, "restored")


def _of_daemon(log: Path) -> Iterator[Entry]:
    """Starts, stops, changes of health, and calls that were refused; single answered calls are left out."""
    for event in _events_of_log(log):
        kind, code = str(event.get("event", "")), str(event.get("code", ""))
        if kind == _CALL and code == _OK:
            continue
        what = " ".join(filter(None, (kind, str(event.get("method", "")), code)))
        yield Entry(str(event.get("time", "")), "yes", DAEMON, "", "the daemon", what, code)


def _of_console(log: Path) -> Iterator[Entry]:
    """Who signed in and out of the console on the network, and who was refused."""
    for event in _events_of_log(log):
        told = (
            event.get("event", ""),
            event.get("address") and f"from {event['address']}",
            event.get("reason"),
        )
        what, by = " ".join(map(str, filter(None, told))), str(event.get("caller", "somebody"))
        yield Entry(str(event.get("time", "")), "yes", CONSOLE, "", by, what, str(event.get("event", "")))


def _events_of_log(log: Path) -> Iterator[dict[str, Any]]:
    """Events of the end of a log; a line that is none is passed over."""
    try:
        with log.open("rb") as file:
            skipped = max(0, file.seek(0, io.SEEK_END) - _MAX_LOG_BYTES)
            file.seek(skipped)
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            event = json_of(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
