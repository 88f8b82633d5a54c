"""Quotas of calendar years and curators, beside the lifetime budget."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.promises.statement import Claim
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.names import POLICY
from dpmosaic.party.policies.file import Settings
from dpmosaic.party.policies.quotas import Asking, Quota, Quotas
from support.ledgers import DATA, KEY, QUERY, SECRET
from support.terms import id_of, terms_of

HUB, TRIAL, OTHER = (
    Asking(letter * 32, name) for letter, name in ((b"h", "hub"), (b"t", "trial"), (b"o", "o"))
)
QUOTAS = Quotas(Fraction(4), {"hub": Quota(Fraction(3)), "trial": Quota(lifetime_rho=Fraction(2))})
SUMMER = datetime(2031, 7, 1, tzinfo=UTC)


class Book:
    """A ledger in memory, whose clock the test moves, before the policy's quotas."""

    def __init__(self, quotas=QUOTAS, now=SUMMER):
        self.quotas, self.now = quotas, now
        self.ledger = Ledger(None, lambda: self.now.timestamp())
        self.count = 0

    def accept(self, asking, rho, **terms):
        """Accepts a release, if the quotas allow it: its terms."""
        self.count += 1
        terms = terms_of(id_of(self.count), granted=float(rho), **terms)

        def admit(taken):
            for refusal in self.quotas.refusals(terms.granted_cost, taken, 1, asking):
                raise refusal

        self.ledger.reserve(terms, DATA, SECRET, admit, b"", asking.identity)
        return terms

    def charge(self, terms, rho):
        self.count += 1
        query = replace(QUERY, release_id=terms.release_id, query_id=f"q{self.count}")
        self.ledger.charge(query, Fraction(rho), DATA, KEY)

    def finish(self, terms):
        self.ledger.certify(Claim(terms.release_id, b"c" * 32, 1e9))

    def left(self, asking):
        return [float(one.left_rho) for one in self.quotas.list_left(self.ledger.list_taken(), 1, asking)]


@pytest.fixture
def book():
    return Book()


def test_without_quotas_nothing_is_limited():
    unlimited = Book(Quotas())
    unlimited.accept(OTHER, 1e6)
    assert unlimited.left(OTHER) == []


def test_a_curator_without_a_quota_is_refused_where_curators_have_some(book):
    with pytest.raises(PolicyError, match=r"none of this one; its owner can add a section \[quotas.curators"):
        book.accept(OTHER, 0.5)


def test_a_curator_is_told_what_is_left_of_its_own_quota_of_the_year(book):
    book.accept(HUB, 2)
    with pytest.raises(PolicyError, match=r"yearly_rho in \[quotas.curators.hub\].* which is rho 1; lower"):
        book.accept(HUB, 1.5)
    book.accept(HUB, 1)


def test_a_curator_is_not_told_what_others_spent(book):
    book.accept(HUB, 3)
    with pytest.raises(PolicyError, match=r"yearly_rho in \[quotas\], the quota of all curators") as refused:
        book.accept(TRIAL, 1.5)
    assert "rho 1" not in str(refused.value)


def test_a_quota_of_a_year_renews_and_one_of_a_curator_s_lifetime_does_not(book):
    for terms in (book.accept(HUB, 2), book.accept(TRIAL, 2)):
        book.charge(terms, 2)
        book.finish(terms)
    assert book.left(HUB) == [0, 1]
    book.now = datetime(2032, 1, 1, tzinfo=UTC)
    assert (book.left(HUB), book.left(TRIAL)) == ([4, 3], [4, 0])
    book.accept(HUB, 3)
    with pytest.raises(PolicyError, match=r"lifetime_rho in \[quotas.curators.trial\]"):
        book.accept(TRIAL, 0.5)


def test_a_clock_that_is_set_back_gives_no_budget_of_an_earlier_year(book):
    book.accept(HUB, 3)
    book.now = datetime(2030, 7, 1, tzinfo=UTC)
    with pytest.raises(PolicyError, match="for this calendar year"):
        book.accept(HUB, 1)


def test_what_a_release_may_still_charge_goes_over_into_the_next_year(book):
    terms = book.accept(HUB, 2)
    book.charge(terms, 0.5)
    book.now = datetime(2032, 1, 1, tzinfo=UTC)
    assert book.left(HUB) == [2.5, 1.5]
    book.charge(terms, 0.5)
    book.finish(terms)
    assert book.left(HUB) == [3.5, 2.5]


def test_what_was_lost_with_a_backup_counts_for_every_curator_and_in_this_year(book):
    book.accept(HUB, 1)
    book.ledger.hold_restored()
    book.ledger.recount(Fraction(1), "certificates")
    assert (book.left(HUB), book.left(TRIAL)) == ([2, 1], [2, 1])
    book.now = datetime(2032, 1, 1, tzinfo=UTC)
    assert (book.left(HUB), book.left(TRIAL)) == ([4, 3], [4, 1])


