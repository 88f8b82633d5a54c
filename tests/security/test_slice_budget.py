"""Parties of a slice hold the same records: a curator spends the grant once, not once at each party."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, MosaicError, ProtocolError
from dpmosaic.common.privacy.budget import AnswerKind
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.common.promises.statement import ENTRY, Claim, Entry, check_statement
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.curator.certificates.charges_check import costs_of
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from support.changed import changed
from support.parties import cut, policy_for, random_table, started
from support.terms import RELEASE_ID, id_of, terms_of

DOMAIN = Domain.coded({"a": 4, "b": 3, "c": 2, "d": 5})
GRANTED = Fraction(1)
WHOLE = gaussian_sigma(GRANTED, Adjacency.ZERO_OUT)
"""Noise that costs the whole grant."""
TENTH = gaussian_sigma(GRANTED / 10, Adjacency.ZERO_OUT)


class Curator:
    """A release by `indicator` whose curator sends what it likes.

    Args:
        grid: partition of 40 records.
        releases: number of releases that the policy of the parties allows.
    """

    def __init__(self, grid="1x2", releases=1):
        policy = policy_for("indicator", granted_rho=float(GRANTED))
        policy = replace(policy, lifetime_rho=releases * policy.lifetime_rho)
        table = random_table(DOMAIN, 40)
        self.links = started(cut(table, grid), policy, RandomStream.from_seed(2))
        self.federation = connect(DOMAIN, self.links)
        self.members = self.federation.members
        self.terms = self.accepted(RELEASE_ID)

    def accepted(self, release_id):
        terms = terms_of(release_id, granted=float(GRANTED), plan=self.federation.partition)
        self.federation.accept(terms)
        return terms

    def charges(self, query):
        return [member.client.charge(query) for member in self.members]

    def answer(self, place, query, charges=()):
        """The integers of an answer of the party at this place in the roster."""
        member = self.members[place]
        rows, part = 1, query.clique
        if query.form is AnswerForm.RECORD_WISE:
            rows = member.description.record_count
            part = tuple(name for name in query.clique if name in member.attributes)
        (integers,) = member.client.answer(query, rows, DOMAIN.cells(part), rows, charges)
        return integers


def histogram(query_id, clique, sigma=WHOLE, release_id=RELEASE_ID):
    return MarginalQuery(release_id, query_id, AnswerForm.HISTOGRAM, View(clique), sigma)


PAIR = MarginalQuery(
    RELEASE_ID, "pair", AnswerForm.RECORD_WISE, View(("b", "c")), TENTH, other_sigmas=(TENTH,)
)
"""A marginal of which the first party holds b and the second one c."""


@pytest.mark.parametrize("grid", ["1x2", "1x4"])
def test_the_grant_cannot_be_spent_at_each_party_of_a_slice(grid, ledgers):
    """What the parties give away of one record, each asked for the whole grant, is within the grant."""
    curator, given = Curator(grid), Fraction(0)
    for place, member in enumerate(curator.members):
        query = histogram(f"q{place}", member.attributes)
        try:
            list(member.client.answer(query, 1, DOMAIN.cells(query.clique), 1))
        except MosaicError:
            continue
        given += gaussian_cost(query.sigma, Adjacency.ZERO_OUT)
    assert given <= GRANTED
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [given] * len(ledgers)


def test_after_one_party_answered_for_the_whole_grant_no_other_party_of_the_slice_answers(ledgers):
    curator = Curator("1x3")
    first, second = (histogram(name, (name,)) for name in ("a", "d"))
    curator.answer(0, first, curator.charges(first))
    for member in curator.members:
        with pytest.raises(BudgetError, match="more than is left"):
            member.client.charge(second)
    with pytest.raises(ProtocolError, match="not charged at this party yet"):
        curator.answer(2, second, curator.charges(first))
    cost = gaussian_cost(WHOLE, Adjacency.ZERO_OUT)
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [cost] * 3


def test_every_party_is_charged_for_the_noise_of_all(ledgers):
    """Also the party that answers nothing."""
    curator = Curator("1x4")
    query = replace(PAIR, other_sigmas=(2 * TENTH,))
    charges = curator.charges(query)
    assert [curator.answer(place, query, charges).shape for place in (1, 2)] == [(40, 3), (40, 2)]
    cost = gaussian_cost(TENTH, Adjacency.ZERO_OUT) + gaussian_cost(2 * TENTH, Adjacency.ZERO_OUT)
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [cost] * 4


def test_a_party_that_holds_no_part_of_the_clique_charges_and_answers_nothing():
    curator = Curator("1x4")
    charges = curator.charges(PAIR)
    with pytest.raises(ProtocolError, match="holds no part of the clique"):
        curator.answer(0, PAIR, charges)


STRANGER = Identity.from_seed(bytes(32))


def of_another_query(curator):
    """Signatures over the entry before, by the right parties."""
    return curator.earlier


def of_another_release(curator):
    curator.accepted(id_of("other"))
    return curator.charges(replace(PAIR, release_id=id_of("other")))


def of_a_cheaper_query(curator):
    """The second party is asked under the same id for less than the first one."""
    return [curator.first, curator.members[1].client.charge(replace(PAIR, other_sigmas=(3 * TENTH,)))]


def of_the_other_order(curator):
    """The second party charged another query in between, so its chain differs."""
    curator.members[1].client.charge(histogram("between", ("c",), TENTH))
    return [curator.first, curator.members[1].client.charge(PAIR)]


FORGED = {
    "none": lambda curator: [],
    "only its own": lambda curator: [curator.first],
    "its own twice": lambda curator: [curator.first, curator.first],
    "one too many": lambda curator: [*curator.charges(PAIR), curator.first],
    "swapped": lambda curator: curator.charges(PAIR)[::-1],
    "empty": lambda curator: [curator.first, b""],
    "altered": lambda curator: [curator.first, bytes([curator.charges(PAIR)[1][0] ^ 1]) + bytes(63)],
    "of a stranger": lambda curator: [curator.first, STRANGER.sign(ENTRY, bytes(32))],
    "of another query": of_another_query,
    "of another release": of_another_release,
    "of a cheaper query": of_a_cheaper_query,
    "after another query": of_the_other_order,
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_party_does_not_answer_without_the_signatures_of_all_over_the_same_charge(forge, ledgers):
    curator = Curator(releases=2)
    before = histogram("before", ("a",), TENTH)
    curator.earlier = curator.charges(before)
    curator.first = curator.members[0].client.charge(PAIR)
    charges = forge(curator)
    spent = ledgers[0].cost_of(RELEASE_ID)
    with pytest.raises(ProtocolError, match="signature"):
        curator.answer(0, PAIR, charges)
    assert ledgers[0].cost_of(RELEASE_ID) == spent


def test_signatures_of_another_slice_are_refused():
    curator = Curator("2x2")
    charges = curator.charges(PAIR)
    with pytest.raises(ProtocolError, match="signature"):
        curator.answer(0, PAIR, [charges[0], charges[3]])
    assert curator.answer(0, PAIR, charges[:2]).shape == (20, 3)


def test_two_parties_that_were_asked_differently_never_answer_again():
    curator = Curator()
    curator.members[0].client.charge(PAIR)
    curator.members[1].client.charge(replace(PAIR, other_sigmas=(3 * TENTH,)))
    later = histogram("later", ("a",), TENTH)
    with pytest.raises(ProtocolError, match="signature"):
        curator.answer(0, later, curator.charges(later))


def test_charge_and_answer_survive_restarts_in_between_and_cost_once(ledgers):
    curator, undisturbed = Curator(), Curator()
    charges = curator.charges(PAIR)
    for link in curator.links[0]:
        link.restart()
    assert curator.charges(PAIR) == charges
    expected = undisturbed.charges(PAIR)
    for place in (0, 1):
        answer = curator.answer(place, PAIR, charges)
        assert np.array_equal(answer, undisturbed.answer(place, PAIR, expected))
        curator.links[0][place].restart()
        assert np.array_equal(curator.answer(place, PAIR, charges), answer)
    cost = 2 * gaussian_cost(TENTH, Adjacency.ZERO_OUT)
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [cost] * 4


@pytest.mark.parametrize(
    "query",
    [
        replace(PAIR, other_sigmas=()),
        replace(PAIR, other_sigmas=(TENTH, TENTH)),
        changed(PAIR, clique=("a", "b")),
        replace(PAIR, form=AnswerForm.HISTOGRAM, other_sigmas=()),
    ],
)
def test_a_query_that_does_not_fit_the_partition_is_refused_uncharged(query, ledgers):
    curator = Curator()
    for act in (curator.members[0].client.charge, lambda asked: curator.answer(0, asked)):
        with pytest.raises(ProtocolError, match="compare the plan"):
            act(query)
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0, 0]


def test_attributes_that_the_plan_leaves_out_are_refused():
    policy = policy_for("indicator", granted_rho=float(GRANTED))
    links = started([[random_table(DOMAIN, 40)]], policy, RandomStream.from_seed(2))
    federation = connect(DOMAIN.project(("a", "b", "c")), links, {"party-1-1": ("d",)})
    federation.accept(terms_of(RELEASE_ID, granted=float(GRANTED), plan=federation.partition))
    with pytest.raises(ProtocolError, match="attributes that can be queried"):
        list(federation.members[0].client.answer(histogram("q", ("d",)), 1, 5, 1))


def test_parties_of_several_take_no_part_in_a_trusted_release():
    """Each of them would be charged apart for the same records."""
    policy = policy_for("trusted", granted_rho=float(GRANTED))
    federation = connect(
        DOMAIN, started(cut(random_table(DOMAIN, 40), "1x2"), policy, RandomStream.from_seed(2))
    )
    with pytest.raises(ProtocolError, match="for one party that holds the whole table"):
        federation.accept(terms_of(RELEASE_ID, "trusted", granted=float(GRANTED), plan=federation.partition))


RAGGED = ((25, (("a",), ("b", "c"), ("d",))), (10, (("a", "b"), ("c", "d"))), (5, (DOMAIN.names,)))


def test_what_the_parties_sign_adds_up_to_what_the_accountant_charged():
    """Parties of a slice sign the same entries; of the slices, the largest cost of each query counts."""
    curator = Curator(RAGGED)
    measurer = FederationMeasurer(curator.federation, curator.terms, GRANTED)
    cliques = [("a",), ("b", "c"), ("a", "b", "d"), ("c", "d"), DOMAIN.names]
    measurer.measure([Query(View(clique), GRANTED / (6 + len(clique)), "test") for clique in cliques])
    claim = Claim(RELEASE_ID, bytes(32), float(measurer.accountant.spent))
    ledgers = {}
    for member in curator.members:
        statement, identity = member.client.certify(claim), member.description.identity
        check_statement(statement, identity, encode_terms(curator.terms), bytes(32))
        ledgers[member.description.name] = statement.entries
    costs = costs_of(curator.terms.plan, ledgers)
    assert [max(each.costs) for each in costs] == [charge.zcdp_rho for charge in measurer.accountant.charges]


def entries(*costs, query=bytes(32)):
    kind, delta = AnswerKind.MARGINAL, Fraction(0)
    return [Entry(str(n), query, kind, ("a",), (), Fraction(rho), delta, b"") for n, rho in enumerate(costs)]


OTHER_LEDGERS = {
    "less": entries(2, 2),
    "another query": entries(2, 3, query=b"q" * 32),
    "a query less": entries(2),
    "another order": entries(2, 3)[::-1],
    "nothing": [],
}


@pytest.mark.parametrize("other", OTHER_LEDGERS.values(), ids=OTHER_LEDGERS)
def test_a_verifier_refuses_ledgers_that_differ_within_a_slice(other):
    plan = Curator("2x2").terms.plan
    ledgers = {"party-1-1": entries(2, 3), "party-1-2": entries(2, 3)}
    ledgers |= {"party-2-1": entries(4, 1), "party-2-2": entries(4, 1)}
    assert [each.costs for each in costs_of(plan, ledgers)] == [(2, 4), (3, 1)]
    for place in ("party-1-1", "party-1-2"):
        with pytest.raises(ProtocolError, match="slice 1 charged the same records differently"):
            costs_of(plan, ledgers | {place: other})


@pytest.mark.parametrize(
    "other", [entries(2), [replace(one, kind=AnswerKind.SCORES) for one in entries(2, 3)]]
)
def test_a_verifier_refuses_slices_that_charged_other_numbers_or_kinds_of_queries(other):
    plan = Curator("2x1").terms.plan
    with pytest.raises(ProtocolError, match="different numbers or kinds of entries"):
        costs_of(plan, {"party-1-1": entries(2, 3), "party-2-1": other})


def test_a_party_that_is_alone_in_its_slice_charges_as_it_answers(ledgers):
    curator = Curator("2x1")
    curator.answer(0, histogram("q", ("a", "d")))
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [gaussian_cost(WHOLE, Adjacency.ZERO_OUT), 0]
