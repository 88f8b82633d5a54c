"""A dealer that deals wrong words, or other words after parties were restarted."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.dealing import peers
from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.promises.binding import Binding
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.bounds import AnswerBounds
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.rows import DealtRows
from support.masked_views import DOMAIN, LONG, RECORDS, table_of
from support.taps import Curator
from support.terms import RELEASE_ID


@pytest.fixture
def unchecked(monkeypatch):
    """A curator that deals wrong words does not refuse the answers that they lead to."""
    monkeypatch.setattr(AnswerBounds, "check", lambda self, values: None)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_a_wrong_dealt_product_shifts_the_counts_by_a_value_that_the_dealer_knows(monkeypatch):
    shift = np.arange(30, dtype=np.uint32) * np.uint32(100_000)
    deal, query = Dealing._products, Query(View(("a", "c")), Fraction(1, 2), "test")
    for kind in ("equal", "random"):
        (honest,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        with monkeypatch.context() as patched:
            patched.setattr(
                Dealing,
                "_products",
                lambda self, *args: {chain: words + shift for chain, words in deal(self, *args).items()},
            )
            (shifted,) = Curator(table_of(kind), "1x3").measurer().measure([query])
        assert (shifted.values - honest.values).astype(np.int64).tolist() == shift.tolist()


def dies(curator):
    """All parties lose their memory and resume from their ledgers."""
    for link in curator.links:
        link.connection.restart()


def test_after_a_restart_a_party_takes_no_other_dealt_words(ledgers, monkeypatch):
    """Two different sums under the same noise would reveal their difference, a function of one record."""
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    measurer.measure([Query(View(LONG), Fraction(1, 2), "test")])
    spent = [ledger.cost_of(RELEASE_ID) for ledger in ledgers]
    dies(curator)
    measurer._products.forget(DeliveriesLost("restarted"))
    deal = Dealing._products

    def wrong(self, *args):
        return {chain: words + np.uint32(1 << 20) for chain, words in deal(self, *args).items()}

    monkeypatch.setattr(Dealing, "_products", wrong)
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(dealt from curator\)"):
        measurer._products.prepare([View(LONG)])
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == spent


def test_after_a_restart_parties_that_were_dealt_the_same_words_give_the_same_sum(ledgers):
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    query = Query(View(LONG), Fraction(1, 2), "test")
    (first,) = measurer.measure([query])
    spent = [ledger.cost_of(RELEASE_ID) for ledger in ledgers]
    dies(curator)
    measurer._products.forget(DeliveriesLost("restarted"))
    measurer._asked = 0
    measurer._products.prepare([View(LONG)])
    again = measurer._answer(query, measurer.accountant.charges[0])
    assert again.values.tolist() == first.values.tolist()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == spent


def unchecked_rows(monkeypatch):
    """The receiver of dealt rows takes them as they are."""

    def passes(self, delivery, chunks):
        list(chunks)
        self._passed.add((delivery.sender, delivery.chain))

    monkeypatch.setattr(DealtRows, "decide", passes)


@pytest.mark.parametrize("salted", [True, False])
def test_dealing_twice_reveals_openings_only_without_salts(salted, monkeypatch):
    """Reads codes of the middle part of a chain from the XOR of two sealed openings; a sixth by chance.

    The curator deals the mask, then the mask minus one. The opened words are y and y - 1, with y = 0 where
    the record has another code. Only there all bits of the two differ, if both were sealed under one key
    stream.
    """
    if not salted:
        seal, unseal = peers.seal, peers.unseal
        monkeypatch.setattr(peers, "seal", lambda key, context, payload: seal(key, context[:-32], payload))
        monkeypatch.setattr(peers, "unseal", lambda key, context, frames: unseal(key, context[:-32], frames))
    unchecked_rows(monkeypatch)
    monkeypatch.setattr(Binding, "use", lambda *args: None)
    table = table_of("random")
    curator = Curator(table, "1x3")
    measurer = curator.measurer()
    chain = measurer._plan.chain(View(LONG), 0)[:2]
    left, right = measurer._plan.holders(chain, 0)
    measurer._products._exchange(chain, 0)
    mask = curator.session(right)._seeds.masks.child("mask", *labels(chain))
    words = mask.uniform(Ring(32), 0, RECORDS, measurer._plan.cells(chain))
    sealed = []
    for offset in (0, 1):
        dealt = words.astype(np.uint64) - np.uint64(offset)
        monkeypatch.setattr(Dealing, "_rows", lambda self, *args, dealt=dealt: iter([dealt]))
        measurer._products._deal_rows(chain, 0)
        _, *frames = streams.decode_payload(curator.open(right, chain, 3 - left - right))
        sealed.append(np.frombuffer(b"".join(frames)[: words.nbytes], dtype=np.uint32))
    other = (sealed[0] ^ sealed[1] == 2**32 - 1).reshape(RECORDS, *map(DOMAIN.cells, chain))
    read = np.argmin(other.all(axis=1), axis=1)
    assert ((read == table.column(chain[1][0])).mean() < 1 / 2) == salted
