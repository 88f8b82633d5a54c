"""How round numbers are is found by size, and comes back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.lattice import Lattice
from dpmosaic.common.data.binning.rounded import (
    SIZES,
    UNITS,
    Rounded,
    check_rounded,
    count_round,
    drawn_shares,
    places_of,
    roundness_of,
    units_of,
)
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

ROWS = 20_000


def mixed(share, some, others):
    """Draws numbers of which a share are some, and others the rest."""
    return lambda rng: np.where(rng.random(ROWS) < share, some(rng), others(rng))


NUMBERS = {
    "small ones have a decimal": (
        mixed(
            0.5, lambda rng: rng.normal(4.2, 0.4, ROWS).round(1), lambda rng: rng.normal(140, 9, ROWS).round()
        ),
        0.1,
    ),
    "most are whole": (
        mixed(0.8, lambda rng: rng.gamma(3, 20, ROWS).round(), lambda rng: rng.gamma(3, 20, ROWS).round(2)),
        0.01,
    ),
    "half are thousands": (
        mixed(
            0.5, lambda rng: rng.gamma(9, 4e3, ROWS).round(-3), lambda rng: rng.gamma(9, 4e3, ROWS).round()
        ),
        1.0,
    ),
    "readings end in zero": (
        mixed(
            0.4,
            lambda rng: rng.normal(130, 20, ROWS).round(-1),
            lambda rng: rng.normal(130, 20, ROWS).round(),
        ),
        1.0,
    ),
    "few have any decimals": (
        mixed(0.05, lambda rng: rng.gamma(3, 1, ROWS), lambda rng: rng.normal(60, 9, ROWS).round()),
        None,
    ),
}


def rounded_of(numbers, unit):
    lattice = None if unit is None else Lattice(unit)
    values, rows = np.unique(numbers, return_counts=True)
    units = units_of(values, lattice)
    return roundness_of(count_round(values, rows, units), units, lattice, 200)


def shares_of(numbers):
    known = [unit for unit in UNITS if unit >= 0.1]
    return np.bincount(places_of(numbers, known), minlength=len(known) + 1) / len(numbers)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("bins", [7, 40, 150])
def test_numbers_come_back_as_round_as_they_were(name, bins):
    drawn, unit = NUMBERS[name]
    numbers = drawn(np.random.default_rng(1))
    low, high = np.floor(numbers.min()), np.ceil(numbers.max())
    attribute = NumericAttribute(
        "x", low, high, bins, multiple_of=unit, integer=unit == 1, rounded=rounded_of(numbers, unit)
    )
    back = attribute.decode(attribute.encode(numbers), np.random.default_rng(2)).astype(float)
    # A share of 20,000 rows has a deviation of .0035 at most, and that of a bin's multiples is a mean.
    assert np.abs(shares_of(back) - shares_of(numbers)).max() < 0.02
    assert (attribute.encode(back) == attribute.encode(numbers)).all()


@pytest.mark.parametrize("unit", [0.25, 0.01, 1.0, None])
def test_of_numbers_that_are_round_by_chance_nothing_is_stated(unit):
    numbers = np.random.default_rng(1).normal(400, 90, ROWS)
    assert (
        rounded_of(numbers if unit is None else Lattice(unit).values(Lattice(unit).nearest(numbers)), unit)
        == ()
    )


@given(st.data())
def test_shares_to_be_rounded_and_chance_are_the_stated_shares(data):
    units = sorted(data.draw(st.sets(st.sampled_from(UNITS), min_size=1, max_size=5)), reverse=True)
    finest = data.draw(st.sampled_from([0.0, UNITS[-1] / 10]))
    parts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(units) + 1, max_size=len(units) + 1)))
    rounded = parts / parts.sum()
    # Of what is rounded to a unit, or to none, this part are multiples of a larger one by chance.
    chain = np.array([*units, finest])
    up_to = [
        rounded[: place + 1].sum() + (rounded[place + 1 :] * chain[place + 1 :]).sum() / unit
        for place, unit in enumerate(units)
    ]
    shares = np.diff(up_to, prepend=0)
    assert drawn_shares(units, shares, finest) == pytest.approx(rounded[:-1], abs=1e-9)


@given(st.data())
def test_whatever_noisy_counts_say_is_a_statement(data):
    lattice = data.draw(st.sampled_from([None, Lattice(0.01), Lattice(0.25), Lattice(1.0), Lattice(5.0)]))
    units = units_of(np.array([data.draw(st.sampled_from([0.3, 7.0, 900.0, 1e9]))]), lattice)
    few = st.lists(st.integers(-20, 300), min_size=1, max_size=60)
    counts = np.resize(np.array(data.draw(few), dtype=float), (len(SIZES), len(units) + 1))
    found = roundness_of(counts, units, lattice, 50, data.draw(st.integers(0, 40)))
    assert check_rounded(found, lattice) == ""
    for one in found:
        parts = drawn_shares(one.units, np.array(one.shares), 0.0 if lattice is None else lattice.unit)
        assert (parts >= 0).all()
        assert parts.sum() <= 1 + 1e-9


def test_a_row_is_counted_once_at_most():
    numbers = np.array([0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, 2.5, -7])
    counts = count_round(numbers, np.ones(len(numbers), int), UNITS)
    assert counts.sum() == len(numbers) - 4


def test_a_domain_states_how_round_numbers_are():
    rounded = (Rounded(0.0, (0.5, 0.1), (0.2, 0.7)), Rounded(10.0, (1.0,), (1.0,)))
    domain = Domain((NumericAttribute("x", 0, 500, 9, rounded=rounded),))
    assert Domain.from_json(domain.to_json()) == domain


@pytest.mark.parametrize(
    ("rounded", "more", "reason"),
    [
        ((Rounded(1, (1,), (1,)),), {}, "rounded begins with the size 0"),
        (
            (Rounded(0, (1,), (1,)), Rounded(0, (1,), (1,))),
            {},
            "rounded begins with the size 0, and sizes incr",
        ),
        ((Rounded(0, (1,), ()),), {}, "rounded has a share for each unit"),
        ((Rounded(0, (5, 1), (0.7, 0.7)),), {}, "rounded has a share for each unit, 0 or more, and together"),
        ((Rounded(0, (1,), (float("nan"),)),), {}, "rounded has a share for each unit"),
        ((Rounded(0, (1, 5), (0.5, 0.5)),), {}, "units of rounded decrease"),
        (
            (Rounded(0, (0.25,), (0.5,)),),
            {},
            "units of rounded decrease, and are 1 or 5 times a power of ten",
        ),
        ((Rounded(0, (0.1,), (0.5,)),), {"multiple_of": 0.25}, "units of rounded are multiples of 0.25"),
        (
            (Rounded(0, (0.1,), (0.5,)),),
            {"integer": True},
            "units of rounded are multiples of 1, as all values",
        ),
    ],
)
def test_a_wrong_statement_is_refused_in_one_sentence(rounded, more, reason):
    with pytest.raises(DataError, match=f"^attribute 'x': {reason}"):
        NumericAttribute("x", 0, 9, 3, rounded=rounded, **more)
