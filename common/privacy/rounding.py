"""Exact costs as floats, and promises as texts, that are not on the wrong side of them."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction


def float_below(exact: Fraction) -> float:
    """The largest float that is at most this number: of what may be spent."""
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def float_above(exact: Fraction) -> float:
    """The smallest float that is at least this number: of what was spent."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def text_above(value: float, digits: int = 4) -> str:
    """A number of so many digits that is not below this one: of a promise, and of what was spent.

    A billionth more than a number of so many digits is that number, as which somebody stated it.
    """
    least = Decimal(value * (1 - 1e-9))
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(least)):.{digits}g}"
