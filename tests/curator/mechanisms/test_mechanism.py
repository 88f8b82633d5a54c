"""What every mechanism keeps to, whichever it is."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.table import Table
from dpmosaic.common.workload import Workload
from dpmosaic.curator.federation import connect
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.mechanism import Progress, ignore
from dpmosaic.curator.mechanisms.randdpgen import RandDPGen
from dpmosaic.simulations.network import start_parties

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})


def chain_table(records=2000, seed=0):
    """A table in which each attribute follows the one before it most of the time."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, records)]
    for size in (2, 4, 2):
        follows = rng.random(records) < 0.8
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, records)))
    return Table.from_codes(DOMAIN, np.column_stack(columns))


def measurer_over(table, granted, seed=1):
    terms = ReleaseTerms("r", PROTOCOL_VERSION, "trusted", Adjacency.ZERO_OUT, float(granted))
    federation = connect(table.domain, start_parties([[table]], terms, RandomStream.from_seed(seed)))
    federation.accept(terms)
    return FederationMeasurer(federation, terms, granted)


def run(mechanism, table, budget, k=2, seed=1, report=ignore):
    measurer = measurer_over(table, mechanism.granted(budget), seed)
    workload = Workload.all_kway(table.domain, k)
    return mechanism.run(measurer, workload, RandomStream.from_seed(seed), report), measurer


class MechanismContract:
    """Inherited by the tests of each mechanism."""

    def mechanism(self):
        raise NotImplementedError

    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
    def test_it_spends_at_most_its_grant_and_nearly_all_of_it(self, epsilon):
        _, measurer = run(self.mechanism(), chain_table(), Budget(epsilon, 1e-9))
        accountant = measurer.accountant
        assert accountant.spent <= accountant.granted
        assert accountant.spent > accountant.granted * Fraction(999, 1000)
        assert accountant.spent == sum(charge.zcdp_rho for charge in accountant.charges)

    def test_one_seed_gives_one_model_and_another_seed_another(self):
        models = [run(self.mechanism(), chain_table(), Budget(1.0, 1e-9), seed=s)[0].model for s in (1, 1, 2)]
        first, again, other = (model.marginal(("a", "b")).tolist() for model in models)
        assert first == again
        assert first != other

    @pytest.mark.parametrize(
        "codes", [[[0, 0]], [[0, 1], [0, 1]], [[0, 0]] * 30], ids=["one record", "two records", "constant"]
    )
    def test_tables_of_few_records_and_one_category_are_fine(self, codes):
        table = Table.from_codes(Domain.coded({"a": 1, "b": 2}), np.array(codes))
        fitted, measurer = run(self.mechanism(), table, Budget(1.0, 1e-6))
        assert fitted.model.marginal(("a",)).tolist() == pytest.approx([len(codes)])
        assert measurer.accountant.spent <= measurer.accountant.granted

    def test_a_table_of_one_attribute_is_fine(self):
        table = Table.from_codes(Domain.coded({"a": 5}), np.arange(100)[:, None] % 5)
        fitted, _ = run(self.mechanism(), table, Budget(100.0, 1e-6), k=1)
        assert np.allclose(fitted.model.marginal(("a",)), 20, atol=3)

    def test_progress_ends_with_the_whole_budget_and_never_goes_back(self):
        seen: list[Progress] = []
        run(self.mechanism(), chain_table(), Budget(1.0, 1e-9), report=seen.append)
        shares = [progress.spent for progress in seen]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)

    def test_error_bounds_hold_for_nearly_all_marginals(self):
        """72 bounds, six for each table, that fail with at most 5 % each.

        Were the six of a table to fail together, more than 18 failures would take four of twelve tables:
        probability below 0.3 % for a correct program.
        """
        failures = 0
        for seed in range(12):
            table = chain_table(seed=seed)
            fitted, _ = run(self.mechanism(), table, Budget(2.0, 1e-9), seed=seed)
            for bound in fitted.bounds:
                error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
                failures += error > bound.l1
        assert failures <= 18


class TestIndependent(MechanismContract):
    def mechanism(self):
        return Independent()

    def test_a_huge_budget_gives_the_product_of_the_exact_one_way_marginals(self):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(zcdp_rho=1e8))
        product = np.outer(table.marginal(("a",)), table.marginal(("b",))).ravel() / table.record_count
        assert np.allclose(fitted.model.marginal(("a", "b")), product, atol=0.5)


