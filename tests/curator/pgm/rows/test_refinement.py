"""Rows that come closer to the marginals of a model."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import group_sums
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.rows import refinement
from dpmosaic.curator.pgm.rows.refinement import Grouped, _columns, _surplus, refined
from dpmosaic.curator.pgm.rows.sampling import generate
from dpmosaic.curator.pgm.rows.sweeps import sweep

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2, "d": 5})
PAIRS = list(itertools.combinations(range(4), 2))
MIXED = [(0, 3), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)]


def random_table(rows, seed):
    rng = np.random.default_rng(seed)
    shared = rng.integers(0, 2, rows)
    columns = [np.where(rng.random(rows) < 0.5, shared, rng.integers(0, n, rows)) for n in DOMAIN.sizes]
    return Table.from_codes(DOMAIN, np.column_stack(columns))


def marginals_of(table, cliques=PAIRS):
    names = table.domain.names
    return {places: table.marginal([names[place] for place in places]).astype(float) for places in cliques}


def squares(table, wanted):
    found = marginals_of(table, wanted)
    return sum(float(((found[place] - wanted[place]) ** 2).sum()) for place in wanted)


def groups_of(table):
    """Marginals of groups of this table, of two and of three attributes."""
    kinds = [((0, 3), ((), (0, 1, 1, 0, 2))), ((0, 1, 3), ((0, 0, 1), (1, 0, 1, 1), (0, 0, 1, 1, 1)))]
    return [Grouped(places, groups, sums_of(table, places, groups)) for places, groups in kinds]


def sums_of(table, places, groups):
    names = [DOMAIN.names[place] for place in places]
    return group_sums(table.marginal(names).astype(float), DOMAIN.shape(names), groups)


def squares_of_groups(table, wanted):
    return sum(float(((sums_of(table, one.places, one.groups) - one.counts) ** 2).sum()) for one in wanted)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("cliques", "left"), [(PAIRS, 0.05), ([(0, 1, 2), (1, 2, 3)], 0.05), (MIXED, 0.1)])
def test_a_table_comes_much_closer_to_the_marginals_of_another(cliques, left):
    wanted = marginals_of(random_table(2000, seed=1), cliques)
    before = random_table(2000, seed=2)
    assert squares(refined(before, wanted, rng()), wanted) < left * squares(before, wanted)


@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_no_row_enters_an_excluded_cell_and_those_in_one_leave_it(cliques):
    """Though the wanted marginals have many records there."""
    mask = np.ones((3, 5), dtype=bool)
    mask[0, :2] = mask[1:, 4] = False
    wanted = marginals_of(random_table(2000, seed=1), cliques)
    wanted[0, 3] = random_table(2000, seed=1).marginal(("a", "d")).astype(float)
    before = random_table(2000, seed=2)
    assert (before.marginal(("a", "d"))[~mask.ravel()] > 0).all()
    after = refined(before, wanted, rng(), {(0, 3): mask})
    assert not after.marginal(("a", "d"))[~mask.ravel()].any()


@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_after_the_last_sweep_no_single_change_helps(cliques):
    wanted = marginals_of(random_table(40, seed=1), cliques)
    table = refined(random_table(40, seed=2), wanted, rng(), sweeps=100)
    least = squares(table, wanted)
    codes = np.column_stack(table.columns).astype(int)
    for row, place in itertools.product(range(40), range(4)):
        for value in range(DOMAIN.sizes[place]):
            other = codes.copy()
            other[row, place] = value
            assert squares(Table.from_codes(DOMAIN, other), wanted) >= least - 1e-5


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("cliques", [PAIRS, MIXED])
def test_the_surplus_is_kept_up_to_date(cliques, grouped):
    wanted = marginals_of(random_table(300, seed=1), cliques)
    groups = groups_of(random_table(300, seed=1)) if grouped else []
    columns = _columns(DOMAIN.sizes, groups)
    codes = np.stack(
        columns.of_codes([c.astype(np.int32) for c in random_table(300, seed=2).columns]), axis=1
    )
    kept = _surplus(list(codes.T), columns, wanted, {}, groups, {})
    assert sweep(codes, columns, kept) > 0
    mapped = columns.of_codes(list(codes.T[: len(DOMAIN)]))
    assert np.array_equal(np.stack(mapped, axis=1), codes)
    for one, counted in zip(kept, _surplus(mapped, columns, wanted, {}, groups, {}), strict=True):
        assert one.columns == counted.columns
        assert one.over.tolist() == counted.over.tolist()


def test_after_the_last_sweep_no_single_change_helps_groups_either():
    groups, wanted = groups_of(random_table(40, seed=1)), marginals_of(random_table(40, seed=1))

    def total(table):
        return squares(table, wanted) + squares_of_groups(table, groups)

    table = refined(random_table(40, seed=2), wanted, rng(), grouped=groups, sweeps=100)
    least = total(table)
    codes = np.column_stack(table.columns).astype(int)
    for row, place in itertools.product(range(40), range(4)):
        for value in range(DOMAIN.sizes[place]):
            other = codes.copy()
            other[row, place] = value
            assert total(Table.from_codes(DOMAIN, other)) >= least - 1e-5


def test_rows_come_to_marginals_of_groups_that_no_pair_determines():
    """The parity of three groups, from independent rows."""
    parity = np.array([[[100.0, 0], [0, 100]], [[0, 100], [100, 0]]])
    wanted = Grouped((0, 1, 3), ((0, 1, 1), (0, 0, 1, 1), (1, 0, 1, 0, 0)), parity.ravel())
    rows = np.random.default_rng(1).integers(0, DOMAIN.sizes, (400, 4))
    before = Table.from_codes(DOMAIN, rows)
    after = refined(before, {}, rng(), grouped=[wanted])
    assert squares_of_groups(after, [wanted]) < 0.01 * squares_of_groups(before, [wanted])


def test_a_table_that_fits_is_not_changed():
    table = random_table(500, seed=1)
    assert refined(table, marginals_of(table), rng()).digest() == table.digest()


def test_without_marginals_nothing_changes(monkeypatch):
    table = random_table(50, seed=1)
    assert refined(table, {}, rng()).digest() == table.digest()
    monkeypatch.setattr(refinement, "LARGEST_ADJUSTED", 5)
    assert refined(table, marginals_of(random_table(50, seed=2)), rng()).digest() == table.digest()


def test_each_sweep_of_a_large_table_reads_some_rows_and_none_twice(monkeypatch):
    # A row has four attributes of 14 codes together, each in three pairs.
    monkeypatch.setattr(refinement, "SWEEP_WORK", 3 * (14 + 4 * 12) * 30)
    before = random_table(1000, seed=2)
    looked = []

    def looking(codes, *others):
        looked.append(codes.copy())
        return sweep(codes, *others)

    monkeypatch.setattr(refinement, "sweep", looking)
    after = refined(before, marginals_of(random_table(1000, seed=1)), rng())
    differ = np.any([one != other for one, other in zip(before.columns, after.columns, strict=True)], axis=0)
    assert [len(codes) for codes in looked] == [30, 30, 30]
    assert 30 < differ.sum() <= 90


def test_rows_of_a_model_are_closer_to_its_pairs_than_by_rounding_only():
    """Also between attributes that no clique of the model has together."""
    table = random_table(3000, seed=3)
    fitted = [("a", "b"), ("b", "c"), ("c", "d")]
    found = [Measurement(View(c), table.marginal(c).astype(float), 1.0, 1.0) for c in fitted]
    model = estimate(DOMAIN, found, total=3000)
    wanted = {(a, b): model.marginal((DOMAIN.names[a], DOMAIN.names[b])) for a, b in PAIRS}
    rows, rounded = model.generate(3000, rng()), generate(model, 3000, rng())
    assert squares(rows, wanted) < 0.1 * squares(rounded, wanted)


def test_more_rows_than_records_follow_the_scaled_pairs():
    table = random_table(400, seed=4)
    model = estimate(
        DOMAIN, [Measurement(View(("a", "b")), table.marginal(("a", "b")) * 1.0, 1.0, 1.0)], total=400
    )
    rows = model.generate(4000, rng())
    assert np.abs(rows.marginal(("a", "b")) - 10 * model.marginal(("a", "b"))).max() < 2


def test_triples_yield_to_what_was_measured():
    """A marginal and a triple that contradict each other, with weights of four to one."""
    measured, triple = random_table(2000, seed=1), random_table(2000, seed=2)
    pair, codes = marginals_of(measured, [(0, 1)]), marginals_of(triple, [(0, 1, 2)])
    rows = Table.from_codes(DOMAIN, np.random.default_rng(3).integers(0, DOMAIN.sizes, (2000, 4)))
    beside = refined(rows, pair, rng(), triples=codes)
    alike = refined(rows, pair | codes, rng())
    assert squares(beside, pair) < 0.5 * squares(alike, pair)
    assert squares(alike, codes) < squares(beside, codes) < squares(rows, codes)
