"""A party that opens rows that are not one-hot, in a release whose plan demands the check.

A cheating party does everything else as the protocol says, also its proof. It passes with probability below
2^-53.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import dealt_labels
from dpmosaic.common.errors import DeliveriesLost, PartyUnavailable, ProtocolError
from dpmosaic.common.messages import DealRequest, Delivery, DeliveryKind, OpeningRequest
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.masks import coins_labels
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.measurers.products import Products
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.policies.allowance import Quota
from support.taps import Curator
from support.terms import RELEASE_ID, terms_with

DOMAIN = Domain.coded({"a": 4, "b": 8})
CHAIN = (("a",),)
"""What the first party opens to the second."""
FLIPPED = np.arange(299, -1, -1)
RECORDS, GRANTED = 300, Fraction(1, 20_000)
REFUSED = "one value for each record from party 'party-1-1'"


def table():
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, size, RECORDS) for size in DOMAIN.sizes])
    codes[[17, 250], 0] = 0
    return Table.from_codes(DOMAIN, codes)


class Checked(Curator):
    """A curator whose plan demands the check."""

    bits = 32

    def terms(self, release_id=RELEASE_ID):
        terms = super().terms(release_id)
        return terms_with(terms, plan=replace(terms.plan, check="one-hot", ring=Ring(self.bits)))


def session(curator, place):
    """The session of a party."""
    return curator.links[place].connection.party._releases.of(RELEASE_ID)._introduced_session()


def release(cheat=None, table=table, grid="1x2", dealers=0, seed=1):
    """A measurer over parties, the first of which changes its indicators with `cheat`."""
    curator = Checked(table(), grid, GRANTED, seed, dealers=dealers)
    measurer = curator.measurer()
    if cheat is not None:
        own = session(curator, 0)
        matrix = own._matrices._matrix

        def changed(chain, rows, within=None):
            blocks = np.vstack(list(matrix(chain, rows, within)))
            cheat(blocks)
            yield from (blocks[start : start + rows] for start in range(0, len(blocks), rows))

        own._matrices._matrix = changed
    return curator, measurer


def measured(measurer, clique=DOMAIN.names):
    (found,) = measurer.measure([Query(View(clique), GRANTED, "test")])
    return found.values


def heavy(rows):
    rows[17] *= rows.dtype.type(1 << 18)


def cancelling(rows):
    rows[17] *= np.uint32(1000)
    rows[250] *= np.uint32(2**32 - 999)


def doubled(rows):
    rows[17] = [1, 0, 1, 0]


def absent(rows):
    rows[17] = 0


def split(rows):
    rows[17] = [2, 2**32 - 1, 0, 0]


@pytest.mark.parametrize("cheat", [heavy, cancelling, doubled, absent, split])
def test_a_row_that_is_not_one_hot_is_refused_by_its_receiver_before_it_multiplies(cheat):
    curator, measurer = release(cheat)
    with pytest.raises(ProtocolError, match=REFUSED) as refused:
        measured(measurer)
    assert not isinstance(refused.value, DeliveriesLost)
    assert "Multiply" not in curator.wire.methods()


@pytest.mark.parametrize("cheat", [heavy, doubled, absent])
@pytest.mark.parametrize(("bits", "dealers"), [(64, 0), (64, 3), (32, 3)])
def test_a_row_that_is_not_one_hot_is_refused_under_masks_that_are_integers(
    cheat, bits, dealers, monkeypatch
):
    monkeypatch.setattr(Checked, "bits", bits)
    curator, measurer = release(cheat, dealers=dealers)
    with pytest.raises(ProtocolError, match=REFUSED):
        measured(measurer)
    assert "Multiply" not in curator.wire.methods()


def test_integers_that_no_mask_hides_are_refused():
    """In the field and in its low bits such a word looks like another one."""
    curator, measurer = release(dealers=3)
    own = session(curator, 0)
    opening = own._matrices.own_opening
    own._matrices.own_opening = lambda *asked: (block + np.uint64(1 << 63) for block in opening(*asked))
    with pytest.raises(ProtocolError, match="integers that no mask hides"):
        measured(measurer)


@pytest.mark.slow
@pytest.mark.parametrize("dealers", [0, 1, 3])
@pytest.mark.parametrize("bits", [32, 64])
def test_honest_parties_are_never_refused_and_their_answers_are_exact(bits, dealers, monkeypatch):
    """A budget of 10^11 leaves no noise."""
    monkeypatch.setattr(Checked, "bits", bits)
    curator = Checked(table(), "2x2", Fraction(10**6), dealers=dealers)
    found = curator.measurer().measure([Query(View(DOMAIN.names), Fraction(10**5), "test")])[0]
    assert np.rint(found.values).tolist() == table().marginal(DOMAIN.names).tolist()


def test_a_party_multiplies_nothing_that_was_not_checked(monkeypatch):
    """A curator that leaves the check out gets no product."""
    monkeypatch.setattr(Products, "_check", lambda *args: None)
    with pytest.raises(DeliveriesLost, match="whose proof was not delivered"):
        measured(release()[1])


def opens_otherwise(curator, measurer):
    """The first party opens other rows than it did."""
    own = session(curator, 0)
    matrix = own._matrices._matrix
    own._matrices._matrix = lambda *asked: (2 * block for block in matrix(*asked))
    measurer._products.forget(DeliveriesLost("asked again"))
    measurer._products.begin(0)


@pytest.mark.parametrize("restarted", [False, True])
def test_nothing_is_opened_anew_once_its_coins_are_known(restarted):
    curator, measurer = release()
    measurer._products.prepare([View(DOMAIN.names)])
    if restarted:
        curator.links[1].connection.restart()
    opens_otherwise(curator, measurer)
    with pytest.raises(
        ProtocolError, match=r"same content as before, got another \(opening from party-1-1\)"
    ):
        measurer._products._open(0, CHAIN, 1)


def test_an_opening_that_is_still_written_is_not_completed_by_another_one():
    """Otherwise its end could be exchanged after the beginning was bound and its coins told."""
    openings, rows = Openings(Quota(1 << 20, "max_disk_mb")), range(4)
    openings.put("opening", Ring(32), 8, 1, [bytes(16)], rows)

    def stalled():
        yield bytes(8)
        with pytest.raises(PartyUnavailable, match="has not ended"):
            openings.put("opening", Ring(32), 8, 1, [bytes(16)], range(4, 8))
        yield bytes(8)

    openings.put("opening", Ring(32), 8, 1, stalled(), range(4, 8))
    (block,) = openings.blocks("opening", 8)
    assert not block.any()


def asked(release_id, chain, recipient, kind, step=0):
    return codec.encode(OpeningRequest(release_id, chain, recipient, kind, step=step))


def test_coins_are_told_only_of_an_opening_that_came_whole():
    curator, measurer = release()
    measurer._products.begin(0)
    with pytest.raises(DeliveriesLost, match="an opening that was not delivered"):
        list(curator.links[1].call("Open", [asked(RELEASE_ID, CHAIN, 0, DeliveryKind.COINS)]))


def test_dealers_are_told_coins_and_point_only_after_the_proof_came():
    """An owner that knows the point before its proof is fixed could make a wrong one pass."""
    curator, measurer = release(dealers=1)
    measurer._products.begin(0)
    opening = OpeningRequest(RELEASE_ID, CHAIN, 1)
    measurer._participants[0].relay(0, opening, measurer._participants[1])
    list(curator.links[1].call("Open", [asked(RELEASE_ID, CHAIN, 0, DeliveryKind.COINS)]))
    with pytest.raises(DeliveriesLost, match="after the proof was delivered"):
        list(curator.links[1].call("Open", [asked(RELEASE_ID, CHAIN, 2, DeliveryKind.COINS)]))


def test_an_owner_proves_nothing_before_it_has_the_coins_of_the_receiver():
    curator, measurer = release()
    measurer._products.begin(0)
    with pytest.raises(DeliveriesLost, match="coins of the receiver"):
        list(curator.links[0].call("Open", [asked(RELEASE_ID, CHAIN, 1, DeliveryKind.PROOF)]))


def test_a_dealer_attests_nothing_before_it_has_the_coins_of_the_receiver():
    curator, measurer = release(dealers=1)
    measurer._products.begin(0)
    request = DealRequest(RELEASE_ID, DeliveryKind.ATTESTATION, 1, (CHAIN,), 0)
    with pytest.raises(DeliveriesLost, match="coins of the receiver"):
        list(curator.dealers[0].call("Deal", [codec.encode(request)]))


@pytest.mark.slow
def test_coins_follow_from_the_opening_and_a_secret_of_its_receiver():
    def coins(seed=1, table=table):
        curator, measurer = release(table=table, seed=seed)
        measurer._products.prepare([View(DOMAIN.names)])
        return session(curator, 1)._checks.coins_for(0, CHAIN)

    first, again, seeded, rows = coins(), coins(), coins(seed=2), coins(table=lambda: table().take(FLIPPED))
    assert first == again
    assert len({first, seeded, rows}) == 3


def attested(curator, coins):
    """What the dealer attests to party-1-2, which tells it these coins, of the opening of party-1-1."""
    mine, dealer = session(curator, 1), curator.dealers[0]
    told = mine.peers.seal(2, coins_labels(0, CHAIN), [coins, b"p" * 32])
    header = Delivery(RELEASE_ID, DeliveryKind.COINS, CHAIN, 1, step=0)
    list(dealer.call("Deliver", [streams.encode_delivery(header), *streams.encode_payload(told)]))
    request = DealRequest(RELEASE_ID, DeliveryKind.ATTESTATION, 1, (CHAIN,), 0)
    sealed = streams.decode_payload(dealer.call("Deal", [codec.encode(request)]))
    return b"".join(mine.peers.unseal(2, dealt_labels(request.kind, (CHAIN,), 0), sealed))


def test_a_dealer_attests_an_opening_at_one_point_only_whoever_asks_how_often():
    """33 points would determine the vector that one point hides, and with it each record of the owner.

    The receiver deviates and works together with the curator; the dealer is honest, and is restarted too.
    """
    curator, measurer = release(dealers=1)
    measurer._products.begin(0)
    first = attested(curator, b"c" * 32)
    for _ in range(3):
        assert attested(curator, b"c" * 32) == first
    dealer = curator.dealers[0].connection.servicer
    for restarted in (False, True):
        if restarted:
            dealer._party._releases._active.clear()
        with pytest.raises(ProtocolError, match=r"same content as before, got another \(one-hot coins from"):
            attested(curator, b"d" * 32)
        assert attested(curator, b"c" * 32) == first
