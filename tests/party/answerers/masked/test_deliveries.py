"""Openings and dealt messages of the protocol `masked`: recipients, sizes, completeness."""

import hashlib
import itertools

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto import envelope
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing import peers as party_peers
from dpmosaic.common.dealing.dealing import dealt_labels
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.messages import DealRequest, DeliveryKind
from dpmosaic.common.protocols.masked.masks import release_masks
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.party.answerers.masked import session as party_masked
from support.terms import RELEASE_ID

pytestmark = pytest.mark.slow

NORTH, EAST, WEST, SOUTH, DEALER = range(5)
A, B, C, D = ("a",), ("b",), ("c",), ("d",)
PAIR = (A, C)
OPENING = DeliveryKind.OPENING
DEALT_ROWS, DEALT_PRODUCTS = DeliveryKind.DEALT_ROWS, DeliveryKind.DEALT_PRODUCTS
CHAINS = {
    "no part": (),
    "an empty part": ((),),
    "an empty part among others": (A, ()),
    "an unknown attribute": (("z",),),
    "an unknown attribute in a part": (("a", "z"),),
    "an attribute twice in a part": (("a", "a"),),
    "an attribute in two parts": (A, C, A),
    "a part out of order": (("b", "a"),),
    "a part of two parties": (("a", "c"),),
    "a part of two parties in a chain": (("a", "c"), D),
}
FOREIGN = {"a part of another": (C,), "a product of others": (C, D)}


def deliver_dealt(release, kind, chain, recipient, frames, sender=DEALER):
    """Delivers frames as what a dealer dealt for a product."""
    release.deliver_dealt(sender, DealRequest(RELEASE_ID, kind, recipient, (chain,)), frames)


def dealt_as(release, kind, chain, recipient, payload):
    """What a dealer seals that deals this payload for a product."""
    return list(release.dealings[DEALER]._peers.seal(recipient, dealt_labels(kind, (chain,)), [payload]))


@pytest.fixture
def sealings(monkeypatch):
    """What every party seals during the test: key, context and payload."""
    sealed = []

    def recording(key, context, payload):
        whole = b"".join(bytes(piece) for piece in payload)
        sealed.append((key, context, whole))
        return envelope.seal(key, context, [whole])

    monkeypatch.setattr(party_peers, "seal", recording)
    return sealed


def one_payload_each(sealings):
    """Whether no key and context ever sealed two payloads."""
    return len({sealed[:2] for sealed in sealings}) == len(set(sealings))


def test_an_opening_is_the_indicators_without_the_mask_sealed_under_the_key_of_the_pair(release, sealings):
    """Computed here from the secrets of the two parties."""
    terms = hashlib.sha256(encode_terms(release.terms)).digest()
    secret = EphemeralKey.from_seed(release.ledgers["east"].release(RELEASE_ID).secret)
    key = secret.pair_key(release.acceptances[NORTH].ephemeral, terms)
    release.dealt(DEALER, DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, NORTH))
    release.sealed(NORTH, (("a", "b"),), EAST)
    (_, _, seed), (used, context, payload) = sealings
    assert used == key
    assert context.startswith(terms)
    mask = release_masks(seed, terms).child("mask", "2", "a", "b").bytes(40 * 6 * 4)
    shown = np.frombuffer(payload, dtype="<u4") + mask.view("<u4")
    assert np.array_equal(shown.reshape(40, 6), np.eye(6)[release.rows(0).cell_codes(("a", "b"), 0, 40)])


def test_no_two_openings_are_sealed_under_one_key_and_context(release, sealings):
    release.prepare(("a", "c", "d"))
    before = len(sealings)
    for owner, parts in {NORTH: [A, B, ("a", "b")], EAST: [C], WEST: [D]}.items():
        for recipient, part in itertools.product({NORTH, EAST, WEST} - {owner}, parts):
            release.sealed(owner, (part,), recipient)
    assert len({(key, context) for key, context, _ in sealings[before:]}) == len(sealings) - before == 10


