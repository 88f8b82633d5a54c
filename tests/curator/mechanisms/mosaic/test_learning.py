"""Covariances along attributes, learned from many measured interactions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.interactions import freedom, interaction
from dpmosaic.curator.mechanisms.mosaic.components import (
    Axis,
    along,
    expected_axis,
    expected_variances,
)
from dpmosaic.curator.mechanisms.mosaic.effects import Effect
from dpmosaic.curator.mechanisms.mosaic.learning import (
    couples,
    has_shape,
    learned_axes,
    learned_coupling,
)
from dpmosaic.curator.mechanisms.mosaic.observed import Observed
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS

RECORDS = 10_000.0
SIZES = {"a": 12, "b": 7, "c": 9, "d": 5, "e": 8, "f": 6}


def one_factor(size, seed):
    """A covariance with nearly all variance along one direction."""
    factor = np.random.default_rng(seed).normal(size=size)
    factor -= factor.mean()
    return Axis.of(np.outer(factor, factor) / (factor @ factor) + 0.02 * (np.eye(size) - 1 / size))


@pytest.fixture
def truth():
    return {name: one_factor(size, seed) for seed, (name, size) in enumerate(SIZES.items())}


def drawn(truth, noise, seed=0):
    """All pairs of a table whose interactions have these covariances, measured; and their true cells."""
    rng = np.random.default_rng(seed)
    effects, cells = {}, {}
    for clique in itertools.combinations(SIZES, 2):
        shape = tuple(SIZES[name] for name in clique)
        axes = [truth[name] for name in clique]
        deviations = 0.3 * RECORDS * np.sqrt(expected_variances(axes))
        moved = along(rng.normal(0, deviations), [axis.vectors for axis in axes]).ravel()
        reference = np.full(moved.size, RECORDS / moved.size)
        seen = interaction(reference + moved + rng.normal(0, noise, moved.size), shape)
        effects[clique] = Effect(shape, reference, observed=Observed(seen, noise**2 * freedom(shape)))
        cells[clique] = reference + moved
    return effects, cells


def distance(one, other):
    return np.linalg.norm(one.covariance - other.covariance)


def test_learns_the_covariance_from_interactions_with_little_noise(truth, monkeypatch):
    """Five interactions each, a fixed draw; a plain mean of squares would be off by 0.1 or so."""
    monkeypatch.setitem(vars(SETTINGS), "axis_observations", 1.0)
    effects, _ = drawn(truth, noise=1.0)
    found = learned_axes(effects, RECORDS)
    for name, size in SIZES.items():
        expected = expected_axis(np.full(size, RECORDS / size))
        assert distance(found[name], truth[name]) < min(0.25, distance(expected, truth[name]) / 2)


def test_keeps_the_prior_if_noise_dominates_all_interactions(truth):
    effects, _ = drawn(truth, noise=1e5)
    found = learned_axes(effects, RECORDS)
    for name, size in SIZES.items():
        assert distance(found[name], expected_axis(np.full(size, RECORDS / size))) < 0.02


def test_learned_covariances_improve_the_estimate_of_each_interaction(truth):
    effects, cells = drawn(truth, noise=60.0)
    axes = learned_axes(effects, RECORDS)
    alone, together = 0.0, 0.0
    for clique, effect in effects.items():
        known = Effect(
            effect.shape, effect.reference, observed=effect.observed, axes=tuple(map(axes.get, clique))
        )
        alone += np.abs(effect.estimate(RECORDS)[0] - cells[clique]).sum()
        together += np.abs(known.estimate(RECORDS)[0] - cells[clique]).sum()
    assert together < 0.9 * alone


def test_learns_from_an_interaction_of_three_attributes_for_all_three():
    rng = np.random.default_rng(3)
    shape = (4, 3, 5)
    reference = rng.dirichlet(np.full(60, 5.0)) * RECORDS
    seen = Observed(interaction(rng.normal(0, 200, 60), shape), 1.0)
    found = learned_axes({("a", "b", "c"): Effect(shape, reference, observed=seen)}, RECORDS)
    assert [len(found[name].covariance) for name in "abc"] == [4, 3, 5]
    for place, name in enumerate("abc"):
        others = tuple(axis for axis in range(3) if axis != place)
        assert distance(found[name], expected_axis(reference.reshape(shape).sum(axis=others))) > 0.01


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((2, 2), False), ((2, 2, 2), False), ((2, 3), True), ((2, 512), True), ((2, 513), False)],
)
def test_learns_no_covariance_for_one_degree_of_freedom_or_too_many_values(shape, expected):
    assert has_shape(Effect(shape, np.ones(int(np.prod(shape))))) is expected


def coupled(noise, ranked, seed=0):
    """Pairs of attributes of eight values; where ranked, coefficients of different ranks are zero."""
    rng = np.random.default_rng(seed)
    axis = expected_axis(np.full(8, RECORDS / 8))
    mask = np.eye(7) if ranked else np.ones((7, 7))
    effects, cells = [], []
    for _ in range(15):
        deviations = 0.3 * RECORDS * np.sqrt(expected_variances([axis, axis])) * mask
        moved = along(rng.normal(0, deviations), [axis.vectors, axis.vectors]).ravel()
        reference = np.full(64, RECORDS / 64)
        seen = interaction(reference + moved + rng.normal(0, noise, 64), (8, 8))
        observed = Observed(seen, noise**2 * freedom((8, 8)))
        effects.append(Effect((8, 8), reference, observed=observed, axes=(axis, axis)))
        cells.append(reference + moved)
    return effects, cells


def test_learns_that_only_coefficients_of_the_same_rank_vary():
    """15 pairs, a fixed draw with little noise; without coupling, no factor is below 0.5."""
    ranked, _ = coupled(noise=0.5, ranked=True)
    found = learned_coupling(ranked, RECORDS)
    apart = ~np.eye(SETTINGS.ranks, dtype=bool)
    assert np.diag(found)[:-1].min() > 1.5 * found[:-1, :-1][apart[:-1, :-1]].max()
    np.testing.assert_array_equal(found, found.T)
    free, _ = coupled(noise=0.5, ranked=False)
    assert learned_coupling(free, RECORDS).min() > 0.5


def test_learned_coupling_improves_the_estimate_of_each_interaction():
    effects, cells = coupled(noise=60.0, ranked=True)
    coupling = learned_coupling(effects, RECORDS)
    errors = [
        sum(
            np.abs(replace(effect, coupling=factors).estimate(RECORDS)[0] - true).sum()
            for effect, true in zip(effects, cells, strict=True)
        )
        for factors in (None, coupling)
    ]
    assert errors[1] < 0.95 * errors[0]


def test_without_pairs_nothing_is_coupled():
    np.testing.assert_array_equal(learned_coupling([], RECORDS), np.ones((SETTINGS.ranks, SETTINGS.ranks)))


@pytest.mark.parametrize(
    ("shape", "expected"), [((3, 3), True), ((2, 9), False), ((3, 3, 3), False), ((3, 513), False)]
)
def test_couples_pairs_of_attributes_with_several_coefficients(shape, expected):
    assert couples(Effect(shape, np.ones(int(np.prod(shape))))) is expected
