"""Terms and introductions of the protocol `masked` that a party accepts or refuses."""

from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.history import START
from dpmosaic.common.messages import Acceptance
from dpmosaic.common.promises.statement import TERMS
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS
from dpmosaic.party.accounts.ledger import Ledger
from support.terms import RELEASE_ID, id_of

NORTH, EAST, WEST, SOUTH, DEALER = range(5)


def with_entry(plan, party, **changes):
    """The plan with another entry of a party."""
    roster = tuple(replace(entry, **changes) if entry.name == party else entry for entry in plan.roster)
    return replace(plan, roster=roster)


# The party's own entry in the plan.

MISSTATED = {
    "its name": lambda masked: with_entry(masked.plan_of(), "north", name="nord"),
    "its identity": lambda masked: with_entry(masked.plan_of(), "north", identity=b"n" * 32),
    "its attributes": lambda masked: masked.plan_of(
        {**masked.grid, "north": (0, ("a", "c")), "east": (0, ("b",))}
    ),
    "its attributes' order": lambda masked: masked.plan_of(
        {**masked.grid, "north": (0, ("b", "a")), "south": (1, ("b", "a", "c", "d"))},
        domain=Domain.coded({"b": 3, "a": 2, "c": 4, "d": 2}),
    ),
    "its records": lambda masked: masked.plan_of(records=(41, 25)),
}


@pytest.mark.parametrize("misstated", MISSTATED)
def test_a_plan_that_does_not_match_the_party_is_refused(masked, misstated):
    ledger, terms = Ledger(), masked.terms_of(MISSTATED[misstated](masked))
    with pytest.raises(ProtocolError, match="names this party with its identity, attributes and records"):
        masked.party_of("north", ledger=ledger).accept(encode_terms(terms))
    assert ledger.total_reserved() == 0


def test_a_plan_may_leave_out_attributes_of_the_party_that_another_one_answers_for(masked):
    plan = masked.plan_of({**masked.grid, "north": (0, ("a",)), "east": (0, ("b", "c"))})
    held = masked.rows_of(plan, 0).project(("a", "b"))
    ledger = Ledger()
    masked.party_of("north", plan, ledger=ledger, table=held).accept(encode_terms(masked.terms_of(plan)))
    assert ledger.total_reserved() == 1
    assert ledger.release(RELEASE_ID).data_digest == held.digest()


def test_a_plan_without_attributes_of_the_party_is_refused(masked):
    plan = masked.plan_of({**masked.grid, "north": (0, ()), "east": (0, ("a", "b", "c"))})
    held = masked.rows_of(plan, 0).project(("a", "b"))
    with pytest.raises(ProtocolError, match="names this party with its identity, attributes and records"):
        masked.party_of("north", plan, table=held).accept(encode_terms(masked.terms_of(plan)))


def test_a_plan_with_other_sizes_of_the_partys_attributes_is_refused(masked):
    ledger = Ledger()
    plan = masked.plan_of(domain=Domain.coded({"a": 2, "b": 4, "c": 4, "d": 2}))
    with pytest.raises(ProtocolError, match="other sizes of this party's attributes"):
        masked.party_of("north", ledger=ledger).accept(encode_terms(masked.terms_of(plan)))
    assert ledger.total_reserved() == 0


def test_a_party_does_not_check_the_sizes_of_other_parties_attributes(masked):
    plan = masked.plan_of(domain=Domain.coded({"a": 2, "b": 3, "c": 9, "d": 2}))
    masked.party_of("north").accept(encode_terms(masked.terms_of(plan)))
    with pytest.raises(ProtocolError, match="other sizes"):
        masked.party_of("east").accept(encode_terms(masked.terms_of(plan)))


# Entries of other parties.

PEERS = {
    "none is pinned": ("east", lambda pinned, other: {}),
    "one is not pinned": ("south", lambda pinned, other: {k: v for k, v in pinned.items() if k != "south"}),
    "another key is pinned": ("west", lambda pinned, other: {**pinned, "west": other}),
    "no key is pinned": ("west", lambda pinned, other: {**pinned, "west": b""}),
    "keys are pinned under each other's names": (
        "east",
        lambda pinned, other: {**pinned, "east": pinned["west"], "west": pinned["east"]},
    ),
}


@pytest.mark.parametrize("case", PEERS)
def test_a_party_that_is_not_pinned_or_with_another_key_is_refused_by_name(masked, case):
    named, pin = PEERS[case]
    ledger, plan = Ledger(), masked.plan_of()
    pinned = {entry.name: entry.identity for entry in plan.roster[EAST:]}
    peers = pin(pinned, masked.identity("outsider").public)
    with pytest.raises(PolicyError, match=f"names party '{named}' with an identity that is not pinned"):
        masked.party_of("north", plan, ledger=ledger, peers=peers).accept(encode_terms(masked.terms_of(plan)))
    assert ledger.total_reserved() == 0


