"""Releases that end without a certificate: by refusal, by the curator, and with parties away."""

import contextlib
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import ApprovalPending, DataError, PartyUnavailable, PolicyError
from dpmosaic.common.federation.card import PARTY, Card, as_text
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.certificates import issuing
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.abandoning import abandon
from dpmosaic.curator.releasing.over_parties import release_over_parties
from dpmosaic.curator.releasing.planning.drafting import draft
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.curator.report.page import release_report
from support.parties import policy_for, started

DOMAIN = Domain.coded({"a": 3, "b": 2})
NAMES = ("party-1-1", "party-1-2")
SIGNER = Identity.from_seed(bytes(32))


class Away:
    """A connection that is lost from a given method on."""

    def __init__(self, link, method):
        self.link, self.method = link, method

    def call(self, method, requests):
        if method == self.method:
            raise PartyUnavailable("party does not answer")
        return self.link.call(method, requests)


class Trial:
    """A plan, a journal and two parties of one slice."""

    def __init__(self, folder):
        codes = np.column_stack([np.arange(60) % n for n in DOMAIN.sizes])
        table = Table.from_codes(DOMAIN, codes)
        pieces = [table.project((name,)) for name in DOMAIN.names]
        policy = policy_for("masked", Adjacency.ZERO_OUT, 8.0)
        (self.links,) = started([pieces], policy, RandomStream.from_seed(1))
        self.described = [PartyClient(link).describe() for link in self.links]
        shown = self_signed("party", new_tls_key(), datetime.now(UTC))
        cards = [Card.issue(PARTY, d.name, Identity.generate(), shown, d.domain) for d in self.described]
        text, domain = draft(cards, [list(NAMES)], "d.json")
        (folder / "d.json").write_text(as_text(domain.to_json()))
        (folder / "plan.toml").write_text(text.replace('"mosaic"', '"independent"'))
        self.path, self.plan = folder / "journal.sqlite", ReleasePlan.load(folder / "plan.toml")
        Journal.create(self.path, self.plan.text).close()

    def release(self, links=None, **options):
        """Begins or resumes the release."""
        known = {d.name: d.identity for d in self.described}
        with contextlib.closing(Journal(self.path)) as journal:
            slices = [links or self.links]
            return release_over_parties(
                self.plan, slices, journal, signer=SIGNER, identities=known, **options
            )

    def abandon(self, links=None):
        clients = dict(zip(NAMES, map(PartyClient, links or self.links), strict=True))
        with contextlib.closing(Journal(self.path, abandoned=True)) as journal:
            return abandon(journal, clients)

    def rule(self, place, **changes):
        """Changes the rules of a party."""
        party = self.links[place].party
        rules = replace(party._institution.rules, **changes)
        party._institution = replace(party._institution, rules=rules)
        party._rules = rules

    def reserved(self):
        return [float(link.party._ledger.total_reserved()) for link in self.links]

    def states(self):
        return [[entry.state for entry in link.party._ledger.summaries()] for link in self.links]


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


class Waiting:
    """Approvals of an operator who has not decided."""

    automatic = False

    def check(self, terms, curator, signature):
        raise ApprovalPending("the release waits for this party's operator")

    def check_running(self, release_id):
        pass


def policy_without_rho(link):
    return replace(link.party._institution.rules.policy, max_release_rho=Fraction(0))


def test_a_release_that_one_party_refuses_is_reserved_nowhere(trial):
    trial.rule(1, policy=policy_without_rho(trial.links[1]))
    with pytest.raises(PolicyError, match=r"max_release_rho.*The release is abandoned, and no party keeps"):
        trial.release()
    assert trial.states() == [[], []]
    with pytest.raises(DataError, match="is abandoned; there is nothing to resume"):
        trial.release()


class Narrowing:
    """A connection to a party whose policy is narrowed after it allowed the release."""

    def __init__(self, trial, place):
        self.trial, self.place, self.link = trial, place, trial.links[place]

    def call(self, method, requests):
        if method == "Accept":
            self.trial.rule(self.place, policy=policy_without_rho(self.link))
        return self.link.call(method, requests)


