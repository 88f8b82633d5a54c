"""Releases of plans whose parties may drop out: which calls they miss, and what the release becomes."""

import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.certificates.verify import verify_certificate
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.over_parties import release_over_parties
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.releases import release_of_plan
from support.verifiers import Refused, checks_of_second, needs_node

pytestmark = pytest.mark.slow

SIZES = {"a": 4, "b": 3, "c": 2}
PARTIES, RECORDS, RHO = 7, 280, 1e5
ONE, OTHER = 2, 5
NAMES = tuple(f"party-{number}-1" for number in range(1, PARTIES + 1))
KEYS = RandomStream.from_seed(1)
TLS = self_signed("a", new_tls_key(), datetime.now(UTC))


class Died(BaseException):
    """Stands for the death of the curator; no product code catches it."""


class Vanishing:
    """A connection to a party that answers nothing from one call on.

    Args:
        link: connection to the party.
        method: kind of that call.
        number: of the call among those of its kind.
        replied: the party did what this call asks, and nobody hears of it.
        failure: what the call raises.
    """

    def __init__(self, link, method, number, replied=False, failure=PartyUnavailable):
        self.link, self.method, self.left, self.replied = link, method, number, replied
        self.failure, self.gone = failure, False

    def call(self, method, requests):
        if not self.gone and method == self.method:
            self.left -= 1
            if self.left == 0:
                self.gone = True
                if self.replied:
                    list(self.link.call(method, requests))
        if self.gone:
            raise self.failure("party-of-the-test does not answer")
        return self.link.call(method, requests)


def plan_of(folder, grid=f"{PARTIES}x1", **release):
    (folder / "d.json").write_text(json.dumps(SIZES))
    stated = {"domain": "d.json", "rho": RHO, "mechanism": "independent", "may_drop_out": 2} | release
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in stated.items())
    rows, parties = map(int, grid.split("x"))
    held = [[f"party-{i}-{j}" for j in range(1, parties + 1)] for i in range(1, rows + 1)]
    slices = "".join(f"[[slice]]\nparties = {json.dumps(names)}\n" for names in held)
    (folder / "plan.toml").write_text(f"[release]\n{lines}{slices}")
    return ReleasePlan.load(folder / "plan.toml")


def parties_of(rho=RHO, grid=f"{PARTIES}x1"):
    """One party in each slice, and their rows; what the parties hold differs from slice to slice."""
    codes = np.column_stack([np.arange(RECORDS) // (3 * n) % n for n in SIZES.values()])
    table = Table.from_codes(Domain.coded(SIZES), codes)
    policy = network.policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), rho)
    pieces = partition(table, Grid.parse(grid, table.domain, RECORDS))
    return network.start_parties(pieces, policy, KEYS), pieces


def check_counts(released, pieces):
    """Every marginal is that of the parties in its answer, scaled to all records; noise is far smaller."""
    for number, found in enumerate(released.fitted.measurements):
        gone = {one.party for one in released.certificate.dropouts if one.answers <= number}
        kept = [piece for name, (piece,) in zip(NAMES, pieces, strict=True) if name not in gone]
        exact = sum(piece.marginal(found.clique) for piece in kept)
        np.testing.assert_allclose(found.values, exact * (RECORDS / exact.sum()), atol=0.2)
        assert found.sampled == bool(gone)


