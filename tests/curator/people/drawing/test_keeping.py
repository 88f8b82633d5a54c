"""Rows that agree with what their parents say of them."""

from __future__ import annotations

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.curator.people.drawing.keeping import keep_bounds
from dpmosaic.curator.people.summaries import AnyOf

STROKE = AnyOf("stroke", "code", ("I63", "I64"))
CODES = CategoricalAttribute("code", ("E11", "I63", "J18"))


def random_rows(seed: int) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.poisson(1.5, 200)
    parent = np.repeat(np.arange(200), numbers)
    said = (rng.random(200) < 0.4) & (numbers > 0)
    return Rows({"code": rng.integers(0, 3, len(parent))}, parent, 200), said.astype(np.int64)


def keep(rows, said, seed):
    return bounded(rows, said, np.where(said == 1, 99, 0), seed)


def bounded(rows, least, most, seed, last=None):
    last = np.zeros(len(rows), dtype=bool) if last is None else last
    rng = np.random.default_rng(seed)
    return keep_bounds(rows, (least, most), "code", STROKE.codes(CODES), 3, rng, last)


@pytest.mark.parametrize("seed", range(20))
def test_after_keeping_a_parent_says_yes_exactly_if_one_of_its_rows_has_a_value(seed):
    rows, said = random_rows(seed)
    found = keep(rows, said, seed)
    has = np.bincount(found.parent, found.codes["code"] == 1, 200) > 0
    assert (has == (said == 1)).all()
    assert (found.parent == rows.parent).all()


def test_rows_that_agree_are_not_changed():
    rows, _ = random_rows(0)
    said = (np.bincount(rows.parent, rows.codes["code"] == 1, 200) > 0).astype(np.int64)
    found = keep(rows, said, 1)
    assert (found.codes["code"] == rows.codes["code"]).all()


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_kept_within_their_bins_by_the_fewest_changes(seed):
    rows, _ = random_rows(seed)
    rng = np.random.default_rng(seed)
    least = rng.integers(0, 3, 200)
    most = least + rng.integers(0, 2, 200)
    found = bounded(rows, least, most, seed)
    before, after = (np.bincount(one.parent, one.codes["code"] == 1, 200) for one in (rows, found))
    np.testing.assert_array_equal(after, np.minimum(np.clip(before, least, most), rows.numbers))
    assert (found.codes["code"] != rows.codes["code"]).sum() == np.abs(before - after).sum()


def test_a_value_that_the_release_did_not_find_has_no_code():
    assert STROKE.codes(CODES).tolist() == [1]


def test_rows_that_were_set_change_only_if_no_other_row_of_their_parent_can():
    rows = Rows({"code": np.array([1, 1, 1, 1])}, np.array([0, 0, 1, 1]), 2)
    most = np.array([1, 0])
    for seed in range(20):
        found = bounded(rows, np.zeros(2, int), most, seed, np.array([True, False, True, False]))
        assert (found.codes["code"] == 1).tolist() == [True, False, False, False]
