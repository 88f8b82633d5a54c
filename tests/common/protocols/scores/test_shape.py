"""What a shape admits, and the steps that it states."""

import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
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
    # 31 bits make nine digits of 3 bits and two of 2: tables of 7 and of 3 rows; g of all, p of all but one.
    # Layers merge 11, 6, 3 and 2 digits, of which 5, 3, 1 and 1 pairs: 9, 5, 1 and 1 products.
    shape = ScoreShape((3, 7, 1), NARROW)
    assert (shape.total, shape.plane_bytes, shape.word_bytes) == (11, 2, 44)
    assert [(step.sender, step.recipient, step.size) for step in shape.steps] == [
        (0, 2, 2 * (9 * 7 + 2 * 3)),
        *((1, 2, 2 * 21), (2, 1, 2 * 21)),
        *((0, 2, 2 * 9), (2, 1, 2 * 9), (1, 0, 2 * 9)),
        *((0, 2, 2 * 5), (2, 1, 2 * 5), (1, 0, 2 * 5)),
        *((0, 2, 2 * 1), (2, 1, 2 * 1), (1, 0, 2 * 1)),
        *((2, 1, 2 * 1), (1, 0, 2 * 1)),
        (0, 2, 2 * 44),
    ]


@pytest.mark.parametrize(("ring", "octets", "steps"), [(NARROW, 27.75, 15), (WIDE, 57.625, 18)])
def test_the_bytes_and_steps_of_a_cell_do_not_grow_unnoticed(ring, octets, steps):
    shape = ScoreShape((1000,) * 8, ring)
    assert sum(step.size for step in shape.steps) == octets * shape.total
    assert len(shape.steps) == steps
