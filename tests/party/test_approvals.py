import sqlite3
from dataclasses import replace

import pytest

from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.party.approvals import APPROVED, DENIED, PENDING, Approvals
from support.terms import terms_of

TERMS = terms_of("abc")


@pytest.fixture
def approvals(tmp_path):
    opened = Approvals(tmp_path / "requests.sqlite")
    yield opened
    opened.close()


def test_a_release_waits_until_a_person_approves_exactly_it(approvals):
    for _ in range(2):
        with pytest.raises(PolicyError, match="waits for this party's operator"):
            approvals.check(TERMS)
    assert [(r.terms, r.decision) for r in approvals.requests()] == [(TERMS, PENDING)]
    assert approvals.decide("ab", APPROVED).decision == APPROVED
    approvals.check(TERMS)
    with pytest.raises(PolicyError, match="decided on other terms"):
        approvals.check(replace(TERMS, granted_rho=2.0))


def test_a_denied_release_stays_denied(approvals):
    with pytest.raises(PolicyError):
        approvals.check(TERMS)
    approvals.decide("abc", DENIED)
    with pytest.raises(PolicyError, match="denied"):
        approvals.check(TERMS)


def test_a_decision_names_one_release(approvals):
    for name in ("abc", "abd"):
        with pytest.raises(PolicyError):
            approvals.check(replace(TERMS, release_id=name))
    for prefix, found in (("ab", 2), ("x", 0), ("", 2)):
        with pytest.raises(DataError, match=f"found {found}"):
            approvals.decide(prefix, APPROVED)


def test_decisions_survive_a_restart(approvals, tmp_path):
    with pytest.raises(PolicyError):
        approvals.check(TERMS)
    other = Approvals(tmp_path / "requests.sqlite")
    other.decide("abc", APPROVED)
    other.close()
    approvals.check(TERMS)


def test_the_number_of_pending_requests_is_limited(approvals):
    for number in range(100):
        with pytest.raises(PolicyError, match="waits"):
            approvals.check(replace(TERMS, release_id=f"r{number}"))
    with pytest.raises(PolicyError, match="too many"):
        approvals.check(TERMS)
    assert len(approvals.requests()) == 100


def test_requests_of_another_format_are_refused_and_left_as_they_are(tmp_path):
    path = tmp_path / "requests.sqlite"
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE request (release_id TEXT PRIMARY KEY, terms BLOB, decision TEXT) STRICT;"
        "INSERT INTO request VALUES ('abc', x'00', 'approved')"
    )
    database.close()
    with pytest.raises(DataError, match=r"expected requests of format 1, found format 0; remove .*requests"):
        Approvals(path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT decision FROM request").fetchall() == [("approved",)]
    database.close()
