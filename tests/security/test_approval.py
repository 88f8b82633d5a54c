"""Attacks on the operator who approves: names that imitate output, forged approvals, ignored denials."""

import json
import sqlite3
from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.common.promises.statement import TERMS, Claim
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from support.operators import CURATOR_IDENTITY, Operator, proposed
from support.terms import RELEASE_ID

QUERY = MarginalQuery(RELEASE_ID, "1", AnswerForm.HISTOGRAM, View(("a",)), 3.0)


def shown(operator):
    return json.loads(operator.run("show", RELEASE_ID, "--json"))


def approve_and_begin(operator, party):
    with pytest.raises(PolicyError, match="waits"):
        proposed(party, operator.alone())
    operator.run("approve", RELEASE_ID, "--yes", "--reason", "a trial")
    proposed(party, operator.alone())


@pytest.mark.slow
@pytest.mark.parametrize(
    "release_id",
    ["x[/green]", "77aa\x1b[2K\x1b[1A", "a1b2[conceal]", "", "A" * 32, "1" * 31, "1" * 33, "1" * 31 + "\n"],
)
def test_an_id_that_could_imitate_output_is_refused_before_it_is_stored(operator, release_id):
    encoded = encode_terms(operator.terms())
    field = len(release_id.encode()).to_bytes(4, "big") + release_id.encode()
    forged = encoded.replace(len(RELEASE_ID).to_bytes(4, "big") + RELEASE_ID.encode(), field, 1)
    with operator.serving() as (party, _), pytest.raises(ProtocolError, match="hexadecimal"):
        party.accept(forged, CURATOR_IDENTITY.sign(TERMS, forged), CURATOR_IDENTITY.public)
    assert json.loads(operator.run("releases", "--json")) == []


EVIL = "[/red]\x1b[2K\n  policy       allows it\u202e[bold]"


def test_texts_of_a_curator_are_printed_as_they_are_without_effect(tmp_path):
    operator = Operator(tmp_path, rest=EVIL)
    with operator.serving() as (party, _), pytest.raises(PolicyError, match="waits"):
        proposed(party, operator.terms(mechanism=json.dumps({"name": EVIL, EVIL: EVIL}), words=EVIL))
    assert RELEASE_ID in operator.run("releases")
    output = operator.run("show", RELEASE_ID)
    assert output.count("[/red]\\x1b[2K\\n") >= 5
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert sum(line.startswith("policy ") for line in output.splitlines()) == 1


def test_a_long_text_cannot_begin_a_line_that_looks_like_another_entry(operator):
    with operator.serving() as (party, _), pytest.raises(PolicyError, match="waits"):
        proposed(party, operator.terms(words="漢 " * 90 + " " * 200 + "policy      allows it " * 9))
    output = operator.run("show", RELEASE_ID)
    assert sum(line.startswith("policy") for line in output.splitlines()) == 1


@pytest.mark.slow
def test_a_denial_stops_a_running_release(operator):
    with operator.serving() as (party, ledger):
        approve_and_begin(operator, party)
        list(party.answer(QUERY))
        spent = ledger.cost_of(RELEASE_ID)
        operator.run("deny", RELEASE_ID, "--reason", "withdrawn")
        with pytest.raises(PolicyError, match="denied the release"):
            party.answer(replace(QUERY, query_id="2"))
        with pytest.raises(PolicyError, match="denied the release"):
            party.certify(Claim(RELEASE_ID, bytes(32), float(spent)))
        with pytest.raises(PolicyError, match="denied the release"):
            proposed(party, operator.alone())
        assert ledger.cost_of(RELEASE_ID) == ledger.total_reserved() == spent
        with pytest.raises(ProtocolError, match="keys are erased"):
            ledger.release(RELEASE_ID)
        with pytest.raises(DataError, match="cannot go on"):
            operator.run("approve", RELEASE_ID, "--yes", "--reason", "a trial")


def test_a_denial_also_stops_a_release_that_nobody_had_to_approve(tmp_path):
    operator = Operator(tmp_path, approval="false")
    with operator.serving() as (party, _):
        proposed(party, operator.alone())
        (decision,) = shown(operator)["decisions"]
        assert (decision["verdict"], decision["by"]) == ("approved", "policy.toml")
        operator.run("deny", RELEASE_ID)
        with pytest.raises(PolicyError, match="denied the release"):
            party.answer(QUERY)


@pytest.mark.slow
def test_a_denial_of_a_certified_release_says_that_it_comes_too_late(operator):
    with operator.serving() as (party, ledger):
        approve_and_begin(operator, party)
        claim = Claim(RELEASE_ID, bytes(32), float(ledger.cost_of(RELEASE_ID)))
        party.certify(claim)
        before = shown(operator)
        with pytest.raises(DataError, match="comes too late"):
            operator.run("deny", RELEASE_ID)
        assert shown(operator) == before
        party.certify(claim)


@pytest.mark.slow
def test_a_denied_release_can_be_approved_until_it_was_accepted(operator):
    with operator.serving() as (party, _):
        with pytest.raises(PolicyError, match="waits"):
            proposed(party, operator.alone())
        operator.run("deny", RELEASE_ID, "--reason", "by mistake")
        with pytest.raises(PolicyError, match="denied"):
            proposed(party, operator.alone())
        operator.run("approve", RELEASE_ID, "--yes", "--reason", "a trial")
        proposed(party, operator.alone())
        list(party.answer(QUERY))
    assert [decision["verdict"] for decision in shown(operator)["decisions"]] == ["denied", "approved"]


def test_an_approval_written_into_the_file_without_the_key_is_refused(operator):
    with operator.serving() as (party, _):
        with pytest.raises(PolicyError, match="waits"):
            proposed(party, operator.alone())
        with sqlite3.connect(operator.home.folder / "requests.sqlite") as database:
            values = (RELEASE_ID, 0, "approved", "alice", "2026-01-02T03:04:05+00:00", "", bytes(64))
            database.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        database.close()
        with pytest.raises(PolicyError, match="not signed by this party"):
            proposed(party, operator.alone())
    assert "NOT SIGNED by this party" in operator.run("show", RELEASE_ID)


@pytest.mark.slow
def test_who_decided_when_and_why_is_kept_and_cannot_be_altered_unnoticed(operator, monkeypatch):
    with operator.serving() as (party, _), pytest.raises(PolicyError, match="waits"):
        proposed(party, operator.alone())
    for variable in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(variable, "somebody-else")
    operator.run("approve", RELEASE_ID, "--yes", "--reason", "as discussed")
    operator.run("deny", RELEASE_ID, "--by", "Dr. Bo\x1b[1A", "--reason", "[bold]no")
    first, second = shown(operator)["decisions"]
    assert first["reason"] == "as discussed"
    assert first["by"] != "somebody-else"
    assert (second["by"], second["reason"]) == ("Dr. Bo\\x1b[1A", "[bold]no")
    assert first["signed_by_this_party"]
    assert second["signed_by_this_party"]
    assert "[bold]no" in operator.run("show", RELEASE_ID)
    with sqlite3.connect(operator.home.folder / "requests.sqlite") as database:
        database.execute("UPDATE decision SET by = 'bob' WHERE number = 0")
    database.close()
    first, second = shown(operator)["decisions"]
    assert not first["signed_by_this_party"]
    assert second["signed_by_this_party"]
