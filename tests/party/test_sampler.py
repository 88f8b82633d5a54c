"""No answer is repeated with other noise: sampler and answer are bound to the charge."""

import hashlib

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.privacy import noise
from support.lone_party import QUERY, RECORD_WISE
from support.terms import RELEASE_ID

DRAWN = {
    0.5: "6085e3f25eb0b181",
    3.0: "de6983fe4b0538a1",
    100.0: "c65e19ea87120251",
    2.0**20 + 0.25: "0acaa4dc04119c45",
    2.0**40: "021372a571e57881",
}


@pytest.mark.parametrize("sigma", DRAWN)
def test_a_sampler_of_this_version_draws_this_noise(sigma):
    """If this fails, noise changed: raise `SAMPLER` and put the new digests here."""
    drawn = noise.discrete_gaussian(sigma, 4096, RandomStream(bytes(range(32))))
    assert noise.SAMPLER == 1
    assert hashlib.sha256(drawn.astype("<i8").tobytes()).hexdigest()[:16] == DRAWN[sigma]


@pytest.fixture
def other_sampler(monkeypatch):
    """Another sampler, as after an upgrade."""

    def change():
        monkeypatch.setattr(noise, "_BLOCKS_PER_SIGMA", 12)
        noise._envelope.cache_clear()

    yield change
    noise._envelope.cache_clear()


@pytest.mark.parametrize("query", [QUERY, RECORD_WISE], ids=["histogram", "record-wise"])
def test_an_answer_is_not_repeated_by_a_sampler_of_another_version(party, ledger, query, monkeypatch):
    list(party.answer(query))
    spent = ledger.cost_of(RELEASE_ID)
    monkeypatch.setattr(noise, "SAMPLER", noise.SAMPLER + 1)
    with pytest.raises(ProtocolError, match="version 1 of the sampler drew noise, and this is version 2"):
        party.answer(query)
    assert ledger.cost_of(RELEASE_ID) == spent


@pytest.mark.parametrize("query", [QUERY, RECORD_WISE], ids=["histogram", "record-wise"])
def test_another_answer_is_refused_before_any_of_it_is_sent(party, query, other_sampler):
    first = list(party.answer(query))
    assert list(party.answer(query)) == first
    other_sampler()
    with pytest.raises(ProtocolError, match="the same content as before"):
        party.answer(query)


def test_an_answer_whose_stream_was_cut_is_repeated_from_its_start(party):
    cut = party.answer(RECORD_WISE)
    next(cut)
    whole = list(party.answer(RECORD_WISE))
    assert list(party.answer(RECORD_WISE)) == whole


def test_other_rows_are_refused_under_the_noise_of_an_answer_whose_stream_was_cut(party, monkeypatch):
    """The noise that both would have in common would cancel in the difference."""
    cut = party.answer(RECORD_WISE)
    next(cut)
    codes = Table.cell_codes
    monkeypatch.setattr(Table, "cell_codes", lambda self, *asked: codes(self, *asked)[::-1].copy())
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(rows under noise\)"):
        party.answer(RECORD_WISE)
