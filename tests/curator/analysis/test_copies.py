"""Copies have drawn pairs, differ as the noise makes them, keep rules, and combine to intervals that hold."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.copies import combine, copies, drawn
from dpmosaic.curator.analysis.estimators.means import mean, proportion
from support.surveys import DOMAIN, coded, measured, people, survey, tilted

PEOPLE = people(1)
REAL = tilted(PEOPLE, 2)
OTHER = coded(PEOPLE)


def test_without_noise_copies_have_the_pairs_of_the_real_table():
    real = coded(REAL)
    release = survey(OTHER, measured(real, 1e-3, 0))
    copy = next(drawn(release, np.random.default_rng(0)))
    pairs = list(itertools.combinations(DOMAIN.names, 2))

    def error(table):
        distances = [np.abs(table.marginal(pair) - real.marginal(pair)).sum() / 2 for pair in pairs]
        return np.mean(distances) / real.record_count

    assert error(OTHER) > 0.03
    assert error(copy) < 0.3 * error(OTHER)


@pytest.mark.slow
def test_copies_differ_as_the_noise_of_the_measurements_makes_them():
    """The standard deviation of 40 draws is between 0.6 and 1.4 of the true one with probability 99.9 %."""
    release = survey(OTHER, measured(OTHER, 25.0, 0))
    made = copies(release, 40, seed=1)
    expected = [mean(release, "age", of="table"), proportion(release, "owner", "yes", of="table")]
    found = [[frame["age"].mean(), (frame["owner"] == "yes").mean()] for frame in made]
    errors = [float(one.errors.noise[0]) for one in expected]
    assert np.std(found, axis=0, ddof=1) / errors == pytest.approx([1, 1], abs=0.4)


@pytest.mark.slow
def test_intervals_from_copies_hold_for_means_shares_and_slopes():
    """Of 20 releases of one table, each with 5 copies: 60 intervals.

    If each holds with 95 %, fewer than 50 of 60 do with probability 1e-4, or with 0.3 % if those of one
    release always hold together; the seeds are fixed.
    """

    def found(frame):
        kept = frame[frame["income"].notna()]
        slope = np.polyfit(kept["age"].astype(float), kept["income"].astype(float), 1)[0]
        return [frame["age"].mean(), (frame.loc[frame["rural"], "owner"] == "yes").mean(), slope]

    held = 0
    for seed in range(20):
        release = survey(OTHER, measured(OTHER, 15.0, seed))
        made = combine([found(frame) for frame in copies(release, 5, seed=seed)])
        truth = np.array(found(release.frame))
        held += int(((made.low <= truth) & (truth <= made.high)).sum())
    assert held >= 50


def test_a_seed_determines_the_copies_and_their_types():
    release = survey(OTHER, measured(OTHER, 10.0, 0))
    first, second = copies(release, 2, seed=5), copies(release, 2, seed=5)
    for one, other in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, other)
        assert list(one.dtypes) == list(release.frame.dtypes)
    assert not first[0].equals(first[1])
    assert not copies(release, 2)[0].equals(copies(release, 2)[0])


def test_copies_keep_rules_also_where_one_column_determines_another():
    form = {
        "attributes": DOMAIN.to_json() | {"level": ["1", "2", "3"]},
        "rules": [
            {
                "determines": {"from": "school", "to": "level"},
                "map": {"low": "1", "middle": "2", "high": "3"},
            },
            {"impossible": {"school": ["high"], "rural": [True]}},
        ],
    }
    domain = Domain.from_json(form)
    frame = PEOPLE[(PEOPLE["school"] != "high") | ~PEOPLE["rural"]].copy()
    frame["level"] = frame["school"].map({"low": "1", "middle": "2", "high": "3"}).astype(object)
    table = coded(frame, domain)
    release = survey(table, measured(table, 20.0, 0))
    shares = []
    for copy in copies(release, 4, seed=1):
        assert (copy["school"].map({"low": "1", "middle": "2", "high": "3"}) == copy["level"]).all()
        assert not ((copy["school"] == "high") & copy["rural"]).any()
        shares.append((copy["school"] == "low").mean())
    assert len(set(shares)) == 4


def test_combines_by_the_rule_for_draws_of_the_real_table():
    estimates = np.array([[1.0, 10.0], [2.0, 14.0], [4.0, 12.0]])
    found = combine(estimates)
    between = np.var(estimates, axis=0, ddof=1) * (1 + 1 / 3)
    half = student.ppf(0.975, 2) * np.sqrt(between)
    assert found.estimate == pytest.approx([7 / 3, 12.0])
    assert found.std_error == pytest.approx(np.sqrt(between))
    assert found.high - found.estimate == pytest.approx(half)
    own = np.array([[1.0, 3.0]] * 3)
    population = combine(estimates, own)
    assert population.std_error == pytest.approx(np.sqrt(between + own[0]))
    assert population.freedom == pytest.approx(2 * (1 + own[0] / between) ** 2)


@pytest.mark.parametrize(
    ("estimates", "variances"), [([1.0], None), (1.0, None), ([1.0, 2.0], [1.0]), ([1.0, 2.0], [[1.0, 2.0]])]
)
def test_refuses_to_combine_what_is_not_one_row_for_each_copy(estimates, variances):
    with pytest.raises(DataError, match="one row for each copy"):
        combine(estimates, variances)


def test_refuses_a_level_that_is_none():
    with pytest.raises(DataError, match="between 0 and 1"):
        combine([1.0, 2.0], level=95)


def test_refuses_fewer_than_two_copies_and_releases_without_measurements():
    release = survey(OTHER, measured(OTHER, 10.0, 0))
    with pytest.raises(DataError, match="at least 2"):
        copies(release, 1)
    with pytest.raises(DataError, match="noisy measurements"):
        copies(replace(release, evidence=None), 2)
