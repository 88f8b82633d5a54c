"""What every measurement protocol that daemons speak keeps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.view import View
from ...common.errors import BudgetError, MosaicError, PolicyError
from ...common.protocols.registry import Protocol, Scores, Users, protocol_named
from ...curator.measurers.measurer import Measurer, Query
from ...curator.mechanisms.independent import Independent
from ..simulate import simulate
from .trial import Trial, chain_table

_NOISELESS = Fraction(10**9)
"""A budget at which the noise of all parties together stays far below half a record."""


class ProtocolContract:
    """Inherit it, and name the protocol."""

    @pytest.fixture
    def protocol(self) -> Protocol:
        """The protocol."""
        raise NotImplementedError

    @pytest.fixture
    def grid(self, protocol: Protocol) -> str:
        """How the table is partitioned over the parties."""
        return "1x1" if protocol.one_party else "2x2"

    def _trial(self, protocol: Protocol, grid: str, granted: Fraction, seed: int = 1) -> Trial:
        return Trial(granted, protocol.name, grid, seed=seed)

    def _measurer(self, protocol: Protocol, grid: str, granted: Fraction, table: Table) -> Measurer:
        return self._trial(protocol, grid, granted).measurer(table)

    def test_it_is_known_by_its_name_and_says_what_it_is(self, protocol: Protocol) -> None:
        """Its words are printed in reports."""
        assert protocol_named(protocol.name, for_daemons=True) is protocol
        assert protocol.users is Users.DAEMONS
        assert protocol.trust
        assert protocol.explanation

    def test_a_huge_budget_gives_exact_marginals(self, protocol: Protocol, grid: str) -> None:
        """Inside a party: what joins parties is another matter for protocols with noise on every record."""
        table = chain_table(300)
        measurer = self._measurer(protocol, grid, 3 * _NOISELESS, table)
        found = measurer.measure([Query(View((name,)), _NOISELESS, "test") for name in ("a", "d")])
        for measurement in found:
            assert np.allclose(measurement.values, table.marginal(measurement.clique), atol=0.5)

    def test_groups_of_codes_are_counted_in_place_of_codes(self, protocol: Protocol, grid: str) -> None:
        """Marginal and interaction, at the cost of the shape of the groups."""
        table = Table.from_codes(Domain.coded({"a": 4, "b": 2}), np.tile([[0, 0], [1, 1], [3, 0]], (30, 1)))
        measurer = self._measurer(protocol, grid, 3 * _NOISELESS, table)
        queries = [
            Query(View(("a",), groups=((1, 0, 0, 1),), interaction=alone), _NOISELESS, "test")
            for alone in (False, True)
        ]
        marginal, interaction = measurer.measure(queries)
        assert np.allclose(marginal.values, [30, 60], atol=0.5)
        assert np.allclose(interaction.values, [-15, 15], atol=0.5)
        assert {charge.interaction for charge in measurer.accountant.charges} == {(), (2,)}

    def test_noise_has_the_deviation_that_is_stated(self, protocol: Protocol, grid: str) -> None:
        """4,000 cells; a sample deviation is off by more than 6 % in 1 of 10^7 runs of a correct program."""
        table = Table.from_codes(Domain.coded({"a": 4000, "b": 2}), np.zeros((50, 2), dtype=np.int64))
        measurer = self._measurer(protocol, grid, Fraction(1, 100), table)
        (found,) = measurer.measure([Query(View(("a",)), Fraction(1, 100), "test")])
        noise = found.values - table.marginal(("a",))
        assert found.sigma == pytest.approx(measurer.expected_sigma(View(("a",)), Fraction(1, 100)))
        assert float(np.sqrt(np.mean(noise**2))) == pytest.approx(found.sigma, rel=0.06)

    def test_what_is_charged_is_what_the_query_may_cost_at_most(self, protocol: Protocol, grid: str) -> None:
        """Costs are exact fractions, rounded up."""
        measurer = self._measurer(protocol, grid, Fraction(1), chain_table(100))
        measurer.measure(
            [Query(View(("a",)), Fraction(1, 4), "test"), Query(View(("b",)), Fraction(1, 4), "test")]
        )
        spent = measurer.accountant.spent
        assert Fraction(49, 100) < spent <= Fraction(1, 2)
        assert spent == sum(charge.zcdp_rho for charge in measurer.accountant.charges)

    def test_the_curator_refuses_a_query_past_the_grant(self, protocol: Protocol, grid: str) -> None:
        """Before anything is asked."""
        measurer = self._measurer(protocol, grid, Fraction(1, 10), chain_table(100))
        with pytest.raises(BudgetError):
            measurer.measure([Query(View(("a",)), Fraction(1, 5), "test")])
        assert measurer.accountant.charges == ()

    def test_the_parties_refuse_a_query_past_the_grant(self, protocol: Protocol, grid: str) -> None:
        """A curator that forgets its own accounts meets theirs."""
        table = chain_table(100)
        trial = self._trial(protocol, grid, Fraction(1, 10))
        measurer = trial.measurer(table)
        spent = measurer.accountant
        measurer.measure([Query(View(("a",)), Fraction(1, 10), "test")])
        measurer.accountant = spent
        with pytest.raises(BudgetError):
            measurer.measure([Query(View(("a",)), Fraction(1, 10), "test")])

    def test_a_policy_that_does_not_name_it_refuses_it(self, protocol: Protocol, grid: str) -> None:
        """Policies are closed by default."""
        table = chain_table(50)
        closed = Trial(Fraction(1), "none of these", grid).parties(table)
        with pytest.raises(PolicyError):
            self._trial(protocol, grid, Fraction(1)).agreement(table.domain, closed)

    def test_scores_are_given_where_it_says_so(self, protocol: Protocol, grid: str) -> None:
        """Otherwise the measurer refuses them."""
        table = chain_table(100)
        measurer = self._measurer(protocol, grid, 4 * _NOISELESS, table)
        assert measurer.scores_exactly == (protocol.scores is not Scores.NEVER)
        reference = np.zeros(6, dtype=np.int64)
        if measurer.scores_exactly:
            found = measurer.score([View(("a", "b"))], [reference], _NOISELESS, "scores")
            assert found.values.tolist() == pytest.approx([100.0], abs=0.5)
        else:
            with pytest.raises(MosaicError, match="scores"):
                measurer.score([View(("a", "b"))], [reference], _NOISELESS, "scores")

    def test_a_release_by_it_is_private_and_names_it(self, protocol: Protocol, grid: str) -> None:
        """From parties to certificate."""
        found = simulate(
            chain_table(200),
            grid=grid,
            protocol=protocol.name,
            mechanism=Independent(),
        )
        assert found.certificate.plan.spec.protocol == protocol.name
        assert found.certificate.differentially_private == protocol.private
        promise = found.certificate.promise
        assert promise.zcdp_rho_spent <= promise.zcdp_rho_granted
        assert found.rows.record_count == 200
