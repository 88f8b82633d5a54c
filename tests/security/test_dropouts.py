"""A curator that deviates where parties may drop out, and a party that comes back or answers late."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.queries import query_digest
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PartyUnavailable, ProtocolError
from dpmosaic.common.messages import Remaining, Unmasking
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, gaussian_sigma
from dpmosaic.common.protocols.dropouts.masks import sum_of_masks
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.terms import RELEASE_ID, terms_of

pytestmark = pytest.mark.slow

PARTIES, LAST, RHO = 6, 5, Fraction(10**8)
DOMAIN = Domain.coded({"a": 12, "b": 2})
TABLE = Table.from_codes(DOMAIN, np.column_stack([np.arange(120) % n for n in DOMAIN.sizes]))
EVERYBODY = range(PARTIES)


class Curator:
    """A curator that may send anything to six parties, of which two may drop out and one may collude."""

    def __init__(self):
        policy = network.policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), float(RHO))
        pieces = partition(TABLE, Grid.parse(f"{PARTIES}x1", DOMAIN, TABLE.record_count))
        links = network.start_parties(pieces, policy, RandomStream.from_seed(1))
        spec = ReleaseSpec(Budget(zcdp_rho=float(RHO)), may_drop_out=2)
        agreed = agree(DOMAIN, links, Proposal(RELEASE_ID, spec, RHO, terms_of().purpose))
        agreed.measurer()
        self.links, self.terms = [link for (link,) in links], agreed.terms
        self.parties = [member.client for member in agreed.federation.members]

    def query(self, number):
        sigma = gaussian_sigma(RHO / 100, self.terms.unit)
        return MarginalQuery(RELEASE_ID, f"{number:06d}", AnswerForm.SHARE, View(("a",)), sigma)

    def ask(self, number, places=EVERYBODY, before=()):
        """The masked answers of some parties, by place."""
        asked = self.query(number)
        return {p: next(self.parties[p].answer(asked, 1, 12, 1, before=before))[0] for p in places}

    def remaining(self, number, absent=(), before=(), lost=()):
        return Remaining(RELEASE_ID, query_digest(self.query(number)), before, absent, lost)

    def signed(self, remaining, places=EVERYBODY):
        """The request to unmask a sum, with the signatures of some parties."""
        signing = [p for p in places if p not in (*remaining.absent, *remaining.lost)]
        signatures = {p: self.parties[p].agree(remaining) for p in signing}
        return Unmasking(remaining, tuple(signatures.get(p, b"") for p in EVERYBODY))

    def agreed(self, number, absent=(), lost=()):
        self.ask(number)
        return self.signed(self.remaining(number, absent, lost=lost))

    def charged(self):
        return [link.servicer._party._ledger.summaries()[0].queries for link in self.links]


@pytest.fixture
def curator():
    return Curator()


def test_a_party_agrees_to_one_set_of_parties_for_each_query(curator):
    curator.ask(1)
    one, other = curator.remaining(1), curator.remaining(1, (LAST,))
    assert curator.parties[0].agree(one) == curator.parties[0].agree(one)
    with pytest.raises(ProtocolError, match="expected the same content as before"):
        curator.parties[0].agree(other)


def test_two_sets_are_not_agreed_on_by_parties_that_are_told_different_ones(curator):
    curator.ask(1)
    first = curator.signed(curator.remaining(1), range(3))
    second = curator.signed(curator.remaining(1, (LAST,)), range(3, 5))
    for place, asked in ((0, first), (3, second)):
        with pytest.raises(ProtocolError, match="expected the signatures of 4 parties"):
            curator.parties[place].unmask(asked)


def test_signatures_of_another_set_do_not_count(curator):
    asked = curator.agreed(1)
    with pytest.raises(ProtocolError, match="does not verify"):
        curator.parties[0].unmask(replace(asked, remaining=curator.remaining(1, (LAST,))))


def test_of_no_party_both_masks_with_others_and_shares_of_keys_are_told(curator):
    """Both would open what that party alone answered, to either query."""
    curator.ask(1)
    left, answered = curator.agreed(2, (LAST,)), curator.agreed(1, lost=(LAST,))
    for place, told, other in ((0, left, answered), (1, answered, left)):
        curator.parties[place].unmask(told)
        with pytest.raises(ProtocolError, match="masks of a party that dropped out"):
            curator.parties[place].unmask(other)


def test_parties_agree_on_the_same_drop_outs_in_all_queries(curator):
    """Else the keys that each of many parties has in common with one of them would be restored."""
    curator.ask(1)
    curator.agreed(2, (3,), lost=(4,))
    for absent, lost in (((3,), (LAST,)), ((LAST,), (4,)), ((3,), ()), ((), ())):
        with pytest.raises(ProtocolError, match="to be absent for good"):
            curator.signed(curator.remaining(1, absent, lost=lost), (0,))


def test_an_answer_that_comes_late_stays_hidden(curator):
    """What the curator cannot remove is uniform: all of 12 words are small with probability below 2^-120."""
    answers, asked = curator.ask(1), curator.signed(curator.remaining(1, (LAST,)))
    told = {p: curator.parties[p].unmask(asked) for p in EVERYBODY if p != LAST}
    ring = curator.terms.plan.ring
    known = sum_of_masks(ring, 12, [], ((LAST, p, one.pairs[0]) for p, one in told.items()))
    hidden = ring.as_signed(ring.words(answers[LAST]) - known)
    assert np.abs(hidden).max() > 1 << (ring.bits - 11)
    with pytest.raises(ProtocolError, match="goes on without this party"):
        curator.parties[LAST].unmask(asked)


def test_a_party_that_is_left_out_agrees_to_nothing(curator):
    curator.ask(1)
    with pytest.raises(ProtocolError, match="goes on without this party"):
        curator.parties[LAST].agree(curator.remaining(1, (LAST,)))


def test_a_party_that_is_left_out_is_asked_nothing_more(curator):
    with pytest.raises(ProtocolError, match="goes on without this party"):
        curator.ask(1, (LAST,), before=(LAST,))
    assert curator.charged()[LAST] == 0


@pytest.mark.parametrize("sets", [((LAST,), ()), ((), (LAST,))])
def test_a_party_that_dropped_out_is_not_taken_back(curator, sets):
    absent, lost = sets
    curator.ask(2)
    curator.agreed(1, absent, lost)
    with pytest.raises(ProtocolError, match="to be absent for good"):
        curator.ask(3, (0,))
    assert curator.charged()[0] == 2
    with pytest.raises(ProtocolError, match="to be absent for good"):
        curator.parties[0].agree(curator.remaining(2))


def test_a_query_is_answered_with_one_set_of_masks(curator):
    first, again = curator.ask(1, (0,)), curator.ask(1, (0,))
    np.testing.assert_array_equal(first[0], again[0])
    with pytest.raises(ProtocolError, match="who had dropped out"):
        curator.ask(1, (0,), before=(LAST,))


@pytest.mark.parametrize(
    ("absent", "lost"), [((3, 4, 5), ()), ((3,), (4, 5)), ((5, 4), ()), ((6,), ()), ((5,), (5,))]
)
def test_sets_that_the_terms_do_not_allow_are_refused(curator, absent, lost):
    curator.ask(1)
    with pytest.raises(ProtocolError):
        curator.parties[0].agree(curator.remaining(1, absent, lost=lost))


def test_a_party_that_stays_is_not_counted_with_those_that_dropped_out(curator):
    curator.ask(1)
    with pytest.raises(ProtocolError, match="with the same parties"):
        curator.parties[0].agree(curator.remaining(1, (LAST,), before=(LAST,)))


def test_a_sum_without_two_parties_has_the_noise_that_was_charged_against_a_colluding_one():
    """The variance over 4,000 cells has a relative deviation of 2.3 %: six of them in one of 10^8 runs."""
    wide = Domain.coded({"a": 4000})
    table = Table.from_codes(wide, np.zeros((120, 1), dtype=np.int64))
    policy = network.policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), 1.0)
    links = network.start_parties(
        partition(table, Grid.parse(f"{PARTIES}x1", wide, 120)), policy, RandomStream.from_seed(2)
    )
    spec = ReleaseSpec(Budget(zcdp_rho=1.0), may_drop_out=2)
    measurer = agree(wide, links, Proposal(RELEASE_ID, spec, Fraction(1), terms_of().purpose)).measurer()
    for place in (1, 4):
        links[place][0].servicer = Silent()
    (found,) = measurer.measure([Query(View(("a",)), Fraction(1), "one")])
    (charge,) = measurer.accountant.charges
    scaled = 120 / 80
    assert {one.party for one in measurer.dropouts} == {"party-2-1", "party-5-1"}
    for deviation in (found.sigma / scaled, np.std(found.values[1:]) / scaled):
        # Four parties are left, each with a third of the variance.
        assert deviation**2 == pytest.approx(charge.sigmas[0][0] ** 2 * 4 / 3, rel=6 * 0.023)


class Silent:
    """A party that answers no more."""

    def serve(self, method, requests, caller):
        raise PartyUnavailable("does not answer")
