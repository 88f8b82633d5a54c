"""Numbers of which some have something behind them that is no unit: a flag, or the side of an account."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.data.values import read_numbers
from dpmosaic.common.forms.notation import FLAGS, WITH_FLAGS, Notation
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.synthesis.synthesize import DomainWarning, synthesize

ROWS = 3000
NUMBERS = np.random.default_rng(1).normal(140, 12, ROWS)
NOISY = 0.03
"""A cost, zCDP, of which a count of one column has a deviation of some 30 rows."""


def readings(learned, tmp_path, cells):
    """The column as learned, with noise, and as drafted."""
    rows = pd.DataFrame({"x": cells, "y": "a"})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    drafted = read_entry("x", draft_file(tmp_path / "rows.csv").entries["x"])
    return learned(rows, zcdp_rho=NOISY).columns["x"].reading, drafted


def assert_read(attribute, cells, numbers):
    assert isinstance(attribute, NumericAttribute)
    read, unreadable = read_numbers("x", cells, attribute.format)
    assert not unreadable.any()
    assert read == pytest.approx(numbers)


@pytest.mark.parametrize(
    "flags", [(" H", " L"), ("*",), (" (H)", " (L)"), (" p", " e"), (" HH", " H"), ("\u2191",)]
)
@pytest.mark.parametrize(("decimals", "mark"), [(0, "."), (1, "."), (2, "."), (1, ",")])
def test_numbers_with_a_flag_are_numbers(learned, tmp_path, flags, decimals, mark):
    plain = [f"{number:.{decimals}f}".replace(".", mark) for number in NUMBERS]
    cells = [
        text + (flags[0] if number > 156 else flags[-1] if number < 124 else "")
        for text, number in zip(plain, NUMBERS, strict=True)
    ]
    for attribute in readings(learned, tmp_path, cells):
        assert_read(attribute, cells, [float(text.replace(",", ".")) for text in plain])
        assert (
            attribute.format.texts_of(np.array([float(one.replace(",", ".")) for one in plain])).tolist()
            == plain
        )


@pytest.mark.parametrize("word", [" CR", "CR", " Dr", " Cr."])
@pytest.mark.parametrize("form", ["{:.2f}", "{:,.2f}"])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_amounts_of_which_one_side_has_a_word_have_both_signs(learned, tmp_path, word, form, share):
    amounts = np.random.default_rng(2).lognormal(6, 1, ROWS).round(2)
    amounts[np.random.default_rng(3).random(ROWS) < share] *= -1
    cells = [form.format(abs(amount)) + (word if amount < 0 else "") for amount in amounts.tolist()]
    learnt, drafted = readings(learned, tmp_path, cells)
    for attribute in (learnt, drafted) if share < 0.2 else (drafted,):
        assert_read(attribute, cells, amounts)
        assert attribute.format.texts_of(amounts).tolist() == cells


@pytest.mark.parametrize("behind", ["kg", " lb", "a", "H", " EUR"])
def test_a_unit_that_some_numbers_have_is_no_flag(learned, behind):
    cells = [f"{number:.1f}{behind if number > 150 else ''}" for number in NUMBERS]
    attribute = learned(pd.DataFrame({"x": cells, "y": "a"})).columns["x"].reading
    assert isinstance(attribute, CategoricalAttribute) or not attribute.format.has_flags


def test_ordinals_are_categories_and_no_numbers_with_a_unit(learned):
    cells = ["1. HJ", "2. HJ", "3. OG", "4. OG"] * 300
    attribute = learned(pd.DataFrame({"x": cells, "y": "a"})).columns["x"].reading
    assert isinstance(attribute, CategoricalAttribute)
    assert {*cells} <= {*attribute.categories}


def test_every_flag_is_read_and_none_is_written():
    notation = Notation("{:.1f}" + WITH_FLAGS)
    for flag in FLAGS:
        for blank in ("", " "):
            assert notation.number_in(f"12.5{blank}{flag}") == "12.5"
    assert notation.texts_of(np.array([12.5])).tolist() == ["12.5"]
    assert read_numbers("x", ["12.5kg", "12.5H"], notation)[1].all()


def test_a_release_says_which_flags_are_left_out_and_keeps_their_numbers():
    cells = [f"{number:.0f}{' H' if number > 155 else ''}" for number in NUMBERS]
    with pytest.warns(DomainWarning) as warned:
        released = synthesize(
            pd.DataFrame({"x": cells}), epsilon=5.0, mechanism="independent", seed=1, progress=False
        ).table["x"]
    assert any("flags behind numbers" in str(one.message) for one in warned)
    found = pd.to_numeric(released)
    assert (found > 155).mean() == pytest.approx((NUMBERS > 155).mean(), abs=0.03)
