"""Participants that deviate so that an honest one would use a mask, a pad or a seed for a second value.

The honest role refuses at once, for ever, and what it sends stays the same to the last byte.
"""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms, terms_digest
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing, dealt_labels
from dpmosaic.common.dealing.evaluator import Resharing
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import DealRequest, Delivery, DeliveryKind, Introduction, OpeningRequest
from dpmosaic.common.promises.binding import Binding
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.scores.query import references_digest
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.party.accounts.accepted import LedgerBindings
from dpmosaic.party.accounts.ledger import Ledger
from support.masked import DEALERS, GRID, Release, dealer_secret, plan_of, terms_of
from support.taps import Curator, table_of
from support.terms import RELEASE_ID

FOUR = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 2, "e": 3})
GRIDS = {
    "three parties": (GRID, Domain.coded({"a": 2, "b": 3, "c": 4, "d": 2}), ("a", "c", "d")),
    "four parties": (
        {"north": (0, ("a",)), "east": (0, ("c",)), "west": (0, ("d",)), "south": (0, ("b", "e"))},
        FOUR,
        ("a", "c", "d", "e"),
    ),
}


def refused(kind):
    return pytest.raises(ProtocolError, match=rf"same content as before, got another \({kind}\)")


def session(release, place):
    return release.parties[release.names[place]]._releases.of(RELEASE_ID)._introduced_session()


def more(rows):
    """Every record has one more in its first column."""

    def changed(chain, at_once, within=None):
        for block in rows(chain, at_once, within):
            block[:, 0] += block.dtype.type(1)
            yield block

    return changed


@pytest.mark.slow
@pytest.mark.parametrize("restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("dealers", [1, 3])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("grid", GRIDS)
def test_two_parties_do_not_make_another_one_open_other_rows_under_one_mask(
    grid, bits, dealers, restarted, tmp_path
):
    """Two openings under one mask differ by the victim's column, times what the first one chose."""
    parties, domain, clique = GRIDS[grid]
    records = (40, 25) if grid == "three parties" else (40,)
    plan = plan_of(parties, 2 if dealers == 3 else 1, bits, records, domain, DEALERS[:dealers])
    release = Release(terms_of(plan), tmp_path).accept().introduce()
    for step in release.deliveries(clique):
        step()
    chain = plan.chain(View(clique), 0)
    first, victim, last = plan.holders(chain, 0)[:3]

    def opened():
        frames = release.sealed(victim, chain[:2], last)
        what = ["opening", "0", *labels(chain[:2])]
        return b"".join(session(release, last).peers.unseal(victim, what, frames))

    before = opened()
    cheating = session(release, first)
    cheating._matrices._matrix = more(cheating._matrices._matrix)
    if restarted:
        release.start(release.names[victim], seed=7)
        release.begin()
    with refused(f"opening from {release.names[first]}"):
        release.exchange(first, chain[:1], victim)
    if not restarted:
        assert opened() == before
        return
    with pytest.raises(ProtocolError, match="not delivered"):
        opened()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_party_opens_only_the_rows_that_it_opened_before_under_the_same_mask(restarted, tmp_path):
    release = Release(folder=tmp_path).accept().introduce()
    release.sealed(1, (("c",),), 0)
    if restarted:
        release.start("east", seed=2)
        release.begin()
    own = session(release, 1)
    own._multiplied = own._multiplied.take(np.arange(39, -1, -1))
    with refused("rows under a mask"):
        release.sealed(1, (("c",),), 2)


def test_a_party_that_was_restarted_takes_no_other_seeds_of_its_masks(tmp_path):
    release = Release(folder=tmp_path).accept().introduce()
    release.start("east", seed=2)
    request = DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, 1)
    what = dealt_labels(request.kind, ())
    sealed = list(release.dealings[4]._peers.seal(1, what, [b"another seed".ljust(32)]))
    with refused("dealt from dealer"):
        release.deliver_dealt(4, request, sealed)
    with pytest.raises(ProtocolError, match="seeds of all dealers"):
        session(release, 1)._seeds.masks.child("mask")


TWO = {"north": (0, ("a", "b")), "east": (0, ("c", "d"))}
CLIQUE = ("a", "b")
REFERENCES = np.full(6, 5, dtype=np.int64)


def query(query_id):
    digest = references_digest([REFERENCES])
    return ScoreQuery(RELEASE_ID, query_id, (View(CLIQUE),), 1e6, digest, 5, int(REFERENCES.sum()))


