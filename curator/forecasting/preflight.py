"""Checks before a release everything that could stop it; a failed check states how to fix it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...common.crypto.certificates import WARNED_DAYS
from ...common.crypto.clocks import REMEDY
from ...common.errors import MosaicError
from ...common.federation.card import Card
from ...common.federation.protocol_versions import SPOKEN
from ...common.messages import PartyDescription, Verdict
from ...common.protocols.alignment.match_keys import matched_identifiers
from ...common.protocols.registry import BUILT_IN
from ...common.version import __version__
from ..parties.client import Connection, PartyClient
from ..parties.clocks import clock_of
from ..parties.connection import RetryPolicy
from ..parties.federation import connect
from ..parties.home import CuratorHome
from ..releasing.aligning.session import AlignmentSession
from ..releasing.memory import check_memory
from ..releasing.over_parties import order_of
from ..releasing.planning.plan import ReleasePlan
from ..releasing.reviewing import First, review
from .by_files import trips_text
from .forecast import forecast

_SOON = timedelta(days=WARNED_DAYS)
_QUICK = RetryPolicy(call_s=10.0, tries=2, answer_s=0.0)

_PROBED_MIB = 2
_ASSUMED_MIB_S = 12.0
_SLOW_MIB_S = 0.5


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        about: a party's name, or "plan" or "curator".
        what: what was checked.
        passed: whether the check passed.
        finding: what was found, or how to fix it.
    """

    about: str
    what: str
    passed: bool
    finding: str


def preflight(
    home: CuratorHome, plan: ReleasePlan, now: datetime | None = None, first: First | None = None
) -> Iterator[Check]:
    """Checks the curator, the cards, the parties, the dealers, and what they would say to the terms.

    Charges and reserves nothing, and asks no operator to decide.

    Args:
        home: folder of the curator.
        plan: plan of the release.
        now: current time; None for the clock's.
        first: of related tables, the part that is made first; None of a single table.
    """
    now = now or datetime.now(UTC)
    own = home.keyring.certificate
    yield _check_expiry("curator", own.not_before, own.not_after, now)
    cards = home.cards()
    for name in plan.participants:
        if name in cards:
            yield _check_expiry(
                name, cards[name].certificate.not_before, cards[name].certificate.not_after, now
            )
        else:
            yield Check(name, "card", False, "not enrolled; get its card and run dpmosaic curator enroll")
    described = all(name in cards for name in plan.participants)
    with home.links([name for name in plan.participants if name in cards], plan.listen, _QUICK) as links:
        for name, link in links.items():
            for line in _check_party(link, cards[name], plan):
                described = described and line.passed
                yield line
        if described:
            slices: list[list[Connection]] = plan.by_slices(links)
            yield (
                table := _run_check(
                    "plan", "parties make up one table", lambda: _check_federation(plan, slices, links)
                )
            )
            if table.passed:
                for what, fact in ({} if plan.tables is None else plan.tables.facts()).items():
                    yield Check("plan", what, True, fact)
                yield from _check_review(home, plan, slices, links, first)
                if first is None:
                    yield from _check_forecast(home, plan, slices, links)


def _check_party(link: Connection, card: Card, plan: ReleasePlan) -> Iterator[Check]:
    client = PartyClient(link)
    if client.by_files:
        yield from _check_party_by_files(client, card, plan)
        return
    began = time.monotonic()
    try:
        description = client.describe()
    except MosaicError as error:
        yield Check(card.name, "connection, both certificates", False, str(error))
        return
    seconds = time.monotonic() - began
    yield Check(card.name, "connection, both certificates", True, f"answers in {seconds:.3f} s")
    yield from check_link(client, card.name)
    yield from check_description(description, card, plan)


def _check_party_by_files(client: PartyClient, card: Card, plan: ReleasePlan) -> Iterator[Check]:
    """Checks what a party by files said of itself last; it is not asked anew."""
    try:
        description = client.describe()
    except MosaicError as error:
        yield Check(card.name, "by files", False, str(error))
        return
    yield Check(
        card.name, "by files", True, "its policy is asked when the release begins, with its rows as they are"
    )
    yield from check_description(description, card, plan)


def check_link(
    client: PartyClient, name: str, now: Callable[[], float] = time.time, least_mib_s: float = _SLOW_MIB_S
) -> Iterator[Check]:
    """Checks a party's clock and the throughput of its link.

    Args:
        client: client of the party.
        name: name of the party.
        now: seconds since 1970 in UTC.
        least_mib_s: throughput that the link needs each way, in MiB/s.
    """
    try:
        quick = client.probe(0, now)
        full = client.probe(_PROBED_MIB, now)
    except MosaicError as error:
        yield Check(
            name, "clock, throughput", False, f"a probe of {_PROBED_MIB} MiB each way failed: {error}"
        )
        return
    yield Check(name, "clock", *clock_of(quick))
    there, back = (_PROBED_MIB / max(s, 1e-6) for s in (full.upload_s, full.download_s))
    carried = f"upload {there:.1f} MiB/s, download {back:.1f} MiB/s, latency {1e3 * quick.upload_s:.0f} ms"
    fast = min(there, back) >= least_mib_s
    fix = f"; expected at least {least_mib_s:g} each way: fix the link, or raise call_seconds in the plan"
    yield Check(name, "throughput", fast, carried if fast else carried + fix)


