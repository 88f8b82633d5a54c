"""What is wrong with a party, one line for each thing; and the same for others, without anything private."""

import contextlib
import json
import os
import sqlite3
import time
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import DataError
from dpmosaic.common.federation.card import CURATOR, Card, FederationList
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.command import party_commands
from dpmosaic.party.home.folder import LEDGER, SHAREABLE_LOG
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.names import REQUESTS
from dpmosaic.party.operating.doctor import diagnose
from support.ledgers import DATA, HALF, KEY, QUERY, SECRET, TERMS, anything
from support.terms import RELEASE_ID

POLICY = '[source]\ndomain = "schema.json"\nfile = "persons.csv"\n[policy]\nlifetime_rho = 7.25\n'
CHECKS = {
    *("versions", "modes", "disk", "clock", "certificate", "pins", "ledger format", "ledger content"),
    *("high-water mark", "source", "daemon"),
}


@pytest.fixture
def home(tmp_path):
    made = PartyHome.create(tmp_path / "lazaret", "lazaret")
    (made.folder / "schema.json").write_text('{"haemoglobin": ["anaemic", "robust"]}')
    (made.folder / "persons.csv").write_text("haemoglobin\nanaemic\nrobust\n")
    (made.folder / "policy.toml").write_text(POLICY)
    made = PartyHome.open(made.folder)
    certificate = self_signed("ministry", new_tls_key(), datetime.now(UTC))
    curator = Card.issue(CURATOR, "ministry", Identity.from_seed(b"m" * 32), certificate)
    made.trust(FederationList(curator, (made.card(),)))
    with contextlib.closing(Ledger(made.folder / LEDGER)) as ledger:
        ledger.reserve(TERMS, DATA, SECRET, anything)
        ledger.charge(QUERY, HALF, DATA, KEY)
    return made


def doctor(home, *words):
    return CliRunner().invoke(party_commands, ["doctor", str(home.folder), *map(str, words)])


def faults(home, **options):
    return {one.about: f"{one.finding}; {one.remedy}" for one in diagnose(home, **options) if not one.passed}


def test_a_party_in_order_has_a_line_for_each_check_and_status_0(home):
    done = doctor(home)
    assert done.exit_code == 0, done.output
    assert {line[5:].partition(":")[0] for line in done.output.splitlines()} == CHECKS
    assert {line[:5] for line in done.output.splitlines()} == {"ok   "}


