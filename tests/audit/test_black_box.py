"""Lower bounds on epsilon from all that releases of two tables show, which differ in one odd record.

Nothing is known of how a release is made: what a call gives, what the command prints and writes, and its
refusals are read as numbers, and which of them tell the tables apart is learned. Noise comes from the
operating system. A correct program fails in one of 10^4 runs of this module at most (`betting.ALPHA`). That
half of the noise is missing shows in no such number of releases; see `test_neighbours` and
`test_planted_faults`.
"""

import json

import pytest

from support import leaks
from support.betting import lower_bound
from support.odd_rows import NO_UTF8, plain_rows
from support.one_record import COLUMNS, by_file, by_frame, categorical, just_learnable, reviewed

EPSILON = 0.1
RELEASES = 40
"""So many show what tells all; see `test_betting`."""

PLANTED = {"least": 38, "most": 48}
"""Releases after which a planted leak is looked for."""
ROWS = plain_rows()[COLUMNS]
LEARNED = just_learnable(EPSILON, ["age"])


def bounded(pair):
    return lower_bound(*pair.seen(RELEASES))


pytestmark = pytest.mark.slow


@pytest.fixture
def under_a_domain(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(reviewed(COLUMNS)))
    return "--domain", str(path)


def test_files_under_a_domain(tmp_path, under_a_domain):
    assert bounded(by_file(tmp_path, *under_a_domain, epsilon=EPSILON, rows=ROWS)) < EPSILON


def test_files_without_a_domain_which_are_refused_or_learned(tmp_path):
    assert bounded(by_file(tmp_path, epsilon=EPSILON, rows=LEARNED)) < EPSILON


def test_frames_under_a_domain():
    pair = by_frame(epsilon=EPSILON, rows=ROWS, typed=categorical, domain=reviewed(COLUMNS))
    assert bounded(pair) < EPSILON


def test_frames_without_a_domain():
    assert bounded(by_frame(epsilon=EPSILON, rows=ROWS, typed=categorical, anyway=True)) < EPSILON


@pytest.mark.parametrize(
    ("leak", "rows", "options"),
    [
        (leaks.exact_number_of_rows, ROWS, {}),
        (leaks.exact_number_of_rows, ROWS, {"domain": reviewed(COLUMNS)}),
        (leaks.a_refusal_on_the_exact_number_of_rows, ROWS, {"anyway": True}),
        (leaks.types_of_the_real_frame, ROWS, {"anyway": True}),
        (leaks.every_label_passes_the_threshold, ROWS, {"domain": reviewed(COLUMNS)}),
        (leaks.the_real_maximum_ends_a_range, LEARNED, {"anyway": True, "cells": {"age": "1000"}}),
    ],
)
def test_a_planted_leak_is_found(leak, rows, options, monkeypatch):
    leak(monkeypatch)
    assert by_frame(epsilon=EPSILON, rows=rows, **options).leaks(**PLANTED)


def test_a_file_that_decides_how_it_is_read_is_found(tmp_path, under_a_domain, monkeypatch):
    leaks.the_file_decides_its_encoding(monkeypatch)
    pair = by_file(tmp_path, *under_a_domain, epsilon=EPSILON, rows=ROWS, cells={"city": NO_UTF8})
    assert pair.leaks(**PLANTED)