MOMENTS = {
    "both_before_they_answer": (("Answer", 1, False), ("Answer", 3, False)),
    "one_before_and_one_after_it_answered": (("Answer", 2, False), ("Answer", 2, True)),
    "after_they_answered": (("Agree", 2, False), ("Agree", 2, True)),
    "one_before_it_answers_and_one_after_it_agreed": (("Answer", 2, False), ("Unmask", 2, False)),
    "as_masks_and_as_shares_of_keys_are_told": (("Unmask", 2, False), ("Unmask", 3, False)),
    "before_they_sign_the_certificate": (("Certify", 1, False), ("Certify", 1, True)),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_release_ends_although_two_parties_drop_out(tmp_path, moment):
    plan, (links, pieces) = plan_of(tmp_path), parties_of()
    for place, lost in zip((ONE, OTHER), MOMENTS[moment], strict=True):
        links[place][0] = Vanishing(links[place][0], *lost)
    released = release_of_plan(plan, links, tmp_path)
    signing = [said.name for said in released.certificate.signed.parties]
    assert signing == [name for place, name in enumerate(NAMES) if place not in (ONE, OTHER)]
    if "certificate" not in moment:
        assert {one.party for one in released.certificate.dropouts} == {NAMES[ONE], NAMES[OTHER]}
    check_counts(released, pieces)


def test_a_release_of_which_more_parties_drop_out_stops_and_names_one(tmp_path):
    plan, (links, _) = plan_of(tmp_path), parties_of()
    for place in (ONE, OTHER, 0):
        links[place][0] = Vanishing(links[place][0], "Answer", 2)
    with pytest.raises(PartyUnavailable, match="does not answer"):
        release_of_plan(plan, links, tmp_path)


@pytest.mark.parametrize(("method", "number"), [("Answer", 2), ("Agree", 2), ("Unmask", 2), ("Certify", 1)])
def test_a_release_whose_curator_dies_after_a_party_dropped_out_is_resumed_and_charged_once(
    tmp_path, method, number
):
    """The curator dies at the last party's second query, or as that party signs the certificate."""
    plan, (links, pieces) = plan_of(tmp_path), parties_of()
    direct = [link for (link,) in links]
    described = [PartyClient(link).describe() for link in direct]
    links[ONE][0] = Vanishing(links[ONE][0], "Answer", 2)
    links[OTHER][0] = Vanishing(links[OTHER][0], "Unmask", 2)
    stated = {
        "signer": Identity.from_seed(bytes(32)),
        "identities": {said.name: said.identity for said in described},
    }
    with contextlib.closing(Journal.create(tmp_path / "journal.sqlite", plan.text)) as journal:
        dying = [*links[:-1], [Vanishing(links[-1][0], method, number, failure=Died)]]
        with pytest.raises(Died):
            release_over_parties(plan, dying, journal, **stated)
        released = release_over_parties(plan, links, journal, **stated)
    answers = {one.party: one.answers for one in released.certificate.dropouts}
    assert answers == {NAMES[ONE]: 1, NAMES[OTHER]: 2}
    check_counts(released, pieces)
    ledgers = [link.servicer._party._ledger.summaries()[0] for link in direct]
    charged = {float(one.spent) for place, one in enumerate(ledgers) if place not in (ONE, OTHER)}
    assert charged == {released.certificate.promise.zcdp_rho_spent}


def federation_of(released):
    """The cards of those who signed the terms."""
    entries = decode_terms(released.certificate.signed.terms).plan.roster
    cards = (Card(PARTY, one.name, one.identity, TLS, Domain.coded(SIZES)) for one in entries)
    curator = Card(CURATOR, "curator", Identity.from_seed(bytes(32)).public, TLS, None)
    return FederationList(curator, tuple(cards))


def verify(certificate, federation):
    """The checks that fail, and what is found of parties, by name."""
    checks = list(verify_certificate(certificate, federation))
    return [check.what for check in checks if not check.passed], {one.what: one.finding for one in checks}


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A release without two parties, of which one is in its second answer."""
    folder = tmp_path_factory.mktemp("signed")
    plan, (links, _) = plan_of(folder), parties_of()
    links[ONE][0] = Vanishing(links[ONE][0], "Answer", 2)
    links[OTHER][0] = Vanishing(links[OTHER][0], "Unmask", 2)
    return release_of_plan(plan, links, folder)


def test_who_dropped_out_is_verified_by_what_the_others_signed(signed):
    failed, found = verify(signed.certificate, federation_of(signed))
    assert not failed
    assert "2 of the 7 parties, of which 2 may" in found["dropouts"]
    assert "is in the first 1 of 3 answers" in found[f"party {NAMES[ONE]}"]
    assert "is in the first 2 of 3 answers" in found[f"party {NAMES[OTHER]}"]


FALSE = {
    "more answers": {"answers": 2},
    "another query": {"query": "00" * 32},
    "others that are absent": {"absent": ()},
    "no signatures": {"signatures": (b"",) * PARTIES},
    "a party that signed": {"party": NAMES[0]},
}


@pytest.mark.parametrize("what", FALSE)
def test_a_false_statement_of_a_party_that_dropped_out_fails(signed, what):
    first, *others = signed.certificate.dropouts
    altered = replace(signed.certificate, dropouts=(replace(first, **FALSE[what]), *others))
    failed, _ = verify(altered, federation_of(signed))
    assert {f"party {NAMES[ONE]}", "dropouts"} & set(failed)


def test_a_certificate_without_one_more_party_fails(signed):
    statements = signed.certificate.signed
    fewer = replace(statements, parties=statements.parties[1:])
    failed, _ = verify(replace(signed.certificate, signed=fewer), federation_of(signed))
    assert {"parties", "dropouts", "charges"} <= set(failed)


@needs_node
def test_the_second_verifier_refuses_the_certificate_and_names_the_command(signed):
    with pytest.raises(Refused, match="use dpmosaic curator verify"):
        checks_of_second(signed.certificate.to_json(), federation_of(signed))


REFUSED = {
    "a slice of several parties": ("7x3", {}, "one party in each slice"),
    "too few parties": ("4x1", {}, "expected at least 6 parties"),
    "a check": ("7x1", {"check": "one-hot"}, "leave check out"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_go_on_without_a_party_is_refused_before_anything_is_charged(tmp_path, what):
    grid, options, refusal = REFUSED[what]
    plan, (links, _) = plan_of(tmp_path, grid, **options), parties_of(grid=grid)
    with pytest.raises(DataError, match=refusal):
        release_of_plan(plan, links, tmp_path)
    assert not any(link.servicer._party._ledger.summaries() for row in links for link in row)


def test_a_party_that_is_reached_by_files_is_refused(tmp_path):
    class Slow(Vanishing):
        def foresee(self, method, requests):
            """Carries nothing."""

    plan, (links, _) = plan_of(tmp_path), parties_of()
    links[ONE][0] = Slow(links[ONE][0], "Answer", 1)
    with pytest.raises(DataError, match="reached by files"):
        release_of_plan(plan, links, tmp_path)


def test_a_protocol_that_needs_all_parties_is_refused_by_its_plan(tmp_path):
    with pytest.raises(DataError, match="may_drop_out: the protocol 'indicator' needs all parties"):
        plan_of(tmp_path, protocol="indicator")
