"""What an earlier table of the same columns leads to expect, as far as it proves right."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.curator.mechanisms.mosaic.earlier import EarlierTable
from dpmosaic.curator.mechanisms.mosaic.effects import Effect
from dpmosaic.curator.mechanisms.mosaic.observed import Checked, Observed
from dpmosaic.curator.mechanisms.mosaic.one_way import denoise

SIZES = (4, 3, 5, 2, 6, 3)
DOMAIN = Domain.coded({f"c{place}": size for place, size in enumerate(SIZES)})
RECORDS = 5000
PAIRS = [(a, b) for place, a in enumerate(DOMAIN.names) for b in DOMAIN.names[place + 1 :]]
ONES = [(name,) for name in DOMAIN.names]


def drawn(seed, hidden=1):
    """Rows of three hidden classes, which have codes of their own."""
    classes = np.random.default_rng(hidden)
    rng = np.random.default_rng(seed)
    of = rng.integers(0, 3, RECORDS)
    columns = []
    for size in SIZES:
        chances = classes.dirichlet(np.full(size, 0.5), 3).cumsum(axis=1)
        columns.append((rng.random(RECORDS)[:, None] > chances[of]).sum(axis=1).clip(0, size - 1))
    return Table.from_codes(DOMAIN, np.column_stack(columns))


REAL, LAST_YEAR, ANOTHER = drawn(2), drawn(3), drawn(4, hidden=5)


def noisy(clique, deviation, seed):
    counts = REAL.marginal(clique).astype(float)
    noise = np.random.default_rng(seed).normal(0, deviation, counts.size)
    return counts + noise - noise.mean()


def pairs(earlier, deviation=60.0, share=0.5):
    """Pairs that were measured with this noise, with what an earlier table leads to expect of each."""
    margins = {name: np.maximum(REAL.marginal((name,)).astype(float), 0.5) for name in DOMAIN.names}
    effects = {}
    for place, pair in enumerate(PAIRS):
        shape = DOMAIN.shape(pair)
        reference = np.multiply.outer(*(margins[name] for name in pair)).ravel() / RECORDS
        values = interaction(noisy(pair, deviation, place), shape)
        effects[pair] = Effect(shape, reference, observed=Observed(values, deviation**2 / 2))
    return EarlierTable(earlier).expect(effects, margins, RECORDS, share)


def error(estimates):
    return sum(np.abs(cells - REAL.marginal(pair)).sum() for pair, cells in estimates.items())


def estimated(effects):
    return {pair: effect.estimate(RECORDS)[0] for pair, effect in effects.items()}


def without(effects):
    return {pair: Effect(e.shape, e.reference, observed=e.observed) for pair, e in effects.items()}


@pytest.mark.parametrize(("earlier", "least", "most"), [(LAST_YEAR, 0.9, 1.0), (ANOTHER, 0.0, 0.2)])
def test_pairs_are_believed_as_far_as_measurements_say_so(earlier, least, most):
    believed = [effect.belief_in_earlier(RECORDS) for effect in pairs(earlier).values()]
    assert least <= np.mean(believed) <= most


def test_pairs_are_closer_with_last_years_table_and_no_farther_with_another():
    for earlier, most in ((LAST_YEAR, 0.7), (ANOTHER, 1.02)):
        effects = pairs(earlier)
        assert error(estimated(effects)) < most * error(estimated(without(effects)))


def test_a_table_that_is_right_about_no_interaction_is_not_used():
    assert all(effect.earlier is None for effect in pairs(ANOTHER, share=0.01).values())
    assert all(effect.earlier is not None for effect in pairs(LAST_YEAR, share=0.01).values())


def test_a_table_of_independent_columns_is_no_nearer_than_a_model_of_them():
    """It has the columns of the real one and none of its pairs, so it says what the references say."""
    rng = np.random.default_rng(12)
    apart = Table.from_codes(DOMAIN, np.column_stack([rng.permutation(column) for column in REAL.columns]))
    effects = pairs(apart)
    assert np.mean([effect.belief_in_earlier(RECORDS) for effect in effects.values()]) < 0.3
    assert error(estimated(effects)) < 1.02 * error(estimated(without(effects)))


def test_what_an_earlier_table_says_is_not_unknown_and_still_counts_as_a_size():
    effects = pairs(LAST_YEAR)
    alone = without(effects)
    largest = max(PAIRS, key=lambda pair: alone[pair].size(RECORDS))
    assert effects[largest].unknown(RECORDS) < 0.3 * effects[largest].size(RECORDS)
    away = interaction(REAL.marginal(largest) - effects[largest].reference, DOMAIN.shape(largest))
    assert effects[largest].size(RECORDS) == pytest.approx(np.abs(away).sum(), rel=0.2)


@pytest.mark.slow
def test_a_score_of_the_same_size_says_nothing_of_what_an_earlier_table_leads_to_expect():
    pair = max(PAIRS, key=lambda one: pairs(LAST_YEAR)[one].size(RECORDS))
    effect = pairs(LAST_YEAR)[pair]
    apart = float(np.abs(effect.earlier.cells - effect.reference).sum())
    scored = Effect(effect.shape, effect.reference, apart, 50.0, earlier=effect.earlier)
    assert scored.belief_in_earlier(RECORDS) == pytest.approx(effect.earlier.share)
    for distance, right in ((0.1 * apart, True), (2 * apart, False)):
        checked = Checked(effect.earlier.cells, distance, 50.0)
        seen = Effect(effect.shape, effect.reference, checked=checked, earlier=effect.earlier)
        assert (seen.belief_in_earlier(RECORDS) > effect.earlier.share) is right


def test_a_pair_that_was_not_measured_is_estimated_as_expected():
    effect = pairs(LAST_YEAR)[PAIRS[0]]
    alone = Effect(effect.shape, effect.reference, earlier=effect.earlier)
    cells, deviations = alone.estimate(RECORDS)
    expected = effect.earlier.share * effect.earlier.cells + (1 - effect.earlier.share) * effect.reference
    assert interaction(cells, effect.shape) == pytest.approx(interaction(expected, effect.shape))
    assert deviations.min() > 0
    assert alone.expected_error(RECORDS) == pytest.approx(alone.unknown(RECORDS))


def test_single_counts_are_averaged_with_those_of_a_table_that_is_right_and_kept_beside_a_wrong_one():
    deviation = 200.0
    variances = [np.full(size, deviation**2) for size in SIZES]
    counts = [noisy(one, deviation, place) for place, one in enumerate(ONES)]

    def off(found):
        return sum(np.abs(x - REAL.marginal(one)).sum() for one, x in zip(ONES, found, strict=True))

    for earlier, most in ((LAST_YEAR, 0.6), (ANOTHER, 1.02)):
        found, _ = EarlierTable(earlier).average(ONES, list(zip(counts, variances, strict=True)), RECORDS)
        assert off([values for values, _ in found]) < most * off(counts)


def test_many_counts_beside_a_wrong_table_are_as_good_as_without_it():
    """A smooth column of 121 values, of which noise hides each; the table has them in another order.

    Means over twelve draws of noise.
    """
    values = np.exp(-(((np.arange(121) - 50) / 30) ** 2))
    real = np.round(values * RECORDS / values.sum()).astype(int)
    domain, one = Domain.coded({"c": 121, "d": 2}), ("c",)
    rng = np.random.default_rng(6)

    def off(earlier):
        counts = real + rng.normal(0, 80, 121)
        noisy_counts = [(counts, np.full(121, 80.0**2))]
        if earlier is not None:
            codes = np.repeat(np.arange(121), earlier)
            table = Table.from_codes(domain, np.column_stack([codes, codes % 2]))
            noisy_counts, _ = EarlierTable(table).average([one], noisy_counts, RECORDS)
        return np.abs(denoise(noisy_counts, RECORDS)[0][0] - real).sum()

    alone = np.mean([off(None) for _ in range(12)])
    assert np.mean([off(rng.permutation(real)) for _ in range(12)]) < 1.1 * alone
    assert np.mean([off(real) for _ in range(12)]) < 0.7 * alone


def test_few_pairs_tell_a_table_that_is_right_from_one_that_is_wrong():
    """Wrongly in at most one of ten draws of noise of a quarter of what is expected (2,000 draws each)."""
    telling = EarlierTable(LAST_YEAR).telling(RECORDS)
    deviation = float(np.linalg.norm(telling.expected)) / 4
    assert telling.power(deviation) == pytest.approx(4)
    noise = np.random.default_rng(9).normal(0, deviation, (2000, len(telling.views)))

    def believed(table):
        first = [interaction(view.counted(table), (2, 2))[0] for view in telling.views]
        return np.mean([telling.ratio(np.array(first) + each, deviation) > 0 for each in noise])

    rng = np.random.default_rng(10)
    apart = np.column_stack([rng.permutation(column) for column in REAL.columns])
    assert believed(REAL) > 0.9
    assert believed(Table.from_codes(DOMAIN, apart)) < 0.1


def test_what_few_pairs_tell_is_bounded():
    telling = EarlierTable(LAST_YEAR).telling(RECORDS)
    assert telling.ratio(telling.expected, 0.1) <= 4
    assert telling.ratio(-telling.expected, 0.1) == -4


def expected_of_a_strong_pair(**options):
    """What last year's table leads to expect of a pair that was not measured, beside others that were."""
    margins = {name: np.maximum(REAL.marginal((name,)).astype(float), 0.5) for name in DOMAIN.names}
    effects = pairs(LAST_YEAR)
    strong = max(PAIRS, key=lambda pair: np.abs(interaction(REAL.marginal(pair), DOMAIN.shape(pair))).sum())
    held = effects | {strong: Effect(effects[strong].shape, effects[strong].reference)}
    return EarlierTable(LAST_YEAR, **options).expect(held, margins, RECORDS, 0.5)[strong]


def test_what_noise_may_have_made_of_an_earlier_table_is_unknown():
    """A noise of 60 in the cells of the earlier release is an error, and one of 6,000 hides all of a pair."""
    exact, noisy, hidden = (expected_of_a_strong_pair(sigma=sigma) for sigma in (0.0, 60.0, 6000.0))
    assert exact.unknown(RECORDS) < noisy.unknown(RECORDS) < hidden.unknown(RECORDS)
    assert hidden.earlier.typical * RECORDS > 0.7 * np.abs(hidden.earlier.cells - hidden.reference).sum()


def test_rows_in_parts_have_the_sampling_error_of_as_many_whole_ones():
    parts = Table(DOMAIN, LAST_YEAR.columns, weights=np.full(RECORDS, WEIGHT_PARTS))
    for clique in (*ONES, *PAIRS):
        whole, found = (EarlierTable(one).counts(clique, RECORDS) for one in (LAST_YEAR, parts))
        np.testing.assert_allclose(found, whole, rtol=1e-12)
