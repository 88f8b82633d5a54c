"""Random operations on parties and releases, each a function of the world and of its own numbers."""

import sqlite3
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import (
    ApprovalPending,
    BudgetError,
    DataError,
    PartyUnavailable,
    PolicyError,
    ProtocolError,
)
from dpmosaic.common.messages import AbandonRequest, AnswerRequest, SignedTerms
from dpmosaic.common.privacy import distributed, noise
from dpmosaic.common.privacy.cost import gaussian_sigma
from dpmosaic.common.promises.statement import Claim, check_statement
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.approving.approvals import APPROVED, DENIED, PENDING
from support.changed import changed
from support.operations.disk import ANSWERS, Broken, Died
from support.operations.world import DOMAIN, LIFETIME, MANUAL, PROTOCOLS, certificate_of

OTHER_SAMPLER = "of the sampler drew noise"
"""In the refusal of a query that was charged when another version of the sampler drew noise."""

MOST_QUERIES = 6
"""Queries of one release; a resumed curator repeats them all."""


def propose(world, rng):
    """A new release; refused once the lifetime is used up."""
    release = world.propose(str(rng.choice(list(PROTOCOLS))), Fraction(int(rng.integers(1, 40)), 10))
    accept(world, release)


def resume(world, rng):
    """A curator that died accepts again, and asks everything again from its start."""
    release = chosen(world, rng, "proposed", "open")
    if release is None or not accept(world, release):
        return False
    asked, release.asked = release.asked, []
    try:
        for again in asked:
            ask_of(release, again)
    except ProtocolError as error:
        if OTHER_SAMPLER not in str(error):
            raise
        release.measurer = None
        return False
    finally:
        release.asked = asked
    return True


def accept(world, release):
    left = min(LIFETIME - world.parties[name].ledger.total_reserved() for name in release.parties)
    fresh = release.state == "proposed"
    try:
        world.agree(release)
    except ApprovalPending:
        return False
    except PolicyError as error:
        if "denied" in str(error):
            release.state = "denied"
            return False
        if not fresh or release.granted <= left or "lifetime" not in str(error):
            raise
        return False
    release.state = "open"
    return True


def ask(world, rng):
    """One marginal, box or interaction query, by the curator's own code."""
    release = accepted(world, rng)
    if release is None:
        return False
    names = release.measurer.domain.names
    size = int(rng.integers(1, len(names) + 1))
    clique = release.measurer.domain.canonical(rng.choice(names, size, replace=False).tolist())
    rho = release.granted * Fraction(int(rng.integers(1, 30)), 100)
    query = Query(View(clique, interaction=bool(rng.integers(2))), rho, "step")
    if not query.view.interaction and rng.random() < 0.3:
        query = changed(query, boxes=(tuple((0, 1) for _ in clique),))
    return ask_of(release, query)


def score(world, rng):
    """Scores of all pairs."""
    release = accepted(world, rng)
    if release is None or not release.measurer.scores_exactly:
        return False
    return ask_of(release, release.granted * Fraction(int(rng.integers(1, 30)), 100))


def ask_of(release, what):
    """Asks; what was asked is noted first, since parties may have charged it when the curator dies."""
    measurer = release.measurer
    if len(release.asked) >= MOST_QUERIES:
        return False
    rho = what.zcdp_rho if isinstance(what, Query) else what
    if measurer.accountant.spent + rho > measurer.granted:
        return False
    release.asked.append(what)
    try:
        if isinstance(what, Query):
            measurer.measure([what])
        else:
            clique = measurer.domain.names
            measurer.score(
                [View(clique)], [np.zeros(measurer.domain.cells(clique), dtype=np.int64)], rho, "scores"
            )
    except BudgetError:
        # `interleave` spends what the curator's accountant does not know of.
        return False
    except BaseException:
        # Some parties may have charged the query: a curator resumes with it, and never goes on with another.
        release.measurer = None
        raise
    return True


def repeat(world, rng):
    """A request that was answered before is sent again: the same bytes, or a refusal."""
    party = party_of(world, rng)
    recent = list(party.sent)[-10:]
    if not recent:
        return False
    method, request = recent[int(rng.integers(len(recent)))]
    before = party.sent[method, request]
    try:
        again = tuple(party.call(method, [request]))
    except (ProtocolError, PolicyError):
        return False
    if again[: len(before)] != before:
        raise Broken("a repeated query got another answer")
    return True


def forge(world, rng):
    """The id of an answered query with another content is refused."""
    party = party_of(world, rng)
    marginals = [request for method, request in party.sent if method == "Answer"]
    if not marginals:
        return False
    asked = codec.decode(AnswerRequest, marginals[int(rng.integers(len(marginals)))])
    other = replace(asked.query, sigma=asked.query.sigma * (1 + float(rng.random())))
    refused(party, other, ProtocolError, asked.charges)
    return True