def check_description(description: PartyDescription, card: Card, plan: ReleasePlan) -> Iterator[Check]:
    """Checks the description that a party or dealer gives of itself against its card and the plan."""
    name = card.name
    yield _check_equal(
        name, "name", description.name, name, "the address is that of another party; enroll it again"
    )
    same = description.identity == card.identity
    yield Check(name, "identity", same, "as on its card" if same else "not that of its card; get a new card")
    shared, spoken = description.versions.shares_with(SPOKEN), str(description.versions)
    fix = f"{spoken}, the curator speaks {SPOKEN}; upgrade dpmosaic where it is older"
    yield Check(name, "protocol version", shared, spoken if shared else fix)
    older = f"software {description.software_version}, the curator's is {__version__}"
    yield Check(name, "software version", True, older)
    if name in plan.other_dealers:
        return
    digests = [None if domain is None else domain.digest() for domain in (description.domain, card.domain)]
    same = digests[0] == digests[1]
    yield Check(name, "domain", same, "as on its card" if same else "changed since its card; get a new card")
    if plan.alignment is not None:
        lacking = sorted(set(matched_identifiers(plan.alignment.match)) - set(description.identifiers))
        fix = f"it names no {', '.join(lacking)}; its owner names the columns, or match rows by others"
        yield Check(name, "identifiers", not lacking, fix if lacking else "named as in match")
    allowed = plan.spec.protocol in description.protocols
    fix = f"its policy allows {', '.join(description.protocols) or 'no protocol'}; its owner can add it"
    yield Check(name, f"protocol {plan.spec.protocol}", allowed, "allowed" if allowed else fix)


def _check_federation(
    plan: ReleasePlan, slices: list[list[Connection]], links: Mapping[str, Connection]
) -> str:
    dealers = [links[name] for name in plan.other_dealers]
    counted = plan.alignment is None
    federation = connect(
        plan.domain, slices, plan.left_out, dealers=dealers, counted=counted, direct=plan.direct
    )
    if plan.alignment is not None:
        plan.alignment.plan(federation)
    if plan.tables is not None:
        answers = {member.description.name: member.attributes for member in federation.members}
        plan.tables.check_held(answers)
    found = f"{len(federation.slices)} slices, {len(federation.members)} parties"
    return f"{found}; dealers: {', '.join(plan.dealers)}" if plan.dealers else found


def _check_review(
    home: CuratorHome,
    plan: ReleasePlan,
    slices: Sequence[Sequence[Connection]],
    links: Mapping[str, Connection],
    first: First | None,
) -> Iterator[Check]:
    """What everybody would say to the terms: policy, budget, limits, source and disk."""
    try:
        for reviewed in review(home, plan, slices, links, first):
            for name, said in reviewed.said.items():
                yield from check_verdict(name, reviewed.what, said)
    except MosaicError as error:
        yield Check("plan", "terms", False, str(error))


def check_verdict(name: str, what: str, said: Verdict | MosaicError) -> Iterator[Check]:
    """One check for each reason of a party or dealer to refuse terms, or one that passes.

    Args:
        name: name of the party or dealer.
        what: what the terms are for.
        said: its verdict, or the error by which it refused to look at them.
    """
    refusals = (said,) if isinstance(said, MosaicError) else said.refusals
    for refusal in refusals:
        yield Check(name, what, False, str(refusal))
    if not isinstance(said, MosaicError) and not refusals:
        yield Check(name, what, True, "its operator decides when it is asked" if said.by_hand else "allowed")


def _check_forecast(
    home: CuratorHome,
    plan: ReleasePlan,
    slices: Sequence[Sequence[Connection]],
    links: Mapping[str, Connection],
) -> Iterator[Check]:
    """Whether the mechanism can run over these parties, and the marginals fit into the memory."""
    aligned = None
    if plan.alignment is not None:
        aligned = AlignmentSession.of(home, plan).held(slices)
        if aligned is None:
            return

    def describe_outlook() -> str:
        predicted = forecast(plan, slices, _ASSUMED_MIB_S, aligned, links)
        planned = predicted.outlook.planned
        needed = check_memory(order_of(plan).domain, planned)
        trips = [f"; to {name} {trips_text(trips)}" for name, trips in predicted.round_trips.items()]
        return f"{len(planned)} steps; marginals of at most {needed / 2**20:,.0f} MiB{''.join(trips)}"

    if plan.spec.protocol in BUILT_IN:
        yield _run_check("plan", f"mechanism {plan.mechanism}", describe_outlook)


def _run_check(about: str, what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(about, what, True, look())
    except MosaicError as error:
        return Check(about, what, False, str(error))


def _check_equal(about: str, what: str, found: object, expected: object, fix: str) -> Check:
    if found == expected:
        return Check(about, what, True, str(found))
    return Check(about, what, False, f"expected {expected}, found {found}; {fix}")


def _check_expiry(about: str, begins: datetime, ends: datetime, now: datetime) -> Check:
    what = "certificate"
    if now < begins:
        return Check(about, what, False, f"valid only from {begins:%Y-%m-%d %H:%M}; {REMEDY}")
    if now > ends:
        return Check(about, what, False, f"expired on {ends:%Y-%m-%d}; issue a new one and a new card")
    soon = ", which is soon: prepare a new one" if ends - now < _SOON else ""
    return Check(about, what, True, f"valid until {ends:%Y-%m-%d}{soon}")
