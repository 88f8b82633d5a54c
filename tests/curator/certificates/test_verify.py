"""A certificate that parties signed, and everything that may be wrong with it."""

import copy
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.masked.plan import MaskedPlan, RosterEntry
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.statement import ENTRY, Claim, Entry, first_link, next_link, state
from dpmosaic.curator.certificates.verify import certificate_digest, sign_terms, verified, with_signatures

NAMES = ("a", "b")
SEEDS = {name: Identity.from_seed(name.encode() * 32) for name in (*NAMES, "c", "s")}
DOMAIN = Domain.coded({"x": 2, "y": 2})
ROSTER = tuple(
    RosterEntry(name, 0, (attribute,), 9, SEEDS[name].public)
    for name, attribute in zip(NAMES, ("x", "y"), strict=True)
)
TERMS = ReleaseTerms(
    "r", PROTOCOL_VERSION, "masked", Adjacency.ZERO_OUT, 1.0, MaskedPlan(DOMAIN, ROSTER, 1, Ring(32))
)
CERTIFICATE = self_signed("a", new_tls_key(), datetime.now(UTC))
BODY = {
    "differentially_private": True,
    "labels": [],
    "plan": {"protocol": "masked", "adjacency": "zero-out", "parties": [[["x"], ["y"]]]},
    "promise": {"zcdp_rho_granted": 1.0, "zcdp_rho_spent": 0.75},
}


def federation(**identities):
    def card(name, role):
        identity = SEEDS[identities.get(name, name)]
        return Card.issue(
            role, name, identity, CERTIFICATE, None if role == CURATOR else Domain.coded({"x": 2})
        )

    return FederationList(card("c", CURATOR), tuple(card(name, PARTY) for name in NAMES))


def signed(body=BODY, rho=Fraction(3, 8), names=NAMES):
    claim = Claim("r", certificate_digest(body), body["promise"]["zcdp_rho_spent"])
    statements = []
    for name in names:
        link, entries = first_link(encode_terms(TERMS)), []
        for number in range(2):
            link = next_link(link, str(number), bytes(32), rho)
            entries.append(Entry(str(number), bytes(32), rho, SEEDS[name].sign(ENTRY, link)))
        statements.append(state(SEEDS[name], entries, link, claim))
    return with_signatures(body, TERMS, sign_terms(SEEDS["c"], TERMS), names, statements)


def failed(certificate, listed=None):
    return {line.what for line in verified(certificate, listed or federation()) if not line.passed}


def changed(path, value):
    certificate = copy.deepcopy(signed())
    place = certificate
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return certificate


def test_what_all_signed_is_verified():
    lines = list(verified(signed(), federation()))
    assert all(line.passed for line in lines)
    assert [line.what for line in lines] == [
        "label", "terms", "curator c", "parties", "party a", "party b", "budget",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("promise", "epsilon"), 0.1, {"party a", "party b"}),
        (("plan", "protocol"), "trusted", {"terms", "party a", "party b"}),
        (("promise", "zcdp_rho_granted"), 2.0, {"terms", "party a", "party b"}),
        (("labels",), ["NOT PRIVATE"], {"label", "party a", "party b"}),
        (("signed", "curator_signature"), "00" * 64, {"curator c"}),
        (("signed", "parties", 0, "signature"), "00" * 64, {"party a"}),
        (("signed", "parties", 1, "entries", 0, "zcdp_rho"), "1/8", {"party b"}),
        (("signed", "parties", 1, "entries"), [], {"party b"}),
    ],
)
def test_whatever_is_altered_shows(path, value, what):
    assert failed(changed(path, value)) == what


def test_terms_that_were_altered_show_in_every_signature():
    other = encode_terms(ReleaseTerms("s", PROTOCOL_VERSION, "masked", Adjacency.ZERO_OUT, 1.0, TERMS.masked))
    assert failed(changed(("signed", "terms"), other.hex())) == {"curator c", "party a", "party b"}


def test_a_party_that_charged_another_sum_shows():
    assert failed(signed(rho=Fraction(1, 4))) == {"party a", "party b"}


def test_a_release_past_its_grant_shows():
    body = copy.deepcopy(BODY)
    body["promise"]["zcdp_rho_spent"] = 1.5
    assert failed(signed(body, Fraction(3, 4))) == {"budget"}


def test_a_party_that_did_not_sign_shows():
    assert failed(signed(names=("a",))) == {"parties"}


def test_identities_other_than_those_of_the_cards_show():
    assert failed(signed(), federation(a="s")) == {"parties", "party a"}
    assert failed(signed(), federation(c="s")) == {"curator c"}


@pytest.mark.parametrize(
    "form", [None, [], {}, BODY, changed(("signed", "terms"), "zz"), changed(("promise",), 3)]
)
def test_what_is_no_certificate_over_daemons_shows(form):
    assert failed(form) == {"form"}