class TestRandDPGen(MechanismContract):
    def mechanism(self):
        return RandDPGen()

    def test_a_huge_budget_gives_the_exact_workload(self):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(zcdp_rho=1e8))
        for clique in itertools.combinations(DOMAIN.names, 2):
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    def test_it_is_closer_than_independence_where_attributes_depend(self):
        table = chain_table()

        def error(mechanism):
            fitted, _ = run(mechanism, table, Budget(1.0, 1e-9))
            pairs = itertools.combinations(DOMAIN.names, 2)
            return sum(np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in pairs)

        assert error(self.mechanism()) < 0.5 * error(Independent())

    def test_selection_costs_nothing(self):
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert all(charge.sigmas for charge in measurer.accountant.charges)

    def test_the_model_stays_within_its_limit(self):
        limit = 600 * 8 / 2**20
        mechanism = RandDPGen(max_model_mb=limit)
        rng = np.random.default_rng(0)
        shared = rng.integers(0, 10, 3000)
        columns = [np.where(rng.random(3000) < 0.7, shared, rng.integers(0, 10, 3000)) for _ in range(6)]
        table = Table.from_codes(Domain.coded({name: 10 for name in "uvwxyz"}), np.column_stack(columns))
        fitted, _ = run(mechanism, table, Budget(20.0, 1e-9))
        assert fitted.model.size_mb <= limit
        assert len({done.clique for done in fitted.rounds}) >= 2

    def test_marginals_that_the_model_cannot_give_are_passed_over(self, monkeypatch):
        monkeypatch.setattr("dpmosaic.curator.pgm.queries.LARGEST_TABLE_CELLS", 7)
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
        assert all(np.isfinite(bound.l1) for bound in fitted.bounds)
        assert len(fitted.bounds) < 6

    def test_candidates_with_too_many_cells_are_dropped(self):
        fitted, _ = run(RandDPGen(maxsize=6), chain_table(), Budget(5.0, 1e-9))
        assert {len(m.clique) for m in fitted.measurements} == {1, 2}
        assert max(m.values.size for m in fitted.measurements if len(m.clique) == 2) <= 6


class TestRandDPGenOfThePaper(MechanismContract):
    def mechanism(self):
        return RandDPGen.of_the_paper()

    def test_its_budget_is_split_as_the_papers_proof_has_it(self):
        """Theorem 5.1: alpha of the budget first, then beta to measure, the rest to select."""
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        spent = {}
        for charge in measurer.accountant.charges:
            spent[charge.step] = spent.get(charge.step, 0.0) + float(charge.zcdp_rho)
        granted = float(measurer.accountant.granted)
        assert spent["candidates"] == pytest.approx(0.1 * granted)
        assert spent["round"] == pytest.approx(0.2 * granted)
        assert spent["select"] == pytest.approx(0.7 * granted)

    def test_rounds_grow_fourfold_where_little_was_learned_and_the_last_takes_the_rest(self):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        rounds = fitted.rounds
        assert rounds[0].zcdp_rho == pytest.approx(0.9 * float(measurer.accountant.granted) / (16 * 4))
        for now, following in itertools.pairwise(rounds[:-1]):
            assert following.zcdp_rho == pytest.approx(now.zcdp_rho * (4 if now.annealed else 1))
        planned = rounds[-2].zcdp_rho * (4 if rounds[-2].annealed else 1)
        assert rounds[-1].zcdp_rho <= 2 * planned * (1 + 1e-9)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"variant": "other"}, "variant"),
        ({"allocation": "rows"}, "allocation"),
        ({"alpha": 0.0}, "alpha"),
        ({"one_way": 1.0}, "one_way"),
        ({"alpha": 0.6, "one_way": 0.5}, "leaves nothing"),
        ({"variant": "paper", "alpha": 0.6, "beta": 0.5}, "leaves nothing"),
        ({"rounds_per_attribute": 0}, "rounds_per_attribute"),
        ({"maxsize": 1}, "maxsize"),
        ({"max_model_mb": 0}, "max_model_mb"),
    ],
)
def test_parameters_out_of_range_are_refused(options, named):
    with pytest.raises(DataError, match=named):
        RandDPGen(**options)


def test_an_unknown_mechanism_or_variant_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match="randdpgen, independent"):
        mechanism_named("magic")
    with pytest.raises(DataError, match="default"):
        mechanism_named("independent", "paper")
