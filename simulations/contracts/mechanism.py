"""What every mechanism keeps."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import BudgetError, DataError
from ...common.privacy.budget import Accountant, Budget, Charge
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.mechanisms.parts.fitted import FittedModel, Progress, ignore
from ...curator.mechanisms.parts.steps import Asks, by_name
from .trial import chain_table, measurer_over, run_mechanism

WITHOUT_SCORES: list[dict[str, Any]] = [
    {"protocol": "indicator", "grid": "1x2"},
    {"protocol": "masked", "grid": "2x2", "tolerated": 2},
]
"""Parties over which no scores are to be had."""


class MechanismContract:
    """Inherit it, and give a configured mechanism."""

    @pytest.fixture
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        raise NotImplementedError

    @pytest.fixture
    def needs_scores(self) -> bool:
        """Whether it runs over protocols with scores only."""
        return False

    @pytest.fixture
    def needs_records(self) -> bool:
        """Whether it runs where one place holds the records only."""
        return False

    @pytest.fixture
    def total_is_public(self) -> bool:
        """Whether its model has as many records as the table; else it pays for a noisy number."""
        return True

    @pytest.fixture
    def measures_listed_marginals(self) -> bool:
        """Whether its steps list every marginal that it may measure."""
        return True

    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
    def test_it_spends_at_most_its_grant_and_nearly_all_of_it(
        self, mechanism: Mechanism, epsilon: float
    ) -> None:
        """To the last digit: costs are exact fractions."""
        _, measurer = run_mechanism(mechanism, chain_table(), Budget(epsilon, 1e-9))
        accountant = measurer.accountant
        assert accountant.spent <= accountant.granted
        assert accountant.spent > accountant.granted * Fraction(999, 1000)
        assert accountant.spent == sum(charge.zcdp_rho for charge in accountant.charges)

    def test_its_steps_share_the_whole_budget_and_every_charge_is_for_one_of_them(
        self, mechanism: Mechanism, measures_listed_marginals: bool
    ) -> None:
        """What a forecast, a certificate and a report say of a run comes from its steps."""
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
        charges: tuple[Charge, ...] = measurer.accountant.charges
        for charge in charges:
            assert charge.step in named
            step = named[charge.step]
            assert charge.scores == (step.asks is Asks.SCORES)
            if step.asks in (Asks.MARGINALS, Asks.INTERACTIONS):
                assert charge.clique in step.cliques or not measures_listed_marginals
                assert not charge.interaction or step.asks is Asks.INTERACTIONS
        for step in steps:
            asked = {charge.clique for charge in charges if charge.step == step.name}
            assert step.asks is Asks.SCORES or set(step.certain) <= asked

    def test_its_cost_is_a_value_that_grows_with_the_budget(self, mechanism: Mechanism) -> None:
        """It is known before anything is asked."""
        costs = [mechanism.granted(Budget(epsilon, 1e-9)) for epsilon in (0.1, 1.0, 10.0)]
        assert 0 < costs[0] < costs[1] < costs[2]

    def test_it_measures_nothing_without_a_budget(self, mechanism: Mechanism) -> None:
        """Refused by the accountant, before any noise is drawn."""
        measurer = measurer_over(chain_table(), Fraction(1))
        measurer.accountant = Accountant(Fraction(0))
        with pytest.raises(BudgetError):
            mechanism.run(measurer, Workload.all_kway(measurer.domain, 2), RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()

    def test_one_seed_gives_one_model_and_another_seed_another(self, mechanism: Mechanism) -> None:
        """A release that is resumed takes the same way again."""
        budget = Budget(1.0, 1e-9)
        models = [run_mechanism(mechanism, chain_table(), budget, seed=seed)[0].model for seed in (1, 1, 2)]
        first, again, other = (model.marginal(("a", "b")).tolist() for model in models)
        assert first == again
        assert first != other

    @pytest.mark.parametrize("epsilon", [0.01, 5.0])
    def test_rows_lie_in_the_domain(self, mechanism: Mechanism, epsilon: float) -> None:
        """As many as are asked for, whatever the noise."""
        table = chain_table(300)
        fitted, _ = run_mechanism(mechanism, table, Budget(epsilon, 1e-9))
        rows = fitted.model.generate(500, RandomStream.from_seed(1).generator())
        assert rows.domain == table.domain
        assert rows.record_count == 500
        assert all(rows.column(name).max() < table.domain[name].size for name in table.domain)

    @pytest.mark.parametrize(
        "codes", [[[0, 0]], [[0, 1], [0, 1]], [[0, 0]] * 30], ids=["one record", "two records", "constant"]
    )
    def test_tables_of_few_records_and_one_category_are_fine(
        self, mechanism: Mechanism, total_is_public: bool, codes: list[list[int]]
    ) -> None:
        """The smallest tables there are."""
        table = Table.from_codes(Domain.coded({"a": 1, "b": 2}), np.array(codes))
        fitted, measurer = run_mechanism(mechanism, table, Budget(1.0, 1e-6))
        assert fitted.model.marginal(("a",)).sum() == pytest.approx(fitted.model.marginal(("b",)).sum())
        assert _total_fits(fitted, len(codes), total_is_public)
        assert measurer.accountant.spent <= measurer.accountant.granted

    def test_a_table_of_one_attribute_is_fine(self, mechanism: Mechanism) -> None:
        """There is no pair to measure."""
        table = Table.from_codes(Domain.coded({"a": 5}), np.arange(100)[:, None] % 5)
        fitted, _ = run_mechanism(mechanism, table, Budget(100.0, 1e-6), k=1)
        assert np.allclose(fitted.model.marginal(("a",)), 20, atol=3)

    def test_progress_ends_with_the_whole_budget_and_never_goes_back(self, mechanism: Mechanism) -> None:
        """Shares of the budget, in 0..1."""
        seen: list[Progress] = []
        run_mechanism(mechanism, chain_table(), Budget(1.0, 1e-9), report=seen.append)
        shares = [progress.spent for progress in seen]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)

    def test_error_bounds_hold_for_nearly_all_marginals(self, mechanism: Mechanism) -> None:
        """72 bounds of pairs at most, six for each table, that fail with at most 5 % each.

        Were the six of a table to fail together, more than 18 failures would take four of twelve tables:
        probability below 0.3 % for a correct program.
        """
        failures = 0
        for seed in range(12):
            table = chain_table(seed=seed)
            fitted, _ = run_mechanism(mechanism, table, Budget(2.0, 1e-9), seed=seed)
            for bound in (bound for bound in fitted.bounds if len(bound.clique) == 2):
                error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
                failures += error > bound.l1
        assert failures <= 18

    def test_it_describes_itself_in_json(self, mechanism: Mechanism) -> None:
        """Name, variant and parameters, for the certificate."""
        described = json.loads(json.dumps(mechanism.describe()))
        assert described["name"] == mechanism.name
        assert described["variant"]

    def test_two_by_two_masked_parties_can_run_it(
        self, mechanism: Mechanism, needs_records: bool, total_is_public: bool
    ) -> None:
        """Over the default protocol, unless it needs the records in one place."""
        if needs_records:
            pytest.skip("it needs the records in one place")
        fitted, measurer = run_mechanism(
            mechanism, chain_table(400), Budget(4.0, 1e-9), protocol="masked", grid="2x2"
        )
        assert measurer.accountant.spent <= measurer.accountant.granted
        assert _total_fits(fitted, 400, total_is_public)

    @pytest.mark.parametrize("trial", WITHOUT_SCORES, ids=["indicator", "two who may collude"])
    def test_it_runs_over_protocols_without_scores_or_refuses_them_before_it_charges(
        self,
        mechanism: Mechanism,
        needs_scores: bool,
        needs_records: bool,
        total_is_public: bool,
        trial: dict[str, Any],
    ) -> None:
        """The refusal names the mechanism and what can be used."""
        measurer = measurer_over(chain_table(200), mechanism.granted(Budget(1.0, 1e-9)), **trial)
        workload = Workload.all_kway(measurer.domain, 2)
        if not (needs_scores or needs_records):
            fitted = mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
            assert _total_fits(fitted, 200, total_is_public)
            return
        with pytest.raises(DataError, match=f"{mechanism.name}: .* use .*'trusted'"):
            mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()


def _total_fits(fitted: FittedModel, records: int, public: bool) -> bool:
    total = float(fitted.model.marginal(()).sum())
    return total == pytest.approx(records) if public else total > 0