def overspend(world, rng):
    """A query that costs more than the rest of the grant is refused and not charged."""
    release = accepted(world, rng)
    if release is None or release.protocol != "trusted":
        return False
    party = world.parties[release.parties[0]]
    spent = party.ledger.cost_of(release.release_id)
    sigma = gaussian_sigma(
        release.granted - spent + Fraction(1, 1000), release.agreement.terms.spec.adjacency
    )
    names = (DOMAIN.names[0],)
    query = MarginalQuery(
        release.release_id, f"x{rng.integers(2**32)}", AnswerForm.HISTOGRAM, View(names), sigma
    )
    refused(party, query, BudgetError)
    return True


def unknown(world, rng):
    """A query of a release that was never accepted is refused."""
    party = party_of(world, rng)
    names = (party.table.domain.names[0],)
    query = MarginalQuery(f"{rng.integers(2**32):032x}", "q", AnswerForm.HISTOGRAM, View(names), 3.0)
    refused(party, query, ProtocolError)
    return True


def interleave(world, rng):
    """Two curators ask in two releases at once, and each takes its answers frame by frame."""
    party = world.parties["north"]
    streams = []
    for release in [r for r in world.releases if r.measurer is not None and r.protocol == "trusted"][-2:]:
        sigma = gaussian_sigma(release.granted / 50, release.agreement.terms.spec.adjacency)
        query = MarginalQuery(
            release.release_id, f"y{rng.integers(2**32)}", AnswerForm.HISTOGRAM, View(("a",)), sigma
        )
        streams.append(party.call("Answer", [codec.encode(AnswerRequest(query))]))
    while streams:
        stream = streams.pop(int(rng.integers(len(streams))))
        with suppress(BudgetError):
            if next(stream, None) is not None:
                streams.append(stream)
    return True


def kill(world, rng):
    """A party's process ends between two calls."""
    party_of(world, rng).kill()
    return True


def restart(world, rng):
    party_of(world, rng).restart()
    return True


def die(world, rng):
    """A party's process ends at some step within another operation, and the curator's with it."""
    world.mortal.steps_left = int(rng.integers(0, 9))
    try:
        operation_of(rng, WHILE_DYING)(world, rng)
    except Died:
        for party in world.parties.values():
            party.kill()
        for release in world.releases:
            release.measurer = None
        return True
    finally:
        world.mortal.steps_left = None
    return False


def full_disk(world, rng):
    """A party's ledger can grow no more during another operation: what it cannot write, it refuses."""
    party = party_of(world, rng)
    party.full()
    try:
        for _ in range(5):
            operation_of(rng, WHILE_FULL)(world, rng)
    except (sqlite3.OperationalError, PartyUnavailable) as error:
        # The operator's own commands meet SQLite's error, curators the party's.
        if "disk is full" not in str(error):
            raise
        return True
    finally:
        party.emptied()
    return False


def upgrade(world, rng):
    """Another version of the sampler draws other noise: what it answered before is refused or the same."""
    version = noise.SAMPLER + 1
    drawn = noise.discrete_gaussian
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "SAMPLER", version)
        for module in (noise, distributed):
            patch.setattr(
                module,
                "discrete_gaussian",
                lambda sigma, size, stream: drawn(sigma, size, stream.child("version", str(version))),
            )
        (repeat if rng.random() < 0.8 else resume)(world, rng)
    return True


def other_rows(world, rng):
    """A party is started with other rows: no release that is open is answered from them."""
    party = party_of(world, rng)
    rows = party.table
    others = zip(rows.columns, rows.domain.sizes, strict=True)
    party.restart(Table(rows.domain, tuple((codes + 1) % size for codes, size in others)))
    asked = [request for method, request in party.sent if method == "Answer"]
    try:
        for request in asked[-3:]:
            refused(party, *_with_charges(request))
    finally:
        party.restart(rows)
    return bool(asked)


def certify(world, rng):
    """Every party signs its entries: their sum is what the ledger spent, and the release is closed."""
    release = chosen(world, rng, "open", "closing certified")
    if release is None or release.agreement is None:
        return False
    spent = [world.parties[name].ledger.cost_of(release.release_id) for name in release.parties]
    claim = Claim(release.release_id, certificate_of(release), float(max(spent)))
    release.state, release.measurer = "closing certified", None
    for member, cost in zip(release.agreement.federation.members, spent, strict=True):
        statement = member.client.certify(claim)
        terms = encode_terms(release.agreement.terms)
        signed = check_statement(statement, member.description.identity, terms, claim.certificate)
        if signed != cost:
            raise Broken("what is signed is not what was spent")
    release.state = "certified"
    return True


def abandon(world, rng):
    """Every party closes the release, also one that did not accept it."""
    release = chosen(world, rng, "proposed", "open", "denied", "closing abandoned")
    if release is None:
        return False
    release.state, release.measurer = "closing abandoned", None
    for name in release.parties:
        list(world.parties[name].call("Abandon", [codec.encode(AbandonRequest(release.release_id))]))
    release.state = "abandoned"
    return True


def ask_a_closed_release(world, rng):
    """It answers nothing, and accepts nothing."""
    release = chosen(world, rng, "certified", "abandoned")
    if release is None or release.agreement is None:
        return False
    for name in release.parties:
        party = world.parties[name]
        terms = codec.encode(SignedTerms(encode_terms(release.agreement.terms), b"", party.seen))
        for method, request in [*(key for key in party.sent if _is_of(key, release)), ("Accept", terms)]:
            try:
                list(party.call(method, [request]))
            except (ProtocolError, PolicyError):
                continue
            raise Broken("a closed release answered")
    return True


