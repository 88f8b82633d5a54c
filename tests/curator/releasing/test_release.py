"""Orders, and releases made from them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.protocols.registry import INDICATOR, MASKED, TRUSTED
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates import checking
from dpmosaic.curator.certificates.privacy_loss import checked_epsilon
from dpmosaic.curator.certificates.statements import StatedStep
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.steps import Asks, Step
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.releasing import row_count
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.curator.releasing.release import ReleaseOrder, make_release
from dpmosaic.curator.releasing.row_count import default_rows
from dpmosaic.simulations.contracts.trial import Trial
from support.terms import PURPOSE, RELEASE_ID, SPEC, id_of

pytestmark = pytest.mark.slow

DOMAIN = Domain.coded({"a": 3, "b": 2})
TABLE = Table.from_codes(DOMAIN, np.column_stack([np.arange(60) % 3, np.arange(60) % 2]))
STEP = Step("one-way", "Each attribute by itself", Asks.MARGINALS, Fraction(1))


class Stepping(Independent):
    """States its step."""

    def run(self, measurer, workload, stream, report):
        return replace(super().run(measurer, workload, stream, report), steps=(STEP,))


def order(protocol=MASKED, mechanism=None, **changes):
    spec = ReleaseSpec(Budget(zcdp_rho=0.5), protocol=protocol.name, **changes)
    return ReleaseOrder(DOMAIN, spec, mechanism or Stepping(), Workload.parse(DOMAIN, "1way"))


def made(asked, grid="1x2", **options):
    trial = Trial(asked.granted, protocol=asked.protocol.name, grid=grid)
    agreement = trial.agreement(DOMAIN, trial.parties(TABLE))
    measurer, layout = agreement.measurer(), agreement.terms.plan
    return make_release(asked, layout, measurer, RandomStream.from_seed(2), **options)


def test_the_certificate_states_the_order_and_the_steps_of_the_mechanism():
    released = made(order(rows=7))
    plan = released.certificate.plan
    assert plan.steps == (StatedStep("one-way", "Each attribute by itself", 1.0),)
    assert released.certificate.titles == {"one-way": "Each attribute by itself"}
    assert (plan.record_counts, plan.parties) == ((60,), ((("a",), ("b",)),))
    assert (plan.spec.protocol, plan.spec.adjacency, plan.spec.rows) == ("masked", "zero-out", 7)
    assert plan.mechanism["name"] == "independent"
    assert plan.domain_digest == DOMAIN.digest()
    assert released.synthetic.record_count == 7
    assert released.certificate.differentially_private


def test_one_stream_gives_one_table_and_bounds_on_its_rows():
    one, again = made(order()), made(order())
    assert one.synthetic.digest() == again.synthetic.digest()
    assert one.certificate.error_bounds == one.fitted.bounds
    assert one.synthetic.record_count == 60


def test_a_plan_that_names_no_number_of_rows_gets_at_most_the_default(monkeypatch):
    monkeypatch.setattr(row_count, "DEFAULT_MOST_ROWS", 11)
    assert made(order()).synthetic.record_count == 11
    assert made(order(rows=12)).synthetic.record_count == 12


def test_the_default_number_of_rows_bounds_the_memory_of_the_curator():
    wide = Domain.coded({f"x{place}": 2 for place in range(500)})
    assert default_rows(DOMAIN, 60) == 60
    assert default_rows(DOMAIN, 10**9) == 10**7
    assert default_rows(wide, 10**9) * 500 <= 2**30 < (default_rows(wide, 10**9) + 1) * 500


def test_the_certificate_states_the_second_opinion_on_all_charges():
    released = made(order().with_spec(budget=Budget(1.0, 1e-6)))
    charges = tuple(
        Charge(stated.step, stated.clique, Fraction(stated.zcdp_rho), stated.noise_sigmas_by_slice)
        for stated in released.certificate.charges
    )
    spent = Accountant(Fraction(1)).charge(*charges)
    expected = checked_epsilon(spent, 1e-6, PrivacyUnit(Adjacency.ZERO_OUT))
    promise = released.certificate.promise
    assert len(charges) == 2
    assert promise.epsilon_by_privacy_loss_distribution == pytest.approx(expected, rel=1e-9)


def test_an_error_of_the_second_opinion_is_not_lost(monkeypatch):
    def failing(*_):
        raise OverflowError("too much")

    monkeypatch.setattr(checking, "checked_epsilons", failing)
    with pytest.raises(OverflowError, match="too much"):
        made(order().with_spec(budget=Budget(1.0, 1e-6)))


def test_a_release_waits_for_the_second_opinion_where_it_is_told_to_be_computed():
    asked = order().with_spec(budget=Budget(1.0, 1e-6))
    with checking.process_for_checks() as checks:
        beside = made(asked, checks=checks).certificate
    assert beside.promise == made(asked).certificate.promise
    assert beside.promise.epsilon_by_privacy_loss_distribution <= 1.0


def test_states_a_known_seed_and_the_real_cost_of_the_parties():
    certificate = made(order(), seeded=True, cost_factor=3).certificate
    assert not certificate.differentially_private
    assert "known seed" in certificate.labels[0]
    promise = certificate.promise
    assert promise.zcdp_rho_really_spent == pytest.approx(3 * promise.zcdp_rho_spent)


@pytest.mark.parametrize("rows", [0, -1])
def test_refuses_an_order_of_no_rows(rows):
    with pytest.raises(DataError, match="rows: expected at least 1"):
        order(rows=rows)


@pytest.mark.parametrize("protocol", [TRUSTED, INDICATOR])
def test_refuses_collusions_of_a_protocol_that_tolerates_none(protocol):
    with pytest.raises(DataError, match=f"'{protocol.name}' tolerates none"):
        order(protocol, collusions=0)


@pytest.mark.parametrize("protocol", [TRUSTED, INDICATOR])
def test_refuses_the_check_of_openings_of_a_protocol_that_opens_nothing(protocol):
    with pytest.raises(DataError, match=f"'{protocol.name}' opens nothing"):
        order(protocol, check="one-hot")


def test_parties_are_asked_to_accept_the_sealed_terms():
    trial, sealed = Trial(Fraction(1, 2), protocol="masked", grid="1x2"), []

    def sealing(proposed):
        sealed.append(proposed)
        return replace(proposed, release_id=id_of("sealed")), b""

    proposal = Proposal(RELEASE_ID, SPEC, trial.granted, PURPOSE)
    links = trial.parties(TABLE)
    agreement = agree(DOMAIN, links, proposal, dealers=trial.dealing(links), sealing=sealing)
    assert [terms.release_id for terms in sealed] == [RELEASE_ID]
    assert agreement.terms.release_id == id_of("sealed")
    assert len(agreement.acceptances) == 3


@pytest.mark.parametrize("wrong", [{}, {"party-1-1": bytes(32)}])
def test_asks_nothing_of_a_party_with_another_identity_than_its_card(wrong):
    trial = Trial(Fraction(1, 2), protocol="masked", grid="1x2")
    links = trial.parties(TABLE)
    described = [PartyClient(link).describe() for row in links for link in row]
    known = {party.name: party.identity for party in described[1:]} | wrong
    proposal = Proposal(RELEASE_ID, SPEC, trial.granted, PURPOSE)
    with pytest.raises(PolicyError, match="'party-1-1': expected the identity of its enrolled card"):
        agree(DOMAIN, links, proposal, dealers=trial.dealing(links), identities=known)
    assert [link.servicer for row in links for link in row]
    assert agree(DOMAIN, links, proposal, dealers=trial.dealing(links)).granted == trial.granted


def test_parties_are_charged_at_least_the_cost_of_all_copies():
    proposal = Proposal(RELEASE_ID, SPEC, Fraction(1, 3), PURPOSE, copies=7)
    assert Fraction(proposal.charged_rho) >= Fraction(7, 3)
    assert proposal.charged_rho == pytest.approx(7 / 3)
    assert replace(proposal, copies=1).charged_rho == float(Fraction(1, 3))