def test_releases_of_a_year_count_under_the_strictest_of_their_adjacencies(book):
    book.accept(HUB, 0.25)
    before = book.left(HUB)[0]
    book.accept(HUB, 0.25, adjacency=Adjacency.REPLACE_ONE)
    assert before == 3.75
    assert book.left(HUB)[0] < 3.5


def test_what_is_left_is_told_rounded_down(book):
    book.accept(HUB, 1 / 3)
    (_, own) = book.quotas.list_left(book.ledger.list_taken(), 1, HUB)
    assert own.words == "rho 2.66666 of yearly_rho in [quotas.curators.hub] 3 this calendar year"
    lower = replace(QUOTAS, yearly_rho=Fraction(1, 4)).list_left(book.ledger.list_taken(), 1, HUB)[0]
    assert lower.words == "NOTHING this calendar year: yearly_rho in [quotas] 0.25 does not suffice"


def test_quotas_are_read_and_a_misspelt_one_is_refused(tmp_path):
    (tmp_path / "domain.json").write_text('{"a": 2}')
    source = '[source]\ndomain = "domain.json"\n'
    text = "[quotas]\nyearly_rho = 0.5\n[quotas.curators.hub]\nyearly_rho = 0.25\nlifetime_rho = 1\n"
    (tmp_path / POLICY).write_text(source + text)
    read = Settings.load(tmp_path).policy.quotas
    assert read == Quotas(Fraction(1, 2), {"hub": Quota(Fraction(1, 4), Fraction(1))})
    (tmp_path / POLICY).write_text(source + text.replace("lifetime_rho", "lifetime"))
    with pytest.raises(DataError, match=r"curators hub lifetime in \[quotas\]: unknown key"):
        Settings.load(tmp_path)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("move"), st.integers(-500, 500)),
        st.tuples(st.just("accept"), st.sampled_from([HUB, TRIAL]), st.integers(1, 12)),
        st.tuples(st.just("charge"), st.integers(0, 30), st.integers(1, 8)),
        st.tuples(st.just("end"), st.integers(0, 30), st.booleans()),
    ),
    max_size=25,
)


class Counted:
    """The same, counted from a list of all that happened: one charge is (curator, year, rho)."""

    def __init__(self):
        self.charges, self.open, self.closed, self.latest = [], {}, [], datetime(1970, 1, 1, tzinfo=UTC)

    def year(self, now):
        """The year of what happens now, on a clock that never goes back."""
        return max(now, self.latest).year

    def note(self, now):
        self.latest = max(now, self.latest)

    def used(self, year, of=None):
        """What was charged in a year, and what open releases may still charge."""
        may = sum(granted - spent for who, granted, spent in self.open.values() if of in (None, who))
        return may + sum(rho for who, at, rho in self.charges if at == year and of in (None, who))

    def used_in_all(self, of):
        granted = sum(granted for who, granted, _ in self.open.values() if who == of)
        return granted + sum(spent for who, spent in self.closed if who == of)


@pytest.mark.slow
@given(STEPS)
@settings(deadline=None)
def test_random_releases_are_accepted_just_when_they_fit_and_no_year_exceeds_its_quota(steps):
    book, counted, accepted = Book(), Counted(), []
    for kind, *what in steps:
        if kind == "move":
            book.now += timedelta(days=what[0])
        elif kind == "accept":
            (asking, eighths), year = what, counted.year(book.now)
            rho = Fraction(eighths, 8) * 2
            fits = (
                counted.used(year) + rho <= 4
                and (asking is TRIAL or counted.used(year, HUB) + rho <= 3)
                and (asking is HUB or counted.used_in_all(TRIAL) + rho <= 2)
            )
            if not fits:
                with pytest.raises(PolicyError, match="the quota of"):
                    book.accept(asking, rho)
                continue
            terms = book.accept(asking, rho)
            counted.open[terms.release_id] = (asking, rho, Fraction(0))
            counted.note(book.now)
            accepted.append(terms)
        elif accepted:
            terms = accepted[what[0] % len(accepted)]
            if terms.release_id not in counted.open:
                continue
            asking, granted, spent = counted.open[terms.release_id]
            if kind == "end":
                del counted.open[terms.release_id]
                counted.closed.append((asking, spent))
                book.finish(terms) if what[1] else book.ledger.abandon(terms.release_id)
            elif spent + Fraction(what[1], 8) <= granted:
                rho = Fraction(what[1], 8)
                book.charge(terms, rho)
                counted.charges.append((asking, counted.year(book.now), rho))
                counted.open[terms.release_id] = (asking, granted, spent + rho)
            else:
                continue
            counted.note(book.now)
        year = counted.year(book.now)
        assert book.left(HUB) == [4 - counted.used(year), 3 - counted.used(year, HUB)]
        assert book.left(TRIAL) == [4 - counted.used(year), 2 - counted.used_in_all(TRIAL)]
    for year in {at for _, at, _ in counted.charges}:
        assert sum(rho for _, at, rho in counted.charges if at == year) <= 4
        assert sum(rho for who, at, rho in counted.charges if at == year and who == HUB) <= 3
    assert sum(rho for who, _, rho in counted.charges if who == TRIAL) <= 2
