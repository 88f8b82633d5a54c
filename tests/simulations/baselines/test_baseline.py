import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.metrics import mutual_info_score

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.people.drawing.conditional import mutual_information
from dpmosaic.simulations.baselines import baseline, ind_privbayes
from dpmosaic.simulations.baselines.baseline import FloatMeasurer
from dpmosaic.simulations.baselines.catalogue import BASELINES
from dpmosaic.simulations.baselines.covering import covering_views
from dpmosaic.simulations.evaluation.metrics import kway_errors
from dpmosaic.simulations.parties.partition import Grid

DOMAIN = Domain.coded({"a": 3, "b": 3, "c": 2, "d": 2})
GRIDS = {"ind-privbayes": "2x1", "dp-subn": "2x1", "pdbn": "1x2", "dplt": "1x2", "distdiffgen": "1x2"}
HUGE = Budget(zcdp_rho=1e9)


def table(records=500, seed=0):
    """b is a, c says whether a is 0, and d is apart from all."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, records)
    return Table.from_codes(DOMAIN, np.column_stack([a, a, a == 0, rng.integers(0, 2, records)]))


def released(name, real, budget, seed=1, protocol="trusted"):
    grid = Grid.parse(GRIDS[name], real.domain, real.record_count)
    return BASELINES[name].release(real, grid, budget, protocol, "c", RandomStream.from_seed(seed))


@pytest.fixture
def measurers(monkeypatch):
    """Every measurer that a baseline makes."""
    made = []
    begin = FloatMeasurer.__init__

    def noted(self, *args):
        begin(self, *args)
        made.append((self, self.accountant.remaining))

    monkeypatch.setattr(FloatMeasurer, "__init__", noted)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_rows_are_as_many_and_of_the_same_domain_and_the_seed_decides_them(name):
    real = table()
    made = released(name, real, Budget(zcdp_rho=0.5))
    assert made.domain == DOMAIN
    assert made.record_count == real.record_count
    again, other = released(name, real, Budget(zcdp_rho=0.5)), released(name, real, Budget(zcdp_rho=0.5), 2)
    assert made.digest() == again.digest()
    assert made.digest() != other.digest()


@pytest.mark.parametrize(
    ("name", "at_most"), [("dplt", 0.05), ("dp-subn", 0.05), ("pdbn", 0.05), ("ind-privbayes", 0.05)]
)
def test_a_huge_budget_gives_the_pairs_of_the_table(name, at_most):
    """Rows are drawn at random: pairs of 500 are 0.02 apart by chance."""
    real = table(2000)
    (pairs,) = kway_errors(real, released(name, real, HUGE), (2,))
    assert pairs.total_variation < at_most


def test_a_huge_budget_specialises_the_attributes_that_predict_the_label():
    """The label c is a == 0: a or b is specialised first, and c follows it in the rows."""
    made = released("distdiffgen", table(2000), HUGE)
    columns = [made.column(name) for name in "ac"]
    assert np.mean((columns[0] == 0) == columns[1]) > 0.95


@pytest.mark.parametrize("name", ["dp-subn", "dplt", "distdiffgen"])
def test_no_record_is_charged_more_than_the_grant(name, measurers):
    """Rows at different parties are different records; columns of the same records add up."""
    released(name, table(), Budget(zcdp_rho=0.25))
    spent = [granted - measurer.accountant.remaining for measurer, granted in measurers]
    total = max(spent) if name == "dp-subn" else sum(spent)
    assert Fraction(0) < total <= Fraction(1, 4)
    assert total > Fraction(1, 5)


def test_each_party_of_ind_privbayes_spends_the_whole_budget_on_its_own_rows(monkeypatch):
    asked = []
    simulate = ind_privbayes.simulate

    def noted(rows, **options):
        asked.append((rows.record_count, options["epsilon"], options["protocol"]))
        return simulate(rows, **options)

    monkeypatch.setattr(ind_privbayes, "simulate", noted)
    budget = Budget(zcdp_rho=0.5)
    released("ind-privbayes", table(501), budget)
    assert asked == [(251, budget, "trusted"), (250, budget, "trusted")]


@pytest.mark.parametrize(
    ("name", "grid"),
    [("ind-privbayes", "2x2"), ("dp-subn", "1x2"), ("pdbn", "2x1"), ("dplt", "2x2"), ("distdiffgen", "1x3")],
)
def test_refuses_a_grid_of_another_shape(name, grid):
    real = table()
    with pytest.raises(DataError, match="give a grid of"):
        BASELINES[name].release(
            real, Grid.parse(grid, DOMAIN, real.record_count), HUGE, "trusted", "c", RandomStream.from_seed(1)
        )


def test_refuses_distdiffgen_without_a_label():
    real = table()
    with pytest.raises(DataError, match="name one"):
        BASELINES["distdiffgen"].release(
            real, Grid.parse("1x2", DOMAIN, 500), HUGE, "trusted", None, RandomStream.from_seed(1)
        )


def test_every_baseline_says_in_sentences_what_was_reconstructed():
    for found in BASELINES.values():
        assert found.what.endswith(".")
        assert found.reconstructed
        assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in found.reconstructed)


def test_noise_has_the_variance_that_was_charged():
    """The variance of 20,000 draws lies within 5 deviations of its estimate: one false alarm in a million."""
    domain = Domain.coded({"x": 20_000})
    real = Table.from_codes(domain, np.zeros((1, 1), dtype=int))
    measurer = FloatMeasurer(real, Fraction(1), np.random.default_rng(0))
    (found,) = measurer.measure([Query(View(("x",)), Fraction(1, 8), "noise")])
    noise = found.values - real.marginal(("x",))
    assert abs(noise.var() / 4 - 1) < 5 * math.sqrt(2 / 20_000)
    assert measurer.accountant.remaining == Fraction(7, 8)


def test_choices_have_the_probabilities_of_the_exponential_mechanism():
    """A chi-square test that a correct choice fails once in 10,000 seeds; the seed is fixed."""
    scores, rho, sensitivity = [0.0, 1.0, 2.5], Fraction(1, 2), 2.0
    measurer = FloatMeasurer(table(1), Fraction(10_000), np.random.default_rng(0))
    chosen = [measurer.choose(scores, sensitivity, rho, "choice") for _ in range(4000)]
    odds = np.exp(math.sqrt(8 * 0.5) * np.array(scores) / (2 * sensitivity))
    expected = 4000 * odds / odds.sum()
    assert chisquare(np.bincount(chosen, minlength=3), expected).pvalue > 1e-4
    assert Fraction(10_000) - measurer.accountant.remaining <= 4000 * rho


def test_refuses_a_measurement_above_the_grant():
    measurer = FloatMeasurer(table(10), Fraction(1, 10), np.random.default_rng(0))
    with pytest.raises(BudgetError):
        measurer.histogram(np.zeros(10, dtype=int), 2, Fraction(1, 5), "leaves")
    with pytest.raises(BudgetError):
        measurer.choose([0.0, 1.0], 1.0, Fraction(1, 5), "choice")
    assert measurer.accountant.remaining == Fraction(1, 10)


def test_mutual_information_is_that_of_another_library():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 300)
    second = (first + rng.integers(0, 2, 300)) % 3
    joint = np.zeros((4, 3))
    np.add.at(joint, (first, second), 1)
    assert mutual_information(joint) == pytest.approx(mutual_info_score(first, second))
    assert mutual_information(np.full((2, 2), -1.0)) == 0


@pytest.mark.parametrize("attributes", [2, 3, 5, 9, 16])
def test_every_pair_is_in_exactly_one_view(attributes):
    domain = Domain.coded({f"x{place}": 2 for place in range(attributes)})
    pairs = [pair for view in covering_views(domain) for pair in itertools.combinations(view, 2)]
    assert sorted(pairs) == sorted(itertools.combinations(domain.names, 2))
    assert covering_views(Domain.coded({"x": 2})) == []


def test_an_even_grid_is_partitioned_evenly():
    assert [
        rows.record_count for rows in baseline.horizontal_parties("x", table(5), Grid.parse("2x1", DOMAIN, 5))
    ] == [3, 2]
    parts = baseline.vertical_parties("x", table(5), Grid.parse("1x2", DOMAIN, 5))
    assert [part.domain.names for part in parts] == [("a", "b"), ("c", "d")]
