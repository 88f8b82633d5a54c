"""Scores from shares against sums of absolute values; lengths of messages; refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.dealer import deal
from dpmosaic.common.protocols.scores.evaluator import evaluate
from dpmosaic.common.protocols.scores.shape import ScoreShape

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]
EXAMPLE = ScoreShape((3, 1, 9), 18, Ring(32))
DIFFERENCES = np.array([0, 1, -1, 2**17 - 1, 1 - 2**17, 5, -5, 100, -100, 0, 0, 77, -65536])


def streams(seed):
    return tuple(RandomStream.from_seed(seed).child(f"evaluator {index}") for index in range(2))


def shared(ring, differences, seed):
    """Additive shares of signed numbers that fit 64 bits."""
    one = ring.uniform(RandomStream.from_seed(seed).child("shares"), 1, len(differences))[0]
    return one, ring.words(np.asarray(differences, dtype=np.int64)) - one


def brute_force(cells, differences, ring):
    """Scores modulo 2^bits, in Python's integers."""
    sums, rest = [], list(differences)
    for count in cells:
        sums.append(sum(abs(int(number)) for number in rest[:count]) % 2**ring.bits)
        rest = rest[count:]
    return sums


def scores(meet, shape, differences, seed=0, **kwargs):
    shares = shared(shape.ring, differences, seed)
    (left, right), _ = meet(shape, shares, streams(seed), deal(shape, streams(seed)), **kwargs)
    assert left.dtype == right.dtype == shape.ring.dtype
    assert left.shape == right.shape == (len(shape.cells),)
    return (left + right).tolist()


@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data())
def test_scores_are_sums_of_absolute_differences(meet, ring, data):
    bits = data.draw(st.integers(2, ring.bits))
    cells = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
    top = 2 ** (bits - 1) - 1
    number = st.one_of(st.integers(-top, top), st.sampled_from([-top, 1 - top, -1, 0, 1, top - 1, top]))
    differences = data.draw(st.lists(number, min_size=sum(cells), max_size=sum(cells)))
    found = scores(meet, ScoreShape(cells, bits, ring), differences, data.draw(st.integers(0, 2**32)))
    assert found == brute_force(cells, differences, ring)


@pytest.mark.parametrize("ring", RINGS)
def test_scores_are_right_for_every_width_at_its_borders(meet, ring):
    for bits in range(2, ring.bits + 1):
        top = 2 ** (bits - 1) - 1
        differences = [-top, -top, -1, 0, 0, 1, top, top]
        for cells in [(1,) * 8, (8,), (3, 5)]:
            found = scores(meet, ScoreShape(cells, bits, ring), differences, seed=bits)
            assert found == brute_force(cells, differences, ring)


@pytest.mark.parametrize("bits", [2, 3, 4, 5])
def test_scores_are_right_for_every_difference_of_few_bits_under_many_masks(meet, bits):
    top = 2 ** (bits - 1) - 1
    differences = np.tile(np.arange(-top, top + 1), 64)
    shape = ScoreShape((1,) * len(differences), bits, Ring(32))
    assert scores(meet, shape, differences) == np.abs(differences).tolist()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65])
def test_one_clique_of_any_number_of_cells_is_scored(meet, count):
    differences = np.arange(count) - count // 2
    shape = ScoreShape((count,), 18, Ring(32))
    assert scores(meet, shape, differences) == [int(np.abs(differences).sum())]


def test_many_cliques_are_scored_at_once(meet):
    rng = np.random.default_rng(1)
    cells = tuple(rng.integers(1, 40, 500).tolist())
    differences = rng.integers(-(2**16), 2**16, sum(cells))
    shape = ScoreShape.holding(cells, 2**16, Ring(32))
    assert scores(meet, shape, differences) == brute_force(cells, differences, shape.ring)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("trivial", [0, 1])
def test_scores_do_not_depend_on_the_shares_of_differences(meet, ring, trivial):
    shape = ScoreShape(EXAMPLE.cells, EXAMPLE.bits, ring)
    shares = [np.zeros(13, dtype=ring.dtype), ring.words(DIFFERENCES)]
    shares = shares if trivial else shares[::-1]
    (left, right), _ = meet(shape, shares, streams(3), deal(shape, streams(3)))
    assert (left + right).tolist() == brute_force(shape.cells, DIFFERENCES, ring)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("cells", [(1,), (8,), (3, 6), (5, 5, 7)])
