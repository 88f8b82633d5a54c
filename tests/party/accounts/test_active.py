"""Accepted releases at a party: verified before they are decoded, decoded once, bounded in number."""

from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import decode_terms, encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DeliveriesLost, PolicyError, ProtocolError
from dpmosaic.common.federation.protocol_versions import OLDEST
from dpmosaic.common.promises.statement import TERMS as PURPOSE
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import IDENTITY, POLICY, QUERY, TERMS, started
from support.masked import POLICY as MASKED_POLICY
from support.masked import Release
from support.parties import party_of, policy_for
from support.terms import RELEASE_ID, id_of, terms_for

SHARE = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c")), 3.0)
CURATOR = Identity.from_seed(b"c" * 32)


def pinning(table, ledger):
    """A party that pins one curator."""
    curators, policy = {CURATOR.public: "cur"}, policy_for("indicator")
    return party_of("north", table, policy, ledger=ledger, identity=IDENTITY, curators=curators)


@pytest.fixture
def ledger():
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture
def decoded(monkeypatch):
    """The terms that parties decode during the test, one entry for each time."""
    seen = []

    def counted(data):
        seen.append(data)
        return decode_terms(data)

    monkeypatch.setattr("dpmosaic.party.institution.role.decode_terms", counted)
    monkeypatch.setattr("dpmosaic.party.accounts.active.decode_terms", counted)
    return seen


def test_terms_are_decoded_when_they_come_and_not_for_later_messages(decoded):
    release = Release().accept()
    assert set(decoded) == {encode_terms(release.terms)}
    decoded.clear()
    release.introduce().prepare(("a", "c")).prepare(("a", "c", "d"))
    for number in range(5):
        release.frames(replace(SHARE, query_id=str(number)))
    assert decoded == []


def test_after_a_restart_terms_are_decoded_once_from_the_ledger(decoded, tmp_path):
    release = Release(folder=tmp_path).accept().introduce().prepare(("a", "c"))
    first = release.frames(SHARE)
    decoded.clear()
    for seed, name in enumerate(release.names, start=50):
        release.start(name, seed=seed)
    assert release.prepare(("a", "c")).frames(SHARE) == first
    assert decoded == [encode_terms(release.terms)] * len(release.parties)


def test_the_number_of_active_releases_is_limited_and_others_are_decoded_again(table, ledger, decoded):
    party = started(table, ledger, replace(POLICY, max_active_releases=2))
    for release_id in (RELEASE_ID, id_of("s"), id_of("t")):
        party.accept(encode_terms(terms_for(party, release_id=release_id)))
    decoded.clear()
    first = list(party.answer(QUERY))
    assert len(decoded) == 1
    for release_id in (id_of("t"), RELEASE_ID) * 2:
        party.answer(replace(QUERY, release_id=release_id))
    assert len(decoded) == 1
    party.answer(replace(QUERY, release_id=id_of("s")))
    assert len(decoded) == 2
    assert list(party.answer(QUERY)) == first


@pytest.mark.slow
def test_a_removed_release_needs_its_deliveries_again():
    release = Release(policy=replace(MASKED_POLICY, max_active_releases=1)).accept().introduce()
    first = release.prepare(("a", "c")).frames(SHARE)
    others = replace(release.terms, release_id=id_of("s"))
    for party in release.parties.values():
        party.accept(encode_terms(others))
    with pytest.raises(DeliveriesLost):
        release.parties["north"].answer(SHARE)
    assert release.prepare(("a", "c")).frames(SHARE) == first


@pytest.mark.parametrize(
    "came", [b"", b"anything", encode_terms(TERMS) + b"\0", encode_terms(TERMS)[:-1]], ids=len
)
def test_bytes_that_no_pinned_curator_signed_are_not_decoded(table, ledger, decoded, came):
    party = pinning(table, ledger)
    with pytest.raises(PolicyError, match="not signed by a pinned curator"):
        party.accept(came, CURATOR.sign(PURPOSE, encode_terms(TERMS)), CURATOR.public)
    assert decoded == []
    assert ledger.total_reserved() == 0
    party.accept(encode_terms(TERMS), CURATOR.sign(PURPOSE, encode_terms(TERMS)), CURATOR.public)


def test_signed_bytes_that_are_not_terms_are_refused(table, ledger):
    party = pinning(table, ledger)
    for came in (b"anything", encode_terms(TERMS) + b"\0"):
        with pytest.raises(ProtocolError, match="terms"):
            party.accept(came, CURATOR.sign(PURPOSE, came), CURATOR.public)
    assert ledger.total_reserved() == 0


def test_a_release_by_a_protocol_that_is_not_spoken_any_more_is_answered_nothing_and_can_be_abandoned(
    table, ledger
):
    party = started(table, ledger, POLICY)
    party.accept(encode_terms(terms_for(party)))
    old = encode_terms(replace(terms_for(party), protocol_version=OLDEST - 1))
    ledger._database.execute("UPDATE release SET terms = ?", (old,))
    restarted = started(table, ledger, POLICY)
    with pytest.raises(ProtocolError, match="abandon it, or install the earlier version"):
        restarted.answer(QUERY)
    restarted.abandon(RELEASE_ID)
    assert ledger.total_reserved() == 0
