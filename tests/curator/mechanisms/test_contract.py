"""What every mechanism of the catalogue keeps to: a mechanism is tested by being listed."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.budget import Accountant, Budget
from dpmosaic.curator.mechanisms.catalogue import BY_SCORES, CATALOGUE, CENTRAL, EVERY_PROTOCOL
from dpmosaic.curator.mechanisms.dp_gan.settings import GanSettings
from dpmosaic.curator.mechanisms.parts.fitted import Progress, ignore
from dpmosaic.curator.mechanisms.parts.steps import Asks, by_name
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen

CASES = {
    **{
        (name, variant): make
        for name, entry in CATALOGUE.items()
        for variant, make in entry.variants.items()
        if variant not in entry.on_paper
    },
    ("randdpgen", "by marginals"): lambda: RandDPGen(selection="marginals"),
}
ON_PAPER = [
    (name, variant)
    for name, entry in CATALOGUE.items()
    for variant in entry.on_paper
    if entry.protocols != CENTRAL
]
OVER_PARTIES = [case for case in CASES if CATALOGUE[case[0]].protocols != CENTRAL]
"""Those that leave records where they are, and need no promise but zCDP."""

WHOLE = [
    case
    for case in CASES
    if case[0] in ("mosaic", "randdpgen", "aim", "mwem", "ppsyn") and case != ("randdpgen", "paper")
]
"""Those that get to every marginal of a small workload when the budget is huge."""

NOISY_COUNT = [("privbayes", "paper")]
"""Those that pay for the number of records, which all others take as public."""

NETWORKS = ["privbayes"]
"""Those that measure tables of more attributes than can be listed beforehand."""

NOT_BY_SCORES = [
    {"protocol": "indicator", "grid": "1x2"},
    {"protocol": "masked", "grid": "2x2", "tolerated": 2},
]


def marked(case):
    central = CATALOGUE[case[0]].protocols == CENTRAL
    return pytest.param(case, id=" ".join(case), marks=[pytest.mark.gan] if central else [])


@pytest.fixture(params=[marked(case) for case in CASES])
def case(request):
    return request.param


@pytest.fixture
def mechanism(case):
    made = CASES[case]()
    small = {"epochs": 0.5, "sample_rate": 0.05, "hidden": 8, "latent": 4}
    return replace(made, **small) if isinstance(made, GanSettings) else made


def total_fits(case, fitted, records):
    total = fitted.model.marginal(()).sum()
    return total > 0 if case in NOISY_COUNT else total == pytest.approx(records)


class TestMechanism:
    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
    def test_it_spends_at_most_its_grant_and_nearly_all_of_it(self, mechanism, epsilon, run, chain_table):
        _, measurer = run(mechanism, chain_table(), Budget(epsilon, 1e-9))
        accountant = measurer.accountant
        assert accountant.spent <= accountant.granted
        assert accountant.spent > accountant.granted * Fraction(999, 1000)
        assert accountant.spent == sum(charge.zcdp_rho for charge in accountant.charges)

    def test_its_steps_share_the_whole_budget_and_every_charge_is_for_one_of_them(
        self, case, mechanism, measurer_over, chain_table
    ):
        budget = Budget(2.0, 1e-9)
        measurer = measurer_over(chain_table(), mechanism.granted(budget), budget=budget)
        workload = Workload.all_kway(measurer.domain, 2)
        steps = mechanism.steps(measurer, workload)
        assert sum(step.share for step in steps) == 1
        assert len(by_name(steps)) == len(steps)
        assert all(step.name and step.title for step in steps)
        assert measurer.accountant.charges == ()
        fitted = mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
        assert fitted.steps == steps
        named = by_name(steps)
        for charge in measurer.accountant.charges:
            assert charge.step in named
            step = named[charge.step]
            assert charge.scores == (step.asks is Asks.SCORES)
            if step.asks in (Asks.MARGINALS, Asks.INTERACTIONS):
                assert charge.clique in step.cliques or case[0] in NETWORKS
                assert not charge.interaction or step.asks is Asks.INTERACTIONS
        for step in steps:
            asked = {charge.clique for charge in measurer.accountant.charges if charge.step == step.name}
            assert step.asks is Asks.SCORES or set(step.certain) <= asked

    def test_its_cost_is_a_value_that_grows_with_the_budget(self, mechanism):
        costs = [mechanism.granted(Budget(epsilon, 1e-9)) for epsilon in (0.1, 1.0, 10.0)]
        assert 0 < costs[0] < costs[1] < costs[2]

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    def test_a_promise_in_zcdp_is_granted_as_it_is(self, mechanism):
        assert mechanism.granted(Budget(zcdp_rho=0.5)) == Fraction(1, 2)

    def test_it_measures_nothing_without_a_budget(self, mechanism, measurer_over, chain_table):
        measurer = measurer_over(chain_table(), Fraction(1))
        measurer.accountant = Accountant(Fraction(0))
        workload = Workload.all_kway(measurer.domain, 2)
        with pytest.raises(BudgetError):
            mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    def test_a_huge_budget_makes_all_that_was_selected_exact(self, mechanism, run, chain_table):
        table = chain_table()
        fitted, _ = run(mechanism, table, Budget(zcdp_rho=1e8))
        selected = [done.clique for done in fitted.rounds] or [m.clique for m in fitted.measurements]
        assert selected
        for clique in selected:
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    @pytest.mark.parametrize("case", WHOLE, ids=" ".join)
    def test_a_huge_budget_gives_the_exact_workload(self, mechanism, run, chain_table):
        table = chain_table()
        fitted, _ = run(mechanism, table, Budget(zcdp_rho=1e8))
        for clique in itertools.combinations(table.domain.names, 2):
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    def test_one_seed_gives_one_model_and_another_seed_another(self, mechanism, run, chain_table):
        models = [run(mechanism, chain_table(), Budget(1.0, 1e-9), seed=s)[0].model for s in (1, 1, 2)]
        first, again, other = (model.marginal(("a", "b")).tolist() for model in models)
        assert first == again
        assert first != other

    @pytest.mark.parametrize("epsilon", [0.01, 5.0])
    def test_rows_lie_in_the_domain(self, mechanism, epsilon, run, chain_table):
        table = chain_table(300)
        fitted, _ = run(mechanism, table, Budget(epsilon, 1e-9))
        rows = fitted.model.generate(500, RandomStream.from_seed(1).generator())
        assert rows.domain == table.domain
        assert rows.record_count == 500
        assert all(rows.column(name).max() < table.domain[name].size for name in table.domain)

    @pytest.mark.parametrize(
        "codes", [[[0, 0]], [[0, 1], [0, 1]], [[0, 0]] * 30], ids=["one record", "two records", "constant"]
    )
    def test_tables_of_few_records_and_one_category_are_fine(self, case, mechanism, codes, run):
        table = Table.from_codes(Domain.coded({"a": 1, "b": 2}), np.array(codes))
        fitted, measurer = run(mechanism, table, Budget(1.0, 1e-6))
        assert fitted.model.marginal(("a",)).sum() == pytest.approx(fitted.model.marginal(("b",)).sum())
        assert total_fits(case, fitted, len(codes))
        assert measurer.accountant.spent <= measurer.accountant.granted

    def test_a_table_of_one_attribute_is_fine(self, mechanism, run):
        table = Table.from_codes(Domain.coded({"a": 5}), np.arange(100)[:, None] % 5)
        fitted, _ = run(mechanism, table, Budget(100.0, 1e-6), k=1)
        assert np.allclose(fitted.model.marginal(("a",)), 20, atol=3)

    def test_progress_ends_with_the_whole_budget_and_never_goes_back(self, mechanism, run, chain_table):
        seen: list[Progress] = []
        run(mechanism, chain_table(), Budget(1.0, 1e-9), report=seen.append)
        shares = [progress.spent for progress in seen]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)

    def test_error_bounds_hold_for_nearly_all_marginals(self, mechanism, run, chain_table):
        """72 bounds of pairs at most, six for each table, that fail with at most 5 % each.

        Were the six of a table to fail together, more than 18 failures would take four of twelve tables:
        probability below 0.3 % for a correct program.
        """
        failures = 0
        for seed in range(12):
            table = chain_table(seed=seed)
            fitted, _ = run(mechanism, table, Budget(2.0, 1e-9), seed=seed)
            for bound in (bound for bound in fitted.bounds if len(bound.clique) == 2):
                error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
                failures += error > bound.l1
        assert failures <= 18

    def test_it_says_what_it_is(self, case, mechanism):
        described = json.loads(json.dumps(mechanism.describe()))
        assert described["name"] == mechanism.name == case[0]
        assert described["variant"] == ("paper" if case[1] == "paper" else "default")

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    def test_two_by_two_masked_parties_can_run_it(self, case, mechanism, run, chain_table):
        table = chain_table(400)
        fitted, measurer = run(mechanism, table, Budget(4.0, 1e-9), protocol="masked", grid="2x2")
        assert measurer.accountant.spent <= measurer.accountant.granted
        assert total_fits(case, fitted, 400)

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    @pytest.mark.parametrize("parties", NOT_BY_SCORES, ids=["indicator", "two who may collude"])
    def test_a_protocol_that_it_cannot_use_is_refused_with_those_it_can_and_others_are_used(
        self, case, mechanism, parties, measurer_over, chain_table
    ):
        measurer = measurer_over(chain_table(200), mechanism.granted(Budget(1.0, 1e-9)), **parties)
        workload = Workload.all_kway(measurer.domain, 2)

        def released():
            return mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)

        if CATALOGUE[case[0]].protocols == EVERY_PROTOCOL:
            assert total_fits(case, released(), 200)
            return
        assert CATALOGUE[case[0]].protocols == BY_SCORES
        with pytest.raises(DataError, match=f"{case[0]}: .* use 'trusted', or 'masked' with at most one"):
            released()
        assert measurer.accountant.charges == ()


@pytest.mark.parametrize(("name", "variant"), ON_PAPER)
@pytest.mark.parametrize(
    "parties", [{}, {"protocol": "masked", "grid": "2x2"}, *NOT_BY_SCORES], ids=lambda given: str(given)
)
def test_a_variant_on_paper_is_refused_where_nobody_shows_exact_marginals(
    name, variant, parties, measurer_over, chain_table
):
    mechanism = CATALOGUE[name].variants[variant]()
    measurer = measurer_over(chain_table(200), mechanism.granted(Budget(1.0, 1e-9)), **parties)
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(DataError, match="use the protocol 'theorem'"):
        mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()
