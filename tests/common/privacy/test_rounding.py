"""Floats beside exact numbers: on the right side, with none between."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.privacy.rounding import float_above, float_below


@given(st.fractions(min_value=0, max_value=10**6))
def test_no_float_lies_between_a_number_and_those_beside_it(exact):
    below, above = float_below(exact), float_above(exact)
    assert Fraction(below) <= exact <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))
    assert (below == above) == (Fraction(float(exact)) == exact)
