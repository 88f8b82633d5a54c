"""Bins chosen from noisy counts: many where records are, few where they are not."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.bins import RESOLUTIONS, boxes_of
from dpmosaic.curator.releasing.bins.choosing import (
    LEAST_BINS,
    MOST_BINS,
    chosen_coding,
    even_coding,
    planned_bins,
    published_marginals,
)

RHO = 0.0157
"""That of epsilon 1 at delta 1e-9, nearly."""


def chosen(entries, columns, rho=RHO, share=0.1, seed=1):
    """The chosen domain, and the table in it."""
    domain = Domain.from_json(entries)
    table = encode_table(domain, columns)
    rng = np.random.default_rng(seed)
    sigma = np.sqrt(RESOLUTIONS * len(domain.open) / (2 * share * rho))
    found = []
    for name in domain.open:
        counts = table.marginal((name,))
        for level in range(RESOLUTIONS):
            boxes = boxes_of(len(counts), level)
            sums = [counts[a:b].sum() for ((a, b),) in boxes] if boxes else counts
            noisy = sums + rng.normal(0, sigma, len(sums))
            found.append(Measurement(View((name,), boxes=boxes), noisy, sigma, 1.0))
    coding = chosen_coding(domain, found, table.record_count, (1 - share) * rho)
    assert coding.domain(domain) == coding.table(table).domain
    return coding.domain(domain), coding.table(table)


def test_more_records_and_more_budget_bear_more_bins():
    numbers = [planned_bins(records, RHO, 10) for records in (100, 1000, 10_000, 100_000)]
    assert numbers == sorted(numbers)
    assert numbers[0] == LEAST_BINS
    assert numbers[-1] == MOST_BINS
    assert planned_bins(3000, 10 * RHO, 10) > planned_bins(3000, RHO, 10) > planned_bins(3000, RHO, 40)


def test_small_tables_get_few_bins_and_large_ones_many():
    rng = np.random.default_rng(1)
    entries = {"x": {"type": "numeric", "min": 0, "max": 100, "bins": "auto"}}
    sizes = [
        chosen(entries, {"x": rng.normal(50, 15, records).clip(0, 100)})[0]["x"].size
        for records in (100, 1000, 50_000)
    ]
    assert sizes[0] < 12
    assert sizes[0] < sizes[1] < sizes[2]
    assert 30 < sizes[2] <= 2 * MOST_BINS


def test_bins_are_narrow_where_the_records_are():
    entries = {"x": {"type": "numeric", "min": 0, "max": 1000, "bins": "auto"}}
    domain, table = chosen(entries, {"x": np.random.default_rng(1).normal(700, 10, 20_000).clip(0, 1000)})
    edges = np.array(domain["x"].edges)
    assert ((edges > 670) & (edges < 730)).sum() > 10
    assert ((edges > 0) & (edges < 600)).sum() <= 3
    assert (table.marginal(("x",)) / 20_000).max() < 0.1


def test_a_value_of_many_records_has_a_bin_of_its_own():
    rng = np.random.default_rng(1)
    spread = (rng.integers(0, 1601, 20_000) * 25).astype(float)
    spread[:4000] = 10_000
    entries = {"x": {"type": "numeric", "min": 0, "max": 40_000, "multiple_of": 25, "bins": "auto"}}
    domain, table = chosen(entries, {"x": spread})
    codes = table.column("x")[:4000]
    decoded = domain["x"].decode(codes, rng)
    assert (decoded == 10_000).all()


def test_atoms_and_missing_values_keep_codes_of_their_own():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(5000) < 0.6, 0.0, rng.exponential(100, 5000).clip(0, 5000))
    values[rng.random(5000) < 0.1] = np.nan
    entries = {
        "x": {"type": "numeric", "min": 0, "max": 5000, "bins": "auto", "atoms": [0, 9999], "nullable": True}
    }
    domain, table = chosen(entries, {"x": values})
    decoded = domain["x"].decode(table.column("x"), rng)
    assert (np.isnan(decoded) == np.isnan(values)).all()
    assert ((decoded == 0) == (values == 0)).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("centre", [-50.0, 0.0, 170.0])
def test_finds_the_range_of_numbers_without_bounds(centre, scale):
    values = np.random.default_rng(1).normal(centre * scale, 10 * scale, 20_000)
    domain, table = chosen({"x": {"type": "numeric", "bins": "auto"}}, {"x": values})
    low, high = domain["x"].minimum, domain["x"].maximum
    assert low < np.quantile(values, 0.02)
    assert high > np.quantile(values, 0.98)
    assert high - low < 20 * (values.max() - values.min())
    clipped = domain["x"].encode(values)
    assert (clipped == table.column("x")).all()
    assert domain["x"].size >= 4


def test_whole_numbers_without_bounds_stay_whole():
    values = np.random.default_rng(1).poisson(40, 20_000)
    domain, table = chosen({"x": {"type": "numeric", "bins": "auto", "integer": True}}, {"x": values})
    assert domain["x"].integer
    assert (domain["x"].encode(values) == table.column("x")).all()


def test_a_whole_number_that_stands_out_gets_a_bin_without_bounds():
    rng = np.random.default_rng(1)
    hours = np.where(rng.random(20_000) < 0.5, 40, rng.integers(1, 100, 20_000))
    domain, _ = chosen({"x": {"type": "numeric", "bins": "auto", "integer": True}}, {"x": hours})
    assert [40, 40] in domain["x"].reach.tolist()


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("value", [-1e15, 1e15])
def test_numbers_beyond_the_grid_without_bounds_are_clipped(value, integer):
    entry = {"type": "numeric", "bins": "auto", "integer": integer}
    domain, table = chosen({"x": entry}, {"x": np.full(5000, value)})
    assert len(np.unique(table.column("x"))) == 1
    assert np.sign(domain["x"].minimum) == np.sign(value)


def test_numbers_without_bounds_and_hardly_any_records_still_get_bins():
    domain, _ = chosen({"x": {"type": "numeric", "bins": "auto"}}, {"x": np.arange(20.0)})
    assert not domain.open


def test_bins_begin_where_rules_need_it():
    rng = np.random.default_rng(1)
    form = {
        "attributes": {"x": {"type": "numeric", "min": 0, "max": 512, "bins": "auto"}, "k": ["a", "b"]},
        "rules": [{"impossible": {"x": {"below": 17}, "k": ["b"]}}],
    }
    columns = {"x": rng.normal(300, 20, 5000).clip(0, 512), "k": rng.choice(["a", "a"], 5000)}
    domain, _ = chosen(form, columns)
    assert 17 in domain["x"].edges


def test_dates_get_bins():
    days = np.datetime64("2020-01-01") + np.random.default_rng(1).integers(0, 1000, 5000)
    entries = {"d": {"type": "date", "min": "2020-01-01", "max": "2024-12-31", "bins": "auto"}}
    domain, table = chosen(entries, {"d": days})
    assert 8 < domain["d"].size < 100
    assert (domain["d"].encode(days) == table.column("d")).all()


@pytest.mark.parametrize("seed", range(20))
def test_any_noise_gives_bins_that_fit_the_domain(seed):
    rng = np.random.default_rng(seed)
    entries = {
        "a": {"type": "numeric", "min": -5, "max": int(rng.integers(-4, 700)), "integer": True},
        "b": {"type": "numeric", "min": 0.5, "max": 1e4, "scale": "log", "atoms": [0, 50], "nullable": True},
        "c": {"type": "numeric", "atoms": [-999, 0]},
        "d": {"type": "numeric", "integer": True, "nullable": True, "atoms": [0]},
        "e": {"type": "numeric", "min": 0, "max": 9, "decimals": 1},
    }
    columns = {name: rng.choice([0.0, 1.0, 5.0, 9.0], 50) for name in entries}
    auto = {name: entry | {"bins": "auto"} for name, entry in entries.items()}
    domain, table = chosen(auto, columns, rho=10.0 ** rng.uniform(-5, 2))
    assert not domain.open
    assert Domain.from_json(domain.to_json()) == domain
    for name in domain:
        assert (domain[name].encode(columns[name]) == table.column(name)).all()


@pytest.mark.parametrize("records", [10, 1000, 10**6])
def test_planned_bins_of_equal_width_fit_the_domain_before_anything_is_measured(records):
    domain = Domain.from_json(
        {
            "a": {"type": "numeric", "min": 0, "max": 100, "bins": "auto", "atoms": [0]},
            "b": {"type": "numeric", "bins": "auto"},
            "c": {"type": "numeric", "min": 0, "max": 2, "integer": True, "bins": "auto"},
        }
    )
    planned = even_coding(domain, records, RHO).domain(domain)
    assert not planned.open
    bins = planned_bins(records, RHO, 3)
    assert bins <= planned["a"].size <= bins + 2
    widths = {round(b - a, 6) for a, b in itertools.pairwise(planned["a"].edges)}
    assert max(widths) < 2.1 * min(widths)


@pytest.mark.parametrize(
    "entry",
    [
        {"min": 0, "max": 100, "nullable": True},
        {"min": 1, "max": 100, "scale": "log", "integer": True, "atoms": [0, 7]},
        {"atoms": [5]},
    ],
    ids=["missing values", "atoms", "unknown bounds"],
)
@pytest.mark.parametrize("absent", [False, True])
def test_what_bins_were_chosen_from_gives_the_counts_in_the_chosen_bins(entry, absent):
    domain = Domain.from_json({"x": {"type": "numeric", "bins": "auto", **entry}})
    values = np.random.default_rng(2).normal(50, 15, 3000).round().clip(1, 100)
    values[:400] = 5
    if "nullable" in entry:
        if absent:
            pytest.skip("a column with missing values cannot have the value absent")
        values[:90] = np.nan
    table = encode_table(domain, {"x": values})
    counts = np.append(table.marginal(("x",)), 70) if absent else table.marginal(("x",))
    found = []
    for level in range(RESOLUTIONS):
        boxes = boxes_of(len(counts), level)
        sums = np.array([counts[a:b].sum() for ((a, b),) in boxes]) if boxes else counts
        found.append(Measurement(View(("x",), boxes=boxes), sums.astype(float), 1e-6, 1.0))
    coding = chosen_coding(domain, found, counts.sum(), RHO)
    (published,) = published_marginals(domain, found, counts.sum(), coding)
    exact = coding.table(table).marginal(("x",))
    assert published.values == pytest.approx(np.append(exact, 70) if absent else exact, abs=1e-3)
    assert published.sigmas.max() < 1e-3
