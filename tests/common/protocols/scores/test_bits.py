"""Packed bits against bits one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores.bits import negate_cells, planes_of, unpack_bits


@pytest.mark.slow
@pytest.mark.parametrize("ring", [Ring(32), Ring(64)])
@given(data=st.data())
def test_planes_are_the_bits_of_the_words_from_the_lowest_on_and_come_back(ring, data):
    words = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), min_size=1, max_size=20))
    planes = planes_of(np.array(words, dtype=ring.dtype))
    assert planes.shape == (ring.bits, -(-len(words) // 8))
    for place, plane in enumerate(planes):
        bits = [word >> place & 1 for word in words]
        assert int.from_bytes(plane.tobytes(), "little") == sum(bit << i for i, bit in enumerate(bits))
        assert unpack_bits(plane, len(words)).tolist() == [bool(bit) for bit in bits]


def test_the_cells_whose_bit_is_one_are_negated_in_every_row():
    words = np.array([[0, 1, 2, 2**31], [5, 6, 7, 8]], dtype=np.uint32)
    found = negate_cells(words, np.array([0b1011], dtype=np.uint8))
    assert found.tolist() == [[0, 2**32 - 1, 2, 2**31], [2**32 - 5, 2**32 - 6, 7, 2**32 - 8]]
