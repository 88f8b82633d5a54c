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
from dpmosaic.common.errors import DataError, DeliveriesLost, ProtocolError
from dpmosaic.common.messages import DeliveryKind, MultiplyRequest
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.measurers.products import Products
from dpmosaic.curator.parties.client import PartyClient
from support.taps import Curator
from support.terms import RELEASE_ID

DOMAIN = Domain.coded({"a": 4, "b": 8})
RECORDS, GRANTED = 300, Fraction(1, 20_000)
REFUSED = "one value for each record from party 'party-1-1'"


def table():
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, size, RECORDS) for size in DOMAIN.sizes])
    codes[[17, 250], 0] = 0
    return Table.from_codes(DOMAIN, codes)


class Checked(Curator):
    """A curator whose plan demands the check."""

    def terms(self, release_id=RELEASE_ID):
        terms = super().terms(release_id)
        return replace(terms, plan=replace(terms.plan, check="one-hot"))


def session(curator, place):
    """The session of a party."""
    return curator.links[place].connection.party._releases.of(RELEASE_ID)._introduced_session()


def release(cheat=None, table=table, grid="1x2"):
    """A measurer over parties, the first of which changes its indicators with `cheat`."""
    curator = Checked(table(), grid, GRANTED)
    measurer = curator.measurer()
    if cheat is not None:
        own = session(curator, 0)
        matrix = own._matrix

        def changed(chain, rows, within=None):
            blocks = np.vstack(list(matrix(chain, rows, within)))
            cheat(blocks)
            yield from (blocks[start : start + rows] for start in range(0, len(blocks), rows))

        own._matrix = changed
    return curator, measurer


def measured(measurer, clique=DOMAIN.names):
    (found,) = measurer.measure([Query(clique, GRANTED, "test")])
    return found.values


def heavy(rows):
    rows[17] *= np.uint32(1 << 18)


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


def test_honest_parties_are_never_refused_and_their_answers_are_exact():
    """A budget of 10^11 leaves no noise."""
    curator = Checked(table(), "2x2", Fraction(10**6))
    found = curator.measurer().measure([Query(DOMAIN.names, Fraction(10**5), "test")])[0]
    assert np.rint(found.values).tolist() == table().marginal(DOMAIN.names).tolist()


def test_a_party_multiplies_nothing_that_was_not_checked(monkeypatch):
    """A curator that leaves the check out gets no product."""
    monkeypatch.setattr(Products, "_check", lambda *args: None)
    with pytest.raises(DeliveriesLost, match="whose proof was not delivered"):
        measured(release()[1])


def test_another_opening_after_the_check_is_not_multiplied(monkeypatch):
    """The owner is asked again after its opening passed, and opens other rows."""
    curator, measurer = release()
    multiply = PartyClient.multiply

    def again(self, request: MultiplyRequest):
        if not hasattr(curator, "reopened"):
            curator.reopened = True
            own = session(curator, 0)
            matrix = own._matrix
            own._matrix = lambda *asked: (2 * block for block in matrix(*asked))
            with monkeypatch.context() as patched:
                patched.setattr(Products, "_check", lambda *args: None)
                measurer._products._opened.clear()
                measurer._products._open(0, (("a",),), 1)
        multiply(self, request)

    monkeypatch.setattr(PartyClient, "multiply", again)
    with pytest.raises(DeliveriesLost, match="whose proof was not delivered"):
        measured(measurer)


def test_a_proof_for_other_coins_does_not_count(monkeypatch):
    """Coins that the owner knew before it opened would let it choose rows that pass."""
    relay = PartyClient.relay_dealt

    def other(self, sender, request, recipient):
        if request.kind is DeliveryKind.ATTESTATION:
            request = replace(request, coins=bytes([1]) * 32)
        relay(self, sender, request, recipient)

    monkeypatch.setattr(PartyClient, "relay_dealt", other)
    with pytest.raises(DeliveriesLost, match="the same coins"):
        measured(release()[1])


def test_coins_are_fresh_for_every_opening(monkeypatch):
    _, measurer = release()
    coins = []
    relay = PartyClient.relay_dealt

    def seen(self, sender, request, recipient):
        if request.kind is DeliveryKind.ATTESTATION:
            coins.append(request.coins)
        relay(self, sender, request, recipient)

    monkeypatch.setattr(PartyClient, "relay_dealt", seen)
    measurer._products.prepare([(DOMAIN.names, ())])
    measurer._products.forget(DeliveriesLost("restarted"))
    measurer._products.prepare([(DOMAIN.names, ())])
    assert len(set(coins)) == len(coins) == 4


def test_cliques_over_three_parties_are_not_measured_with_the_check():
    domain = Domain.coded({"a": 2, "b": 2, "c": 2})
    rng = np.random.default_rng(1)
    wide = Table.from_codes(domain, rng.integers(0, 2, (40, 3)))
    _, measurer = release(table=lambda: wide, grid="1x3")
    assert measurer.expected_sigma(("a", "b", "c"), GRANTED) == np.inf
    with pytest.raises(DataError, match="what three parties hold, which are not checked"):
        measured(measurer, ("a", "b", "c"))
    assert np.isfinite(measurer.expected_sigma(("a", "c"), GRANTED))