def test_more_parties_may_be_pinned_than_take_part(masked):
    plan = masked.plan_of()
    peers = {entry.name: entry.identity for entry in plan.participants}
    party = masked.party_of("north", plan, peers={**peers, "far": masked.identity("far").public})
    party.accept(encode_terms(masked.terms_of(plan)))


# Dealers.


def dealt_by(masked, *dealers):
    """Terms with these dealers."""
    return masked.terms_of(masked.plan_of(dealers=dealers))


@pytest.mark.parametrize("case", ["not pinned", "pinned with another key", "pinned under another name"])
@pytest.mark.parametrize("place", [0, 2])
def test_a_plan_with_a_dealer_that_is_not_pinned_is_refused(masked, case, place):
    ledger, terms, unknown = Ledger(), dealt_by(masked, *masked.dealers), masked.dealers[place]
    peers = {entry.name: entry.identity for entry in terms.masked_plan.participants[EAST:]}
    key = peers.pop(unknown)
    if case == "pinned with another key":
        peers[unknown] = masked.identity("outsider").public
    elif case == "pinned under another name":
        peers["outsider"] = key
    with pytest.raises(PolicyError, match=f"names dealer '{unknown}' with an identity that is not pinned"):
        masked.party_of("north", terms.masked_plan, ledger=ledger, peers=peers).accept(encode_terms(terms))
    assert ledger.total_reserved() == 0


def signed_by(curator, terms):
    encoded = encode_terms(terms)
    return encoded, curator.sign(TERMS, encoded), curator.public


def test_only_the_curator_that_signs_the_terms_deals_under_its_name(masked):
    """Not another curator, even one that is pinned as well."""
    curator, other = masked.identity("curator"), masked.identity("second curator")
    plan, policy = masked.plan_of(dealers=["curator"]), replace(masked.policy, dealers={CURATOR_DEALS})
    ledger, terms = Ledger(), masked.terms_of(plan)
    peers = {entry.name: entry.identity for entry in plan.roster[EAST:]}
    party = masked.party_of(
        "north",
        plan,
        ledger=ledger,
        policy=policy,
        peers=peers,
        curators={curator.public: "one", other.public: "other"},
    )
    with pytest.raises(PolicyError, match="names dealer 'curator' with an identity that is not pinned"):
        party.accept(*signed_by(other, terms))
    assert ledger.total_reserved() == 0
    party.accept(*signed_by(curator, terms))


@pytest.mark.parametrize("allowed", [(), ("curator",), ("dealer", "third dealer")], ids=str)
def test_a_dealer_that_the_policy_does_not_name_is_refused(masked, allowed):
    terms, policy = dealt_by(masked, *masked.dealers), replace(masked.policy, dealers=frozenset(allowed))
    with pytest.raises(PolicyError, match="the policy does not allow the dealer"):
        masked.party_of("north", terms.masked_plan, policy=policy).accept(encode_terms(terms))


@pytest.mark.parametrize(("least", "count"), [(2, 1), (3, 1), (4, 3)])
def test_fewer_dealers_than_the_policy_asks_for_are_refused(masked, least, count):
    terms, policy = dealt_by(masked, *masked.dealers[:count]), replace(masked.policy, min_dealers=least)
    with pytest.raises(PolicyError, match="fewer dealers than min_dealers"):
        masked.party_of("north", terms.masked_plan, policy=policy).accept(encode_terms(terms))
    masked.party_of("north", terms.masked_plan, policy=replace(policy, min_dealers=count)).accept(
        encode_terms(terms)
    )


def test_a_release_without_products_needs_no_dealers_at_all(masked):
    plan = masked.plan_of({"alone": (0, ("a", "b", "c", "d"))}, dealers=())
    party = masked.party_of("alone", plan, policy=replace(masked.policy, min_dealers=3))
    party.accept(encode_terms(masked.terms_of(plan)))


@pytest.mark.parametrize(
    "dealers", [("south",), ("dealer", "second dealer", "third dealer", "south")], ids=str
)
def test_a_party_deals_only_if_its_policy_allows_it(masked, dealers):
    """Named as a dealer is enough, whether or not a slice needs it."""
    terms = dealt_by(masked, *dealers)
    with pytest.raises(PolicyError, match="set may_deal"):
        masked.party_of("south", terms.masked_plan).accept(encode_terms(terms))
    allowing = replace(masked.policy, may_deal=True)
    masked.party_of("south", terms.masked_plan, policy=allowing).accept(encode_terms(terms))
    masked.party_of("north", terms.masked_plan).accept(encode_terms(terms))


# Collusions.


@pytest.mark.parametrize(("tolerated", "least"), [(0, 1), (1, 2), (2, 9)])
def test_a_release_that_tolerates_fewer_collusions_than_the_policy_asks_for_is_refused(
    masked, tolerated, least
):
    ledger, terms = Ledger(), masked.terms_of(masked.plan_of(tolerated=tolerated))
    policy = replace(masked.policy, min_tolerated=least)
    with pytest.raises(PolicyError, match="min_tolerated"):
        masked.party_of("north", ledger=ledger, policy=policy).accept(encode_terms(terms))
    assert ledger.total_reserved() == 0


