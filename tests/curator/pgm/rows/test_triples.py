"""Rows that are adjusted to triples, as many more rows have them."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm import model as model_module
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.rows import triples
from dpmosaic.curator.pgm.rows.triples import count_triples, times_as_many, worthwhile
from dpmosaic.curator.pgm.supplemented import GroupedMarginal, SupplementedModel

DOMAIN = Domain.coded({"a": 4, "b": 5, "c": 3, "d": 6, "e": 1})
ROWS = 3000
TRIPLES = list(itertools.combinations("abcd", 3))


@pytest.fixture
def chain() -> MarkovRandomField:
    cells = np.random.default_rng(0)
    pairs = [("a", "b"), ("b", "c"), ("c", "d")]
    measured = [Measurement(View(pair), cells.gamma(0.7, 50, DOMAIN.cells(pair)), 1.0, 0.1) for pair in pairs]
    return estimate(DOMAIN, measured, total=900.0)


def squares(model, rows, cliques):
    """Squared distances of marginals from a model's or a table's, in rows."""
    share = rows.record_count / model.marginal(cliques[0]).sum()
    return sum(float(((rows.marginal(c) - share * model.marginal(c)) ** 2).sum()) for c in cliques)


def test_triples_have_less_than_half_the_sampling_error_and_pairs_hardly_more(chain):
    for seed in range(3):
        rows, draft = (
            chain.generate(ROWS, np.random.default_rng(seed), draft=draft) for draft in (False, True)
        )
        assert rows.record_count == draft.record_count == ROWS
        assert squares(chain, rows, TRIPLES) < 0.5 * squares(chain, draft, TRIPLES)
        # Whole numbers are a twelfth of a square away from any others, on average.
        pairs = list(itertools.combinations("abcd", 2))
        assert squares(chain, rows, pairs) < sum(map(DOMAIN.cells, pairs)) / 2


def test_they_are_triples_of_rows_that_are_adjusted_to_groups_first():
    """The parity of two groups and an attribute, of which the model knows nothing."""
    domain = Domain.coded({"a": 4, "b": 4, "c": 2, "d": 3})
    groups = ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1))
    parity = np.array([[[150.0, 0], [0, 150]], [[0, 150], [150, 0]]]).ravel()
    uniform = MarkovRandomField.uniform(domain, 600.0)
    model = SupplementedModel(uniform, {}, (), (GroupedMarginal(("a", "b", "c"), groups, parity),))
    rows = model.generate(600, np.random.default_rng(1))
    a, b, c, _ = (column.astype(int) for column in rows.columns)
    assert np.mean((a // 2 + b % 2 + c) % 2 == 0) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_they_do_not_oppose_larger_marginals_that_rows_are_adjusted_to(seed, monkeypatch):
    """Marginals of five attributes of a table of hidden classes; the tree knows neighbours only."""
    domain = Domain.coded(dict.fromkeys("abcdefghijkl", 2))
    table = hidden_classes(domain, np.random.default_rng(seed))
    pairs, threes, fives = (list(itertools.combinations(domain.names, size)) for size in (2, 3, 5))
    counts = {clique: table.marginal(clique).astype(float) for clique in (*pairs, *fives[::8])}
    neighbours = [
        Measurement(View(pair), counts[pair], 1.0, 1.0) for pair in itertools.pairwise(domain.names)
    ]
    tree = estimate(domain, neighbours, total=20_000.0)
    given = tuple(GroupedMarginal(clique, (), counts[clique]) for clique in fives[::8])
    model = SupplementedModel(tree, {pair: counts[pair] for pair in pairs}, (), given)
    rows = model.generate(8000, np.random.default_rng(seed))
    monkeypatch.setattr(model_module, "worthwhile", lambda *_: [])
    without = model.generate(8000, np.random.default_rng(seed))
    assert squares(table, rows, threes) < 0.5 * squares(table, without, threes)
    assert squares(table, rows, pairs) < squares(table, without, pairs)


def hidden_classes(domain, rng):
    """20,000 rows of binary attributes that are independent given one of ten classes."""
    classes = rng.choice(10, 20_000, p=rng.dirichlet(np.full(10, 3.0)))
    chances = rng.dirichlet((0.5, 0.5), (10, len(domain.sizes)))[:, :, 0]
    return Table.from_codes(domain, (rng.random((20_000, 12)) < chances[classes]).astype(int))


def test_a_given_triple_of_codes_stays_and_groups_of_others_do_not_count(monkeypatch):
    asked = []
    monkeypatch.setattr(model_module, "worthwhile", lambda sizes, rows, without: asked.append(without) or [])
    even = np.full(60, 15.0)
    given = GroupedMarginal(("a", "b", "c"), (), even)
    halves = GroupedMarginal(("b", "c", "d"), ((0, 0, 0, 1, 1), (0, 1, 1), ()), np.full(24, 37.5))
    model = SupplementedModel(MarkovRandomField.uniform(DOMAIN, 900.0), {}, (), (given, halves))
    model.generate(100, np.random.default_rng(0))
    assert (0, 1, 2) in asked[0]
    assert (1, 2, 3) not in asked[0]


def test_they_are_counted_as_the_table_counts_them():
    rng = np.random.default_rng(1)
    table = Table.from_codes(DOMAIN, rng.integers(0, DOMAIN.sizes, (ROWS, 5)))
    found = count_triples(table, [(0, 1, 2), (1, 2, 3)])
    assert np.array_equal(found[0, 1, 2], table.marginal("abc"))
    assert np.array_equal(found[1, 2, 3], table.marginal("bcd"))


def test_those_of_several_values_are_worthwhile_that_nothing_else_adjusts_rows_to():
    assert worthwhile(DOMAIN.sizes, ROWS, ()) == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert worthwhile(DOMAIN.sizes, ROWS, {(0, 1, 2)}) == [(0, 1, 3), (0, 2, 3), (1, 2, 3)]
    # At most two cells for each row: 60 + 120 + 72 + 90.
    assert worthwhile(DOMAIN.sizes, 40, ()) == [(0, 1, 2), (0, 2, 3)]


def test_none_are_if_the_rows_or_the_triples_are_many(monkeypatch):
    assert worthwhile(DOMAIN.sizes, 1 << 17, ()) == []
    assert worthwhile((2,) * 40, 1000, ()) != [] == worthwhile((2,) * 41, 1000, ())
    # Four triples, each of three attributes whose codes, and twelve cells more, are read.
    work = ROWS * 3 * (4 + 5 + 3 + 6 + 4 * 12)
    monkeypatch.setattr(triples, "_TRIPLES_WORK", work)
    assert worthwhile(DOMAIN.sizes, ROWS, ()) != []
    monkeypatch.setattr(triples, "_TRIPLES_WORK", work - 1)
    assert worthwhile(DOMAIN.sizes, ROWS, ()) == []


@pytest.mark.parametrize(("rows", "times"), [(300, 8), (1 << 15, 8), (50_000, 5), (1 << 16, 4), (1 << 17, 1)])
def test_the_more_rows_the_fewer_times_as_many(rows, times):
    assert times_as_many(rows) == times
