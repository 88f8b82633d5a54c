"""Rows that agree with what their parents say of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.curator.people.keeping import kept
from dpmosaic.curator.people.rows import Rows
from dpmosaic.curator.people.summaries import AnyOf

STROKE = AnyOf("stroke", "code", ("I63", "I64"))
CODES = CategoricalAttribute("code", ("E11", "I63", "J18"))


def random_rows(seed: int) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.poisson(1.5, 200)
    parent = np.repeat(np.arange(200), numbers)
    said = (rng.random(200) < 0.4) & (numbers > 0)
    return Rows({"code": rng.integers(0, 3, len(parent))}, parent, 200), said.astype(np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_after_keeping_a_parent_says_yes_exactly_if_one_of_its_rows_has_a_value(seed):
    rows, said = random_rows(seed)
    found = kept(rows, said, "code", STROKE.codes(CODES), 3, np.random.default_rng(seed))
    has = np.bincount(found.parent, found.codes["code"] == 1, 200) > 0
    assert (has == (said == 1)).all()
    assert (found.parent == rows.parent).all()


def test_rows_that_agree_are_not_changed():
    rows, _ = random_rows(0)
    said = (np.bincount(rows.parent, rows.codes["code"] == 1, 200) > 0).astype(np.int64)
    found = kept(rows, said, "code", STROKE.codes(CODES), 3, np.random.default_rng(1))
    assert (found.codes["code"] == rows.codes["code"]).all()


def test_a_value_that_the_release_did_not_find_has_no_code():
    assert STROKE.codes(CODES).tolist() == [1]


def test_a_summary_reads_values_as_they_are_written_and_blanks_as_none():
    rows = pd.DataFrame({"code": ["I63", " I64 ", None, "J18"]})
    said = STROKE.of(rows, np.array([0, 1, 1, 2]), 4)
    assert said.tolist() == [True, True, False, False]
    numbers = AnyOf("ten", "n", ("10",)).of(pd.DataFrame({"n": [10, 11]}), np.array([0, 1]), 2)
    assert numbers.tolist() == [True, False]