def test_a_single_party_needs_no_peers_and_tolerates_no_collusion(masked):
    plan = masked.plan_of({"alone": (0, ("a", "b", "c", "d"))}, dealers=())
    party = masked.party_of("alone", plan, peers={}, policy=replace(masked.policy, min_tolerated=5))
    party.accept(encode_terms(masked.terms_of(plan)))


def test_a_release_is_not_checked_again_when_it_is_accepted_again(masked, tmp_path):
    release = masked.Release(folder=tmp_path).accept()
    first = release.acceptances[NORTH]
    release.start("north", peers={}, seed=2)
    assert release.parties["north"].accept(encode_terms(release.terms)) == first


# Introductions.


def key_of(masked, name="east", terms=None, seed=1):
    """The key that a party signs."""
    return masked.party_of(name, seed=seed).accept(encode_terms(terms or masked.terms_of())).ephemeral


FORGED = {
    "by an outsider's identity": lambda m: m.signed("outsider", m.terms_of(), key_of(m)),
    "by another party": lambda m: m.signed("west", m.terms_of(), key_of(m)),
    "with another party's key": lambda m: m.party_of("west").accept(encode_terms(m.terms_of())),
    "for another budget": lambda m: m.party_of("east").accept(encode_terms(m.terms_of(granted_rho=2.0))),
    "for another release": lambda m: m.party_of("east").accept(
        encode_terms(m.terms_of(release_id=id_of("s")))
    ),
    "for another plan": lambda m: m.party_of("east").accept(encode_terms(m.terms_of(m.plan_of(bits=64)))),
    "for another purpose": lambda m: m.signed("east", m.terms_of(), key_of(m), "anything"),
    "for a key that was swapped": lambda m: replace(
        m.party_of("east").accept(encode_terms(m.terms_of())), ephemeral=key_of(m, seed=2)
    ),
    "for a key with a flipped bit": lambda m: replace(
        m.signed("east", m.terms_of(), key_of(m)), ephemeral=bytes([key_of(m)[0] ^ 1]) + key_of(m)[1:]
    ),
    "with a byte less": lambda m: replace(
        signature := m.signed("east", m.terms_of(), key_of(m)), signature=signature.signature[:-1]
    ),
    "unsigned": lambda m: Acceptance(b"", b"", START),
}


@pytest.mark.parametrize("forgery", FORGED)
@pytest.mark.parametrize("name", ["north", "east", "south"])
def test_an_acceptance_not_signed_by_the_plans_party_for_these_terms_is_refused(masked, forgery, name):
    release = masked.Release().accept()
    acceptances = (release.acceptances[NORTH], FORGED[forgery](masked), *release.acceptances[WEST:])
    with pytest.raises(ProtocolError, match="'acceptance of a release' does not verify"):
        release.parties[name].introduce(release.introduction(acceptances=acceptances))
    assert release.ledgers[name].release(RELEASE_ID).introduction is None
    release.introduce()


@pytest.mark.parametrize(
    "places",
    [(), (NORTH, EAST, WEST, DEALER), (NORTH, EAST, WEST, SOUTH), (NORTH, EAST, WEST, SOUTH, DEALER, DEALER)],
    ids=["none", "one less", "no dealer's", "one more"],
)
def test_an_introduction_has_one_acceptance_of_every_party_and_dealer(masked, places):
    release = masked.Release().accept()
    acceptances = tuple(release.acceptances[place] for place in places)
    with pytest.raises(ProtocolError, match="one acceptance for each party and dealer"):
        release.parties["north"].introduce(release.introduction(acceptances=acceptances))
    assert release.ledgers["north"].release(RELEASE_ID).introduction is None


def test_acceptances_in_another_order_than_the_rosters_are_refused(masked):
    release = masked.Release().accept()
    acceptances = (release.acceptances[EAST], release.acceptances[NORTH], *release.acceptances[WEST:])
    with pytest.raises(ProtocolError, match="does not verify"):
        release.parties["west"].introduce(release.introduction(acceptances=acceptances))


@pytest.mark.parametrize("ephemeral", [bytes(32), b"\1" + bytes(31), b"\xff" * 32, b"short"])
def test_an_invalid_key_is_refused_even_if_it_is_signed(masked, ephemeral):
    release = masked.Release().accept()
    forged = masked.signed("east", release.terms, ephemeral)
    acceptances = (release.acceptances[NORTH], forged, *release.acceptances[WEST:])
    with pytest.raises(ProtocolError, match="not a valid X25519 key"):
        release.parties["north"].introduce(release.introduction(acceptances=acceptances))
    assert release.ledgers["north"].release(RELEASE_ID).introduction is None


def test_a_release_that_was_not_accepted_cannot_be_introduced(masked):
    release, accepted = masked.Release(), masked.Release().accept()
    with pytest.raises(ProtocolError, match="accept it first"):
        release.parties["north"].introduce(accepted.introduction())
