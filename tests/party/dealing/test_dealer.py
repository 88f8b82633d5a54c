"""A dealer in one release of two parties, by the messages that a curator sends it."""

from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import encode_terms, terms_digest
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import dealt_labels
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.errors import MosaicError, PolicyError, ProtocolError
from dpmosaic.common.history import Mark
from dpmosaic.common.messages import (
    AbandonRequest,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
)
from dpmosaic.common.promises.acceptance import accept
from dpmosaic.common.promises.binding import Binding, BindingsInMemory
from dpmosaic.common.promises.statement import TERMS, Claim, check_statement
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.queries import AnswerForm, MarginalQuery, ScoreQuery
from dpmosaic.common.wire import codec
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.dealing.dealer import Dealer
from dpmosaic.party.dealing.policy import DealerPolicy
from dpmosaic.party.institution.institution import Rules
from dpmosaic.party.serving.servicer import PartyServicer
from support.terms import RELEASE_ID, alone, id_of, terms_of, terms_with

CURATOR, STRANGER = (Identity.from_seed(bytes([n]) * 32) for n in (7, 8))
PARTIES, DEALERS = ("north", "south"), ("one", "two", "three")
IDENTITIES = {name: Identity.from_seed(name.encode().ljust(32)) for name in (*PARTIES, *DEALERS)}
KNOWN = {name: identity.public for name, identity in IDENTITIES.items()}
DOMAIN = Domain.coded({"a": 2, "b": 3})
RECORDS = 50
POLICY = DealerPolicy(max_records=RECORDS, max_cells=6)
CHAIN = (("a",), ("b",))
SEEDS = DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, 1)
PRODUCT = DealRequest(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, 1, (CHAIN,))


def plan_of(dealers=DEALERS):
    roster = tuple(
        RosterEntry(name, 0, (attribute,), RECORDS, KNOWN[name])
        for name, attribute in zip(PARTIES, "ab", strict=True)
    )
    entries = tuple(DealerEntry(name, KNOWN.get(name, CURATOR.public)) for name in dealers)
    return MaskedPlan(DOMAIN, roster, 1, Ring(32), (), entries)


def stranger_as(name, dealers=DEALERS):
    """A plan whose dealers include a stranger under this name."""
    others = [entry for entry in plan_of(dealers).dealers if entry.name != name]
    return replace(plan_of(dealers), dealers=(DealerEntry(name, STRANGER.public), *others))


def masked_terms(plan=None, **changes):
    return terms_with(terms_of(protocol="masked", plan=plan or plan_of()), **changes)


def dealer_of(name="one", ledger=None, policy=POLICY, known=KNOWN, seed=1):
    rules = Rules(policy, known, [CURATOR.public])
    return Dealer(
        name, IDENTITIES[name], rules, ledger or Ledger(), RandomStream.from_seed(seed).child(name).key
    )


def accepted_by(dealer, terms, signer=CURATOR):
    encoded = encode_terms(terms)
    return dealer.accept(encoded, signer.sign(TERMS, encoded), CURATOR.public)


class Release:
    """The dealers of a release, and what they deal as its recipient opens it.

    Args:
        terms: terms of the release.
        ledgers: ledger of each dealer by name; in memory where there is none.
    """

    def __init__(self, terms=None, ledgers=()):
        self.terms = terms or masked_terms()
        self.names = [entry.name for entry in self.terms.plan.participants]
        self.dealers = {name: dealer_of(name, dict(ledgers).get(name)) for name in self.names[2:]}
        for _ in range(2):
            accepted = {name: accepted_by(dealer, self.terms) for name, dealer in self.dealers.items()}
        for number, name in enumerate(PARTIES):
            mark = Mark(1, bytes([number]) * 32)
            accepted[name] = accept(terms_digest(self.terms), IDENTITIES[name], self.secret(name), mark)
        self.introduction = Introduction(RELEASE_ID, tuple(accepted[name] for name in self.names))

    def secret(self, party):
        return party.encode().ljust(32, b"s")

    def introduce(self):
        for dealer in self.dealers.values():
            dealer.introduce(self.introduction)
        return self

    def opened(self, request, name="one"):
        """What a dealer deals, without its envelope."""
        recipient = self.names[request.recipient]
        peers = Peers(
            self.terms,
            request.recipient,
            self.secret(recipient),
            self.introduction.acceptances,
            lambda: bytes(32),
            Binding(BindingsInMemory()),
        )
        frames = list(self.dealers[name].deal(request))
        what = dealt_labels(request.kind, request.chains, request.owner)
        return b"".join(peers.unseal(self.names.index(name), what, frames))