def test_a_refusal_after_the_review_frees_what_the_others_reserved(trial):
    with pytest.raises(PolicyError, match=r"max_release_rho.*The release is abandoned, and no party keeps"):
        trial.release([trial.links[0], Narrowing(trial, 1)])
    assert trial.reserved() == [0, 0]
    assert trial.states() == [["abandoned"], []]
    with pytest.raises(DataError, match="is abandoned; there is nothing to resume"):
        trial.release()


@pytest.mark.slow
def test_a_release_that_waits_for_an_operator_keeps_its_reservation_and_is_resumed(trial):
    trial.rule(1, approvals=Waiting())
    with pytest.raises(ApprovalPending):
        trial.release()
    first, second = trial.reserved()
    assert first > 0 == second
    trial.rule(1, approvals=None)
    assert trial.release().certificate.signed is not None
    assert trial.states() == [["certified"], ["certified"]]


def test_a_party_that_cannot_be_reached_is_named_and_asked_again(trial):
    trial.rule(1, approvals=Waiting())
    with pytest.raises(ApprovalPending):
        trial.release()
    assert trial.abandon([Away(trial.links[0], "Abandon"), trial.links[1]]) == {
        "party-1-1": "party does not answer"
    }
    assert trial.reserved()[0] > 0
    assert trial.abandon() == trial.abandon() == {}
    assert trial.reserved() == [0, 0]


def test_abandoning_after_answers_gives_back_only_what_was_not_spent(trial):
    with pytest.raises(PartyUnavailable):
        trial.release([trial.links[0], Away(trial.links[1], "Answer")])
    spent = [float(link.party._ledger.summaries()[0].spent) for link in trial.links]
    assert trial.reserved()[0] > spent[0] > 0
    assert trial.abandon() == {}
    assert trial.reserved() == spent
    assert trial.states() == [["abandoned"], ["abandoned"]]


def test_the_curators_key_is_erased_from_its_journal(trial):
    with contextlib.closing(Journal(trial.path)) as journal:
        key = journal.key
    assert trial.abandon() == {}
    files = list(trial.path.parent.glob("journal.sqlite*"))
    assert not any(key in file.read_bytes() for file in files)


@pytest.mark.slow
def test_a_release_whose_first_party_certified_already_is_resumed(trial):
    with pytest.raises(PartyUnavailable):
        trial.release([trial.links[0], Away(trial.links[1], "Certify")])
    assert trial.states() == [["certified"], ["open"]]
    with contextlib.closing(Journal(trial.path)) as journal:
        noted = json.loads(journal.note("certificate"))
    certificate = trial.release().certificate
    assert trial.states() == [["certified"], ["certified"]]
    assert certificate.created == noted["created"]


class LaterClock(datetime):
    """A clock that is a day further at every look."""

    day = 0

    @classmethod
    def now(cls, zone=None):
        cls.day += 1
        return datetime(2026, 1, cls.day, tzinfo=zone)


@pytest.mark.slow
def test_a_release_that_stopped_between_its_files_and_the_signatures_writes_the_same_files(
    trial, monkeypatch
):
    """The report states when the certificate was made, and its digest is part of the certificate."""
    monkeypatch.setattr(issuing, "datetime", LaterClock)
    written = []

    def publish(made):
        written.append(release_report(made.certificate, made.synthetic))
        return {"report.html": hashlib.sha256(written[-1].encode()).hexdigest()}

    with pytest.raises(PartyUnavailable):
        trial.release([trial.links[0], Away(trial.links[1], "Certify")], publish=publish)
    certificate = trial.release(publish=publish).certificate
    assert written[0] == written[1]
    assert certificate.outputs == {"report.html": hashlib.sha256(written[0].encode()).hexdigest()}
    assert LaterClock.day == 2
