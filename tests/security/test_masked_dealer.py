"""A dealer that deals wrong words, or other words after parties were restarted."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.dealing import peers
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import (
    Delivery,
    DeliveryKind,
)
from dpmosaic.common.protocols.masked.bounds import AnswerBounds
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.dealer import Dealer
from support.masked_views import DOMAIN, LONG, RECORDS, table_of
from support.taps import Curator
from support.terms import RELEASE_ID


@pytest.fixture
def unchecked(monkeypatch):
    """A curator that deals wrong words does not refuse the answers that they lead to."""
    monkeypatch.setattr(AnswerBounds, "check", lambda self, values: None)


@pytest.mark.usefixtures("unchecked")
def test_a_wrong_dealt_product_shifts_the_counts_by_a_value_that_the_dealer_knows(monkeypatch):
    shift = np.arange(30, dtype=np.uint32) * np.uint32(100_000)
    deal, query = Dealer.products, Query(("a", "c"), Fraction(1, 2), "test")
    for kind in ("equal", "random"):
        (honest,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        with monkeypatch.context() as patched:
            patched.setattr(
                Dealer,
                "products",
                lambda self, *args: ((chain, words + shift) for chain, words in deal(self, *args)),
            )
            (shifted,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        assert (shifted.values - honest.values).astype(np.int64).tolist() == shift.tolist()


RECORD = 17


@pytest.mark.usefixtures("unchecked")
def test_one_wrong_dealt_row_reveals_a_code_so_the_dealer_must_be_trusted(monkeypatch):
    """A wrong word in one record's row appears in the cell of that record's code in the last part.

    Such words cannot be distinguished from correct ones: this documents why the dealer must be honest.
    """
    rows = Dealer.rows

    def wrong(self, chain, number):
        for block in rows(self, chain, number):  # one block holds all records
            block[RECORD, 0] += np.uint32(1 << 20)
            yield block

    monkeypatch.setattr(Dealer, "rows", wrong)
    table = table_of("random")
    (found,) = Curator(table, "1x3").measurer().measure([Query(LONG, Fraction(1, 2), "test")])
    read = np.argmax(found.values.reshape(DOMAIN.shape(LONG)).max(axis=(0, 2)))
    assert read == table.column("b")[RECORD]


def dies(curator):
    """All parties lose their memory and resume from their ledgers."""
    for link in curator.links:
        link.connection.restart()


@pytest.mark.parametrize("kind", ["rows", "products"])
def test_after_a_restart_a_party_that_was_dealt_other_words_does_not_answer_the_same_query_again(
    kind, ledgers, monkeypatch
):
    """Two different sums under the same noise would reveal their difference, a function of one record."""
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    query = Query(LONG, Fraction(1, 2), "test")
    measurer.measure([query])
    spent = [ledger.spent(RELEASE_ID) for ledger in ledgers]
    dies(curator)
    measurer._forget()
    deal = getattr(Dealer, kind)

    def wrong(self, *args):
        for number, dealt in enumerate(deal(self, *args)):
            words = dealt[1] if kind == "products" else dealt
            if number == 0:
                words.ravel()[0] += np.uint32(1 << 20)
            yield dealt

    monkeypatch.setattr(Dealer, kind, wrong)
    measurer._asked = 0
    charge = measurer.accountant.charges[0]
    measurer._prepare([LONG])
    with pytest.raises(ProtocolError, match="answered from other values"):
        measurer._answer(query, charge)
    assert [ledger.spent(RELEASE_ID) for ledger in ledgers] == spent


def test_after_a_restart_parties_that_were_dealt_the_same_words_give_the_same_sum(ledgers):
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    query = Query(LONG, Fraction(1, 2), "test")
    (first,) = measurer.measure([query])
    spent = [ledger.spent(RELEASE_ID) for ledger in ledgers]
    dies(curator)
    measurer._forget()
    measurer._asked = 0
    measurer._prepare([LONG])
    again = measurer._answer(query, measurer.accountant.charges[0])
    assert again.values.tolist() == first.values.tolist()
    assert [ledger.spent(RELEASE_ID) for ledger in ledgers] == spent


@pytest.mark.parametrize("salted", [True, False])
def test_dealing_twice_reveals_openings_only_without_salts(salted, monkeypatch):
    """Reads codes of the middle part of a chain from the XOR of two sealed openings; a sixth by chance.

    The curator deals the mask, then the mask minus one. The opened words are y and y - 1, with y = 0 where
    the record has another code. Only there all bits of the two differ, if both were sealed under one key
    stream.
    """
    if not salted:
        seal = peers.seal
        monkeypatch.setattr(peers, "seal", lambda key, context, payload: seal(key, context[:-32], payload))
    table = table_of("random")
    curator = Curator(table, "1x3")
    measurer = curator.measurer()
    chain = measurer._plan.chain(LONG, 0)[:2]
    left, right = measurer._plan.holders(chain, 0)
    if not salted:
        unseal = peers.unseal
        monkeypatch.setattr(peers, "unseal", lambda key, context, frames: unseal(key, context[:-32], frames))
    measurer._exchange(chain, 0)
    mask = measurer._dealer.masks[right].child("mask", *labels(chain))
    words = Ring(32).uniform(mask, RECORDS, measurer._plan.cells(chain))
    sealed = []
    for offset in (0, 1):
        dealt = Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, chain)
        curator.clients[right].deal(dealt, [words - np.uint32(offset)])
        _, *frames = streams.decode_payload(curator.open(right, chain, 3 - left - right))
        sealed.append(np.frombuffer(b"".join(frames)[: words.nbytes], dtype=np.uint32))
    other = (sealed[0] ^ sealed[1] == 2**32 - 1).reshape(RECORDS, *map(DOMAIN.cells, chain))
    read = np.argmin(other.all(axis=1), axis=1)
    assert ((read == table.column(chain[1][0])).mean() < 1 / 2) == salted
