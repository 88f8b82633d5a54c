"""Plans that count a person more often than is charged are refused by the parties."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, PolicyError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, gaussian_cost, score_cost
from dpmosaic.common.promises.binding import BindingsInMemory
from dpmosaic.common.promises.statement import TERMS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS, DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.protocols.scores.query import references_digest
from dpmosaic.common.queries import AnswerForm, MarginalQuery, ScoreQuery
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.dealer import CuratorDealer
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.institution.records import kept_rows, order_digest
from dpmosaic.party.party import Party
from dpmosaic.party.policies.policy import Records
from support.masked import identity
from support.parties import Link, policy_for
from support.terms import RELEASE_ID, terms_of, terms_with

DOMAIN = Domain.coded({"region": 5})
PARTIES = ("clinic", "lab", "other", "third")
DEALERS = (DealerEntry(CURATOR_DEALS, identity(CURATOR_DEALS).public),)
TABLE = Table.from_codes(DOMAIN, np.arange(20)[:, None] % 5)


def policy_of(protocol="indicator", **changes):
    return replace(policy_for(protocol), **changes)


def party_of(policy, table=TABLE, ledger=None, keys=None, name="clinic"):
    pinned = {other: identity(other).public for other in PARTIES if other != name}
    order = None if keys is None else order_digest(keys)
    institution = Institution(name, identity(name), table, Rules(policy, pinned), order)
    return Party(institution, ledger or Ledger(), RandomStream.from_seed(1).child(name).key)


def partition(**slices):
    """Parties by name, each with its slice, and all attributes in the first party of each."""
    held = set()
    roster = []
    for name, number in slices.items():
        attributes = DOMAIN.names if number not in held else ("age",)
        held.add(number)
        roster.append(RosterEntry(name, number, attributes, 20, identity(name).public))
    domain = Domain.coded({"region": 5} | ({"age": 2} if len(held) < len(roster) else {}))
    return Partition(domain, tuple(roster))


def accepted(policy, plan, ledger=None):
    party_of(policy, ledger=ledger).accept(encode_terms(terms_of(plan=plan)))


@pytest.mark.parametrize("protocol", ["indicator", "masked"])
def test_two_parties_of_one_slice_are_not_accepted_as_two_slices(protocol):
    """The attack: a record is counted twice, and each party charges it once."""
    plan = partition(clinic=0, lab=1)
    if protocol == "masked":
        plan = MaskedPlan(plan.domain, plan.roster, 1, Ring(64), (), DEALERS)
    ledger = Ledger()
    party = party_of(policy_of(protocol, records=Records(frozenset({"lab"}))), ledger=ledger)
    with pytest.raises(PolicyError, match="'lab' into another slice, but it holds the same records"):
        party.accept(encode_terms(terms_of(protocol=protocol, plan=plan)))
    assert ledger.total_reserved() == 0


def test_rows_of_other_people_are_not_joined_to_this_partys():
    records = Records(frozenset({"lab"}), order_guaranteed=True)
    accepted(policy_of(records=records), partition(clinic=0, lab=0))
    with pytest.raises(PolicyError, match="'other' into the slice of this party"):
        accepted(policy_of(records=records), partition(clinic=0, other=0))


def test_a_party_that_does_not_say_whose_records_it_holds_takes_part_only_alone():
    accepted(policy_of(), partition(clinic=0))
    with pytest.raises(PolicyError, match="states same_as"):
        accepted(policy_of(), partition(clinic=0, lab=1))
    accepted(policy_of(records=Records(frozenset())), partition(clinic=0, lab=1, other=2))


def test_a_name_that_is_not_pinned_closes_the_policy():
    """A misspelt name would otherwise let its party into another slice."""
    with pytest.raises(PolicyError, match="'labb', which is not pinned"):
        accepted(policy_of(records=Records(frozenset({"labb"}))), partition(clinic=0, lab=1))


def test_together_refuses_a_release_without_one_of_the_parties_that_hold_the_same_records():
    records = Records(frozenset({"lab", "other"}), together=True)
    with pytest.raises(PolicyError, match="only together"):
        accepted(policy_of(records=records), partition(clinic=0, lab=0))
    with pytest.raises(PolicyError, match="only together"):
        accepted(policy_of(records=records), partition(clinic=0))
    accepted(policy_of(records=replace(records, together=False)), partition(clinic=0))
    accepted(policy_of(records=replace(records, same_as=frozenset({"lab"}))), partition(clinic=0, lab=0))


def test_one_institution_under_two_names_is_refused_whatever_min_parties_says():
    """Of three evaluators, it would be the two that together see cells; its noise would count twice."""
    policy = policy_of(records=Records(frozenset()))
    plan = partition(clinic=0, lab=1, other=2)
    accepted(policy, plan)
    accepted(replace(policy, min_parties=3), plan)
    twice = replace(plan.roster[2], identity=plan.roster[1].identity)
    with pytest.raises(DataError, match="'lab' and 'other' have the same"):
        accepted(policy, replace(plan, roster=(*plan.roster[:2], twice)))


def test_the_curator_is_not_accepted_as_a_dealer_under_another_name():
    policy = policy_of("masked", records=Records(frozenset()), dealers=frozenset({"third", CURATOR_DEALS}))
    plan, curator = partition(clinic=0, lab=1), identity(CURATOR_DEALS)
    party = party_of(policy)
    rules = replace(party._institution.rules, curators={curator.public: "curator"})
    rules = replace(rules, known={**rules.known, "third": curator.public})
    party = Party(replace(party._institution, rules=rules), Ledger(), RandomStream.from_seed(1).key)

    def dealt_by(name):
        dealers = (DealerEntry(name, curator.public),)
        masked = MaskedPlan(plan.domain, plan.roster, 1, Ring(64), (2, 0, 1), dealers)
        encoded = encode_terms(terms_of(protocol="masked", plan=masked))
        party.accept(encoded, curator.sign(TERMS, encoded), curator.public)

    with pytest.raises(PolicyError, match="names the curator as the dealer 'third'"):
        dealt_by("third")
    dealt_by(CURATOR_DEALS)


def test_vetoed_evaluators_and_other_dealers_are_refused():
    policy = policy_of("masked", records=Records(frozenset()), veto_evaluators=frozenset({"other"}))
    plan = partition(clinic=0, lab=1, other=2, third=3)
    masked = MaskedPlan(plan.domain, plan.roster, 1, Ring(64), (1, 0, 3), DEALERS)
    allowed = encode_terms(terms_of(protocol="masked", plan=masked))
    party_of(policy).accept(allowed)
    for evaluators in ((2, 0, 1), (0, 2, 1), (0, 1, 2)):
        vetoed = encode_terms(terms_of(protocol="masked", plan=replace(masked, evaluators=evaluators)))
        with pytest.raises(PolicyError, match="vetoes 'other'"):
            party_of(policy).accept(vetoed)
    with pytest.raises(PolicyError, match="does not allow the dealer 'curator'"):
        party_of(replace(policy, dealers=frozenset())).accept(allowed)


# Several rows of a person.

KEYS = ("p", "q", "p", "p", "r", "q")


def covering(rows, plan=None, **changes):
    """Terms whose promise covers so many rows of a person."""
    terms = terms_of(plan=plan or partition(clinic=0), **changes)
    return terms_with(terms, rows_per_person=rows)


def test_the_first_rows_of_each_person_are_kept():
    assert kept_rows(KEYS, 1).tolist() == [0, 1, 4]
    assert kept_rows(KEYS, 2).tolist() == [0, 1, 2, 4, 5]
    assert kept_rows(KEYS, 3).tolist() == list(range(6))


def test_a_release_covers_at_least_the_rows_that_the_policy_keeps():
    policy, keys = policy_of(max_rows_per_person=2), [str(row // 2) for row in range(20)]
    with pytest.raises(PolicyError, match="rows_per_person = 2"):
        party_of(policy, keys=keys).accept(encode_terms(covering(1)))
    party_of(policy, keys=keys).accept(encode_terms(covering(2)))
    party_of(policy, keys=keys).accept(encode_terms(covering(3)))


def test_a_party_without_keys_does_not_promise_for_several_rows():
    with pytest.raises(PolicyError, match="no key column to bound them"):
        party_of(policy_of()).accept(encode_terms(covering(2)))


QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.HISTOGRAM, View(("region",)), 3.0)
REFERENCES = np.full(5, 4)
SCORE = ScoreQuery(RELEASE_ID, "s", (View(("region",)),), 3.0, references_digest([REFERENCES]), 4, 20)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_a_person_with_m_rows_is_charged_for_what_all_of_them_can_change(rows, adjacency):
    """The attack: m equal rows of one person move a count m times as far as one row, at the same charge."""
    codes = np.zeros(20, int)
    codes[:rows] = 1
    other = 2 if adjacency is Adjacency.REPLACE_ONE else 4
    changed = np.where(np.arange(20) < rows, other, codes)
    shift = np.bincount(codes, minlength=5)[:4] - np.bincount(changed, minlength=5)[:4]
    ledger = Ledger()
    party = party_of(
        policy_of("trusted", adjacencies=frozenset(Adjacency), max_release_rho=Fraction(10),
                  lifetime_rho=Fraction(10)),
        Table.from_codes(DOMAIN, codes[:, None]), ledger, [str(max(rows, row)) for row in range(20)],
    )  # fmt: skip
    party.accept(encode_terms(covering(rows, protocol="trusted", adjacency=adjacency, granted=10.0)))
    list(party.answer(QUERY))
    marginal = ledger.cost_of(RELEASE_ID)
    assert float((shift**2).sum()) / (2 * 3.0**2) <= marginal
    assert marginal == gaussian_cost(3.0, PrivacyUnit(adjacency, rows))
    assert float(marginal) == pytest.approx(rows**2 * gaussian_cost(3.0, adjacency))
    party.prepare_scores(SCORE)
    distance = rows * (2 if adjacency is Adjacency.REPLACE_ONE else 1)
    assert distance**2 / (2 * 3.0**2) <= ledger.cost_of(RELEASE_ID) - marginal
    assert ledger.cost_of(RELEASE_ID) - marginal == score_cost(3.0, PrivacyUnit(adjacency, rows), 1)


@pytest.mark.parametrize("interaction", [False, True])
def test_curator_and_parties_charge_the_same_for_several_rows(interaction):
    """The curator adds m times the noise for the same part of the budget."""
    whole = Domain.coded({"a": 2, "b": 3})
    table = Table.from_codes(whole, np.column_stack([np.arange(20) % 2, np.arange(20) % 3]))
    keys, ledgers, links = [str(row // 2) for row in range(20)], [], []
    for name, column in (("clinic", "a"), ("lab", "b")):
        records = Records(frozenset({"clinic", "lab"}) - {name})
        ledgers.append(Ledger())
        policy = policy_of("masked", records=records, max_rows_per_person=2)
        links.append(Link(party_of(policy, table.project((column,)), ledgers[-1], keys, name)))
    dealer = CuratorDealer(identity(CURATOR_DEALS), RandomStream.from_seed(2), BindingsInMemory())
    federation = connect(whole, [links], dealers=[dealer])
    plan = MaskedPlan(whole, federation.partition.roster, 1, Ring(64), (), DEALERS)
    terms = covering(2, plan, protocol="masked")
    measurer = MaskedMeasurer(federation, terms, federation.accept(terms), Fraction(1))
    measurer.measure([Query(View(("a", "b"), interaction=interaction), Fraction(1, 2), "pairs")])
    shape = (2, 3) if interaction else ()
    (charge,) = measurer.accountant.charges
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [charge.zcdp_rho] * 2
    assert charge.zcdp_rho <= Fraction(1, 2)
    once = gaussian_cost(charge.sigmas[0][0], Adjacency.ZERO_OUT, shape)
    assert float(charge.zcdp_rho) == pytest.approx(4 * float(once), rel=1e-9)
    with pytest.raises(BudgetError):
        measurer.measure([Query(View(("a",)), Fraction(3, 4), "more")])
