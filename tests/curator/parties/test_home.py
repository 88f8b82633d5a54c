from datetime import UTC, datetime

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.federation.card import CURATOR, DEALER, PARTY, Card
from dpmosaic.common.federation.handover import Handover
from dpmosaic.common.history import START, Mark
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import ATTACHED, CuratorHome


def card(name="clinic", role=PARTY, seed=1):
    certificate = self_signed(name, new_tls_key(), datetime.now(UTC))
    domain = Domain.coded({"a": 2}) if role == PARTY else None
    return Card.issue(role, name, Identity.from_seed(bytes([seed]) * 32), certificate, domain)


@pytest.fixture
def home(tmp_path):
    CuratorHome.create(tmp_path, "curator")
    return CuratorHome.open(tmp_path)


def test_an_enrolled_party_is_in_the_federation(home):
    clinic = card()
    home.enroll(clinic, "host:1")
    assert home.cards() == {"clinic": clinic}
    assert home.addresses() == {"clinic": "host:1"}
    listed = home.federation()
    assert (listed.curator.name, listed.parties) == ("curator", (clinic,))


def test_an_enrolled_dealer_is_listed_apart_from_the_parties(home):
    clinic, university = card(), card("university", DEALER, 2)
    home.enroll(university, "host:1")
    with pytest.raises(DataError, match="expected enrolled parties, got none"):
        home.federation()
    home.enroll(clinic, "host:2")
    listed = home.federation()
    assert (listed.parties, listed.dealers) == ((clinic,), (university,))


def test_a_party_moves_and_renews_its_certificate(home):
    home.enroll(card(), "host:1")
    newer = card()
    home.enroll(newer, "host:2")
    assert home.cards() == {"clinic": newer}
    assert home.addresses() == {"clinic": "host:2"}


def test_another_identity_under_a_known_name_is_refused(home):
    home.enroll(card(), "host:1")
    with pytest.raises(PolicyError, match="another identity"):
        home.enroll(card(seed=2), "host:1")


@pytest.mark.parametrize("recounted", [False, True])
def test_a_party_that_hands_over_keeps_its_mark_unless_it_recounted_a_restored_ledger(home, recounted):
    former, later = Identity.from_seed(b"a" * 32), Identity.from_seed(b"b" * 32)
    made = self_signed("clinic", new_tls_key(), datetime.now(UTC))
    home.enroll(Card.issue(PARTY, "clinic", former, made, Domain.coded({"a": 2})), ATTACHED)
    seen = Mark(7, b"h" * 32)
    home.marks().follow("clinic", former.public, START, seen)
    handover = Handover.issue(PARTY, "clinic", former, later.public, recounted=recounted)
    home.enroll(Card.issue(PARTY, "clinic", later, made, Domain.coded({"a": 2}), (handover,)), ATTACHED)
    assert home.cards()["clinic"].identity == later.public
    assert home.marks().of(later.public) == (START if recounted else seen)
    with pytest.raises(PolicyError, match="enrolled with another identity"):
        home.enroll(Card.issue(PARTY, "clinic", former, made, Domain.coded({"a": 2})), ATTACHED)


def test_a_curators_card_is_not_enrolled(home):
    with pytest.raises(DataError, match="card of a party"):
        home.enroll(card(role=CURATOR), "host:1")


@pytest.mark.parametrize("address", ["host", "host:", ":1", "host:x"])
def test_an_address_has_host_and_port(home, address):
    with pytest.raises(DataError, match="host:port"):
        home.enroll(card(), address)


def test_refuses_a_federation_of_no_party(home):
    with pytest.raises(DataError, match="expected enrolled parties, got none"):
        home.federation()


def test_who_is_not_enrolled_is_not_dialled(home):
    with pytest.raises(DataError, match="'clinic' is not enrolled; enrolled: no party"):
        home.links(["clinic"], None, RetryPolicy()).__enter__()


def test_who_dials_out_needs_a_place_to_arrive(home):
    home.enroll(card(), ATTACHED)
    with pytest.raises(DataError, match="expected listen in"):
        home.links(["clinic"], None, RetryPolicy()).__enter__()


def test_damaged_addresses_are_refused(home):
    (home.folder / "addresses.json").write_text("[]")
    with pytest.raises(DataError, match="enroll the parties again"):
        home.addresses()
