"""A run spends budget by charges to its measurer, before noise is drawn."""

from fractions import Fraction

import pytest

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.budget import Charge
from support.measurers import Bare


def test_charges_add_up_within_the_grant():
    measurer = Bare()
    first, second = (Charge(name, (), Fraction(1, 4)) for name in ("train", "select"))
    measurer.charge(first)
    measurer.charge(second)
    assert measurer.accountant.charges == (first, second)
    assert (measurer.granted, measurer.accountant.spent) == (Fraction(1), Fraction(1, 2))


def test_refuses_charges_that_together_exceed_what_is_left():
    measurer = Bare()
    measurer.charge(Charge("one-way", ("a",), Fraction(1, 4)))
    with pytest.raises(BudgetError):
        measurer.charge(Charge("x", (), Fraction(1, 2)), Charge("y", (), Fraction(1, 2)))
    assert measurer.accountant.spent == Fraction(1, 4)
