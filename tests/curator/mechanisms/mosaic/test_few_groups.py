"""Pairs of ordered attributes in few groups: which ones, and how their groups are spread over codes."""

import math

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import group_labels, group_sums
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.mosaic import grouped_rounds
from dpmosaic.curator.mechanisms.mosaic.few_groups import are_few, pairs_in_few_groups, spread_smoothly
from dpmosaic.curator.mechanisms.mosaic.grouping import neighbours
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic

pytestmark = pytest.mark.slow

RECORDS, BINS = 6000, 16


def numbers(count=8, records=RECORDS, seed=0):
    """Normal numbers of two factors, in bins: all depend on each other a little."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(count, 2))
    values = rng.normal(size=(records, 2)) @ loads.T + rng.normal(size=(records, count))
    codes = np.clip((values / values.std(axis=0) + 3) / 6 * BINS, 0, BINS - 1).astype(np.int64)
    domain = Domain(tuple(NumericAttribute(f"n{k}", 0.0, 1.0, BINS) for k in range(count)))
    return Table.from_codes(domain, codes)


def mixed(records=RECORDS):
    """Three numbers, categories in an order, and three attributes without: plain codes, a bit and names."""
    kinds = (
        NumericAttribute("number", 0.0, 1.0, BINS),
        NumericAttribute("other", 0.0, 1.0, BINS),
        NumericAttribute("third", 0.0, 1.0, BINS),
        CodedAttribute("plain", 9),
        CodedAttribute("bit", 2),
        CategoricalAttribute("sizes", tuple("abcdefghi"), ordered=True),
        CategoricalAttribute("names", tuple("abcde")),
    )
    domain = Domain(kinds)
    rng = np.random.default_rng(0)
    shared, own = rng.random((1, records)), rng.random((len(kinds), records))
    places = np.where(rng.random(own.shape) < 0.5, shared, own)
    return Table.from_codes(domain, (places.T * domain.sizes).astype(np.int64))


def in_groups(known, left, noise=100.0):
    """The pairs that are measured in few groups, each with the number of cells."""
    pairs = [pair for pair in known.in_codes() if len(pair) == 2]
    found = pairs_in_few_groups(known, pairs, dict.fromkeys(pairs, left), noise)
    return {view.clique: view.shape(known.domain) for view in found}


def correlations(table):
    return np.corrcoef([table.column(name).astype(float) for name in table.domain])


def normal_pair(correlation, records=200_000):
    """Counts of two correlated normal numbers in bins, their margins, and cells as if independent."""
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, records))
    values = np.array([x, correlation * x + np.sqrt(1 - correlation**2) * noise])
    first, second = np.clip((values + 3) / 6 * BINS, 0, BINS - 1).astype(np.int64)
    counts = np.bincount(first * BINS + second, minlength=BINS**2).astype(float)
    margins = [np.maximum(counts.reshape(BINS, BINS).sum(axis=axis), 0.001) for axis in (1, 0)]
    return counts, margins, np.outer(*margins).ravel() / records


def apart(one, other):
    """Total variation distance."""
    return float(np.abs(one / one.sum() - other / other.sum()).sum()) / 2


@pytest.mark.parametrize("most", [2, 3, 5])
def test_what_groups_show_of_a_normal_pair_is_spread_as_a_normal_pair(most):
    counts, margins, independent = normal_pair(0.5)
    groups = tuple(neighbours(margin / margin.sum(), most) for margin in margins)
    wanted = group_sums(counts, (BINS, BINS), groups)
    found = spread_smoothly(independent, groups, wanted, margins)
    ratios = wanted / group_sums(independent, (BINS, BINS), groups)
    in_steps = independent * ratios[group_labels((BINS, BINS), groups)]
    assert apart(independent, counts) > 0.15
    assert apart(in_steps, counts) > 0.05
    assert apart(found, counts) < 0.02
    assert apart(group_sums(found, (BINS, BINS), groups), wanted) < 0.01


def test_spread_cells_keep_the_margins_and_the_zeros_of_the_model():
    counts, margins, cells = normal_pair(0.5)
    cells[[5, 77]] = 0.0
    groups = (neighbours(margins[0] / margins[0].sum(), 3), ())
    found = spread_smoothly(cells, groups, group_sums(counts, (BINS, BINS), groups) + 0.001, margins)
    assert not found[[5, 77]].any()
    assert (found >= 0).all()
    for axis, margin in enumerate(margins):
        np.testing.assert_allclose(
            found.reshape(BINS, BINS).sum(axis=1 - axis), margin, rtol=0.02, atol=100.0
        )


def test_numbers_and_categories_in_an_order_are_grouped_and_others_keep_their_codes(measured):
    """Of plain codes no order is known, but of two values there are only these."""
    known = measured(mixed())
    found = in_groups(known, 1.0)
    assert ("number", "other") in found
    assert ("number", "sizes") in found
    for pair, shape in found.items():
        kept = [n for name, n in zip(pair, shape, strict=True) if name in ("plain", "bit", "names")]
        assert kept == [known.domain[name].size for name in pair if name in ("plain", "bit", "names")]
        assert math.prod(shape) < math.prod(known.domain.shape(pair))
    assert not {("plain", "bit"), ("plain", "names"), ("bit", "names")} & found.keys()


def test_a_table_of_which_half_has_no_order_stays_in_codes(measured):
    table = mixed()
    half = [name for name in table.domain.names if name != "third"]
    known = measured(table.project(half))
    assert not in_groups(known, 1.0)
    groups = (0,) * 8 + (1,) * 8
    assert not are_few(known.domain, View(("number", "other"), (groups, groups)))


def test_what_sampling_makes_of_codes_does_not_show_in_groups(measured):
    """Of two independent numbers, a marginal of codes is as far from the model as samples are."""
    rng = np.random.default_rng(0)
    independent = measured(Table.from_codes(numbers(2).domain, rng.integers(0, BINS, (RECORDS, 2))))
    assert independent.size(("n0", "n1")) > 0.1 * RECORDS
    assert not in_groups(independent, 0.85, noise=1.0)
    assert in_groups(measured(numbers()), 0.85, noise=1.0)


def test_pairs_of_which_codes_tell_enough_are_left_in_codes(measured):
    known = measured(numbers())
    assert in_groups(known, 1.0)
    assert not in_groups(known, 0.3)


def test_groups_are_fewer_where_noise_is_larger_and_none_where_it_hides_all(measured):
    known = measured(numbers())
    cells = [sum(map(math.prod, in_groups(known, 1.0, noise).values())) for noise in (1.0, 400.0, 4e4, 1e8)]
    assert cells[0] > cells[1] > cells[2] > cells[3] == 0


def test_only_ordered_attributes_in_few_groups_are_spread_smoothly():
    domain = mixed().domain
    few, many = (0,) * 8 + (1,) * 8, tuple(range(16))
    assert are_few(domain, View(("number", "other"), (few, few)))
    assert not are_few(domain, View(("number", "other"), (few, many)))
    assert not are_few(domain, View(("number", "plain"), (few, (0,) * 4 + (1,) * 5)))


def test_a_pair_that_is_cliques_in_groups_leaves_the_model_until_it_is_measured(measured):
    table = numbers(3)
    known = measured(table)
    pair = known.chosen[0]
    groups = tuple(neighbours(known.shares()[name], 3) for name in pair)
    known.count_in_groups({View(pair, groups): table.marginal(pair).astype(float)})
    assert pair not in known.chosen
    assert known.beside == [pair]
    assert known.effect(pair).observed is None
    assert known.effect(pair).shape == (3, 3)


def release(run, table, **parties):
    """The share of correlations that a release with a small budget keeps, and the pairs it has in groups."""
    fitted, measurer = run(Mosaic(), table, Budget(zcdp_rho=0.01), **parties)
    charges = [charge for charge in measurer.accountant.charges if not charge.scores]
    assert all(charge.interaction for charge in charges)
    assert 0 <= measurer.accountant.remaining < measurer.granted / 1000
    rows = fitted.model.generate(table.record_count, np.random.default_rng(1))
    above = np.triu_indices(len(table.domain.names), 1)
    real, found = (correlations(one)[above] for one in (table, rows))
    in_few = {charge.clique for charge in charges if any(charge.groups) and len(charge.clique) == 2}
    return float(real @ found / (real @ real)), in_few


def test_small_correlations_of_many_numbers_are_kept(run, monkeypatch):
    """A fixed seed; in codes the noise of most pairs exceeds their interaction."""
    table = numbers(10, 3000)
    left, in_few = release(run, table)
    monkeypatch.setattr(grouped_rounds, "pairs_in_few_groups", lambda *_: [])
    before, others = release(run, table)
    assert len(in_few) > 30 > len(others)
    assert left > 0.5 > before


def test_parties_with_other_columns_and_rows_measure_them_too(run):
    """Of four numbers, two at each of two parties, in two slices."""
    left, in_few = release(run, numbers(4, 2000), protocol="masked", grid="2x2")
    assert {("n0", "n2"), ("n0", "n3"), ("n1", "n2"), ("n1", "n3")} & in_few
    assert left > 0.4
