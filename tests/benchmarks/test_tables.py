"""Generated tables have the structure that their families promise."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2
from tables import CHOSEN_ON, REPORTED, VARIANTS, generate

pytestmark = pytest.mark.slow

ROWS = 5_000


def codes(table, names):
    return np.column_stack([table.column(name) for name in names])


def distinct(table, names):
    return len(np.unique(codes(table, names), axis=0))


def of_family(family):
    return [name for name, variant in VARIANTS.items() if variant.family == family]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_and_a_seed_determine_the_table(name):
    first, again, other = (generate(name, seed, rows=200) for seed in (1, 1, 3))
    assert first.table.record_count == 200
    assert first.table.digest() == again.table.digest()
    assert first.holdout.digest() == again.holdout.digest()
    assert first.table.digest() != other.table.digest()


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_kept_apart_have_the_same_distribution(name):
    made = generate(name, 1, rows=10_000)
    for attribute in made.table.domain.attributes:
        one, other = (t.marginal((attribute.name,)) for t in (made.table, made.holdout))
        held = one + other > 0
        statistic = ((one - other)[held] ** 2 / (one + other)[held]).sum()
        # The two-sample chi-square test; below 1e-3 for any of all 1,000 attributes.
        assert chi2.sf(statistic, held.sum() - 1) > 1e-6


def test_no_variant_is_in_both_halves_and_all_families_are():
    assert not {*CHOSEN_ON} & {*REPORTED}
    halves = [{VARIANTS[name].family for name in half} for half in (CHOSEN_ON, REPORTED)]
    assert halves[0] == halves[1]
    assert {*CHOSEN_ON, *REPORTED} == {*VARIANTS}


@pytest.mark.parametrize("name", of_family("parity"))
def test_parity_shows_in_the_whole_structure_and_in_no_part_of_it(name):
    made = generate(name, 2)
    found = codes(made.table, made.structure)
    # The sum of all is even unless the noise of 0.1 made it odd; deviation 0.0013, false alarm 2e-14.
    assert np.mean(found.sum(axis=1) % 2) == pytest.approx(0.1, abs=0.01)
    for part in itertools.combinations(range(found.shape[1]), found.shape[1] - 1):
        # Deviation 0.0022; false alarm 1e-5 for each part.
        assert np.mean(found[:, part].sum(axis=1) % 2) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", of_family("regions"))
def test_the_class_depends_on_all_numbers_of_its_region_together(name):
    made = generate(name, 2, rows=50_000)
    numbers = [attribute for attribute in made.structure if attribute != made.label]

    def accuracy(given):
        """Of predicting each row of the holdout by the commonest class of its cell, coarsened to eight."""
        coarse = [
            (np.column_stack([8 * t.column(n).astype(int) // t.domain[n].size for n in given]))
            for t in (made.table, made.holdout)
        ]
        cells = [np.ravel_multi_index(c.T, (8,) * len(given)) for c in coarse]
        classes = made.table.domain[made.label].size
        votes = np.zeros((8 ** len(given), classes))
        np.add.at(votes, (cells[0], made.table.column(made.label)), 1)
        return np.mean(votes.argmax(axis=1)[cells[1]] == made.holdout.column(made.label))

    fewer = [accuracy(some) for some in itertools.combinations(numbers, len(numbers) - 1)]
    assert accuracy(numbers) > max(fewer) + 0.03


@pytest.mark.parametrize("name", of_family("copula"))
def test_all_numbers_of_a_copula_are_correlated(name):
    made = generate(name, 2, rows=ROWS)
    found = np.corrcoef(codes(made.table, made.table.domain.names).T)
    pairs = np.abs(found[np.triu_indices(len(found), 1)])
    # Independent numbers have 0.011 on average, and exceed 0.05 in one pair of 2,400.
    assert pairs.mean() > 0.2
    assert np.mean(pairs > 0.05) > 0.8
    assert set(made.table.domain.sizes) == {16, 4}


@pytest.mark.parametrize("name", of_family("latent"))
def test_ten_hidden_classes_explain_all_pairs_of_latent_attributes(name):
    made = generate(name, 2)
    found = codes(made.table, made.table.domain.names).astype(float)
    half = found.shape[1] // 2
    # E[x y'] of attributes that are independent given ten classes has rank ten; the rest is sampling noise, a
    # matrix of deviation at most 0.5 / sqrt(rows), whose norm exceeds this bound with chance below 1e-6.
    values = np.linalg.svd(found[:, :half].T @ found[:, half:] / len(found), compute_uv=False)
    noise = 0.5 / np.sqrt(len(found)) * (2 * np.sqrt(found.shape[1] - half) + 6)
    assert (values[10:] <= noise).all()
    assert values[3] > noise


@pytest.mark.parametrize("name", of_family("zipf"))
def test_shares_of_categories_fall_as_zipf_says(name):
    made = generate(name, 2)
    exponent = VARIANTS[name].draw.keywords["exponent"]
    shares = made.table.marginal(("first",))[:30]
    slope = np.polyfit(np.log(np.arange(1, 31)), np.log(shares), 1)[0]
    # The rarest of the 30 has more than 200 rows, so its logarithm has deviation below 0.07, and the slope
    # below 0.02.
    assert slope == pytest.approx(-exponent, abs=0.1)
    assert sum(size >= 800 for size in made.table.domain.sizes) == 2


@pytest.mark.parametrize("name", of_family("small"))
def test_small_tables_have_300_rows(name):
    assert generate(name, 2).table.record_count == 300


@pytest.mark.parametrize("name", of_family("dependent"))
def test_attributes_determine_others(name):
    made = generate(name, 2)
    for place in range(len(made.table.domain) // 3):
        both, one = [f"first{place}", f"second{place}"], [f"first{place}"]
        determined = f"determined{place}"
        assert distinct(made.table, [*both, determined]) == distinct(made.table, both)
        by_one = distinct(made.table, [*one, determined]) == distinct(made.table, one)
        assert by_one == (place % 2 == 1)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_structure_is_the_label_and_others_in_domain_order(name):
    made = generate(name, 2, rows=100)
    assert bool(made.structure) == VARIANTS[name].structured
    assert not made.structure or made.label in made.structure
    assert made.structure == made.table.domain.canonical(made.structure)


@pytest.mark.parametrize("name", of_family("narrow"))
def test_of_narrow_tables_two_numbers_depend_on_each_other_and_others_do_not(name):
    """Distances from independence in 4 x 4 groups; sampling makes .01 of it, at most .03 in all of these."""
    made = generate(name, 2, rows=20_000)
    assert 2 <= len(made.table.domain) <= 6
    for pair in itertools.combinations(made.table.domain.names, 2):
        groups = tuple(tuple(np.arange(n) * min(n, 16) // n) for n in made.table.domain.shape(pair))
        joint = made.table.marginal(pair, groups).reshape([max(of) + 1 for of in groups]) / 20_000
        apart = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() / 2
        assert (apart > 0.3) == (pair == made.strongest)
