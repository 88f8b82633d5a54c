"""Labels of open categories over parties: charged by the whole slice, stated by the party that holds them."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, PolicyError, ProtocolError
from dpmosaic.common.labels import LabelSearch, decode_labels
from dpmosaic.common.privacy.budget import AnswerKind, Budget
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost
from dpmosaic.common.protocols.registry import INDICATOR, MASKED, TRUSTED
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire.streams import decode_words
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.parties.federation import connect
from support.parties import cut, dealers_for, masked_terms, policy_for, started
from support.terms import RELEASE_ID, terms_of, terms_with

OPEN = {"type": "categorical", "categories": ["other"], "other": "other", "open": True}
DOMAIN = Domain.from_json({"a": 2, "job": OPEN, "b": 3, "drug": OPEN})
JOBS = ["nurse"] * 40 + ["king"] + ["clerk"] * 39
DRUGS = ["aspirin"] * 60 + ["\x1b[2J"] * 20
TABLE = encode_table(
    DOMAIN, {"a": [0, 1] * 40, "job": JOBS[::2] + JOBS[1::2], "b": [0, 1, 2, 0] * 20, "drug": DRUGS}
)
SEARCH = LabelSearch(("job", "drug"), 1e-6)
GRANTED = Fraction(10_000)
CASES = [(TRUSTED.name, "1x1"), (INDICATOR.name, "2x2"), (MASKED.name, "2x2"), (MASKED.name, "1x1")]


def release(protocol=MASKED.name, grid="2x2", search=SEARCH, delta=1e-3, promised=1e-2, seed=3):
    """Links to parties, and the measurer of a release over them that looks for labels."""
    keys, table = RandomStream.from_seed(seed), TABLE
    policy = replace(policy_for(protocol, granted_rho=float(GRANTED)), max_labels_delta=delta)
    links = started(cut(table, grid), policy, keys)
    dealing = dealers_for(links, keys) if protocol == MASKED.name else []
    federation = connect(table.domain, links, dealers=dealing)
    budget = Budget(zcdp_rho=float(GRANTED), delta=promised)
    if protocol == MASKED.name:
        terms = masked_terms(federation, GRANTED)
    else:
        terms = terms_of(protocol=protocol, granted=float(GRANTED), plan=federation.partition)
    terms = terms_with(terms, budget=budget, labels=search)
    accepted = federation.accept(terms)
    if protocol == MASKED.name:
        return links, MaskedMeasurer(federation, terms, accepted, GRANTED)
    return links, FederationMeasurer(federation, terms, GRANTED)


def query(place=1, name="job", sigma=0.01, query_id=None):
    return MarginalQuery(RELEASE_ID, query_id or f"labels {place}", AnswerForm.LABELS, View((name,)), sigma)


def ledgers_of(links):
    return [link.party._ledger for link in itertools.chain(*links)]


@pytest.mark.parametrize(("protocol", "grid"), CASES)
def test_the_frequent_labels_of_all_slices_are_found_and_no_others(protocol, grid):
    _, measurer = release(protocol, grid)
    assert measurer.find_labels("job", Fraction(4000), "labels") == ("clerk", "nurse")
    assert measurer.find_labels("drug", Fraction(4000), "labels") == ("aspirin",)


@pytest.mark.parametrize(("protocol", "grid"), CASES)
def test_labels_cost_every_party_of_a_slice_what_a_marginal_costs(protocol, grid):
    links, measurer = release(protocol, grid)
    measurer.find_labels("job", Fraction(4000), "labels")
    (charge,) = measurer.accountant.charges
    assert charge.kind is AnswerKind.LABELS
    assert charge.zcdp_rho == gaussian_cost(charge.sigmas[0][0], Adjacency.ZERO_OUT) <= 4000
    assert {ledger.cost_of(RELEASE_ID) for ledger in ledgers_of(links)} == {charge.zcdp_rho}


def test_marginals_can_be_measured_in_the_same_release():
    links, measurer = release()
    measurer.find_labels("job", Fraction(4000), "labels")
    from dpmosaic.curator.measurers.measurer import Query

    (marginal,) = measurer.measure([Query(View(("a",)), Fraction(4000), "numbers")])
    assert np.rint(marginal.values).tolist() == [40, 40]
    assert {ledger.cost_of(RELEASE_ID) for ledger in ledgers_of(links)} == {measurer.accountant.spent}


@pytest.mark.parametrize(("protocol", "grid"), CASES)
def test_a_repeated_query_is_charged_once_and_gets_the_same_labels(protocol, grid):
    links, measurer = release(protocol, grid)
    asked = query(sigma=3.0)
    measurer.find_labels("drug", Fraction(1), "other labels")
    spent = [ledger.cost_of(RELEASE_ID) for ledger in ledgers_of(links)]

    def answers():
        charges = [link.party.charge(asked) for link in links[0]] if len(links[0]) > 1 else []
        return list(links[0][0].party.answer(asked, charges))

    first = answers()
    once = [ledger.cost_of(RELEASE_ID) for ledger in ledgers_of(links)]
    assert once != spent
    links[0][0].restart()
    assert answers() == first
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers_of(links)] == once


def test_nothing_is_stated_before_all_parties_of_the_slice_have_charged():
    links, _ = release(INDICATOR.name)
    holder, neighbour = (link.party for link in links[0])
    with pytest.raises(ProtocolError, match="not charged at this party"):
        list(holder.answer(query(), []))
    charge = holder.charge(query())
    with pytest.raises(ProtocolError, match="signatures of all 2 parties"):
        list(holder.answer(query(), [charge]))
    assert list(holder.answer(query(), [charge, neighbour.charge(query())]))


def test_the_party_that_does_not_hold_the_attribute_charges_it_and_states_nothing():
    links, _ = release(INDICATOR.name)
    holder, neighbour = (link.party for link in links[0])
    charges = [holder.charge(query()), neighbour.charge(query())]
    with pytest.raises(ProtocolError, match="does not hold the attribute"):
        list(neighbour.answer(query(), charges))


def test_the_charge_is_in_the_ledger_before_noise_is_drawn(monkeypatch):
    links, _ = release(TRUSTED.name, "1x1")
    (ledger,) = ledgers_of(links)
    seen = []

    def watched(*arguments):
        seen.append(ledger.cost_of(RELEASE_ID))
        return np.array([], dtype=np.intp)

    monkeypatch.setattr("dpmosaic.party.answerers.labels.frequent", watched)
    list(links[0][0].party.answer(query()))
    assert seen == [gaussian_cost(0.01, Adjacency.ZERO_OUT)]


def test_an_attributes_labels_are_stated_once_so_that_delta_is_spent_once():
    links, _ = release(TRUSTED.name, "1x1")
    party = links[0][0].party
    list(party.answer(query(sigma=1.0)))
    with pytest.raises(ProtocolError, match="used for another query"):
        list(party.answer(query(sigma=2.0)))
    for other in (query(query_id="labels 2"), query(query_id="000001"), query(name="a")):
        with pytest.raises(ProtocolError, match="looks for no labels"):
            list(party.answer(other))


def test_labels_beyond_the_grant_are_refused():
    links, _ = release(TRUSTED.name, "1x1")
    with pytest.raises(BudgetError, match="more than is left"):
        list(links[0][0].party.answer(query(sigma=0.005)))


def test_a_policy_that_states_no_labels_refuses_the_release():
    with pytest.raises(PolicyError, match="policy states none"):
        release(delta=0.0)


def test_a_policy_refuses_a_larger_delta_than_it_allows():
    with pytest.raises(PolicyError, match="max_labels_delta"):
        release(delta=1e-7)


def test_a_release_whose_delta_does_not_cover_its_labels_is_refused():
    with pytest.raises(PolicyError, match="states a smaller epsilon, delta or rho"):
        release(search=LabelSearch(("job", "drug"), 0.05), delta=0.1)


def test_listed_categories_are_not_searched():
    with pytest.raises(ProtocolError, match="'a', whose categories this party's domain file lists"):
        release(search=LabelSearch(("job", "a"), 1e-6))


def test_a_search_of_an_attribute_outside_of_the_plan_is_refused():
    with pytest.raises(ProtocolError, match="its plan lacks"):
        release(search=LabelSearch(("zip",), 1e-6))


def test_a_measurer_of_a_release_without_a_search_finds_no_labels():
    _, measurer = release(search=None)
    with pytest.raises(DataError, match="look for no labels"):
        measurer.find_labels("job", Fraction(1), "labels")
    assert measurer.accountant.spent == 0


@pytest.mark.slow
def test_a_text_of_one_person_is_stated_about_as_often_as_delta_allows():
    """A correct party fails with probability below 1e-6 on each side; the brute force is of the noise."""
    search, runs, said = LabelSearch(("job",), 0.1), 400, 0
    for seed in range(runs):
        links, _ = release(TRUSTED.name, "1x1", search, delta=0.1, promised=0.2, seed=seed)
        (answer,) = links[0][0].party.answer(query(sigma=1.0))
        said += "king" in decode_labels(decode_words([answer], 10**5))
    assert stats.binom.ppf(1e-6, runs, 0.09) <= said <= stats.binom.isf(1e-6, runs, 0.1)


def test_labels_do_not_show_in_what_a_party_describes():
    links, _ = release()
    form = str(links[0][0].party.describe().domain.to_json())
    assert "nurse" not in form


def test_an_answer_that_lists_a_category_is_refused(monkeypatch):
    _, measurer = release(TRUSTED.name, "1x1")
    monkeypatch.setattr("dpmosaic.curator.parties.client.decode_labels", lambda words: ["other"])
    with pytest.raises(ProtocolError, match="a category of 'job' as a label"):
        measurer.find_labels("job", Fraction(1), "labels")


@pytest.mark.parametrize("stated", [["b", "a"], ["a", "a"], [f"{n:05}" for n in range(1001)]])
def test_labels_in_another_order_or_too_many_are_refused(monkeypatch, stated):
    _, measurer = release(TRUSTED.name, "1x1")
    monkeypatch.setattr("dpmosaic.curator.parties.client.decode_labels", lambda words: stated)
    with pytest.raises(ProtocolError, match="sorted"):
        measurer.find_labels("job", Fraction(1), "labels")


def test_the_bytes_of_terms_tell_one_search_from_another():
    plan = terms_of()
    searches = [None, SEARCH, LabelSearch(("drug", "job"), 1e-6), LabelSearch(("job", "drug"), 1e-7)]
    found = {encode_terms(replace(plan, purpose=replace(plan.purpose, labels=one))) for one in searches}
    assert len(found) == 4
