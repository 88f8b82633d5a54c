"""Looks, before a release, at everything that could stop it; each line passes or says how to fix it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...common.card import Card
from ...common.errors import MosaicError
from ...common.messages import PROTOCOL_VERSION, PartyDescription
from ...common.version import __version__
from ..home import CuratorHome
from ..parties.client import Connection, PartyClient
from ..parties.connection import Patience
from ..parties.federation import connect
from .plan import ReleasePlan

_SOON = timedelta(days=14)
_QUICK = Patience(call_s=10.0, tries=2)
_ALLOWED_S = 60.0
"""How far a party's clock may be off: certificates and logs go by it."""

_PROBED_MIB = 2
_SLOW_MIB_S = 0.5


@dataclass(frozen=True)
class Line:
    """One thing that was looked at.

    Attributes:
        about: a party's name, or "plan" or "curator".
        what: was looked at.
        passed: whether it is as it has to be.
        said: what was found, or how to fix it.
    """

    about: str
    what: str
    passed: bool
    said: str


def preflight(home: CuratorHome, plan: ReleasePlan, now: datetime | None = None) -> Iterator[Line]:
    """Looks at curator, cards, parties and at how they fit together; charges nothing.

    Args:
        home: of the curator.
        plan: of the release.
        now: the time.
    """
    now = now or datetime.now(UTC)
    own = home.keyring.certificate
    yield _expiry("curator", own.not_before, own.not_after, now)
    cards = home.cards()
    named = [name for names in plan.slices for name in names]
    for name in named:
        if name in cards:
            yield _expiry(name, cards[name].certificate.not_before, cards[name].certificate.not_after, now)
        else:
            yield Line(name, "card", False, "not enrolled; get its card and run dpmosaic curator enroll")
    described = all(name in cards for name in named)
    with home.links([name for name in named if name in cards], plan.listen, _QUICK) as links:
        for name, link in links.items():
            for line in _asked(link, cards[name], plan):
                described = described and line.passed
                yield line
        if described:
            slices: list[list[Connection]] = [[links[name] for name in names] for names in plan.slices]
            yield _line("plan", "parties make up one table", lambda: _fits(plan, slices))


def _asked(link: Connection, card: Card, plan: ReleasePlan) -> Iterator[Line]:
    client = PartyClient(link)
    began = time.monotonic()
    try:
        said = client.describe()
    except MosaicError as error:
        yield Line(card.name, "connection, both certificates", False, str(error))
        return
    seconds = time.monotonic() - began
    yield Line(card.name, "connection, both certificates", True, f"answers in {seconds:.3f} s")
    yield from probed(client, card.name)
    yield from compared(said, card, plan)


def probed(
    client: PartyClient, name: str, now: Callable[[], float] = time.time, least_mib_s: float = _SLOW_MIB_S
) -> Iterator[Line]:
    """A party's clock and the throughput of its link.

    Args:
        client: asks it.
        name: its name.
        now: seconds since 1970 in UTC.
        least_mib_s: what a link has to carry each way.
    """
    try:
        quick = client.probe(0, now)
        full = client.probe(_PROBED_MIB, now)
    except MosaicError as error:
        yield Line(name, "clock, throughput", False, f"a probe of {_PROBED_MIB} MiB each way failed: {error}")
        return
    off = f"{quick.ahead_s:+.3f} s from the curator's, {_ALLOWED_S:.0f} s allowed"
    # Half of the way there and back may lie on one side.
    right = abs(quick.ahead_s) <= _ALLOWED_S + quick.there_s / 2
    yield Line(name, "clock", right, off if right else f"{off}; let both sides keep time by NTP")
    there, back = (_PROBED_MIB / max(s, 1e-6) for s in (full.there_s, full.back_s))
    carried = f"{there:.1f} MiB/s there, {back:.1f} MiB/s back, latency {1e3 * quick.there_s:.0f} ms"
    fast = min(there, back) >= least_mib_s
    fix = f"; expected at least {least_mib_s:g} each way: fix the link, or raise call_seconds in the plan"
    yield Line(name, "throughput", fast, carried if fast else carried + fix)


def compared(said: PartyDescription, card: Card, plan: ReleasePlan) -> Iterator[Line]:
    """What a party says of itself, against its card and the plan."""
    name = card.name
    yield _equal(name, "name", said.name, name, "the address is that of another party; enroll it anew")
    same = said.identity == card.identity
    yield Line(name, "identity", same, "as on its card" if same else "not that of its card; get a new card")
    yield _equal(
        name,
        "protocol version",
        said.protocol_version,
        PROTOCOL_VERSION,
        "bring both to one release of the software",
    )
    older = f"software {said.software_version}, the curator's is {__version__}"
    yield Line(name, "software version", True, older)
    digest = "" if card.domain is None else card.domain.digest()
    same = said.domain.digest() == digest
    yield Line(name, "domain", same, "as on its card" if same else "changed since its card; get a new card")
    allowed = plan.protocol.name in said.protocols
    fix = f"its policy allows {', '.join(said.protocols) or 'no protocol'}; its owner can add it"
    yield Line(name, f"protocol {plan.protocol.name}", allowed, "allowed" if allowed else fix)


def _fits(plan: ReleasePlan, slices: list[list[Connection]]) -> str:
    federation = connect(plan.domain, slices, plan.left_out)
    return f"{len(federation.slices)} slices, {len(federation.members)} parties"


def _line(about: str, what: str, look: Callable[[], str]) -> Line:
    try:
        return Line(about, what, True, look())
    except MosaicError as error:
        return Line(about, what, False, str(error))


def _equal(about: str, what: str, found: object, expected: object, fix: str) -> Line:
    if found == expected:
        return Line(about, what, True, str(found))
    return Line(about, what, False, f"expected {expected}, found {found}; {fix}")


def _expiry(about: str, begins: datetime, ends: datetime, now: datetime) -> Line:
    what = "certificate"
    if now < begins:
        return Line(about, what, False, f"valid from {begins:%Y-%m-%d %H:%M} on; compare the clocks")
    if now > ends:
        return Line(about, what, False, f"expired on {ends:%Y-%m-%d}; issue a new one and a new card")
    soon = ", soon: plan a new one" if ends - now < _SOON else ""
    return Line(about, what, True, f"valid to {ends:%Y-%m-%d}{soon}")
