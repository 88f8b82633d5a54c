"""Exact costs as floats that are not on the wrong side of them."""

from __future__ import annotations

import math
from fractions import Fraction


def float_below(exact: Fraction) -> float:
    """The largest float that is at most this number: of what may be spent."""
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def float_above(exact: Fraction) -> float:
    """The smallest float that is at least this number: of what was spent."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
