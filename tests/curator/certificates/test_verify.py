"""A signed certificate and all defects that verification detects."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.statement import ENTRY, Claim, Entry, first_link, next_link, state
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.statements import Signatures
from dpmosaic.curator.certificates.verify import sign_terms, verify_certificate
from support.certificates import certificate_form
from support.terms import terms_of

NAMES = ("a", "b")
SEEDS = {name: Identity.from_seed(name.encode() * 32) for name in (*NAMES, "c", "s")}
DOMAIN = Domain.coded({"x": 2, "y": 2})
ROSTER = tuple(
    RosterEntry(name, 0, (attribute,), 9, SEEDS[name].public)
    for name, attribute in zip(NAMES, ("x", "y"), strict=True)
)
TERMS = terms_of(protocol="masked", plan=MaskedPlan(DOMAIN, ROSTER, 1, Ring(32)))
CERTIFICATE = self_signed("a", new_tls_key(), datetime.now(UTC))
BODY = Certificate.from_json(certificate_form())
BODY = replace(
    BODY,
    plan=replace(BODY.plan, record_counts=(9,), parties=((("x",), ("y",)),)),
    promise=replace(BODY.promise, zcdp_rho_granted=1.0, zcdp_rho_spent=0.75),
)


def federation(**identities):
    def card(name, role):
        identity = SEEDS[identities.get(name, name)]
        return Card.issue(
            role, name, identity, CERTIFICATE, None if role == CURATOR else Domain.coded({"x": 2})
        )

    return FederationList(card("c", CURATOR), tuple(card(name, PARTY) for name in NAMES))


def signed(body=BODY, rho=Fraction(3, 8), names=NAMES):
    claim = Claim("r", body.digest(), body.promise.zcdp_rho_spent)
    statements = []
    for name in names:
        link, entries = first_link(encode_terms(TERMS)), []
        for number in range(2):
            link = next_link(link, str(number), bytes(32), rho)
            entries.append(Entry(str(number), bytes(32), rho, SEEDS[name].sign(ENTRY, link)))
        statements.append(state(SEEDS[name], entries, link, claim))
    signatures = Signatures.of(encode_terms(TERMS), sign_terms(SEEDS["c"], TERMS), names, statements)
    return body.with_signatures(signatures)


def failed(certificate, listed=None):
    return {line.what for line in verify_certificate(certificate, listed or federation()) if not line.passed}


def changed(path, value):
    form = signed().to_json()
    place = form
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return Certificate.from_json(form)


def test_verifies_a_certificate_that_all_parties_signed():
    lines = list(verify_certificate(signed(), federation()))
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
def test_detects_each_altered_value(path, value, what):
    assert failed(changed(path, value)) == what


def test_altered_terms_invalidate_every_signature():
    other = encode_terms(replace(TERMS, release_id="s"))
    assert failed(changed(("signed", "terms"), other.hex())) == {"curator c", "party a", "party b"}


def test_detects_a_party_that_charged_another_sum():
    assert failed(signed(rho=Fraction(1, 4))) == {"party a", "party b"}


def test_detects_a_release_that_exceeds_its_grant():
    body = replace(BODY, promise=replace(BODY.promise, zcdp_rho_spent=1.5))
    assert failed(signed(body, Fraction(3, 4))) == {"budget"}


def test_detects_a_party_that_did_not_sign():
    assert failed(signed(names=("a",))) == {"parties"}


def test_detects_identities_that_differ_from_the_cards():
    assert failed(signed(), federation(a="s")) == {"parties", "party a"}
    assert failed(signed(), federation(c="s")) == {"curator c"}


def test_parties_of_a_protocol_that_charges_parts_may_have_charged_less(monkeypatch):
    terms = replace(TERMS, protocol="indicator", plan=Partition(DOMAIN, ROSTER))
    monkeypatch.setattr(sys.modules[__name__], "TERMS", terms)
    body = replace(BODY, plan=replace(BODY.plan, protocol="indicator"))
    assert failed(signed(body, Fraction(1, 4))) == set()
    assert failed(signed(body, Fraction(1, 2))) == {"party a", "party b"}


@pytest.mark.parametrize("certificate", [BODY, changed(("signed", "terms"), "00")])
def test_detects_a_certificate_that_is_not_of_daemons(certificate):
    assert failed(certificate) == {"form"}
