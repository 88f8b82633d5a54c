"""What a shape admits, and the steps that it states."""

import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.shape import ScoreShape

NARROW, WIDE = Ring(32), Ring(64)


@pytest.mark.parametrize("cells", [(), (0,), (3, 0, 2), (4, -1)])
def test_a_batch_without_cliques_or_a_clique_without_cells_is_refused(cells):
    with pytest.raises(ValueError, match="at least one cell"):
        ScoreShape(cells, NARROW)
    with pytest.raises(ValueError, match="at least one cell"):
        ScoreShape.holding(cells, 8, NARROW)


@pytest.mark.parametrize("ring", [NARROW, WIDE])
def test_a_ring_too_small_is_refused_without_naming_the_bound(ring):
    largest = (1 << (ring.bits - 1)) - 1
    assert ScoreShape.holding((1,), largest, ring) == ScoreShape((1,), ring)
    with pytest.raises(ProtocolError, match="use a larger ring") as refusal:
        ScoreShape.holding((1,), largest + 1, ring)
    assert str(largest + 1) not in str(refusal.value)


def test_the_steps_of_an_example_are_those_counted_by_hand():
    # 31 bits make nine digits of 3 bits and two of 2: tables of 7 and of 3 rows, and the highest bit; g of
    # all, p of all but one.
    # Layers merge 11, 6, 3 and 2 digits, of which 5, 3, 1 and 1 pairs: 9, 5, 1 and 1 products.
    shape = ScoreShape((3, 7, 1), NARROW)
    assert (shape.total, shape.plane_bytes, shape.word_bytes) == (11, 2, 44)
    assert [(step.sender, step.recipient, step.size) for step in shape.steps] == [
        (0, 2, 2 * (9 * 7 + 2 * 3 + 1)),
        *((1, 2, 2 * 21), (2, 1, 2 * 21)),
        *((0, 2, 2 * 9), (2, 1, 2 * 9), (1, 0, 2 * 9)),
        *((0, 2, 2 * 5), (2, 1, 2 * 5), (1, 0, 2 * 5)),
        *((0, 2, 2 * 1), (2, 1, 2 * 1), (1, 0, 2 * 1)),
        *((0, 2, 2 * 1), (2, 1, 2 * 1), (1, 0, 2 * 1)),
        (0, 2, 2 * 44),
        # Factors: of wires 1 + 69; of layers 2 * 16; of signs 31 bits, 9 products, u and 2 * 31 carries.
        (0, 2, 32 + 16 * ((32 + 41) * 32 + (103 + 41) * 103)),
        *((sender, 3 - sender, 32 + 16 * ((70 + 41) * 70 + (32 + 41) * 32)) for sender in (1, 2)),
        *((2, 0, 64), (2, 1, 64), (2, 1, 64), (2, 0, 64), (1, 2, 64), (1, 0, 64)),
        *((0, 2, 32 + 2 * 41 * 2), (1, 2, 32)),
        *((1, 2, 32 + 2 * 41 * 2), (0, 2, 32)),
        *((2, 1, 32 + 2 * 41 * 2), (0, 1, 32)),
    ]


@pytest.mark.parametrize(("ring", "octets", "steps"), [(NARROW, 28.0, 31), (WIDE, 57.875, 34)])
def test_the_bytes_and_steps_of_a_cell_do_not_grow_unnoticed(ring, octets, steps):
    shape = ScoreShape((1000,) * 8, ring)
    assert sum(step.size for stage in shape.stages for step in stage) == octets * shape.total
    assert len(shape.steps) == steps


@pytest.mark.parametrize(("ring", "ratio"), [(NARROW, 2.25), (WIDE, 1.8)])
def test_with_proofs_all_pairs_of_adult_take_at_most_2_3_times_the_bytes(ring, ratio):
    shape = ScoreShape((148_137,), ring)
    without = sum(step.size for stage in shape.stages for step in stage)
    assert ratio - 0.1 < sum(step.size for step in shape.steps) / without < ratio
