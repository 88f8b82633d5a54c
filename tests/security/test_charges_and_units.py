"""Charges are added up as what they are: with kind, unit, delta and the release that they belong to."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.privacy.budget import Accountant, AnswerKind, Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, gaussian_cost
from dpmosaic.common.protocols.chosen import Chosen
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates.issuing import promise_of
from dpmosaic.curator.measurers.planning import observers_of
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.releasing.bins.choosing import choice_of
from dpmosaic.curator.releasing.bins.order import bins_order
from dpmosaic.curator.releasing.release import ReleaseOrder
from dpmosaic.curator.results.outputs import write_certificate
from support.parties import party_of, started
from support.terms import id_of, terms_for, terms_with
from support.two_releases import LIMITS, failed, listed, released

OPEN = {"type": "categorical", "categories": ["other"], "other": "other", "open": True}
AGES = Domain.from_json(
    {"age": {"type": "numeric", "min": 0, "max": 99, "bins": "auto", "integer": True}, "sex": ["f", "m"]}
)
TEXTS = Domain.from_json({"drug": OPEN, "sex": ["f", "m"]})
ROWS = 600
FIRST, SECOND = id_of("first"), id_of("second")


def table(domain):
    rng = np.random.default_rng(1)
    columns = {"sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, ROWS)]}
    if "age" in domain:
        columns["age"] = rng.integers(0, 100, ROWS)
    if "drug" in domain:
        columns["drug"] = np.array([f"drug {i}" for i in range(4)], dtype=object)[rng.integers(0, 4, ROWS)]
    return encode_table(domain, columns)


def parties(domain, policy=LIMITS, slices=3):
    return started([[table(domain)]] * slices, policy, RandomStream.from_seed(2))


def order_for(domain, adjacency=Adjacency.ZERO_OUT, **more):
    workload = Workload.parse(domain, "1way")
    spec = ReleaseSpec(Budget(epsilon=1.0, delta=1e-9), adjacency, **more)
    return ReleaseOrder(domain, spec, mechanism_named("independent"), workload)


def accepted(party, terms):
    return party.accept(encode_terms(terms))


class Choosing:
    """A choice of bins over three parties, and the release that uses it.

    Args:
        links: connections to the parties.
        used_under: adjacency of the release that uses the bins.
        charged_under: adjacency of the choice, by default the same.
        before: changes of the order of the choice.
    """

    def __init__(self, links, used_under=Adjacency.ZERO_OUT, charged_under=None, **before):
        self.links = links
        order = order_for(AGES, used_under)
        choosing = bins_order(order, 0.5).with_spec(adjacency=charged_under or used_under)
        self.choosing = replace(choosing, **before)
        made, self.certificate = released(self.choosing, links, FIRST)
        choice = choice_of(made, FIRST, self.choosing, order, AGES)
        coded = choice.chosen.coding.domain(AGES)
        self.order = replace(order_for(coded, used_under), chosen=choice.chosen, before=choice.before)

    def used(self, **chosen):
        """Makes the release that uses the bins, with a choice that is stated otherwise."""
        order = replace(self.order, chosen=replace(self.order.chosen, **chosen))
        return released(order, self.links, SECOND, AGES)


@pytest.mark.slow
def test_codes_are_used_in_the_unit_in_which_they_were_charged():
    links = parties(AGES)
    choice = Choosing(links)
    _, certificate = choice.used()
    assert failed(certificate, listed(links, AGES)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("used_under", "charged_under"),
    [
        (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT),
        (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE),
    ],
    ids=["cheaper than the release's unit", "dearer"],
)
def test_codes_that_were_charged_for_another_unit_are_refused(used_under, charged_under):
    """Noise that costs rho under zero-out costs twice as much and more under replace-one."""
    choice = Choosing(parties(AGES), used_under, charged_under)
    with pytest.raises(PolicyError, match=r"was charged under .* and would have cost otherwise"):
        choice.used()


@pytest.mark.parametrize(
    "stated",
    [
        {"certificate": "f" * 64},
        {"release_id": id_of("never")},
        {"zcdp_rho": 1e-9},
        {"zcdp_rho": 1e-3},
    ],
    ids=["another certificate", "another release", "a lower cost", "another cost"],
)
def test_a_choice_that_the_partys_ledger_does_not_have_is_refused(stated):
    choice = Choosing(parties(AGES))
    with pytest.raises(ProtocolError, match="release that chose its codes"):
        choice.used(**stated)


def test_a_release_that_was_abandoned_or_chose_nothing_is_no_choice():
    (((link,),), coding) = parties(AGES, slices=1), Coding({"age": (0, 10, 50)})
    party, coded = link.party, coding.domain(AGES)
    for number, end in enumerate((party.abandon, lambda release_id: None)):
        first, second = id_of(f"a{number}"), id_of(f"b{number}")
        accepted(party, terms_for(party, protocol="trusted", granted_rho=1e-9, release_id=first))
        end(first)
        terms = terms_for(party, protocol="trusted", granted_rho=0.01, release_id=second)
        domain = Domain.coded({name: coded[name].size for name in coded})
        plan = replace(terms.plan, domain=domain, chosen=Chosen(first, "f" * 64, 1e-9, coding))
        with pytest.raises(ProtocolError, match="does not have it as a certified choice"):
            accepted(party, terms_with(terms, plan=plan))


@pytest.mark.slow
def test_a_choice_of_another_mechanism_is_refused():
    links = parties(AGES)
    choice = Choosing(links, mechanism=mechanism_named("independent"), workload=Workload.parse(AGES, "1way"))
    with pytest.raises(ProtocolError, match="does not have it as a certified choice"):
        choice.used()


@pytest.mark.slow
def test_verify_compares_the_certificate_of_the_choice_with_what_uses_it(tmp_path):
    links = parties(AGES)
    choice = Choosing(links)
    _, certificate = choice.used()
    write_certificate(tmp_path / "bins", choice.certificate)
    assert failed(certificate, listed(links, AGES), tmp_path) == set()
    other = replace(choice.certificate, selected_by="something else")
    write_certificate(tmp_path / "bins", other)
    assert failed(certificate, listed(links, AGES), tmp_path) == {"bins/certificate.json"}
    (tmp_path / "bins" / "certificate.json").write_text("{}")
    assert failed(certificate, listed(links, AGES), tmp_path) == {"bins/certificate.json"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE),
        (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT),
        (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE),
    ],
)
def test_releases_under_different_adjacencies_share_a_lifetime_under_the_strictest(first, second):
    """Beside one under replace-one, a release under another adjacency counts four times, in any order."""
    party = party_of("north", table(AGES), replace(LIMITS, lifetime_rho=Fraction(1, 2)))
    # Add-remove needs a number of rows that was released with noise.
    party._institution = replace(party._institution, stated=ROWS)
    half = {one: 0.25 if one is Adjacency.REPLACE_ONE else 0.0625 for one in Adjacency}

    def release(number, adjacency, more=0.0):
        rho = half[adjacency] + more
        terms = terms_for(party, protocol="trusted", adjacency=adjacency, granted_rho=rho)
        return replace(terms, release_id=id_of(number))

    accepted(party, release(1, first))
    assert party._ledger.total_reserved() == Fraction(half[first])
    with pytest.raises(PolicyError, match="under the strictest of their adjacencies"):
        accepted(party, release(2, second, more=2.0**-20))
    accepted(party, release(3, second))
    assert party._ledger.total_reserved() == Fraction(1, 2)


def labelled(party, number, delta=1e-6, rho=1e-6):
    terms = terms_for(party, protocol="trusted", granted_rho=rho, release_id=id_of(number))
    budget = Budget(epsilon=1.0, delta=1e-5)
    return terms_with(terms, labels=LabelSearch(("drug",), delta), budget=budget)


def ask_for_labels(party, terms):
    query = MarginalQuery(terms.release_id, "labels 1", AnswerForm.LABELS, View(("drug",)), 1e3)
    return list(party.answer(query))


def test_the_delta_of_labels_adds_up_over_releases_whatever_they_cost_otherwise():
    party = party_of("north", table(TEXTS), LIMITS)
    terms = labelled(party, 1)
    accepted(party, terms)
    ask_for_labels(party, terms)
    party.abandon(terms.release_id)
    with pytest.raises(PolicyError, match="more than is left of lifetime_labels_delta"):
        accepted(party, labelled(party, 2))
    with pytest.raises(PolicyError, match="more than is left of lifetime_labels_delta"):
        accepted(party, labelled(party, 2, delta=1e-12))


def test_a_lifetime_of_labels_allows_as_many_releases_as_it_has_room_for():
    policy = replace(LIMITS, lifetime_labels_delta=3e-6)
    party = party_of("north", table(TEXTS), policy)
    for number in range(3):
        accepted(party, labelled(party, number, delta=1e-6))
    with pytest.raises(PolicyError, match="lifetime_labels_delta"):
        accepted(party, labelled(party, 4, delta=1e-6))


def test_delta_that_no_label_was_asked_for_is_free_again():
    party = party_of("north", table(TEXTS), LIMITS)
    accepted(party, labelled(party, 1))
    with pytest.raises(PolicyError, match="lifetime_labels_delta"):
        accepted(party, labelled(party, 2))
    party.abandon(id_of(1))
    accepted(party, labelled(party, 2))


@pytest.mark.slow
def test_charges_of_labels_stated_as_charges_of_marginals_are_detected_though_all_parties_signed():
    """Their noise is drawn by one party alone, so that the public sees no more of it than was charged."""
    links = parties(TEXTS)
    order = bins_order(order_for(TEXTS, collusions=2), 0.9)

    def restated(made, terms):
        assert [one.kind for one in made.charges] == ["labels"]
        stated = tuple(replace(one, kind="marginal") for one in made.charges)
        charges = tuple(
            Charge(one.step, one.clique, Fraction(one.zcdp_rho), one.noise_sigmas_by_slice) for one in stated
        )
        spent = sum((one.zcdp_rho for one in charges), Fraction(0))
        accountant = Accountant(Fraction(made.promise.zcdp_rho_granted), charges, spent)
        promise = promise_of(made.plan, accountant, observers=observers_of(terms.masked_plan))
        assert promise.observers[0].zcdp_rho < made.promise.observers[0].zcdp_rho
        return replace(made, charges=stated, promise=promise)

    _, certificate = released(order, links, FIRST, change=restated)
    kinds = {entry.kind for party in certificate.signed.parties for entry in party.entries}
    assert kinds == {AnswerKind.LABELS}
    assert failed(certificate, listed(links, TEXTS)) == {"charges"}


def test_a_bound_in_another_unit_covers_the_noise_priced_for_it():
    for sigma in (0.5, 3.0, 1e3):
        for one in Adjacency:
            for other in Adjacency:
                for rows, more in ((1, 1), (1, 3), (3, 1)):
                    units = PrivacyUnit(one, rows), PrivacyUnit(other, more)
                    for shape in ((), (2,), (2, 5)):
                        costs = [gaussian_cost(sigma, unit, shape) for unit in units]
                        assert costs[1] <= costs[0] * units[0].factor_in(units[1]) + Fraction(1, 2**60)