@contextlib.contextmanager
def ledger_of_a_dealer(path, terms):
    with contextlib.closing(Ledger(path) if path.exists() else Ledger.create(path)) as ledger:
        ledger.reserve(terms, "", bytes(32), lambda reserved: None)
        yield Binding(LedgerBindings(ledger, RELEASE_ID))


@contextlib.contextmanager
def journal_of_a_curator(path, terms):
    with contextlib.closing(Journal(path) if path.exists() else Journal.create(path, "")) as journal:
        yield Binding(journal)


class Assisted:
    """A release of two parties whose dealer assists in scores, and keeps its bindings in a file."""

    def __init__(self, kept, path):
        plan = plan_of(TWO, 1, records=(40,), dealers=("dealer",), evaluators=(2, 0, 1))
        self.release, self.kept, self.path = Release(terms_of(plan)).accept().introduce(), kept, path
        for name in TWO:
            self.release.parties[name].prepare_scores(query("q1"))

    @contextlib.contextmanager
    def dealer(self):
        """The dealer, started again."""
        release = self.release
        with self.kept(self.path, release.terms) as binding:
            yield Dealing(
                release.terms, 2, dealer_secret("dealer"), release.acceptances, lambda: bytes(32), binding
            )

    def first_message(self, dealer, added):
        """The assistant's first message to the second party, which added this to its part of the cells."""
        dealer.scores.prepare(query("q1"))
        header = Delivery(RELEASE_ID, DeliveryKind.SCORE_REFERENCES, query_id="q1")
        dealer.deliver(header, iter([REFERENCES.astype("<i8").tobytes()]))
        east = session(self.release, 1)
        mine = Resharing(self.release.plan, query("q1"), 1, east.peers)
        request = OpeningRequest(RELEASE_ID, (), 2, DeliveryKind.SCORE_STEP, "q1", 0)
        parts = self.release.parties["north"].open(request), mine.open(2, np.full(6, added, dtype=np.uint32))
        for sender, frames in enumerate(parts):
            dealer.deliver(request.delivery(sender), frames)
        asked = replace(request, recipient=1, step=1)
        return b"".join(east.peers.unseal(2, ["score", mine.digest, "1"], dealer.open(asked)))


@pytest.mark.parametrize("kept", [ledger_of_a_dealer, journal_of_a_curator])
@pytest.mark.parametrize("between", ["another query", "a restart", "both"])
def test_the_assistant_of_two_parties_uses_the_pads_of_a_query_for_one_part_of_each_party(
    kept, between, tmp_path
):
    """The exclusive or of two messages under one pad shows digits of the other party's cells, exactly."""
    trial = Assisted(kept, tmp_path / "file")
    with trial.dealer() as dealer:
        first = trial.first_message(dealer, 0)
        if between != "a restart":
            dealer.scores.prepare(query("q2"))
            with refused("score from east"):
                trial.first_message(dealer, 1)
            assert trial.first_message(dealer, 0) == first
    if between != "another query":
        with trial.dealer() as dealer:
            with refused("score from east"):
                trial.first_message(dealer, 1)
        with trial.dealer() as dealer:
            assert trial.first_message(dealer, 0) == first


def test_a_curator_that_deals_takes_no_other_keys_of_a_party_for_the_same_release():
    """With other keys the same pads would be in other messages."""
    curator = Curator(table_of("random", FOUR, 40), "1x2")
    terms = curator.terms()
    acceptances = list(curator.federation.accept(terms))
    dealer, ephemeral = curator.dealers[0], EphemeralKey.from_seed(b"e" * 32).public

    def introduce():
        introduced = codec.encode(Introduction(RELEASE_ID, tuple(acceptances)))
        return list(dealer.call("Introduce", [introduced]))

    first = introduce()
    assert introduce() == first
    party = curator.links[0].connection.party
    message = terms_digest(terms) + acceptances[0].mark.signed_bytes() + ephemeral
    signature = party._identity.sign("acceptance of a release", message)
    acceptances[0] = replace(acceptances[0], ephemeral=ephemeral, signature=signature)
    with refused("keys of all participants"):
        introduce()


def test_what_was_bound_is_refused_after_the_end_of_the_release_too(tmp_path):
    release = Release(folder=tmp_path).accept().introduce()
    sealed = release.sealed(0, (("a",),), 1)
    release.exchange(0, (("a",),), 1)
    release.parties["east"].abandon(RELEASE_ID)
    with pytest.raises(ProtocolError, match="the release is abandoned at this party"):
        release.deliver(DeliveryKind.OPENING, (("a",),), 1, sealed, 0)
    with pytest.raises(ProtocolError, match="the release is abandoned at this party"):
        release.parties["east"].accept(encode_terms(release.terms))
