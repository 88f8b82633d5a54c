"""Groups of codes for larger marginals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import check_groups, grouped_shape
from dpmosaic.curator.mechanisms.mosaic import grouping
from dpmosaic.curator.mechanisms.mosaic.grouping import (
    cliques_in_groups,
    groups_within,
    largest_alone,
    neighbours,
)

pytestmark = pytest.mark.slow

SHARES = st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=60)
SIZES = st.lists(st.integers(2, 60), min_size=3, max_size=5)


def even(domain):
    return {name: np.full(domain[name].size, 1 / domain[name].size) for name in domain.names}


def sums(labels, shares):
    return np.bincount(labels, shares)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sizes=SIZES, most=st.floats(1.0, 3e4), seed=st.integers(0, 99))
def test_groups_are_valid_and_within_the_limit_for_every_shape(sizes, most, seed):
    domain = Domain.coded({f"a{place}": size for place, size in enumerate(sizes)})
    rng = np.random.default_rng(seed)
    shares = {name: rng.dirichlet(np.full(domain[name].size, 0.5)) for name in domain.names}
    groups = groups_within(domain, domain.names, shares, most)
    if groups is None:
        assert 2 ** len(sizes) > most
        return
    check_groups(tuple(sizes), groups)
    assert math.prod(grouped_shape(sizes, groups)) <= most
    assert (groups == ()) == (math.prod(sizes) <= most)


def test_larger_marginals_whose_codes_noise_would_hide_are_cliques_in_groups(facts):
    """Noise of an L1 norm of c sigma a cell, for a twentieth of the budget, against .35 of the records."""
    domain = Domain.coded({"class": 5, "x": 40, "y": 40, "few": 3, "other": 4})
    cliques = [clique for k in (1, 2, 3) for clique in itertools.combinations(domain.names, k)]
    for rho in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
        hidden = cliques_in_groups(facts(domain, 10_000, rho), cliques, 60.0)
        sigma = 1 / math.sqrt(2 * 0.05 * rho)
        noise = {clique: math.sqrt(2 / math.pi) * sigma * domain.cells(clique) for clique in cliques}
        assert hidden == [c for c in cliques if len(c) > 2 and noise[c] > 3500]
        assert 0 < len(hidden) < 10
    assert cliques_in_groups(facts(domain, 10_000, Fraction(10**6)), cliques, 60.0) == []


def test_where_groups_are_not_scored_every_marginal_stays_in_codes(facts):
    domain = Domain.coded({"class": 5, "x": 40, "y": 40})
    without_scores = facts(domain, 10_000, Fraction(1, 100), scores_exactly=False)
    assert cliques_in_groups(without_scores, [domain.names], 60.0) == []
    assert cliques_in_groups(facts(domain, 10_000, Fraction(1, 100)), [domain.names], 1e-6) == []


def test_attributes_of_many_codes_are_grouped_before_those_of_few():
    domain = Domain.coded({"class": 3, "x": 100, "y": 50})
    groups = groups_within(domain, domain.names, even(domain), 300)
    # 3 x 10 x 10 cells: the others take the same limit, and the class keeps its codes.
    assert grouped_shape(domain.sizes, groups) == (3, 10, 10)
    assert groups[0] == ()


def test_attributes_of_few_codes_are_grouped_once_those_of_many_have_four_groups():
    domain = Domain.coded({"few": 9, "x": 100, "y": 50})
    assert grouped_shape(domain.sizes, groups_within(domain, domain.names, even(domain), 144)) == (9, 4, 4)
    assert grouped_shape(domain.sizes, groups_within(domain, domain.names, even(domain), 143)) == (8, 4, 4)


def test_a_clique_without_room_for_two_groups_of_each_has_no_groups():
    domain = Domain.coded({"a": 5, "b": 5, "c": 5})
    assert groups_within(domain, domain.names, even(domain), 7.9) is None
    assert grouped_shape(domain.sizes, groups_within(domain, domain.names, even(domain), 8)) == (2, 2, 2)


def test_only_attributes_with_an_order_have_groups_of_neighbours():
    """Every second code holds most records, so groups of neighbours differ from the largest codes alone."""
    codes = tuple("uvwxyz")
    domain = Domain(
        (
            CategoricalAttribute("plain", codes),
            CategoricalAttribute("ordered", codes, ordered=True),
            BooleanAttribute("flag"),
        )
    )
    heavy = np.array([0.05, 0.30, 0.04, 0.30, 0.01, 0.30])
    shares = {"plain": heavy, "ordered": heavy, "flag": np.array([0.5, 0.5])}
    plain, ordered, flag = groups_within(domain, domain.names, shares, 3 * 3 * 2)
    assert plain == (2, 0, 2, 1, 2, 2)
    assert ordered == (0, 0, 1, 1, 2, 2)
    assert flag == ()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(shares=SHARES, groups=st.integers(2, 20))
def test_neighbours_are_runs_of_codes_in_at_least_two_groups(shares, groups):
    labels = neighbours(shares, groups)
    assert len(labels) == len(shares)
    assert labels[0] == 0
    assert set(np.diff(labels)) <= {0, 1}
    assert 2 <= labels[-1] + 1 <= groups


@settings(max_examples=100, deadline=None, derandomize=True)
@given(size=st.integers(20, 200), groups=st.integers(2, 10), seed=st.integers(0, 99))
def test_neighbours_differ_from_equal_shares_by_at_most_a_code_if_no_code_has_much(size, groups, seed):
    shares = np.random.default_rng(seed).uniform(0.5, 1.5, size)
    shares /= shares.sum()
    found = sums(neighbours(shares, groups), shares)
    assert len(found) == groups
    assert np.abs(found - 1 / groups).max() <= shares.max()


def test_a_code_with_much_leaves_the_rest_to_the_other_groups():
    shares = np.array([0.7, *np.full(30, 0.01)])
    labels = neighbours(shares, 4)
    assert sums(labels, shares) == pytest.approx([0.7, 0.1, 0.1, 0.1])


def test_two_groups_remain_if_the_first_codes_hold_everything():
    assert neighbours([1.0, 0.0, 0.0], 3)[0] == 0
    assert max(neighbours([0.0, 0.0, 1.0], 2)) == 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 999), size=st.integers(3, 40), groups=st.integers(2, 12))
def test_the_codes_with_the_largest_shares_are_alone_and_all_others_together(seed, size, groups):
    groups = min(groups, size - 1)
    shares = np.random.default_rng(seed).permutation(np.arange(1, size + 1)) / size
    labels = np.array(largest_alone(shares, groups))
    check_groups((size,), (tuple(labels.tolist()),))
    counts = np.bincount(labels)
    assert counts.tolist() == [1] * (groups - 1) + [size - groups + 1]
    assert shares[labels < groups - 1].min() > shares[labels == groups - 1].max()


def cost(shares, profiles, labels):
    """The variance of profiles within groups, and even shares, by definition."""

    def within(codes):
        share = shares[codes].sum()
        mean = (shares[codes, None] * profiles[codes]).sum(axis=0) / share
        return (shares[codes, None] * (profiles[codes] - mean) ** 2).sum(), share

    whole = within(np.arange(len(shares)))[0]
    parts = [within(np.flatnonzero(labels == group)) for group in range(labels.max() + 1)]
    return sum(variance + whole * share**2 for variance, share in parts)


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_alike_groups_have_the_least_cost_of_all_runs_of_codes(groups):
    rng = np.random.default_rng(groups)
    shares, profiles = rng.dirichlet(np.ones(8)), rng.random((8, 3))
    every = [
        np.searchsorted(cuts, np.arange(8), side="right")
        for cuts in itertools.combinations(range(1, 8), groups - 1)
    ]
    found = np.array(grouping.alike(shares, profiles, groups))
    assert cost(shares, profiles, found) == pytest.approx(min(cost(shares, profiles, one) for one in every))
    assert (np.diff(found) >= 0).all()
    assert found.max() == groups - 1


def test_a_border_between_codes_that_go_with_different_classes_is_found():
    profiles = np.repeat([[0.9, 0.1], [0.2, 0.8]], [11, 5], axis=0)
    assert grouping.alike(np.full(16, 1 / 16), profiles, 2) == (0,) * 11 + (1,) * 5