def test_a_repeated_opening_is_the_same_matrix_also_after_a_restart(masked, tmp_path, sealings):
    release = masked.Release(folder=tmp_path).accept().introduce()
    payloads = []
    for seed in (5, 6):
        before = len(sealings)
        for step in release.deliveries(("a", "c", "d")):
            step()
        payloads.append([payload for _, _, payload in sealings[before:]])
        for name in release.names:
            release.start(name, seed=seed)
        release.begin()
    assert payloads[0] == payloads[1]
    assert one_payload_each(sealings)


@pytest.mark.parametrize("restarted", [False, True])
def test_rows_are_not_dealt_otherwise_a_second_time(masked, tmp_path, restarted):
    """What hides them in an opening is one mask."""
    release = masked.Release(folder=tmp_path).accept().introduce()
    for step in release.deliveries(("a", "c", "d")):
        step()
    if restarted:
        release.start("west", seed=2)
        release.begin()
    again = dealt_as(release, DEALT_ROWS, (A, D), WEST, bytes(40 * 4 * 8))
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(dealt from dealer\)"):
        deliver_dealt(release, DEALT_ROWS, (A, D), WEST, again)


@pytest.mark.parametrize("recipient", [NORTH, SOUTH, 4, 2**32 - 1])
def test_refuses_to_open_for_itself_another_slice_or_an_unknown_party(release, recipient):
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.sealed(NORTH, (A,), recipient)


@pytest.mark.parametrize("sender", [NORTH, SOUTH, 4, 2**32 - 1])
def test_refuses_an_opening_from_itself_another_slice_or_an_unknown_party(release, sender):
    sealed = release.sealed(EAST, (C,), NORTH)
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.deliver(OPENING, (C,), NORTH, sealed, sender)


@pytest.mark.parametrize("chain", [*CHAINS.values(), *FOREIGN.values()], ids=[*CHAINS, *FOREIGN])
def test_an_invalid_chain_or_one_of_other_parties_is_not_opened_dealt_or_multiplied(release, chain):
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.sealed(NORTH, chain, EAST)
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.multiply(NORTH, chain)
    for kind in (DEALT_ROWS, DEALT_PRODUCTS):
        with pytest.raises(ProtocolError, match="compare the plan"):
            deliver_dealt(release, kind, chain, NORTH, [b""])


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_refuses_an_opening_of_an_invalid_chain(release, chain):
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.deliver(OPENING, chain, NORTH, release.sealed(EAST, (C,), NORTH), EAST)


def test_one_wrong_chain_of_many_stops_all_of_them(release):
    for step in release.deliveries(("a", "c")):
        step()
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.multiply(NORTH, PAIR, (C, D))
    with pytest.raises(ProtocolError, match="multiply first"):
        release.parties["north"].answer(
            MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c")), 3.0)
        )


@pytest.mark.parametrize("chain", [(A, B), (A, B, C), (A, C, B)])
def test_a_chain_has_one_part_of_each_party(release, chain):
    for clique in (("a", "c"), ("b", "c")):
        release.prepare(clique)
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.sealed(NORTH, chain, WEST)
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.multiply(NORTH, chain)


def test_a_single_part_is_not_a_product(release):
    for kind in (DEALT_ROWS, DEALT_PRODUCTS):
        with pytest.raises(ProtocolError, match="compare the plan"):
            deliver_dealt(release, kind, (A,), NORTH, dealt_as(release, kind, (A,), NORTH, bytes(2 * 4)))
    with pytest.raises(ProtocolError, match="compare the plan"):
        release.multiply(NORTH, (A,))