def test_each_component_of_a_mask_is_dealt_by_two_of_three_dealers_and_known_to_both():
    release = Release().introduce()
    for party in (0, 1):
        dealt = [release.opened(replace(SEEDS, recipient=party), name) for name in DEALERS]
        seeds = [seed[at : at + 32] for seed in dealt for at in range(0, len(seed), 32)]
        assert [len(seed) for seed in dealt] == [64, 64, 64]
        assert sorted(seeds.count(seed) for seed in set(seeds)) == [2, 2, 2]


def test_after_a_restart_a_dealer_deals_the_same_as_before(tmp_path):
    path = tmp_path / "one.sqlite"
    ledger = Ledger.create(path)
    release = Release(ledgers={"one": ledger}).introduce()
    first = [release.opened(request) for request in (SEEDS, PRODUCT)]
    ledger.close()
    reopened = Ledger(path)
    release.dealers["one"] = dealer_of("one", reopened, seed=2)
    assert [release.opened(request) for request in (SEEDS, PRODUCT)] == first
    accepted_by(release.dealers["one"], release.terms)
    release.introduce()
    assert [release.opened(request) for request in (SEEDS, PRODUCT)] == first
    reopened.close()


def test_a_dealer_signs_the_certificate_without_entries_and_erases_its_keys():
    ledger = Ledger()
    release = Release(ledgers={"one": ledger}).introduce()
    claim = Claim(RELEASE_ID, bytes(32), 0.5)
    said = release.dealers["one"].certify(claim)
    assert said.entries == ()
    assert check_statement(said, KNOWN["one"], encode_terms(release.terms), bytes(32)) == 0
    assert release.dealers["one"].certify(claim) == said
    for request in (SEEDS, PRODUCT):
        with pytest.raises(ProtocolError, match="certified"):
            release.dealers["one"].deal(request)
    with pytest.raises(ProtocolError, match="certified"):
        ledger.release(RELEASE_ID)


def test_an_abandoned_release_is_dealt_for_no_more():
    release = Release().introduce()
    for _ in range(2):
        release.dealers["one"].abandon(RELEASE_ID)
    with pytest.raises(ProtocolError, match="abandoned"):
        release.dealers["one"].deal(SEEDS)


def test_a_dealer_describes_itself_without_attributes_and_records():
    described = dealer_of().describe()
    assert codec.decode(PartyDescription, codec.encode(described)) == described
    assert (described.name, described.domain, described.record_count) == ("one", None, None)


@pytest.mark.parametrize(
    ("terms", "changes", "error", "reason"),
    [
        (terms_of(plan=alone(DOMAIN, 9)), {}, PolicyError, "only in masked releases"),
        (masked_terms(protocol_version=9), {}, PolicyError, "speaks protocol version"),
        (masked_terms(), {"policy": replace(POLICY, max_records=RECORDS - 1)}, PolicyError, "max_records"),
        (masked_terms(), {"policy": DealerPolicy()}, PolicyError, "max_records"),
        (masked_terms(plan_of(["two"])), {}, ProtocolError, "among its dealers"),
        (masked_terms(), {"known": KNOWN | {"south": bytes(32)}}, PolicyError, "'south' with an identity"),
        (
            masked_terms(),
            {"known": {n: i for n, i in KNOWN.items() if n != "two"}},
            PolicyError,
            "'two' with",
        ),
        (masked_terms(stranger_as("one")), {}, ProtocolError, "among its dealers"),
        (masked_terms(stranger_as("curator")), {}, PolicyError, "'curator' with an identity"),
    ],
)
def test_what_the_dealer_did_not_agree_to_is_refused(terms, changes, error, reason):
    dealer = dealer_of(**changes)
    with pytest.raises(error, match=reason):
        accepted_by(dealer, terms)
    with pytest.raises(ProtocolError, match="has not accepted"):
        dealer.introduce(Release().introduction)


def test_a_party_of_the_plan_is_no_dealer_by_its_own_name():
    plan = plan_of((*DEALERS, "curator"))
    party = replace(plan.roster[0], name="one", identity=KNOWN["one"])
    with pytest.raises(ProtocolError, match="among its dealers"):
        accepted_by(dealer_of(), masked_terms(replace(plan, roster=(party, plan.roster[1]))))


def test_the_curator_may_deal_too_under_its_own_identity():
    accepted_by(dealer_of(), masked_terms(plan_of(["one", "two", "curator"])))


