import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.federation.card import CURATOR, DEALER, PARTY, Card, FederationList, as_text, read_json

DOMAIN = Domain.from_json({"kind": ["ä", "y"], "code": 3})
CERTIFICATE = self_signed("a", new_tls_key(), datetime.now(UTC))


def card(name="clinic", role=PARTY, seed=1):
    identity = Identity.from_seed(bytes([seed]) * 32)
    return Card.issue(role, name, identity, CERTIFICATE, DOMAIN if role == PARTY else None)


@pytest.mark.parametrize("role", [PARTY, DEALER, CURATOR])
def test_a_card_survives_its_file(tmp_path, role):
    (tmp_path / "card.json").write_text(as_text(card(role=role).to_json()), encoding="utf-8")
    assert Card.from_json(read_json(tmp_path / "card.json")) == card(role=role)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"identity": card(seed=2).to_json()["identity"]},
        {"certificate": self_signed("a", new_tls_key(), datetime.now(UTC)).pem.decode()},
        {"domain": {"kind": ["ä", "y"], "code": 4}},
        {"signature": ""},
        {"signature": "00" * 64},
    ],
)
def test_an_altered_card_is_refused(change):
    with pytest.raises(DataError, match="not signed by the identity"):
        Card.from_json(card().to_json() | change)


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        {},
        {"format": "dpmosaic card 1"},
        card().to_json() | {"identity": "x"},
        card().to_json() | {"format": "2"},
    ],
)
def test_a_form_that_is_not_a_card_is_refused(form):
    with pytest.raises(DataError, match="expected a card"):
        Card.from_json(form)


def test_curators_and_dealers_have_no_domain_and_a_party_has_one():
    for role in (PARTY, DEALER, CURATOR, "observer"):
        with pytest.raises(DataError, match="expected the card of"):
            Card(role, "a", bytes(32), CERTIFICATE, None if role == PARTY else DOMAIN)


def test_a_federation_survives_its_file():
    listed = FederationList(card("curator", CURATOR, 9), (card("a", seed=2), card("b", seed=3)))
    for dealers in ((), (card("d", DEALER, 4),)):
        both = replace(listed, dealers=dealers)
        assert FederationList.from_json(json.loads(as_text(both.to_json()))) == both


def test_a_federation_of_two_members_with_one_name_is_refused():
    with pytest.raises(DataError, match="the same name"):
        FederationList(card("curator", CURATOR), (card("a"), card("a", seed=2)))
    with pytest.raises(DataError, match="the same name"):
        FederationList(card("curator", CURATOR), (card("a"),), (card("a", DEALER, 2),))


def test_a_federation_has_one_curator_parties_and_dealers():
    for curator, parties, dealers in (
        (card("a"), [card("b")], []),
        (card("a", CURATOR), [card("b", CURATOR)], []),
        (card("a", CURATOR), [card("b", DEALER)], []),
        (card("a", CURATOR), [], [card("b")]),
    ):
        with pytest.raises(DataError, match="one curator"):
            FederationList(curator, tuple(parties), tuple(dealers))


@pytest.mark.parametrize(
    "form", [None, {}, {"format": "dpmosaic card 1"}, {"format": "dpmosaic federation 1", "dealers": 3}]
)
def test_a_form_that_is_not_a_federation_is_refused(form):
    with pytest.raises(DataError, match="dpmosaic federation 1"):
        FederationList.from_json(form)


def test_a_missing_file_or_one_that_is_not_json_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        read_json(tmp_path / "card.json")
    (tmp_path / "card.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        read_json(tmp_path / "card.json")
