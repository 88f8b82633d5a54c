"""What the terms say to whoever approves them is kept: each limit in them refuses what exceeds it."""

from dataclasses import fields, replace

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, MosaicError, PolicyError, ProtocolError
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.queries import AnswerForm, MarginalQuery, ScoreQuery
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose
from support.parties import party_of, policy_for, random_table
from support.terms import RELEASE_ID, terms_for, terms_with

DOMAIN = Domain.coded({"sex": 2, "hiv": 2, "postcode": 60})
FORMS = {"trusted": AnswerForm.HISTOGRAM, "indicator": AnswerForm.HISTOGRAM}


def accepted(protocol="trusted", granted=1.0, **purpose):
    """A party that holds the whole table, in a release with this purpose."""
    policy = replace(policy_for(protocol, granted_rho=granted), max_labels_delta=1e-3)
    party = party_of("north", random_table(DOMAIN, 50), policy)
    terms = terms_for(party, protocol=protocol, granted_rho=granted)
    party.accept(encode_terms(terms_with(terms, **purpose)))
    return party


def query(*clique, groups=(), query_id="q", sigma=40.0, form=AnswerForm.HISTOGRAM):
    return MarginalQuery(RELEASE_ID, query_id, form, View(clique, groups=groups), sigma)


@pytest.mark.parametrize("protocol", FORMS)
@pytest.mark.parametrize(
    ("limit", "allowed", "refused"),
    [
        ({"max_cells": 2}, ("sex",), ("sex", "hiv")),
        ({"max_cells": 119}, ("postcode",), ("sex", "postcode")),
        ({"max_attributes": 1}, ("postcode",), ("sex", "hiv")),
        ({"max_attributes": 2, "max_cells": 240}, ("hiv", "postcode"), ("sex", "hiv", "postcode")),
        ({"max_attributes": 3, "max_cells": 239}, ("sex", "hiv"), ("sex", "hiv", "postcode")),
    ],
)
def test_a_larger_marginal_than_the_terms_allow_is_refused_before_it_is_charged(
    protocol, limit, allowed, refused
):
    party = accepted(protocol, **limit)
    with pytest.raises(PolicyError, match="larger marginal than the terms of its release allow"):
        party.answer(query(*refused))
    assert party._ledger.cost_of(RELEASE_ID) == 0
    assert list(party.answer(query(*allowed)))


def test_the_cells_of_groups_count_as_they_are_answered():
    party = accepted(max_cells=4)
    halves = tuple(int(code >= 30) for code in range(60))
    assert list(party.answer(query("sex", "postcode", groups=((), halves))))
    with pytest.raises(PolicyError, match="larger marginal"):
        party.answer(query("sex", "postcode", query_id="r"))


def test_a_larger_marginal_is_not_scored_either():
    party = accepted(max_cells=2)
    scores = ScoreQuery(RELEASE_ID, "s", (View(("sex",)), View(("sex", "hiv"))), 40.0, bytes(32), 1, 2)
    with pytest.raises(PolicyError, match="larger marginal than the terms of its release allow"):
        party.prepare_scores(scores)


def test_a_limit_above_that_of_the_policy_does_not_raise_it():
    policy = replace(policy_for("trusted"), max_cells=2)
    party = party_of("north", random_table(DOMAIN, 50), policy)
    terms = terms_for(party, protocol="trusted", granted_rho=1.0)
    party.accept(encode_terms(terms))
    with pytest.raises(PolicyError, match="max_cells of the policy"):
        party.answer(query("sex", "hiv"))


KEPT = {
    "budget": "the grant has to keep it (`test_policy.py`), and charges the grant, below",
    "adjacency": "a factor of every cost, below",
    "protocol": "what answers, and what the policy allows (`test_policy.py`)",
    "collusions": "those of the plan, which parties check (`test_terms.py`)",
    "check": "the same",
    "may_drop_out": "how many parties the masks can do without, which parties check (`test_dropouts.py`)",
    "sample": "the same",
    "rows": "synthetic rows, which say nothing more",
    "domain_digest": "the curator's; sizes of attributes are compared (`test_party.py`)",
    "mechanism": "words on what the answers are for",
    "workload": "the marginals that the release is to keep, not a limit of what it measures",
    "workload_digest": "the same",
    "rows_per_person": "a factor of every cost, below",
    "labels": "below",
    "about": "the last day is compared (`test_approvals.py`)",
    "max_cells": "above",
    "max_attributes": "above",
    "unreviewed": "compared with the party's own domain (`test_every_statement.py`)",
}


def test_every_field_of_the_description_and_the_purpose_is_kept_or_said_to_be_words():
    """Fails for a new field, so that somebody thinks of what refuses to exceed it."""
    assert set(KEPT) == {one.name for kind in (ReleaseSpec, Purpose) for one in fields(kind)}


@pytest.mark.parametrize(
    ("purpose", "asked", "refusal"),
    [
        ({}, query("sex", sigma=0.5), BudgetError),
        ({}, query("sex", query_id="labels 1", form=AnswerForm.LABELS), ProtocolError),
        ({}, query("age"), ProtocolError),
    ],
    ids=["more than the grant", "labels that nobody looks for", "an attribute that the plan lacks"],
)
def test_what_the_terms_do_not_grant_is_refused(purpose, asked, refusal):
    with pytest.raises(refusal):
        accepted(**purpose).answer(asked)


def test_costs_are_for_as_many_rows_of_a_person_and_the_adjacency_that_the_terms_state():
    party = accepted()
    terms = terms_for(party, protocol="trusted")
    more = terms_with(terms, rows_per_person=3)
    other = terms_with(terms, adjacency=Adjacency.REPLACE_ONE)
    cost = query("sex").cost(terms)
    assert query("sex").cost(more).zcdp_rho == pytest.approx(9 * cost.zcdp_rho)
    assert query("sex").cost(other).zcdp_rho == pytest.approx(2 * cost.zcdp_rho)
    assert query("sex").cost(other).unit != cost.unit
    with pytest.raises(BudgetError, match="expected costs for one unit"):
        query("sex").cost(other) + cost


def test_labels_take_the_share_of_delta_of_their_attribute():
    party = accepted()
    terms = terms_for(party, protocol="trusted")
    search = LabelSearch(("sex", "hiv"), 1e-6)
    asked = query("sex", query_id="labels 1", form=AnswerForm.LABELS)
    labelled = terms_with(terms, labels=search, budget=Budget(epsilon=1.0, delta=1e-5))
    assert asked.cost(labelled).delta * 2 == labelled.granted_cost.delta
    with pytest.raises(MosaicError, match="looks for no labels"):
        asked.cost(terms)
