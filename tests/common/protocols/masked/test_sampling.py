"""The sample of rows on which products between parties are computed, and its error."""

import math

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data import counting
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.protocols.masked import sampling
from dpmosaic.common.protocols.masked.sampling import SampledRows, Sampling, sampled_positions
from support.terms import RELEASE_ID

RECORDS, SAMPLED = 300, 90


def samples(count, records=RECORDS, sampled=SAMPLED):
    """Samples of different releases."""
    return [sampled_positions(f"{number:032x}", 0, records, sampled) for number in range(count)]


@pytest.mark.parametrize(("records", "sampled"), [(2, 1), (300, 1), (300, 299), (70_000, 9_000)])
def test_a_sample_has_so_many_different_rows_in_order(records, sampled):
    found = sampled_positions(RELEASE_ID, 1, records, sampled).astype(np.int64)
    assert len(found) == sampled
    assert 0 <= found[0] <= found[-1] < records
    assert np.all(np.diff(found) > 0)


def test_all_parties_of_a_slice_have_one_sample_and_other_slices_and_releases_another():
    """The numbers are those of any machine and version: parties of one release have to agree."""
    assert sampled_positions("0" * 32, 0, 1000, 8).tolist() == [482, 493, 526, 704, 797, 817, 950, 989]
    one, same = (sampled_positions(RELEASE_ID, 0, 1000, 500) for _ in range(2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, sampled_positions(RELEASE_ID, 1, 1000, 500))
    assert not np.array_equal(one, sampled_positions("f" * 32, 0, 1000, 500))


def test_a_sample_does_not_depend_on_how_many_words_are_read_at_once(monkeypatch):
    one = sampled_positions(RELEASE_ID, 0, 1000, 300)
    monkeypatch.setattr(sampling, "_WORDS_AT_ONCE", 7)
    assert np.array_equal(one, sampled_positions(RELEASE_ID, 0, 1000, 300))


@pytest.mark.slow
def test_scaled_counts_have_the_mean_and_the_variance_of_the_hypergeometric_distribution():
    """False alarms: the seeds are fixed; for random ones below 1e-6 for the mean and 1e-5 for the variance.

    Of 2,000 independent samples, the mean of the scaled counts is normal with the standard deviation of one
    divided by sqrt(2,000), and their variance has a relative standard deviation of sqrt(2 / 1,999), since the
    kurtosis of these counts is that of a normal distribution up to 0.02.
    """
    category = np.arange(RECORDS) < 100
    scaled = RECORDS / SAMPLED * np.array([category[one].sum() for one in samples(2000)])
    variance = (RECORDS / SAMPLED) ** 2 * stats.hypergeom(RECORDS, 100, SAMPLED).var()
    closed = (RECORDS / SAMPLED) ** 2 * SAMPLED / 3 * (2 / 3) * (RECORDS - SAMPLED) / (RECORDS - 1)
    assert variance == pytest.approx(closed)
    assert abs(scaled.mean() - 100) < 5 * math.sqrt(variance / 2000)
    assert abs(scaled.var() / variance - 1) < 4.5 * math.sqrt(2 / 1999)


def test_every_row_is_in_the_sample_equally_often():
    """False alarm for random seeds: 2e-6, by the chi-squared distribution of 299 degrees of freedom.

    The counts of rows are those of independent samples without replacement, whose sum is fixed.
    """
    times = np.bincount(np.concatenate(samples(1000)), minlength=RECORDS)
    share = SAMPLED / RECORDS
    variance = 1000 * share * (1 - share) * RECORDS / (RECORDS - 1)
    distance = ((times - 1000 * share) ** 2).sum() / variance
    assert stats.chi2.cdf(distance, RECORDS - 1) == pytest.approx(0.5, abs=0.5 - 1e-6)


def test_sampled_rows_are_rows_of_the_table_at_their_positions(monkeypatch):
    monkeypatch.setattr(sampling, "COUNTED_AT_ONCE", 7)
    rng = np.random.default_rng(0)
    table = Table.from_codes(Domain.coded({"a": 3, "b": 4}), rng.integers(0, 3, (100, 2)))
    places = sampled_positions(RELEASE_ID, 0, 100, 40)
    rows, taken = SampledRows(table, places), table.take(places.astype(np.int64))
    groups = ((0, 0, 1), ())
    assert (rows.domain, rows.record_count) == (table.domain, 40)
    for start, stop in ((0, 40), (3, 4), (5, 5), (30, 60)):
        expected = taken.cell_codes(("a", "b"), start, min(stop, 40), groups)
        assert rows.cell_codes(("a", "b"), start, stop, groups).tolist() == expected.tolist()
    assert rows.marginal(("a", "b"), groups).tolist() == taken.marginal(("a", "b"), groups).tolist()
    found = rows.marginals([("b",), ("b", "a")])
    assert [one.tolist() for one in found] == [taken.marginal(c).tolist() for c in (("b",), ("b", "a"))]
    assert counting.COUNTED_AT_ONCE > 7


def test_the_bound_holds_for_a_table_with_the_largest_error_and_is_not_far_above_it():
    """False alarm: each of 200 samples fails with a probability of at most 1e-6."""
    records, sampled, cells = 20_000, 2_000, 50
    table = np.arange(records) % cells
    planned = Sampling((records,), (sampled,))
    errors = [
        np.abs(planned.factor * np.bincount(table[one], minlength=cells) - records / cells).sum()
        for one in samples(200, records, sampled)
    ]
    assert max(errors) < planned.l1_bound(cells) < 3 * max(errors)
    cell = math.sqrt(np.square(errors).mean()) / cells
    # The mean of |x| of a normal x is sqrt(2 / pi) of its deviation; 5 % is far beyond sampling error.
    assert cell == pytest.approx(math.sqrt(2 / math.pi) * planned.cell_sigma(cells), rel=0.05)
