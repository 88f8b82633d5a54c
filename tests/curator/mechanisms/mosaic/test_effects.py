"""The posterior of one interaction."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.interactions import freedom, interaction
from dpmosaic.curator.mechanisms.mosaic import components, effects
from dpmosaic.curator.mechanisms.mosaic.components import Axis, expected_variances
from dpmosaic.curator.mechanisms.mosaic.effects import Effect
from dpmosaic.curator.mechanisms.mosaic.learning import learned_prior, nearness
from dpmosaic.curator.mechanisms.mosaic.observed import Observed, Prediction
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS

RECORDS = 1000.0
SHAPE = (3, 4)
REFERENCE = np.random.default_rng(0).dirichlet(np.ones(12)) * RECORDS
AWAY = interaction(np.random.default_rng(1).normal(0, 30, 12), SHAPE)


@pytest.fixture
def one_scale(monkeypatch):
    """Fixes D at a number of records."""

    def known(distance):
        for module in (components, effects):
            monkeypatch.setattr(module, "SCALES", np.array([distance / RECORDS]))

    return known


def test_measurements_are_averaged_by_their_precision():
    both = Observed(np.array([2.0, 4.0]), 1.0).with_values(np.array([5.0, 1.0]), 2.0)
    assert both.values.tolist() == pytest.approx([3.0, 3.0])
    assert both.variance == pytest.approx(2 / 3)


def test_deviations_are_those_of_counts_scaled_to_the_distance(one_scale):
    one_scale(250.0)
    deviations = Effect(SHAPE, REFERENCE).deviations(RECORDS)
    assert math.sqrt(2 / math.pi) * deviations.sum() == pytest.approx(250)
    assert np.allclose(deviations / deviations[0], np.sqrt(np.maximum(REFERENCE, 1) / max(REFERENCE[0], 1)))


def test_with_a_known_scale_the_estimate_is_that_of_a_normal_prior(one_scale):
    one_scale(250.0)
    effect = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, 100.0))
    values, deviations = effect.estimate(RECORDS)
    prior = Effect(SHAPE, REFERENCE).deviations(RECORDS) ** 2
    moved = AWAY - interaction(REFERENCE, SHAPE)
    assert np.allclose(values, REFERENCE + prior / (prior + 100) * moved)
    assert np.allclose(deviations**2, prior * 100 / (prior + 100))


def test_the_posterior_of_the_scale_is_the_likelihood_times_the_prior():
    effect = Effect(SHAPE, REFERENCE, 300.0, 40.0, 90.0, Observed(AWAY, 100.0), typical=0.2)
    expected = []
    for share in components.SCALES:
        scale = share * RECORDS
        expected_distance = math.hypot(scale, 90 / 2)
        spread = 40.0**2 + (0.3 * expected_distance) ** 2
        log = -((300 - expected_distance) ** 2) / (2 * spread) - math.log(spread) / 2
        for cell, away in zip(REFERENCE, AWAY - interaction(REFERENCE, SHAPE), strict=True):
            root = math.sqrt(max(cell, 1))
            tau = scale * root / (math.sqrt(2 / math.pi) * np.sqrt(np.maximum(REFERENCE, 1)).sum())
            log -= 0.5 * (1 - 1 / 3) * (1 - 1 / 4) * (math.log(tau**2 + 100) + away**2 / (tau**2 + 100))
        expected.append(math.log(share) - 3 * math.log(1 + share / 0.2) + log)
    expected = np.exp(np.array(expected) - max(expected))
    _, weights = effect._posterior(RECORDS)
    assert np.allclose(weights, expected / expected.sum())


def test_follows_measurements_of_little_noise_and_the_reference_under_large_noise():
    def estimate(noise):
        effect = Effect(SHAPE, REFERENCE, 300.0, 40.0, observed=Observed(AWAY, noise), typical=0.2)
        return effect.estimate(RECORDS)[0]

    exact = REFERENCE - interaction(REFERENCE, SHAPE) + AWAY
    assert np.allclose(estimate(1e-6), exact, atol=0.01)
    assert np.allclose(estimate(1e10), REFERENCE, atol=1)
    assert np.abs(estimate(400.0) - REFERENCE).sum() < np.abs(exact - REFERENCE).sum()


def covariance(size, seed):
    factors = np.random.default_rng(seed).normal(size=(size, size))
    factors -= factors.mean(axis=0)
    return factors @ factors.T


AXES = (Axis.of(covariance(3, 1)), Axis.of(covariance(4, 2)))
VARIANCE = 100.0
MOVED = AWAY - interaction(REFERENCE, SHAPE)


def prior_and_noise(scale):
    """Covariances of all cells, written out: of the interaction, and of the noise within interactions."""
    whole = np.kron(AXES[0].vectors, AXES[1].vectors)
    prior = scale**2 * whole @ np.diag(expected_variances(AXES).ravel()) @ whole.T
    return prior, VARIANCE / freedom(SHAPE) * whole @ whole.T, whole


def test_coefficients_along_axes_are_estimated_like_cells_with_that_covariance():
    component = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, VARIANCE), axes=AXES).components[-1]
    means, variances = component.cells(*component.posterior(np.array([250.0]), np.ones(1)))
    prior, noise, _ = prior_and_noise(250.0)
    gain = prior @ np.linalg.pinv(prior + noise)
    assert np.allclose(means, gain @ MOVED)
    assert np.allclose(variances, np.diag(prior - gain @ prior))


def test_coefficients_along_axes_are_as_likely_as_cells_with_that_covariance():
    component = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, VARIANCE), axes=AXES).components[-1]
    scales = np.array([10.0, 100.0, 400.0])
    expected = []
    for scale in scales:
        prior, noise, whole = prior_and_noise(scale)
        inside = whole.T @ (prior + noise) @ whole
        seen = whole.T @ MOVED
        expected.append(-0.5 * (np.linalg.slogdet(inside)[1] + seen @ np.linalg.solve(inside, seen)))
    assert np.allclose(component.log_likelihood(scales), expected)


def test_both_components_are_equally_likely_if_all_variances_are_equal():
    """With equal variances both components are the same model, so they have the same likelihood."""
    axes = tuple(Axis.of(np.eye(n) - 1 / n) for n in SHAPE)
    effect = Effect(SHAPE, np.full(12, RECORDS / 12), observed=Observed(AWAY, VARIANCE), axes=axes)
    cells, coefficients = (
        component.log_likelihood(np.array([50.0, 500.0])) for component in effect.components
    )
    assert np.allclose(cells, coefficients)


def test_weights_both_components_by_their_likelihood(one_scale):
    one_scale(250.0)
    effect = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, 2500.0), axes=AXES)
    scale = np.array([250.0])
    means, variances, logs = [], [], []
    for component in effect.components:
        mean, variance = component.cells(*component.posterior(scale, np.ones(1)))
        means.append(mean)
        variances.append(variance)
        logs.append(component.log_likelihood(scale)[0])
    share = 1 / (1 + math.exp(logs[1] - logs[0]))
    assert 0.01 < share < 0.99
    values, deviations = effect.estimate(RECORDS)
    between = share * (1 - share) * (means[0] - means[1]) ** 2
    assert np.allclose(values, REFERENCE + share * means[0] + (1 - share) * means[1])
    expected = share * variances[0] + (1 - share) * variances[1] + between
    assert np.allclose(deviations**2, np.maximum(expected, SETTINGS.least_variance * 2500.0))


def test_a_component_of_negligible_likelihood_has_no_effect():
    seen = interaction(1e5 * np.outer([1.0, 0.0, -1.0], [1.0, -1.0, 1.0, -1.0]).ravel(), SHAPE)
    effect = Effect(SHAPE, REFERENCE, observed=Observed(seen, 1e-3), axes=AXES)
    values, deviations = effect.estimate(RECORDS)
    assert np.allclose(values, REFERENCE - interaction(REFERENCE, SHAPE) + seen, rtol=1e-3, atol=1)
    assert np.isfinite(deviations).all()


def test_a_score_far_below_zero_has_the_effect_of_one_at_three_deviations():
    low, lower = (Effect(SHAPE, REFERENCE, distance, 10.0) for distance in (-30.0, -3000.0))
    assert low.deviations(RECORDS).tolist() == lower.deviations(RECORDS).tolist()


def test_a_score_of_at_most_half_the_reference_error_gives_no_interaction():
    def size(distance, reference_error):
        effect = Effect(SHAPE, REFERENCE, distance, 5.0, reference_error, typical=0.1)
        return math.sqrt(2 / math.pi) * effect.deviations(RECORDS).sum()

    assert size(200.0, 0.0) > 150
    assert size(200.0, 400.0) < 60
    assert 200 < size(400.0, 400.0) < size(400.0, 0.0)


def test_averages_scores_with_less_weight_on_older_ones_after_the_reference_moved():
    before = Effect(SHAPE, REFERENCE, 300.0, 40.0, 10.0)
    same = before.scored_again(REFERENCE, 200.0, 40.0, 20.0)
    assert (same.distance, same.deviation, same.reference_error) == pytest.approx(
        (250.0, 40 / math.sqrt(2), 20.0)
    )
    moved = REFERENCE + np.array([15.0, -15.0] + [0.0] * 10)
    later = before.scored_again(moved, 200.0, 40.0, 20.0)
    older, new = 1 / (40**2 + 30**2), 1 / 40**2
    assert later.distance == pytest.approx((300 * older + 200 * new) / (older + new))
    assert later.deviation == pytest.approx((older + new) ** -0.5)
    assert later.reference is moved


def test_a_score_stays_the_distance_from_what_it_was_compared_with():
    """Beside a prediction that has the whole distance, the same score says that nothing is missing."""
    scored = Effect(SHAPE, REFERENCE, 300.0, 40.0, 10.0, typical=0.1)
    missing = interaction(AWAY, SHAPE)
    whole = scored.with_reference(REFERENCE + 300 * missing / np.abs(missing).sum())
    assert whole.size(RECORDS) < 0.5 * scored.size(RECORDS)
    back = whole.with_reference(REFERENCE)
    assert back.sizes(RECORDS)[1] == pytest.approx(scored.sizes(RECORDS)[1])
    again = whole.scored_again(REFERENCE, 300.0, 40.0, 10.0)
    assert again.deviation == pytest.approx(40 / math.sqrt(2))


def test_an_effect_without_a_score_only_has_the_new_prediction():
    effect = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, 100.0))
    moved = REFERENCE[::-1].copy()
    values, _ = effect.with_reference(moved).estimate(RECORDS)
    assert values == pytest.approx(Effect(SHAPE, moved, observed=effect.observed).estimate(RECORDS)[0])


def test_the_expected_error_is_that_of_the_estimate_over_tables_and_noise(one_scale):
    """2,000 draws of an interaction of known scale; their mean is within 5 % (standard error 0.6 %)."""
    one_scale(250.0)
    rng = np.random.default_rng(7)
    tau = Effect(SHAPE, REFERENCE).deviations(RECORDS)
    errors = []
    for _ in range(2000):
        true = rng.normal(0, tau)
        seen = true + rng.normal(0, 12.0, 12)
        kept = tau**2 / (tau**2 + 144)
        errors.append(np.abs(kept * seen - true).sum())
    found = Effect(SHAPE, REFERENCE, observed=Observed(AWAY, 144.0)).expected_error(RECORDS)
    assert found == pytest.approx(np.mean(errors), rel=0.05)


@pytest.mark.parametrize("mean", [0.02, 0.1, 0.5])
def test_learns_the_typical_size_from_many_noisy_scores(mean):
    """200 scores, with noise of twice the mean, none of no interaction; within a factor of 1.5."""
    rng = np.random.default_rng(5)
    sizes = mean * RECORDS * rng.pareto(2, 200)
    noise = 2 * mean * RECORDS
    scored = [Effect(SHAPE, REFERENCE, size + rng.normal(0, noise), noise) for size in sizes]
    assert mean / 1.5 < learned_prior(scored, RECORDS, np.zeros(1))[0] < 1.5 * mean


def test_without_data_the_learned_prior_is_the_mean_of_its_own():
    """That of m is uniform over its logarithm."""
    mean = (2 - 1e-3) / math.log(2 / 1e-3)
    assert learned_prior([Effect(SHAPE, REFERENCE)], RECORDS) == pytest.approx((mean, 0.5), rel=0.1)


@pytest.mark.parametrize("none", [0.0, 0.5, 0.9])
def test_learns_the_share_of_interactions_that_are_none(none):
    """60 interactions, a fixed draw: of 160 in each cell, or of sampling error. The share within 0.2."""
    rng = np.random.default_rng(5)
    found = []
    for place in range(60):
        deviations = np.sqrt(REFERENCE) if place < 60 * none else 160.0
        seen = interaction(REFERENCE + rng.normal(0, deviations, 12) + rng.normal(0, 5, 12), SHAPE)
        found.append(Effect(SHAPE, REFERENCE, observed=Observed(seen, 25.0 * freedom(SHAPE))))
    assert learned_prior(found, RECORDS)[1] == pytest.approx(none, abs=0.2)


@pytest.mark.parametrize("count", [0.02, 0.5, 400.0])
def test_of_an_interaction_that_is_none_the_size_is_that_of_sampling_error(count):
    """Against 4,000 tables of Poisson counts (standard error below 2 %): within a third, of rare ones too."""
    tables = np.random.default_rng(3).poisson(count, (4000, 12))
    sizes = [np.abs(interaction(cells - count, SHAPE)).sum() for cells in tables]
    effect = Effect(SHAPE, np.full(12, count))
    expected = components.SCALES[effect.log_prior_of_none(12 * count).argmax()] * 12 * count
    assert expected == pytest.approx(np.mean(sizes), rel=0.33)


def test_the_more_interactions_are_none_the_more_is_taken_for_noise():
    observed = Observed(interaction(REFERENCE, SHAPE) + 0.3 * AWAY, 400.0)
    moved = [
        np.abs(
            Effect(SHAPE, REFERENCE, observed=observed, typical=0.3, none=none).estimate(RECORDS)[0]
            - REFERENCE
        ).sum()
        for none in (0.0, 0.5, 0.95)
    ]
    assert moved[0] > moved[1] > moved[2]


def test_with_a_known_scale_the_belief_in_what_is_predicted_follows_bayes_rule(one_scale):
    """Against normal densities of the measured coordinates, and the mixture of both posterior means."""
    one_scale(50.0)
    cells = REFERENCE + interaction(np.random.default_rng(4).normal(0, 4, 12), SHAPE)
    effect = Effect(
        SHAPE, REFERENCE, observed=Observed(AWAY, 100.0), predicted=Prediction(cells, typical=0.1, share=0.3)
    )
    prior = effect.deviations(RECORDS) ** 2
    kept, free = prior / (prior + 100), freedom(SHAPE)
    means, logs = [], []
    for start in (REFERENCE, cells):
        moved = AWAY - interaction(start, SHAPE)
        means.append(REFERENCE + interaction(start - REFERENCE, SHAPE) + kept * moved)
        logs.append(-0.5 * free * (moved**2 / (prior + 100)).sum())
    odds = 0.3 / 0.7 * math.exp(logs[1] - logs[0])
    belief = odds / (1 + odds)
    assert 0.01 < belief < 0.99
    assert np.allclose(effect.estimate(RECORDS)[0], (1 - belief) * means[0] + belief * means[1])


def test_a_score_far_below_what_is_predicted_speaks_against_it():
    cells = REFERENCE + interaction(np.random.default_rng(4).normal(0, 60, 12), SHAPE)
    size = float(np.abs(interaction(cells - REFERENCE, SHAPE)).sum())

    def belief(distance):
        predicted = Prediction(cells, typical=0.01, share=0.5)
        effect = Effect(SHAPE, REFERENCE, distance, 20.0, typical=0.5, predicted=predicted)
        return effect.beliefs(RECORDS)["predicted"]

    assert belief(size) > 0.5 > belief(0.1 * size)


@pytest.mark.parametrize("near", [0.0, 0.5, 1.0])
def test_learns_which_share_of_interactions_is_near_what_was_predicted(near):
    """40 interactions of size 300, a fixed draw; those near are at 15. The share within 0.2."""
    rng = np.random.default_rng(5)
    found = []
    for place in range(40):
        away = interaction(rng.normal(0, 40, 12), SHAPE)
        ahead = away if place < 40 * near else interaction(rng.normal(0, 40, 12), SHAPE)
        predicted = Prediction(REFERENCE + ahead + interaction(rng.normal(0, 2, 12), SHAPE), 1.0, 0.5)
        seen = interaction(REFERENCE, SHAPE) + away + interaction(rng.normal(0, 3, 12), SHAPE)
        observed = Observed(seen, 9.0 * freedom(SHAPE))
        found.append((Effect(SHAPE, REFERENCE, observed=observed, typical=0.4), predicted))
    typical, share = nearness(found, RECORDS)
    assert abs(share - near) < (0.2 if near else 0.5)
    assert (typical < 0.1) == (near > 0)


def test_the_distance_from_what_is_predicted_is_not_taken_for_noise():
    """40 apart in each cell, noise 10: at a typical distance of that size, hardly any shrinkage."""
    away = interaction(np.random.default_rng(6).normal(0, 40, 12), SHAPE)
    observed = Observed(interaction(REFERENCE, SHAPE) + away, 100.0 * freedom(SHAPE))
    predicted = Prediction(REFERENCE, typical=0.4, share=0.999)
    effect = Effect(SHAPE, REFERENCE, observed=observed, typical=1e-3, predicted=predicted)
    moved = effect.estimate(RECORDS)[0] - REFERENCE
    assert 0.85 < (moved @ away) / (away @ away) < 1


@pytest.mark.parametrize("observed", [None, Observed(REFERENCE + AWAY, 100.0)])
def test_an_effect_made_from_another_is_like_a_new_one_whatever_was_computed_before(observed):
    effect = Effect(SHAPE, REFERENCE, distance=200.0, deviation=20.0, observed=observed)
    effect.size(RECORDS)
    effect.deviation_classes(RECORDS)
    ahead = Prediction(REFERENCE + AWAY, typical=0.1, share=0.3)
    for other, new in (
        (effect.with_prior(0.3, 0.2), replace(effect, typical=0.3, none=0.2)),
        (effect.with_axes(AXES), replace(effect, axes=AXES)),
        (effect.with_axes(AXES).with_prior(0.3, 0.0), replace(effect, axes=AXES, typical=0.3)),
        (effect.with_axes(AXES).with_axes(()), effect),
        (effect.with_prediction(ahead), replace(effect, predicted=ahead)),
    ):
        assert other.size(RECORDS) == new.size(RECORDS)
        if observed is not None:
            np.testing.assert_array_equal(other.estimate(RECORDS), new.estimate(RECORDS))


def test_classes_of_deviations_keep_their_number_and_their_squares():
    effect = Effect(SHAPE, REFERENCE)
    levels, counts = effect.deviation_classes(RECORDS)
    assert counts.sum() == 12
    assert counts @ levels**2 == pytest.approx((effect.deviations(RECORDS) ** 2).sum())
