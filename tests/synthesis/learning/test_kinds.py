"""The kind of a column is what most of its cells vote for."""

import re

import numpy as np
import pytest

from dpmosaic.common.forms.date_lists import SHORT_DAY, SHORT_HOUR
from dpmosaic.synthesis.learning.forms.forms import CODES, FORMS, PLACES, Form, place_of
from dpmosaic.synthesis.learning.kind import Numbers, Texts, Times, Words
from dpmosaic.synthesis.learning.kinds import kind_voted
from dpmosaic.synthesis.learning.private_counts import Noisy

ROWS = 200


def shape(cell):
    if re.fullmatch("20[0-9]{2}0[1-9]1[0-9]", cell):
        return "\1"
    if cell in CODES:
        return f"\x0e{cell}"
    return "".join("9" if "1" <= mark <= "9" else mark for mark in cell)


def votes_of(cells):
    votes = np.zeros(len(FORMS))
    for cell in cells:
        votes[place_of(shape(cell))] += 1
    return votes


def voted(cells, sigma=1e-3):
    return kind_voted(Noisy(votes_of(cells), sigma), len(cells))


def mixed(**shares):
    return [cell for cell, share in shares.items() for _ in range(round(share * ROWS))]


COLUMNS = {
    "whole numbers": (mixed(**{"5": 0.5, "-17": 0.5}), Numbers("{}", 0, bare=True, signed=True)),
    "codes of answers that there are not": (
        mixed(**{"5": 0.7, "-9": 0.2, "-99": 0.1}),
        Numbers("{}", 0, bare=True, codes=(-99, -9)),
    ),
    "a scale of both signs": (
        mixed(**{"5": 0.4, "-5": 0.3, "-17": 0.3}),
        Numbers("{}", 0, bare=True, signed=True),
    ),
    "numbers and codes that are none": (mixed(**{"13": 0.7, "2A": 0.3}), Texts(())),
    "numbers with a point and a zero": (mixed(**{"5.0": 0.9, "nothing": 0.1}), Numbers("{}", 0)),
    "one decimal": (mixed(**{"5": 0.1, "5.5": 0.9}), Numbers("{}", 1, bare=True)),
    "one decimal everywhere, as other programs write": (mixed(**{"5.0": 0.1, "5.5": 0.9}), Numbers("{}", 1)),
    "two decimals always": (mixed(**{"5.50": 1.0}), Numbers("{}", 2, True)),
    "any decimals": (mixed(**{"5.5": 0.1, "1e-5": 0.9}), Numbers("{}", None)),
    "thousands": (mixed(**{"500": 0.7, "1,500": 0.2, "1,500.50": 0.1}), Numbers("{:,}", 2)),
    "thousands by apostrophes": (mixed(**{"500": 0.7, "1'500": 0.2, "1'500.50": 0.1}), Numbers("{:'}", 2)),
    "thousands by blanks": (mixed(**{"500": 0.8, "1 500": 0.2}), Numbers("{: }", 0)),
    "blanks and commas": (
        mixed(**{"500": 0.3, "500,50": 0.4, "1 500": 0.2, "1 500,50": 0.1}),
        Numbers("{ ,}", 2),
    ),
    "blanks, commas and a sign": (
        mixed(**{"500,50 €": 0.7, "1 500,50 €": 0.2, "1 500 €": 0.1}),
        Numbers("{ ,} €", 2),
    ),
    "parentheses": (
        mixed(**{"500": 0.7, "1,500.50": 0.2, "(1,500)": 0.08, "(5)": 0.02}),
        Numbers("{:(,}", 2, signed=True),
    ),
    "one number in parentheses": (mixed(**{"500": 0.999, "(5)": 0.001}), Numbers("{}", 0, bare=True)),
    "decimal commas": (mixed(**{"3,5": 0.9, "4": 0.1}), Numbers("{,}", 1)),
    "exponents": (mixed(**{"1.5e-03": 0.9, "0": 0.1}), Numbers("{:e}", 1)),
    "zeros in front": (mixed(**{"01067": 0.1, "20095": 0.9}), Numbers("{:05}", 0, bare=True)),
    "zeros in front of several lengths": (
        mixed(**{"010": 0.05, "02000": 0.05, "200": 0.9}),
        Numbers("{}", 0, bare=True),
    ),
    "a unit": (mixed(**{"5 mmHg": 0.5, "72,5 mmHg": 0.5}), Numbers("{,}¤", 1)),
    "a unit that is listed, and another in one cell": (
        mixed(**{"5 kg": 0.999, "5 lbs": 0.001}),
        Numbers("{} kg", 0),
    ),
    "shares": (mixed(**{"96%": 1.0}), Numbers("{}%", 0)),
    "money": (mixed(**{"$1,500.00": 0.6, "$15.00": 0.4}), Numbers("${:,}", 2, True)),
    "days": (mixed(**{"2020-01-31": 0.9, "unsure": 0.1}), Times("%Y-%m-%d")),
    "times": (mixed(**{"03/16/2025 18:20": 1.0}), Times("a/b/%Y %H:%M")),
    "times without leading zeros": (
        mixed(**{"3/6/2025 8:20": 0.4, "12/16/2025 18:20": 0.6}),
        Times("a/b/%Y %H:%M", SHORT_DAY + SHORT_HOUR),
    ),
    "days, hardly ever without a zero": (mixed(**{"03/06/2025": 0.95, "3/6/2025": 0.05}), Times("a/b/%Y")),
    "days in digits": (mixed(**{"20210310": 0.9, "99999999": 0.1}), Times("%Y%m%d")),
    "whole numbers of which some could be days": (
        mixed(**{"20210310": 0.7, "99999999": 0.3}),
        Numbers("{}", 0, bare=True),
    ),
    "thousands by points": (
        mixed(**{"500": 0.4, "12.345": 0.5, "-12.345": 0.04, "12.340": 0.06}),
        Numbers("{.,}", 0, signed=True),
    ),
    "thousands by points beside a currency": (
        mixed(**{"500 €": 0.4, "12.345 €": 0.54, "12.340 €": 0.06}),
        Numbers("{.,} €", 0),
    ),
    "thirds": (mixed(**{"0": 0.2, "33.333": 0.6, "100": 0.2}), Numbers("{}", 3, bare=True)),
    "three decimals everywhere": (mixed(**{"12.345": 0.9, "12.340": 0.1}), Numbers("{}", 3, True)),
    "three decimals, some below one": (
        mixed(**{"0": 0.2, "0.345": 0.3, "12.340": 0.5}),
        Numbers("{}", 3, bare=True),
    ),
    "three decimals behind a comma, with a sign": (
        mixed(**{"12,345 %": 0.8, "0,345 %": 0.2}),
        Numbers("{,}¤", 3, True),
    ),
    "three decimals behind a comma, with a unit": (
        mixed(**{"12,345 l": 0.8, "0,345 l": 0.2}),
        Numbers("{,}¤", 3, True),
    ),
    "thousands by commas, with a sign": (mixed(**{"$12,345": 0.8, "$345": 0.2}), Numbers("${:,}", 0)),
    "words": (mixed(**{"yes": 0.3, "no": 0.7}), Words(("yes", "no"))),
    "texts": (mixed(**{"north": 0.5, "south": 0.5}), Texts(())),
    "texts and words": (mixed(**{"north": 0.5, "other": 0.5}), Texts(("other",))),
    "sentences": (mixed(**{"a b c d e f g": 0.7, "short": 0.3}), Texts((), True)),
    "codes": (mixed(**{"007": 0.7, "123": 0.3}), Texts((), False, True)),
    "numbers and as many texts": (mixed(**{"5": 0.5, "north": 0.5}), Texts(())),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_most_cells_decide_the_kind(name):
    cells, kind = COLUMNS[name]
    assert voted(cells).kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_one_odd_cell_of_any_form_never_changes_the_kind(name):
    cells, kind = COLUMNS[name]
    votes = votes_of(cells)
    for place, _ in enumerate(FORMS):
        odd = votes.copy()
        odd[place] += 1
        assert kind_voted(Noisy(odd, 0.5), len(cells)).kind == kind


@pytest.mark.parametrize("name", COLUMNS)
def test_noise_that_is_small_beside_the_votes_changes_no_kind(name):
    # 2,000 votes and a deviation of 2: a form without votes is seen with probability .02, in 20 draws .3.
    cells, kind = COLUMNS[name]
    rng = np.random.default_rng(7)
    wrong = sum(
        kind_voted(Noisy(10 * votes_of(cells) + rng.normal(0, 2, len(FORMS)), 2.0), 10 * ROWS).kind != kind
        for _ in range(20)
    )
    assert wrong <= 3


@pytest.mark.parametrize(
    ("cell", "kind"), [("5.5", Numbers("{}", 1, True)), ("2020-01-31", Times("%Y-%m-%d"))]
)
def test_a_column_of_numbers_or_dates_and_texts_may_be_of_numbers_or_dates(cell, kind):
    found = voted(mixed(**{cell: 0.65, "unknown": 0.3, "": 0.05}))
    assert found.kind == Texts(("unknown",))
    assert found.instead.kind == kind
    assert found.instead.others == pytest.approx(0.3 * ROWS)
    assert found.instead.missing == pytest.approx(0.35 * ROWS)
    assert voted(mixed(**{cell: 0.1, "unknown": 0.9})).instead.kind == kind
    assert voted(mixed(**{cell: 0.04, "unknown": 0.96})).instead is None
    assert voted(mixed(**{cell: 0.45, "A1": 0.55})).instead is None


def test_cells_of_other_kinds_count_as_missing():
    found = voted(mixed(**{"5": 0.9, "north": 0.06, "": 0.04}))
    assert found.missing == pytest.approx(0.1 * ROWS)
    assert found.filled == pytest.approx(0.9 * ROWS)


def test_noise_of_several_hundred_forms_is_no_other_kind():
    """Five deviations of 700 forms: one of 500 draws has such a form in 1 of 10 runs, two in 1 of 200."""
    rng = np.random.default_rng(11)
    votes = 100 * votes_of(mixed(**{"5": 1.0}))
    others = [
        kind_voted(Noisy(votes + rng.normal(0, 50, len(FORMS)), 50.0), 20_000).others for _ in range(500)
    ]
    assert np.count_nonzero(others) < 2


def test_missing_values_within_the_noise_are_none():
    assert voted([*mixed(**{"5": 1.0}), ""], sigma=0.5).missing == 0
    assert voted([*mixed(**{"5": 1.0}), "", ""], sigma=0.5).missing == 2


def test_a_column_without_values_is_of_texts_and_missing():
    found = voted([""] * ROWS)
    assert (found.kind, found.missing, found.filled) == (Texts(()), ROWS, 0)


def test_where_nothing_is_seen_the_form_of_most_votes_decides():
    votes = np.zeros(len(FORMS))
    votes[PLACES[Form("number", "{}", 1)]] = 3.0
    assert kind_voted(Noisy(votes, 1.0), 5).kind == Numbers("{}", 1, True)


USUAL = {
    "whole numbers": {Form("number", "{}", 0): 1.0},
    "two decimals": {Form("number", "{}", 2): 0.9, Form("number", "{}", 1): 0.1},
    "days": {Form("date", "%Y-%m-%d"): 1.0},
    "yes and no": {Form("word", "yes"): 0.5, Form("word", "no"): 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", USUAL)
def test_noise_hardly_ever_writes_a_column_in_another_way(name):
    """Of 3,000 columns at most 6, expected .9: with four deviations for a mark it was up to 70."""
    sigma, rng = 141.0, np.random.default_rng(5)
    votes = np.zeros(len(FORMS))
    for form, share in USUAL[name].items():
        votes[PLACES[form]] = share * 5000
    usual = {Numbers("{}", 0, bare=True), Numbers("{}", 2), Numbers("{}", 2, True), Times("%Y-%m-%d")}
    found = [
        kind_voted(Noisy(votes + rng.normal(0, sigma, len(votes)), sigma), 5000).kind for _ in range(3000)
    ]
    others = [kind for kind in found if kind not in usual and not isinstance(kind, Words)]
    assert len(others) <= 6


@pytest.mark.slow
def test_whatever_noise_makes_of_votes_there_is_a_kind():
    rng = np.random.default_rng(6)
    for _ in range(2000):
        votes = rng.normal(0, 1, len(FORMS))
        votes[rng.integers(0, len(FORMS), 3)] += rng.uniform(0, 12, 3)
        assert kind_voted(Noisy(votes, 1.0), 10.0).kind is not None