def test_an_opening_above_the_limit_is_neither_sealed_nor_accepted(release, monkeypatch):
    sealed, whole = release.sealed(EAST, (C,), NORTH), 40 * 4 * 4
    monkeypatch.setattr(party_masked, "MAX_OPENING_BYTES", whole)
    release.sealed(EAST, (C,), NORTH)
    release.deliver(OPENING, (C,), NORTH, sealed, EAST)
    monkeypatch.setattr(party_masked, "MAX_OPENING_BYTES", whole - 1)
    with pytest.raises(PolicyError, match="larger than the protocol's limit"):
        release.sealed(EAST, (C,), NORTH)
    with pytest.raises(PolicyError, match="larger than the protocol's limit"):
        release.deliver(OPENING, (C,), NORTH, sealed, EAST)
    with pytest.raises(PolicyError, match="larger than the protocol's limit"):
        deliver_dealt(release, DEALT_ROWS, PAIR, EAST, [])
    # A sum over records is small for any number of records.
    release.deal_product(PAIR)


BROKEN = {
    "nothing": lambda head, one, two: [],
    "an empty frame": lambda head, one, two: [b""],
    "only its salt": lambda head, one, two: head,
    "without its salt": lambda head, one, two: [one, two],
    "under another salt": lambda head, one, two: [bytes(32), one, two],
    "under a longer salt": lambda head, one, two: [head[0] + b"\0", one, two],
    "without its last frame": lambda head, one, two: [*head, one],
    "without an earlier frame": lambda head, one, two: [*head, two],
    "frames swapped": lambda head, one, two: [*head, two, one],
    "a frame twice": lambda head, one, two: [*head, one, one, two],
    "one frame more": lambda head, one, two: [*head, one, two, two],
    "the whole twice": lambda head, one, two: [*head, one, two, *head, one, two],
    "a truncated frame": lambda head, one, two: [*head, one, two[:-1]],
    "a longer frame": lambda head, one, two: [*head, one, two + b"\0"],
    "a flipped bit": lambda head, one, two: [*head, one, bytes([two[0] ^ 1]) + two[1:]],
    "frames in one": lambda head, one, two: [*head, one + two],
}


@pytest.fixture(scope="module")
def long_terms(masked):
    """Of so many records that an opening of c does not fit one frame."""
    grid = {"north": (0, ("c",)), "east": (0, ("d",))}
    plan = masked.plan_of(grid, records=(70_000,), domain=masked.domain.project("cd"))
    return masked.terms_of(plan, granted_rho=1e4)


@pytest.mark.parametrize("broken", BROKEN)
def test_an_incomplete_or_reordered_opening_is_refused_and_the_earlier_one_stays(masked, long_terms, broken):
    release = masked.Release(long_terms).accept().introduce()
    *head, one, two = release.sealed(NORTH, (C,), EAST)
    frames = BROKEN[broken](head, one, two)
    with pytest.raises(ProtocolError, match="sealed stream"):
        release.deliver(OPENING, (C,), EAST, frames, NORTH)
    release.deal_product((C, D))
    with pytest.raises(ProtocolError, match="deliver all of them"):
        release.multiply(EAST, (C, D))
    for step in release.deliveries(("c", "d")):
        step()
    with pytest.raises(ProtocolError, match="sealed stream"):
        release.deliver(OPENING, (C,), EAST, frames, NORTH)
    for _, step in release.products(("c", "d")):
        step()
    query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("c", "d")), 0.1)
    assert np.allclose(release.counts(query), release.exact(("c", "d")), atol=2)


def test_an_opening_with_another_sender_recipient_or_chain_is_refused(release):
    for_west, of_b = release.sealed(NORTH, (A,), WEST), release.sealed(NORTH, (B,), EAST)
    by_west, by_north = release.sealed(WEST, (D,), EAST), release.sealed(NORTH, (A,), EAST)
    for sealed, chain, sender in [
        (for_west, (A,), NORTH),
        (of_b, (A,), NORTH),
        (by_west, (A,), NORTH),
        (by_west, (D,), NORTH),
        (by_north, (A,), WEST),
    ]:
        with pytest.raises(ProtocolError, match=r"does not open|part of the party that opens it"):
            release.deliver(OPENING, chain, EAST, sealed, sender)
    release.deliver(OPENING, (A,), EAST, by_north, NORTH)