def test_messages_have_the_lengths_of_the_shape(meet, ring, cells):
    for bits in range(2, ring.bits + 1):
        shape = ScoreShape(cells, bits, ring)
        dealt = deal(shape, streams(0))
        assert len(dealt) == shape.dealt_bytes
        _, opened = meet(shape, shared(ring, [1] * shape.total, 0), streams(0), dealt)
        assert len(opened) == shape.rounds
        for round, strings in enumerate(opened):
            assert [len(sent) for sent in strings] == [shape.opened_bytes(round)] * 2


@pytest.mark.parametrize("change", [lambda sent: sent[:-1], lambda sent: sent + b"\0", lambda sent: b""])
@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("late", range(EXAMPLE.rounds))
def test_an_opening_of_another_length_is_refused(meet, change, sender, late):
    def relay(who, round, sent):
        return change(sent) if (who, round) == (sender, late) else sent

    expected = EXAMPLE.opened_bytes(late)
    with pytest.raises(ProtocolError, match=f"{expected} bytes from the other evaluator in round {late}"):
        scores(meet, EXAMPLE, DIFFERENCES, relay=relay)


@pytest.mark.parametrize("change", [lambda sent: sent[:-1], lambda sent: sent + b"\0", lambda sent: b""])
def test_a_dealt_string_of_another_length_is_refused(change):
    dealt = change(deal(EXAMPLE, streams(0)))
    evaluator = evaluate(EXAMPLE, 1, shared(EXAMPLE.ring, DIFFERENCES, 0)[1], streams(0)[1], dealt)
    with pytest.raises(ProtocolError, match=f"{EXAMPLE.dealt_bytes} bytes from the dealer"):
        next(evaluator)


@pytest.mark.parametrize(("index", "dealt"), [(0, b""), (1, None), (2, b""), (2, None), (-1, b"")])
def test_only_evaluator_1_gets_a_dealt_message_and_there_are_two_evaluators(index, dealt):
    share = np.zeros(EXAMPLE.total, dtype=np.uint32)
    with pytest.raises(ValueError, match="expected evaluator 0 without"):
        next(evaluate(EXAMPLE, index, share, streams(0)[0], dealt))


@pytest.mark.parametrize(
    "share",
    [np.zeros(12, dtype=np.uint32), np.zeros((1, 13), dtype=np.uint32), np.zeros(13, dtype=np.uint64)],
)
def test_shares_of_another_shape_or_ring_are_refused(share):
    with pytest.raises(ValueError, match="13 words of 32 bits"):
        next(evaluate(EXAMPLE, 0, share, streams(0)[0], None))


@pytest.mark.parametrize("sender", [0, 1])
@pytest.mark.parametrize("late", range(EXAMPLE.rounds))
def test_an_altered_message_gives_other_scores_and_no_error(meet, sender, late):
    def relay(who, round, sent):
        if (who, round) != (sender, late):
            return sent
        return bytes(octet ^ 0xFF for octet in sent)

    assert scores(meet, EXAMPLE, DIFFERENCES, relay=relay) != brute_force(
        EXAMPLE.cells, DIFFERENCES, EXAMPLE.ring
    )


@pytest.mark.parametrize("which", [0, 1])
def test_a_stream_that_the_dealer_did_not_use_gives_other_scores(meet, which):
    own = [*streams(0)]
    own[which] = streams(1)[which]
    shares = shared(EXAMPLE.ring, DIFFERENCES, 0)
    (left, right), _ = meet(EXAMPLE, shares, own, deal(EXAMPLE, streams(0)))
    expected = brute_force(EXAMPLE.cells, DIFFERENCES, EXAMPLE.ring)
    assert all(one != other for one, other in zip((left + right).tolist(), expected, strict=True))


def test_shares_of_scores_are_other_words_under_other_streams(meet):
    shares = shared(EXAMPLE.ring, DIFFERENCES, 0)
    results = [meet(EXAMPLE, shares, streams(s), deal(EXAMPLE, streams(s)))[0] for s in (0, 1)]
    for one, other in zip(*results, strict=True):
        assert np.all(one != other)