def decide(world, rng):
    """An operator approves or denies a release that waits; its curator hears of an approval."""
    party = world.parties[MANUAL]
    waiting = [request for request in party.approvals.requests() if request.state == PENDING]
    if not waiting:
        return False
    verdict = APPROVED if rng.random() < 0.85 else DENIED
    decided = party.approvals.decide(
        waiting[-1].terms.release_id, verdict, "operator", "", accepted=False
    ).terms.release_id
    for release in world.releases:
        if release.release_id == decided and release.state == "proposed" and verdict == APPROVED:
            accept(world, release)
    return True


def approve(world, release):
    with suppress(DataError):
        world.parties[MANUAL].approvals.decide(release.release_id, APPROVED, "operator", "", accepted=False)


def deny_running(world, rng):
    """An operator denies a release that is running: it is stopped for good, at this party."""
    party = world.parties[MANUAL]
    running = [r for r in world.releases if r.state == "open" and MANUAL in r.parties]
    if not running:
        return False
    release = running[int(rng.integers(len(running)))]
    party.approvals.decide(release.release_id, DENIED, "operator", "", accepted=True)
    release.state, release.measurer = "denied", None
    party.denied.add(release.release_id)
    for key in [key for key in party.sent if _is_of(key, release)]:
        with suppress(PolicyError):
            list(party.call(key[0], [key[1]]))
            raise Broken("a denied release answered")
    return True


def back_up(world, rng):
    party_of(world, rng).copy()
    return True


def restore(world, rng):
    """A ledger restored from an old copy is noticed by a curator and by a party that saw something newer."""
    party = party_of(world, rng)
    accepted_here = [r for r in world.releases if r.agreement is not None and party.name in r.parties]
    if party.backup is None or not accepted_here:
        return False
    current = party.home
    party.start_from(party.backup)
    try:
        mark = party.ledger.mark()
        if mark.events < party.seen.events:
            signed = codec.encode(
                SignedTerms(encode_terms(accepted_here[-1].agreement.terms), b"", party.seen)
            )
            with suppress(ProtocolError):
                list(party.call("Accept", [signed]))
                raise Broken("a curator did not notice a ledger restored from an old copy")
        if mark.events < party.introduced.events:
            _introduce_again(world, party)
        return mark.events < party.seen.events
    finally:
        party.start_from(current)


def _introduce_again(world, party):
    """A curator that hides what it has seen does not get the party past the others."""
    release = world.propose("masked", Fraction(1, 1000))
    try:
        with suppress(ApprovalPending):
            world.agree(release)
        approve(world, release)
        world.agree(release)
    except PolicyError:
        return
    except ProtocolError as error:
        if "restored from an old copy" not in str(error):
            raise
        return
    finally:
        world.releases.remove(release)
        for other in world.parties.values():
            list(other.call("Abandon", [codec.encode(AbandonRequest(release.release_id))]))
    raise Broken("another party did not notice a ledger restored from an old copy")


def clock_jump(world, rng):
    party_of(world, rng).clock += float(rng.normal() * 1e8)
    return True


OPERATIONS = {
    propose: 10,
    resume: 6,
    ask: 26,
    score: 8,
    repeat: 16,
    forge: 5,
    overspend: 4,
    unknown: 1,
    interleave: 4,
    kill: 4,
    restart: 4,
    die: 8,
    full_disk: 5,
    upgrade: 4,
    other_rows: 2,
    certify: 4,
    abandon: 4,
    ask_a_closed_release: 3,
    decide: 10,
    deny_running: 2,
    back_up: 2,
    restore: 2,
    clock_jump: 1,
}
"""How often each operation is drawn."""

WHILE_DYING = (propose, resume, ask, ask, ask, score, repeat, interleave, certify, abandon)
WHILE_FULL = (propose, resume, ask, ask, score, repeat, interleave)


def operation_of(rng, among):
    return among[int(rng.integers(len(among)))]


def chosen(world, rng, *states):
    """A release in one of these states, the latest more often."""
    found = [release for release in world.releases if release.state in states][-4:]
    return found[int(rng.integers(len(found)))] if found else None


def accepted(world, rng):
    """A release whose curator is alive."""
    found = [release for release in world.releases if release.measurer is not None][-4:]
    return found[int(rng.integers(len(found)))] if found else None


def party_of(world, rng):
    return list(world.parties.values())[int(rng.integers(len(world.parties)))]


def refused(party, query, kind, charges=()):
    """Returns only if the query is refused."""
    try:
        list(party.call("Answer", [codec.encode(AnswerRequest(query, charges))]))
    except (kind, ProtocolError, PolicyError):
        return
    raise Broken(f"expected a refusal of {query}")


def _is_of(key, release):
    method, request = key
    return ANSWERS[method](request).release_id == release.release_id


def _with_charges(request):
    asked = codec.decode(AnswerRequest, request)
    return asked.query, ProtocolError, asked.charges
