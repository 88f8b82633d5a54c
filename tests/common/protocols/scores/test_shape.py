"""What a shape admits, and the lengths it states."""

import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.shape import ScoreShape

NARROW, WIDE = Ring(32), Ring(64)


@pytest.mark.parametrize("cells", [(), (0,), (3, 0, 2), (4, -1)])
def test_a_batch_without_cliques_or_a_clique_without_cells_is_refused(cells):
    with pytest.raises(ValueError, match="at least one cell"):
        ScoreShape(cells, 8, NARROW)
    with pytest.raises(ValueError, match="at least one cell"):
        ScoreShape.holding(cells, 8, NARROW, 8)


@pytest.mark.parametrize(("bits", "ring"), [(1, NARROW), (0, WIDE), (33, NARROW), (65, WIDE)])
def test_differences_of_one_bit_or_wider_than_the_ring_are_refused(bits, ring):
    with pytest.raises(ValueError, match=f"2 to {ring.bits} bits for differences, not {bits}"):
        ScoreShape((1,), bits, ring)


@pytest.mark.parametrize(
    ("largest", "bits"),
    [(0, 2), (1, 2), (2, 3), (3, 3), (4, 4), (2**16 - 1, 17), (2**16, 18), (2**31 - 1, 32)],
)
def test_the_fewest_bits_that_hold_every_difference_are_chosen(largest, bits):
    for ring in (NARROW, WIDE):
        shape = ScoreShape.holding((1, 1), largest, ring)
        assert shape == ScoreShape((1, 1), bits, ring)
        assert largest < 2 ** (shape.bits - 1)


def test_the_wide_ring_holds_what_it_can():
    assert ScoreShape.holding((1,), 2**63 - 1, WIDE).bits == 64
    with pytest.raises(ProtocolError, match="fit 64 bits"):
        ScoreShape.holding((1,), 2**63, WIDE)


def test_a_ring_too_small_for_a_difference_is_refused_without_naming_it():
    with pytest.raises(ProtocolError, match="use a larger ring") as refusal:
        ScoreShape.holding((1,), 2**31, NARROW, 5)
    assert str(2**31) not in str(refusal.value)


def test_a_score_that_could_exceed_the_ring_is_refused():
    fits = 2**31 - 1
    # By default the bound of a score is the largest clique full of the largest difference.
    assert ScoreShape.holding((2**11 - 1, 2), 2**20, NARROW).bits == 22
    with pytest.raises(ProtocolError, match="smaller cliques"):
        ScoreShape.holding((2, 2**11), 2**20, NARROW)
    # A given bound replaces it.
    assert ScoreShape.holding((2, 2**11), 2**20, NARROW, fits).bits == 22
    with pytest.raises(ProtocolError, match="smaller cliques"):
        ScoreShape.holding((1,), 1, NARROW, fits + 1)
    assert ScoreShape.holding((1,), 1, WIDE, fits + 1).bits == 2


@pytest.mark.parametrize("bounds", [(-1,), (-1, 3), (3, -1)])
def test_negative_bounds_are_refused(bounds):
    largest, *largest_sum = bounds
    with pytest.raises(ValueError, match="not be negative"):
        ScoreShape.holding((1,), largest, NARROW, *largest_sum)


@pytest.mark.parametrize(
    ("bits", "rounds"), [(2, 2), (4, 2), (5, 3), (10, 3), (11, 4), (18, 4), (28, 4), (29, 5), (64, 5)]
)
def test_rounds_grow_with_the_logarithm_of_the_width(bits, rounds):
    assert ScoreShape((5,), bits, WIDE).rounds == rounds


def test_the_lengths_of_an_example_are_those_counted_by_hand():
    # 17 bits make digits of 3, 3, 3, 3, 3 and 2 bits: tables of 7 bits, the last of 3. They are merged in
    # pairs, 2 factors and 1 product for the lowest and 3 and 2 for each other; then at once, 4 and 5.
    shape = ScoreShape((3, 7, 1), 18, NARROW)
    assert (shape.total, shape.plane_bytes) == (11, 2)
    assert shape.dealt_planes == (7, 7, 7, 7, 7, 3, 5, 5)
    assert [shape.opened_bytes(round) for round in range(shape.rounds)] == [44, 16, 8, 2]
    assert shape.dealt_bytes == 2 * 44 + 48 * 2


def test_many_cells_need_fourteen_dealt_bytes_each_and_less_than_six_opened_ones():
    shape = ScoreShape((1000,) * 8, 18, NARROW)
    assert shape.dealt_bytes == 14 * shape.total
    assert sum(map(shape.opened_bytes, range(shape.rounds))) == 5.625 * shape.total


@pytest.mark.parametrize("round", [-1, 4, 5])
def test_refuses_the_length_of_an_unknown_round(round):
    with pytest.raises(ValueError, match="from 0 to 3"):
        ScoreShape((5,), 18, NARROW).opened_bytes(round)
