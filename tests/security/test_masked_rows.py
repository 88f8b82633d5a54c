"""A dealer that deals wrong row-wise products, and the check that finds them."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.arithmetic.ring import WIDE
from dpmosaic.common.protocols.masked.bounds import AnswerBounds
from dpmosaic.common.protocols.masked.masks import Mask
from dpmosaic.common.protocols.masked.sacrifice import combine, weights
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.rows import DealtRows
from support.masked_views import DOMAIN, LONG, RECORDS, table_of
from support.taps import GRANTED, Curator

RECORD = 17


def wrong_rows(monkeypatch, place, bit):
    """One dealer adds a power of two to a word of one record."""
    rows = Dealing._rows

    def wrong(self, *args):
        for block in rows(self, *args):  # one block holds all records
            if self._place == place:
                block[RECORD, :1] += np.uint64(1 << bit)
            yield block

    monkeypatch.setattr(Dealing, "_rows", wrong)


def unchecked(monkeypatch):
    """The receiver takes rows as they are, and the curator does not refuse answers."""

    def passes(self, delivery, chunks):
        list(chunks)
        self._passed.add((delivery.sender, delivery.chain))

    monkeypatch.setattr(DealtRows, "decide", passes)
    monkeypatch.setattr(AnswerBounds, "check", lambda self, values: None)


def dealt_rows(dealers=0):
    """Takes the steps of a marginal of three parties up to the answer."""
    Curator(table_of("random"), "1x3", dealers=dealers).measurer()._products.prepare([View(LONG)])


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("dealers", [0, 3])
def test_a_wrong_dealt_row_is_refused_before_any_answer(bits, dealers, monkeypatch):
    curator = Curator(table_of("random"), "1x3", GRANTED[bits], dealers=dealers)
    measurer = curator.measurer()
    wrong_rows(monkeypatch, measurer._plan.dealers_of(0)[-1], bits - 1)
    with pytest.raises(ProtocolError, match=r"row-wise product that passes its check.*did not follow"):
        measurer.measure([Query(View(LONG), curator.granted / 2, "test")])
    assert "Answer" not in curator.wire.methods()


def test_without_the_check_a_wrong_dealt_row_reveals_a_code(monkeypatch):
    """The word appears in the cell of the record's code in the last part: this is what the check prevents."""
    table = table_of("random")
    measurer = Curator(table, "1x3").measurer()
    wrong_rows(monkeypatch, measurer._plan.dealers_of(0)[0], 20)
    unchecked(monkeypatch)
    (found,) = measurer.measure([Query(View(LONG), Fraction(1, 2), "test")])
    read = np.argmax(found.values.reshape(DOMAIN.shape(LONG)).max(axis=(0, 2)))
    assert read == table.column("b")[RECORD]


def test_a_failed_product_stays_refused_when_it_is_dealt_as_written(monkeypatch):
    measurer = Curator(table_of("random"), "1x3").measurer()
    with monkeypatch.context() as patched:
        wrong_rows(patched, measurer._plan.dealers_of(0)[0], 0)
        with pytest.raises(ProtocolError, match="passes its check"):
            measurer._products.prepare([View(LONG)])
    with pytest.raises(ProtocolError, match="same content as before"):
        measurer._products.prepare([View(LONG)])


def test_rows_that_were_not_checked_are_not_used(monkeypatch):
    monkeypatch.setattr(DealtRows, "decide", lambda self, delivery, chunks: list(chunks))
    with pytest.raises(DeliveriesLost, match="dealt rows that passed their check"):
        dealt_rows()


def test_a_check_before_all_dealers_dealt_is_refused(monkeypatch):
    receive = DealtRows.receive

    def lost(self, delivery, chunks):
        chunks = list(chunks)
        if delivery.sender != self._dealers[-1] or delivery.kind is not DeliveryKind.DEALT_CHECK:
            receive(self, delivery, chunks)

    monkeypatch.setattr(DealtRows, "receive", lost)
    with pytest.raises(DeliveriesLost, match="messages of all dealers"):
        dealt_rows(dealers=3)


