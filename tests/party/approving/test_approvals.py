import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.approving.decisions import APPROVED, DENIED, PENDING
from support.terms import id_of, terms_of

TERMS = terms_of()
PARTY = Identity.from_seed(b"p" * 32)
CURATOR, SIGNATURE = b"c" * 32, b"s" * 64
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def opened(tmp_path, **options):
    return Approvals(tmp_path / "requests.sqlite", PARTY, clock=lambda: NOW, **options)


@pytest.fixture
def approvals(tmp_path):
    made = opened(tmp_path)
    yield made
    made.close()


def check(approvals, terms=TERMS):
    approvals.check(terms, CURATOR, SIGNATURE)


def decide(approvals, verdict, release_id=TERMS.release_id, accepted=False):
    return approvals.decide(release_id, verdict, "alice", "as discussed", accepted=accepted)


def test_a_release_waits_until_a_person_approves_exactly_it(approvals):
    for _ in range(2):
        with pytest.raises(PolicyError, match="waits for this party's operator"):
            check(approvals)
    assert [(r.terms, r.state) for r in approvals.requests()] == [(TERMS, PENDING)]
    assert decide(approvals, APPROVED, TERMS.release_id[:2]).state == APPROVED
    check(approvals)
    with pytest.raises(PolicyError, match="decided on other terms"):
        check(approvals, replace(TERMS, granted_rho=2.0))


def test_an_approval_is_for_the_curator_that_asked_and_no_other_that_sends_the_same_terms(approvals):
    with pytest.raises(PolicyError, match="waits for this party's operator"):
        check(approvals)
    decide(approvals, APPROVED)
    with pytest.raises(PolicyError, match="or another curator's"):
        approvals.check(TERMS, b"d" * 32, b"t" * 64)
    check(approvals)


def test_a_request_names_the_curator_that_signed_it(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    request = approvals.request(TERMS.release_id)
    assert (request.curator, request.signature, request.at) == (CURATOR, SIGNATURE, NOW.isoformat())


def test_a_decision_is_kept_with_its_author_time_and_reason_and_signed(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    decide(approvals, APPROVED)
    (decision,) = approvals.request(TERMS.release_id).decisions
    assert (decision.verdict, decision.by, decision.reason) == (APPROVED, "alice", "as discussed")
    assert decision.at == NOW.isoformat()
    assert approvals.request(TERMS.release_id).is_signed(0, PARTY.public)


def test_a_denied_release_stays_denied(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    decide(approvals, DENIED)
    with pytest.raises(PolicyError, match="denied"):
        check(approvals)


def test_only_a_denied_release_does_not_run(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    approvals.check_running(TERMS.release_id)
    approvals.check_running(id_of(1))
    decide(approvals, APPROVED)
    approvals.check_running(TERMS.release_id)
    decide(approvals, DENIED, accepted=True)
    with pytest.raises(PolicyError, match="stopped it"):
        approvals.check_running(TERMS.release_id)


def test_deciding_the_same_again_has_no_effect(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    for verdict in (APPROVED, DENIED):
        assert decide(approvals, verdict) == decide(approvals, verdict)
    assert [d.verdict for d in approvals.request(TERMS.release_id).decisions] == [APPROVED, DENIED]


def test_a_denied_release_can_be_approved_only_before_it_is_accepted(approvals):
    with pytest.raises(PolicyError):
        check(approvals)
    decide(approvals, DENIED)
    with pytest.raises(DataError, match="cannot go on"):
        decide(approvals, APPROVED, accepted=True)
    assert decide(approvals, APPROVED).state == APPROVED
    check(approvals)


def test_a_decision_names_one_release(approvals):
    for name in (1, 2):
        with pytest.raises(PolicyError):
            check(approvals, replace(TERMS, release_id=id_of(name)))
    for prefix, found in (("3", 2), ("x", 0), ("", 2)):
        with pytest.raises(DataError, match=f"found {found}"):
            decide(approvals, APPROVED, prefix)


def test_decisions_survive_a_restart(approvals, tmp_path):
    with pytest.raises(PolicyError):
        check(approvals)
    other = opened(tmp_path)
    decide(other, APPROVED)
    other.close()
    check(approvals)


def test_a_policy_without_approval_approves_in_its_own_name(tmp_path):
    approvals = opened(tmp_path, automatic=True)
    check(approvals)
    request = approvals.request(TERMS.release_id)
    assert [(d.verdict, d.by, d.reason) for d in request.decisions] == [
        (APPROVED, "policy.toml", "approval = false")
    ]
    assert request.is_signed(0, PARTY.public)
    approvals.close()


def test_an_approval_that_the_party_did_not_sign_is_none(approvals, tmp_path):
    with pytest.raises(PolicyError):
        check(approvals)
    forged = Approvals(tmp_path / "requests.sqlite", Identity.from_seed(b"x" * 32))
    decide(forged, APPROVED)
    forged.close()
    with pytest.raises(PolicyError, match="not signed by this party"):
        check(approvals)


def test_the_number_of_pending_requests_is_limited(approvals):
    for number in range(100):
        with pytest.raises(PolicyError, match="waits"):
            check(approvals, replace(TERMS, release_id=id_of(number)))
    with pytest.raises(PolicyError, match="too many"):
        check(approvals)
    assert len(approvals.requests()) == 100
    decide(approvals, DENIED, id_of(1))
    with pytest.raises(PolicyError, match="waits"):
        check(approvals)


def test_requests_of_another_format_are_refused_and_left_as_they_are(tmp_path):
    path = tmp_path / "requests.sqlite"
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE request (release_id TEXT PRIMARY KEY, terms BLOB, decision TEXT) STRICT;"
        "INSERT INTO request VALUES ('abc', x'00', 'approved'); PRAGMA user_version = 2"
    )
    database.close()
    with pytest.raises(
        DataError, match="expected a file of requests of format 1, found format 2; install the version"
    ):
        opened(tmp_path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT decision FROM request").fetchall() == [("approved",)]
    database.close()
