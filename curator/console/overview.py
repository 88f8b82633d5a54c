"""What a curator's console shows of a plan: its parties and dealers, and the state of its release."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.errors import MosaicError
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ..certificates.certificate import Certificate
from ..mechanisms.parts.fitted import Round
from ..parties.home import ATTACHED, BY_FILES, CuratorHome
from ..parties.private_folder import JOURNAL, private_folder
from ..releasing.planning.plan import ReleasePlan

NOTHING, OPEN, FINISHED, ABANDONED = "nothing", "open", "finished", "abandoned"
"""States of the release into a folder."""

_CERTIFICATE = "certificate.json"
_PROTOCOL = "protocol version"
_VERSIONS = (_PROTOCOL, "software version")
_REACHED = "connection, both certificates"
_WAYS = {ATTACHED: "dials the curator", BY_FILES: "by files"}


@dataclass(frozen=True)
class Member:
    """A party or a dealer of the plan.

    Attributes:
        name: its name.
        place: "slice 1", "slice 2", and so on; or "dealer".
        attributes: attributes on its card.
        address: where its daemon listens, or that it dials the curator; empty if it is not enrolled.
        reached: whether the last preflight reached it; None before one.
        software: its versions, as the last preflight found them; empty before one.
        faults: what the last preflight found to be fixed.
        doing: what it does in the operation that runs; empty if nothing is known.
        silent_s: seconds since it was heard last.
        mib: MiB sent to it, and received from it.
    """

    name: str
    place: str
    attributes: tuple[str, ...]
    address: str
    reached: bool | None
    software: str
    faults: tuple[str, ...]
    doing: str
    silent_s: float
    mib: tuple[float, float]


def members(
    plan: ReleasePlan,
    home: CuratorHome,
    checks: Iterable[Mapping[str, Any]],
    activity: Iterable[Mapping[str, Any]],
    *,
    running: bool,
) -> list[Member]:
    """The parties and dealers of a plan.

    Args:
        plan: the plan.
        home: folder of the curator.
        checks: what the last preflight printed.
        activity: what the last operation that made a release says of each.
        running: whether it still runs.
    """
    cards, addresses = home.cards(), home.addresses()
    found = list(checks)
    doing = {one["party"]: one for one in activity}
    places = [(name, f"slice {n}") for n, names in enumerate(plan.slices, start=1) for name in names]
    known = {name for name, _ in places}
    places += [(name, "dealer") for name in plan.dealers if name not in known and name != CURATOR_DEALS]
    made = []
    for name, place in places:
        card, own = cards.get(name), [one for one in found if one["about"] == name]
        address = addresses.get(name, "") if card else ""
        now = doing.get(name, {})
        made.append(
            Member(
                name,
                place,
                card.domain.names if card and card.domain else (),
                _WAYS.get(address, address),
                next((one["passed"] for one in own if one["what"] == _REACHED), None),
                ", ".join(_version(one) for one in own if one["what"] in _VERSIONS and one["passed"]),
                tuple(f"{one['what']}: {one['finding']}" for one in own if not one["passed"]),
                str(now.get("doing", "")) if running else "",
                float(now.get("silent_s", 0.0)) if running else 0.0,
                (now.get("sent", 0) / 2**20, now.get("received", 0) / 2**20),
            )
        )
    return made


def _version(check: Mapping[str, Any]) -> str:
    """A version as a preflight found it: "protocol 11", "software 0.1.0"."""
    if check["what"] == _PROTOCOL:
        return f"protocol {check['finding']}"
    found: str = check["finding"]
    return found.partition(",")[0]


def state_of(out: Path) -> str:
    """The state of the release into a folder; must not be asked while a console's own operation runs."""
    if (out / _CERTIFICATE).exists():
        return FINISHED
    path = private_folder(out) / JOURNAL
    if not path.exists():
        return NOTHING
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            row = database.execute("SELECT value FROM header WHERE name = 'done'").fetchone()
        finally:
            database.close()
    except sqlite3.Error:
        return OPEN
    return OPEN if row is None else {b"finished": FINISHED, b"abandoned": ABANDONED}[bytes(row[0])]


def rounds_of(out: Path) -> tuple[Round, ...]:
    """The rounds of a finished release; none of another."""
    try:
        return Certificate.load(out / _CERTIFICATE).rounds
    except (MosaicError, OSError):
        return ()
