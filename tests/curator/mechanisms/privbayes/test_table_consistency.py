"""Consistency of noisy tables."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node, meet, within
from dpmosaic.curator.mechanisms.privbayes.table_consistency import (
    NoisyTable,
    consistent,
    consistent_and_nonnegative,
    cut,
    intersections,
    nonnegative,
)

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2, "x": 2, "h": 23})
LEVELS = Levels(DOMAIN, 3)
"""h has versions of 23 and 8 codes."""


def nodes_of(text):
    """Nodes by name; a capital is the coarse version."""
    return LEVELS.in_domain_order(Node(name.lower(), int(name.isupper())) for name in text)


def noisy(sets, seed=0, scale=5.0):
    rng = np.random.default_rng(seed)
    tables = []
    for text in sets:
        nodes = nodes_of(text)
        values = rng.normal(20, scale, LEVELS.cells(nodes))
        tables.append(NoisyTable(nodes, values, float(rng.uniform(1, 4))))
    return tables


def disagreement(tables):
    worst = 0.0
    for one, other in itertools.combinations(tables, 2):
        common = meet(one.nodes, other.nodes)
        sums = [
            np.bincount(LEVELS.labels(t.nodes, common), weights=t.values, minlength=LEVELS.cells(common))
            for t in (one, other)
        ]
        worst = max(worst, float(np.abs(sums[0] - sums[1]).max()))
    return worst


@pytest.mark.parametrize(
    "sets",
    [
        ["ab", "bc", "ca"],
        ["abc", "abx", "ax"],
        ["abc", "abx", "acx", "bcx"],
        ["ah", "bH", "h", "H", "abH"],
        ["aH", "ch", "acH", "h", "h"],
        ["a", "b"],
    ],
)
def test_all_tables_agree_on_all_that_two_of_them_determine(sets):
    tables = noisy(sets)
    assert disagreement(tables) > 1
    found = consistent(LEVELS, tables, None)
    assert disagreement(found) < 1e-9
    assert [t.nodes for t in found] == [t.nodes for t in tables]


def test_intersections_of_pairs_only_are_not_sufficient():
    """With (a, b), (a, c) and (a, x) but not (a), a later step changes the sums over a of an earlier one."""
    sets = [nodes_of(text) for text in ("abc", "abx", "acx")]
    pairwise = {meet(one, other) for one, other in itertools.combinations(sets, 2)}
    closed = intersections(LEVELS, sets)
    assert set(closed) == pairwise | {nodes_of("a"), ()}
    for place, later in enumerate(closed):
        assert all(not (set(later) < set(earlier)) for earlier in closed[:place])


def test_every_intersection_comes_after_those_within_it_hierarchies_too():
    """Then each mean is of tables that agree on all that is coarser, and Equation 3.3 has the variances."""
    closed = intersections(LEVELS, [nodes_of(text) for text in ("abh", "acH", "bh", "ah", "H", "h")])
    assert {nodes_of("ah"), nodes_of("aH"), nodes_of("h"), nodes_of("H"), ()} <= set(closed)
    for place, later in enumerate(closed):
        assert not any(within(later, earlier) for earlier in closed[:place])


def test_a_known_total_is_what_every_table_sums_to():
    found = consistent(LEVELS, noisy(["ab", "bh", "H"]), 700.0)
    assert [t.values.sum() for t in found] == pytest.approx([700.0] * 3)
    assert disagreement(found) < 1e-9


def test_two_tables_get_the_mean_of_least_variance():
    """Equations 3.1 and 3.2 by hand: sums over b of 4 cells have 4 times the variance of one cell."""
    rng = np.random.default_rng(1)
    joint, single = rng.normal(10, 3, (3, 4)), rng.normal(40, 3, 3)
    joint += (single.sum() - joint.sum()) / 12
    tables = [NoisyTable(nodes_of("ab"), joint.ravel(), 2.0), NoisyTable(nodes_of("a"), single, 3.0)]
    found = consistent(LEVELS, tables, float(single.sum()))
    # The total is known, so that each cell lost a twelfth of its variance, or a third.
    variances = 4 * 2.0 * 11 / 12, 3.0 * 2 / 3
    weight = (1 / variances[0]) / (1 / variances[0] + 1 / variances[1])
    mean = weight * joint.sum(axis=1) + (1 - weight) * single
    assert found[1].values == pytest.approx(mean)
    moved = joint + (mean - joint.sum(axis=1))[:, None] / 4
    assert found[0].values == pytest.approx(moved.ravel())


def test_the_variance_after_a_step_is_that_of_what_was_computed():
    """The corrected Equation 3.3, against 200,000 draws of tables that share only their total.

    A mean square of so many has a relative deviation below 0.4 %. As the equation is printed, with w_i in
    place of 1 - w_i, the tables' variances would be 1.86 and 0.76, not 1.64 and 0.91.
    """
    rng = np.random.default_rng(2)
    wide, narrow = rng.normal(0, np.sqrt(2), (200_000, 4)), rng.normal(0, 1, (200_000, 3))
    tables = [NoisyTable(nodes_of("cx"), wide[0], 2.0), NoisyTable(nodes_of("a"), narrow[0], 1.0)]
    found = consistent(LEVELS, tables, None)
    weight = (1 / 8) / (1 / 8 + 1 / 3)
    mean = weight * wide.sum(axis=1) + (1 - weight) * narrow.sum(axis=1)
    wide += ((mean - wide.sum(axis=1)) / 4)[:, None]
    narrow += ((mean - narrow.sum(axis=1)) / 3)[:, None]
    assert found[0].values == pytest.approx(wide[0])
    assert found[0].variance == pytest.approx(np.mean(np.square(wide)), rel=0.02)
    assert found[1].variance == pytest.approx(np.mean(np.square(narrow)), rel=0.02)


def test_nonnegative_is_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(3)
    for _ in range(20):
        values = rng.normal(1, 4, 6)
        values += max(0.0, 1 - values.sum()) / 6
        found = nonnegative(NoisyTable((), values, 1.0)).values
        assert found.min() >= 0
        assert found.sum() == pytest.approx(values.sum())
        nearest = np.square(found - values).sum()
        for other in rng.dirichlet(np.ones(6), 500) * values.sum():
            assert nearest <= np.square(other - values).sum() + 1e-9


def test_cut_scales_positive_counts_and_handles_a_table_without_any():
    assert cut(NoisyTable((), np.array([3.0, -2.0, 1.0]), 1.0), 8.0).values.tolist() == [6.0, 0.0, 2.0]
    assert cut(NoisyTable((), np.array([-3.0, -2.0]), 1.0), 8.0).values.tolist() == [4.0, 4.0]


def test_nonnegative_tables_nearly_agree():
    tables = noisy(["ab", "bh", "bH", "ah"], scale=30.0)
    found = consistent_and_nonnegative(LEVELS, tables, 240.0)
    assert min(t.values.min() for t in found) >= 0
    assert [t.values.sum() for t in found] == pytest.approx([240.0] * 4)
    assert disagreement(found) < 0.2 * disagreement([cut(t, 240.0) for t in tables])


def test_tables_that_agree_already_stay_as_they_are():
    joint = np.random.default_rng(4).random((3, 4, 23)) * 9
    tables = [
        NoisyTable(nodes_of("ab"), joint.sum(axis=2).ravel(), 1.0),
        NoisyTable(nodes_of("bh"), joint.sum(axis=0).ravel(), 2.0),
        NoisyTable(nodes_of("aH"), np.add.reduceat(joint.sum(axis=1), range(0, 23, 3), axis=1).ravel(), 3.0),
    ]
    for before, after in zip(tables, consistent_and_nonnegative(LEVELS, tables, joint.sum()), strict=True):
        assert after.values == pytest.approx(before.values)


def test_consistency_lowers_the_error_of_tables():
    """Means of 30 draws: an average of two estimates errs less than either."""
    rng = np.random.default_rng(5)
    joint = rng.random((3, 4, 2)) * 50
    exact = {"ab": joint.sum(axis=2), "bc": joint.sum(axis=0), "b": joint.sum(axis=(0, 2))}
    before = after = 0.0
    for _ in range(30):
        tables = [
            NoisyTable(nodes_of(k), (v + rng.normal(0, 5, v.shape)).ravel(), 25.0) for k, v in exact.items()
        ]
        found = consistent(LEVELS, tables, None)
        for old, new, truth in zip(tables, found, exact.values(), strict=True):
            before += np.square(old.values - truth.ravel()).sum()
            after += np.square(new.values - truth.ravel()).sum()
    assert after < 0.9 * before