def test_a_release_of_an_unpinned_curator_or_by_another_caller_is_refused():
    dealer, encoded = dealer_of(), encode_terms(masked_terms())
    with pytest.raises(PolicyError, match="not signed by a pinned curator"):
        accepted_by(dealer, masked_terms(), STRANGER)
    with pytest.raises(PolicyError, match="not from the curator"):
        dealer.accept(encoded, CURATOR.sign(TERMS, encoded), STRANGER.public)
    accepted_by(dealer, masked_terms())
    with pytest.raises(PolicyError, match="not from the curator"):
        dealer.check_caller(RELEASE_ID, STRANGER.public)


def test_a_dealer_has_only_so_many_releases_open():
    dealer = dealer_of(policy=replace(POLICY, max_active_releases=2))
    for label in "rs":
        accepted_by(dealer, masked_terms(release_id=id_of(label)))
    accepted_by(dealer, masked_terms())
    with pytest.raises(PolicyError, match="max_active_releases"):
        accepted_by(dealer, masked_terms(release_id=id_of("t")))
    dealer.abandon(id_of("s"))
    accepted_by(dealer, masked_terms(release_id=id_of("t")))


def test_nothing_is_dealt_before_all_acceptances_are_verified():
    release = Release()
    dealer = release.dealers["one"]
    with pytest.raises(ProtocolError, match="introduce them first"):
        dealer.deal(SEEDS)
    acceptances = release.introduction.acceptances
    forged = replace(acceptances[1], ephemeral=acceptances[0].ephemeral)
    for wrong in (acceptances[:-1], (acceptances[0], forged, *acceptances[2:])):
        with pytest.raises(ProtocolError):
            dealer.introduce(Introduction(RELEASE_ID, wrong))
        with pytest.raises(ProtocolError, match="introduce them first"):
            dealer.deal(SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "policy", "error", "reason"),
    [
        (replace(PRODUCT, recipient=2), POLICY, ProtocolError, "a party of the plan as recipient"),
        (replace(PRODUCT, chains=((("a",), ("z",)),)), POLICY, ProtocolError, "attributes of the plan"),
        (replace(PRODUCT, recipient=0), POLICY, ProtocolError, "last part the recipient holds"),
        (PRODUCT, replace(POLICY, max_cells=5), PolicyError, "max_cells of the dealer's policy"),
        (
            replace(PRODUCT, chains=(CHAIN,) * 50_000),
            replace(POLICY, max_memory_mb=1),
            PolicyError,
            "max_memory",
        ),
    ],
)
def test_a_request_beyond_plan_or_policy_is_refused(request_, policy, error, reason):
    release = Release().introduce()
    dealer = dealer_of("one", release.dealers["one"]._ledger, policy)
    with pytest.raises(error, match=reason):
        list(dealer.deal(request_))


def test_a_dealer_stops_when_its_time_to_compute_is_used_up():
    release = Release().introduce()
    dealer = dealer_of("one", release.dealers["one"]._ledger, replace(POLICY, max_cpu_seconds=0))
    with pytest.raises(PolicyError, match="max_cpu_seconds"):
        list(dealer.deal(SEEDS))


@pytest.mark.parametrize(
    "step",
    [
        lambda dealer: dealer.open(OpeningRequest(RELEASE_ID, CHAIN, 1)),
        lambda dealer: dealer.deliver(Delivery(RELEASE_ID, DeliveryKind.OPENING), []),
        lambda dealer: dealer.align(RELEASE_ID, 0),
        lambda dealer: dealer.multiply(MultiplyRequest(RELEASE_ID, (CHAIN,))),
        lambda dealer: dealer.charge(MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a",)), 1.0)),
        lambda dealer: dealer.answer(MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a",)), 1.0)),
        lambda dealer: dealer.prepare_scores(
            ScoreQuery(RELEASE_ID, "q", (View(("a",)),), 1.0, bytes(32), 1, 1)
        ),
        lambda dealer: dealer.answer_scores(
            ScoreQuery(RELEASE_ID, "q", (View(("a",)),), 1.0, bytes(32), 1, 1)
        ),
    ],
)
def test_a_dealer_refuses_what_needs_rows(step):
    dealer = Release().introduce().dealers["one"]
    with pytest.raises(ProtocolError, match=r"a dealer .*; compare the plan"):
        step(dealer)


def test_other_curators_get_nothing_through_the_servicer():
    servicer = PartyServicer(Release().introduce().dealers["one"])
    assert list(servicer.serve("Describe", iter([b""]), STRANGER.public))
    with pytest.raises(MosaicError, match="not from the curator"):
        list(servicer.serve("Abandon", iter([codec.encode(AbandonRequest(RELEASE_ID))]), STRANGER.public))