def test_it_changes_nothing(home):
    before = {path.name: path.read_bytes() for path in home.folder.iterdir() if path.is_file()}
    with contextlib.closing(sqlite3.connect(home.folder / LEDGER)) as database:
        database.execute("PRAGMA user_version = 6")
        database.execute("DROP TABLE restoration")
    assert set(faults(home)) == {"ledger format"}
    with contextlib.closing(sqlite3.connect(home.folder / LEDGER)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (6,)
    for name in before.keys() - {LEDGER}:
        assert (home.folder / name).read_bytes() == before[name]


def restore(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        ledger.hold_restored()


def statement(text):
    def change(home):
        with contextlib.closing(sqlite3.connect(home.folder / LEDGER)) as database, database:
            database.execute(text)

    return change


def foreign_requests(home):
    path = home.folder / REQUESTS
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE request (id TEXT); PRAGMA user_version = 1")
    path.chmod(0o600)


def rotate(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        ledger.abandon(RELEASE_ID)
        home.rotate(ledger)


def touch_in_the_future(home):
    later = time.time() + 86_400
    os.utime(home.folder / LEDGER, (later, later))


@pytest.mark.parametrize(
    ("change", "about", "said"),
    [
        (lambda home: (home.folder / "policy.toml").chmod(0o666), "modes", "run chmod 644"),
        (touch_in_the_future, "clock", "synchronise both clocks by NTP"),
        (lambda home: home.revoke("ministry"), "pins", "dpmosaic party trust"),
        (rotate, "pins", "former identity of this party; enroll the new card"),
        (lambda home: (home.folder / LEDGER).unlink(), "ledger format", "without granting its budgets again"),
        (
            statement("PRAGMA user_version = 2"),
            "ledger format",
            "expected a ledger of format 1, found format 2",
        ),
        (statement("DROP TABLE peer"), "ledger format", "of format 1, found other tables"),
        (foreign_requests, "requests format", "found other tables; install the version"),
        (statement("DELETE FROM history WHERE number = 1"), "high-water mark", "events are missing"),
        (restore, "high-water mark", "run dpmosaic party recount"),
        (lambda home: (home.folder / "persons.csv").unlink(), "source", "persons.csv"),
        (lambda home: (home.folder / LEDGER).write_bytes(b"x" * 9000), "ledger content", "restore"),
    ],
)
def test_says_what_is_wrong_and_what_to_do_with_status_1(home, change, about, said):
    change(home)
    home = PartyHome.open(home.folder)
    assert said in faults(home)[about]
    assert "no such table" not in doctor(home).output
    assert doctor(home).exit_code == 1


def test_warns_of_certificates_thirty_days_before_they_end(home):
    end = home.keyring.certificate.not_after
    assert faults(home, now=end - timedelta(days=31)) == {}
    found = faults(home, now=end - timedelta(days=29.5))
    assert "in 29 days; dpmosaic party renew" in found["certificate"]
    assert "ministry" in found["pins"]
    assert "valid from" in faults(home, now=end + timedelta(days=1))["certificate"]


def test_a_daemon_that_is_locked_and_does_not_answer_is_told_unless_it_dials(home):
    with home.claim():
        (home.folder / SHAREABLE_LOG).write_text('{"event": "started", "code": "SERVING"}\nno JSON\n')
        assert "no daemon of this folder answers at" in faults(home, address="127.0.0.1:1")["daemon"]
        (home.folder / SHAREABLE_LOG).write_text('{"event": "started", "code": "DIALLING"}\n')
        assert "daemon" not in faults(home)


def test_a_diagnosis_for_others_has_no_value_count_id_key_name_or_path(home, tmp_path):
    (home.folder / SHAREABLE_LOG).write_text(
        '{"event": "call", "method": "Answer", "code": "OK"}\n'
        '{"event": "call", "method": "robust", "code": "anaemic"}\n'
        '{"event": "persons", "code": "OK"}\n[]\n'
    )
    (home.folder / "policy.toml").write_text(POLICY + 'veto_evaluators = ["ministry"]\nsecret = "lazaret"\n')
    doctor(home, "--diagnose", tmp_path / "diagnosis.json")
    text = (tmp_path / "diagnosis.json").read_text()
    form = json.loads(text)
    assert set(form["checks"]) == CHECKS
    assert form["checks"]["source"] == "failed"
    assert form["log"] == ["call Answer OK"]
    assert form["policy"] == ["source.domain", "source.file", "policy.lifetime_rho", "policy.veto_evaluators"]
    private = [
        *("lazaret", "ministry", "haemoglobin", "anaemic", "robust", "persons", "schema", "7.25", "secret"),
        *(RELEASE_ID, QUERY.query_id + '"', str(tmp_path), str(home.folder), "2 ", "127.0.0.1"),
        *(home.keyring.identity.public.hex(), KEY.hex(), SECRET.hex(), home.keyring.certificate.fingerprint),
    ]
    assert [found for found in private if found in text] == []


@pytest.mark.parametrize("command", ["ledger", "backup", "serve"])
@pytest.mark.parametrize("change", [statement("DROP TABLE moment"), statement("PRAGMA user_version = 7")])
def test_every_command_refuses_a_ledger_of_another_format_in_one_sentence(home, tmp_path, change, command):
    change(home)
    target = [str(tmp_path / "backup.tar")] if command == "backup" else []
    with pytest.raises(DataError, match="expected a ledger of format 1, found"):
        CliRunner().invoke(party_commands, [command, str(home.folder), *target], catch_exceptions=False)
    assert not (tmp_path / "backup.tar").exists()


@pytest.mark.parametrize("command", ["releases", "backup", "serve"])
def test_every_command_refuses_requests_of_another_format_in_one_sentence(home, tmp_path, command):
    foreign_requests(home)
    target = [str(tmp_path / "backup.tar")] if command == "backup" else []
    with pytest.raises(DataError, match="expected a file of requests of format 1, found other tables"):
        CliRunner().invoke(party_commands, [command, str(home.folder), *target], catch_exceptions=False)