def test_an_opening_is_refused_as_one_of_the_other_party(release):
    """Both hold a part of the product and share one key, so the sender must be bound to the key."""
    for step in release.deliveries(("a", "d")):
        step()
    sealed = release.sealed(NORTH, (A, D), WEST)
    with pytest.raises(ProtocolError, match="does not open"):
        release.deliver(OPENING, (A, D), NORTH, sealed, WEST)
    release.deliver(OPENING, (A, D), WEST, sealed, NORTH)


@pytest.mark.parametrize("change", [-8, -1, 1, 8])
@pytest.mark.parametrize(("kind", "rows"), [(DEALT_ROWS, 40 * 2), (DEALT_PRODUCTS, 1)])
def test_a_dealt_share_of_another_length_is_refused(release, kind, rows, change):
    due = rows * 2 * 4 * 4
    frames = dealt_as(release, kind, PAIR, EAST, bytes(due + change))
    with pytest.raises(ProtocolError, match="more or fewer integers than expected"):
        deliver_dealt(release, kind, PAIR, EAST, frames)


@pytest.mark.parametrize("sender", [NORTH, EAST, SOUTH, 5, 2**32 - 1])
def test_what_is_dealt_is_taken_from_a_dealer_of_the_slice_only(release, sender):
    for kind in (DEALT_ROWS, DEALT_PRODUCTS):
        frames = dealt_as(release, kind, PAIR, EAST, bytes(4))
        with pytest.raises(ProtocolError, match="dealer of this slice"):
            deliver_dealt(release, kind, PAIR, EAST, frames, sender)
    seeds = DealRequest(RELEASE_ID, DeliveryKind.MASK_SEEDS, EAST)
    with pytest.raises(ProtocolError, match="dealer of this slice"):
        release.deliver_dealt(sender, seeds, release.dealt(DEALER, seeds))


def test_what_is_dealt_counts_as_dealt_for_this_party_and_these_chains_only(release):
    """With the right length for each of them."""
    for kind, chain, recipient in [
        (DEALT_ROWS, PAIR, EAST),
        (DEALT_PRODUCTS, (A, D), EAST),
        (DEALT_PRODUCTS, PAIR, WEST),
    ]:
        frames = dealt_as(release, kind, chain, recipient, bytes(32))
        with pytest.raises(ProtocolError, match="does not open"):
            deliver_dealt(release, DEALT_PRODUCTS, PAIR, EAST, frames)
    frames = dealt_as(release, DEALT_PRODUCTS, PAIR, EAST, bytes(32))
    deliver_dealt(release, DEALT_PRODUCTS, PAIR, EAST, frames)


def test_a_dealt_share_is_not_dealt_otherwise_even_before_it_is_used(release):
    zeros = dealt_as(release, DEALT_PRODUCTS, PAIR, EAST, bytes(2 * 4 * 4))
    deliver_dealt(release, DEALT_PRODUCTS, PAIR, EAST, zeros)
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(dealt from dealer\)"):
        release.deal_product(PAIR)


@pytest.mark.parametrize("kind", [DeliveryKind.SCORE_STEP, DeliveryKind.SCORE_REFERENCES])
def test_deliveries_of_score_queries_are_refused_without_a_query(release, kind):
    with pytest.raises(ProtocolError, match="belongs to a score query"):
        release.deliver(kind, (), NORTH, [b""])


def test_openings_of_one_product_are_freed_and_those_of_single_parts_kept(release):
    release.prepare(("a", "c", "d"))
    with pytest.raises(ProtocolError, match="dealt rows that passed their check; deliver both"):
        release.sealed(WEST, (A, D), EAST)
    release.deal_product((A, D))
    for party in (NORTH, WEST):
        release.multiply(party, (A, D))
        query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "d")), 3.0)
        release.parties[release.names[party]].answer(query)
