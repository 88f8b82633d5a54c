"""Looks, before a release, at everything that could stop it; each line passes or says how to mend it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .. import __version__
from ..common.card import Card
from ..common.errors import MosaicError
from ..common.messages import PROTOCOL_VERSION, PartyDescription
from .connection import GrpcConnection, Patience
from .federation import connect
from .home import CuratorHome
from .party_client import Connection, PartyClient
from .plan_file import ReleasePlan

_SOON = timedelta(days=14)
_QUICK = Patience(call_s=10.0, tries=2)


@dataclass(frozen=True)
class Line:
    """One thing that was looked at.

    Attributes:
        about: a party's name, or "plan" or "curator".
        what: was looked at.
        passed: whether it is as it has to be.
        said: what was found, or how to mend it.
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
    links: dict[str, GrpcConnection] = {}
    for name in (name for names in plan.slices for name in names):
        if name not in cards:
            yield Line(name, "card", False, "not enrolled; get its card and run dpmosaic curator enroll")
            continue
        card = cards[name]
        yield _expiry(name, card.certificate.not_before, card.certificate.not_after, now)
        links[name] = home.dial(name, _QUICK)
    described = True
    for name in links:
        for line in _asked(home, name, cards[name], plan):
            described = described and line.passed
            yield line
    if described and len(links) == sum(map(len, plan.slices)):
        slices: list[list[Connection]] = [[links[name] for name in names] for names in plan.slices]
        yield _line("plan", "parties make up one table", lambda: _fits(plan, slices))
    for link in links.values():
        link.close()


def _asked(home: CuratorHome, name: str, card: Card, plan: ReleasePlan) -> Iterator[Line]:
    link = home.dial(name, _QUICK)
    began = time.monotonic()
    try:
        said = PartyClient(link).describe()
    except MosaicError as error:
        yield Line(name, "connection, both certificates", False, str(error))
        return
    finally:
        link.close()
    yield Line(name, "connection, both certificates", True, f"answers in {time.monotonic() - began:.3f} s")
    yield from compared(said, card, plan)


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
    allowed = plan.protocol in said.protocols
    mend = f"its policy allows {', '.join(said.protocols) or 'no protocol'}; its owner can add it"
    yield Line(name, f"protocol {plan.protocol}", allowed, "allowed" if allowed else mend)


def _fits(plan: ReleasePlan, slices: list[list[Connection]]) -> str:
    federation = connect(plan.domain, slices)
    return f"{len(federation.slices)} slices, {len(federation.members)} parties"


def _line(about: str, what: str, look: Callable[[], str]) -> Line:
    try:
        return Line(about, what, True, look())
    except MosaicError as error:
        return Line(about, what, False, str(error))


def _equal(about: str, what: str, found: object, expected: object, mend: str) -> Line:
    if found == expected:
        return Line(about, what, True, str(found))
    return Line(about, what, False, f"expected {expected}, found {found}; {mend}")


def _expiry(about: str, begins: datetime, ends: datetime, now: datetime) -> Line:
    what = "certificate"
    if now < begins:
        return Line(about, what, False, f"valid from {begins:%Y-%m-%d %H:%M} on; compare the clocks")
    if now > ends:
        return Line(about, what, False, f"expired on {ends:%Y-%m-%d}; issue a new one and a new card")
    soon = ", soon: plan a new one" if ends - now < _SOON else ""
    return Line(about, what, True, f"valid to {ends:%Y-%m-%d}{soon}")
