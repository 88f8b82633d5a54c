"""Floats beside exact numbers, and texts of promises: on the right side, with none between."""

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmosaic
from dpmosaic.common.privacy.rounding import float_above, float_below, text_above


@given(st.fractions(min_value=0, max_value=10**6))
def test_no_float_lies_between_a_number_and_those_beside_it(exact):
    below, above = float_below(exact), float_above(exact)
    assert Fraction(below) <= exact <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))
    assert (below == above) == (Fraction(float(exact)) == exact)


@given(st.floats(min_value=1e-18, max_value=1e12), st.integers(min_value=2, max_value=6))
def test_a_text_of_a_promise_is_not_below_it_and_no_shorter_number_lies_between(value, digits):
    shown = float(text_above(value, digits))
    assert value * (1 - 1e-9) <= shown <= value * (1 + 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0 + 1e-12, "1"),
        (1.0004, "1.001"),
        (0.99991, "1"),
        (1e-9, "1e-09"),
        (12345.6, "1.235e+04"),
    ],
)
def test_a_number_that_was_stated_in_few_digits_is_shown_as_it_was_stated(value, text):
    assert text_above(value) == text


SHOWN = re.compile(r"\{[^{}]*\bepsilon\w*[^{}]*:\.?[0-9]*[gf]\}|\{\{[^{}]*\bepsilon\w*\s*\|\s*number")
CHOSEN = {
    "limits, refusals and bounds from below": (
        "common/privacy/renyi.py",
        "synthesis/ledgers/",
        "synthesis/attacking/attack.py",
        "synthesis/styles/smartnoise.py",
        "curator/report/templates/attack.html",
    ),
    "what the command was told": ("synthesis/omop/", "simulations/command.py"),
}


def test_no_page_or_message_rounds_the_epsilon_of_a_release_down():
    left = tuple(itertools.chain(*CHOSEN.values()))
    root = Path(dpmosaic.__file__).parent
    rooms = ("common", "party", "curator", "simulations", "synthesis")
    files = (path for room in rooms for kind in ("*.py", "*.html") for path in (root / room).rglob(kind))
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}
    rounding = {name for name, text in texts.items() if SHOWN.search(text)}
    assert {name for name in rounding if not name.startswith(left)} == set()
    assert rounding > {"curator/report/templates/attack.html"}