@pytest.mark.parametrize("when", ["after the check", "after a restart"])
def test_rows_that_are_dealt_otherwise_after_their_check_are_refused(when, monkeypatch):
    """Other rows under the mask of what was opened already would show records."""
    curator = Curator(table_of("random"), "1x3")
    measurer = curator.measurer()
    measurer._products.prepare([View(LONG)])
    chain = measurer._plan.chain(View(LONG), 0)[:2]
    if when == "after a restart":
        for link in curator.links:
            link.connection.restart()
        measurer._products.forget(DeliveriesLost("restarted"))
    measurer._products.begin(0)
    measurer._products._exchange(chain, 0)
    wrong_rows(monkeypatch, measurer._plan.dealers_of(0)[0], 20)
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(dealt from curator\)"):
        measurer._products._deal_rows(chain, 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_an_owner_sends_the_same_words_whenever_a_check_is_repeated(bits):
    """Two answers with one mask and different weights would reveal the owner's mask to the receiver."""
    curator = Curator(table_of("random"), "1x3", GRANTED[bits])
    measurer = curator.measurer()
    chain = measurer._plan.chain(View(LONG), 0)[:2]
    owner, receiver = measurer._plan.holders(chain, 0)
    answers = []
    for _ in range(2):
        measurer._products.begin(0)
        rows = curator.session(owner)._row_products
        answers.append(b"".join(rows._check_blocks(chain, receiver)))
        for link in curator.links:
            link.connection.restart()
        measurer._products.forget(DeliveriesLost("restarted"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("hidden", [True, False])
def test_a_receiver_reads_codes_from_a_check_only_without_its_mask(hidden, monkeypatch):
    """Without X', words sent and opened add up to the weight of each record's code.

    With X', one of 20,000 words does so by chance: with other seeds, once in 200,000 runs.
    """
    uniform = Mask.uniform
    if not hidden:
        monkeypatch.setattr(
            Mask, "uniform", lambda self, ring, *shape: uniform(self, ring, *shape) * (ring != WIDE)
        )
    table = table_of("random")
    curator = Curator(table, "1x3")
    measurer = curator.measurer()
    ring, chain = measurer._plan.ring, measurer._plan.chain(View(LONG), 0)[:2]
    owner, receiver = measurer._plan.holders(chain, 0)
    measurer._products._exchange(chain, 0)
    answered = b"".join(curator.session(owner)._row_products._check_blocks(chain, receiver))
    sent = np.frombuffer(answered, dtype=np.uint64).reshape(RECORDS + 1, -1)[:-1]
    (opened,) = curator.session(receiver)._openings.blocks((owner, chain[:1]), RECORDS)
    stream = curator.session(receiver)._row_products._weights(chain, owner)
    (weight,) = weights(ring, stream, RECORDS, measurer._plan.cells(chain))
    weight = weight.reshape(*opened.shape, -1)
    left = (sent + combine(weight, opened)).astype(ring.dtype)[:, None] == weight
    codes = table.column(chain[0][0])
    assert left.all(axis=2)[np.arange(RECORDS), codes].all() != hidden
    assert left.any() != hidden


@pytest.mark.slow
@pytest.mark.parametrize("dealers", [0, 3])
@pytest.mark.parametrize("bits", [32, 64])
def test_four_parties_count_together_what_was_checked_with_every_owner(bits, dealers):
    """Noise of ten deviations in one of 720 cells: once in 10^20 runs with other seeds."""
    curator = Curator(table_of("random"), "1x4", GRANTED[bits], dealers=dealers)
    (found,) = curator.measurer().measure([Query(View(DOMAIN.names), curator.granted / 2, "test")])
    exact = curator.table.marginal(DOMAIN.names)
    assert np.abs(found.values - exact).max() < 10 * found.sigma
