"""The end of a release in a ledger: its keys are erased, and what it did not spend is free again."""

import os
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.errors import PartyUnavailable, ProtocolError
from dpmosaic.common.privacy.budget import AnswerKind
from dpmosaic.common.promises.statement import Claim, Entry
from dpmosaic.party.accounts.ledger import Ledger
from support.changed import changed
from support.ledgers import DATA, HALF, KEY, OTHER, QUERY, SECOND_KEY, SECRET, TERMS, anything
from support.terms import RELEASE_ID, id_of

CLAIM = Claim(RELEASE_ID, b"c" * 32, 1.0)
SECRETS = {"secret": b"SECRET-of-release", "introduction": b"MASKSEED-and-more", "noise key": b"NOISE-KEY"}


def certified(ledger):
    ledger.certify(CLAIM)


def abandoned(ledger):
    ledger.abandon(RELEASE_ID)


ENDS = pytest.mark.parametrize("end", [certified, abandoned])


def key(name, number=0):
    return (SECRETS[name] + b"%06d" % number).ljust(32, b"!")


def left_in(path):
    """What of the secrets is in the ledger's files."""
    files = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]
    found = b"".join(file.read_bytes() for file in files if file.exists())
    return {name for name, secret in SECRETS.items() if secret in found}


@pytest.fixture
def used(path):
    """A ledger with an introduced release and enough entries to split pages many times."""
    ledger = Ledger.create(path)
    ledger._database.execute("PRAGMA synchronous = OFF")
    for release_id, secret in ((RELEASE_ID, key("secret")), (id_of("s"), bytes(32))):
        ledger.reserve(replace(TERMS, release_id=release_id), DATA, secret, anything)
    ledger.introduce(RELEASE_ID, key("introduction"), b"keys", {})
    for number in range(200):
        query_id = f"{number * 77 % 200:06d}"
        asked = changed(QUERY, query_id=query_id, boxes=(((number, number + 1),),) * (1 + number % 40))
        ledger.charge(asked, Fraction(1, 400), DATA, key("noise key", number))
        ledger.bind(RELEASE_ID, "answer", query_id, "digest")
        ledger.charge(replace(asked, release_id=id_of("s")), Fraction(1, 400), DATA, bytes(32))
    yield ledger
    ledger.close()


@ENDS
def test_the_files_hold_no_key_of_a_release_that_ended(used, path, end):
    assert left_in(path) == set(SECRETS)
    end(used)
    assert left_in(path) == set()


@ENDS
def test_keys_of_other_releases_stay(used, end):
    end(used)
    assert used.release(id_of("s")).secret == bytes(32)
    assert (
        used.charge(replace(QUERY, release_id=id_of("s"), query_id="new"), HALF, DATA, KEY).noise_key == KEY
    )


@ENDS
def test_a_process_killed_before_its_log_was_emptied_erases_at_the_next_start(used, path, end, monkeypatch):
    monkeypatch.setattr(Ledger, "_truncate", lambda self: None)
    end(used)
    assert left_in(path)
    (copied := path.parent / "killed").mkdir()
    for file in path.parent.glob("ledger.sqlite*"):
        (copied / file.name).write_bytes(file.read_bytes())
        (copied / file.name).chmod(0o600)
    Ledger(copied / path.name).close()
    assert left_in(copied / path.name) == set()


def test_a_reader_that_keeps_the_log_alive_is_reported_and_the_call_can_be_repeated(ledger, path):
    ledger.charge(QUERY, HALF, DATA, KEY)
    ledger._database.execute("PRAGMA busy_timeout = 1")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM release").fetchone()
    with pytest.raises(PartyUnavailable, match="another process reads the ledger"):
        ledger.abandon(RELEASE_ID)
    reader.execute("COMMIT")
    ledger.abandon(RELEASE_ID)
    assert os.path.getsize(path.with_name(path.name + "-wal")) == 0
    reader.close()


@ENDS
@pytest.mark.parametrize(
    "action",
    [
        lambda ledger: ledger.charge(QUERY, HALF, DATA, SECOND_KEY),
        lambda ledger: ledger.charge(OTHER, HALF, DATA, SECOND_KEY),
        lambda ledger: ledger.bind(RELEASE_ID, "answer", "q1", "digest"),
        lambda ledger: ledger.introduce(RELEASE_ID, b"introduction", b"keys", {}),
        lambda ledger: ledger.reserve(TERMS, DATA, SECRET, anything),
        lambda ledger: ledger.release(RELEASE_ID),
    ],
    ids=["repeat", "charge", "bind", "introduce", "reserve", "release"],
)
def test_a_release_that_ended_takes_part_in_nothing_more(ledger, end, action):
    ledger.charge(QUERY, HALF, DATA, KEY)
    end(ledger)
    with pytest.raises(ProtocolError, match=f"the release is {end.__name__} at this party"):
        action(ledger)
    assert ledger.cost_of(RELEASE_ID) == HALF


@ENDS
def test_what_a_release_did_not_spend_is_reserved_no_longer(ledger, end):
    ledger.charge(QUERY, Fraction(1, 4), DATA, KEY)
    assert ledger.total_reserved() == 1
    end(ledger)
    assert ledger.total_reserved() == Fraction(1, 4)
    (summary,) = ledger.summaries()
    assert (summary.state, summary.granted, summary.reserved) == (end.__name__, 1, Fraction(1, 4))


def test_entries_links_and_signatures_stay_verifiable(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY, lambda link: b"signed " + link)
    first, link, mark = ledger.certify(CLAIM)
    kind, delta = AnswerKind.MARGINAL, Fraction(0)
    assert first == [Entry("q1", first[0].query, kind, ("a",), (), HALF, delta, b"signed " + link)]
    assert ledger.certify(CLAIM) == (first, link, mark)


def test_an_end_can_be_repeated_and_not_changed(ledger):
    abandoned(ledger)
    abandoned(ledger)
    with pytest.raises(ProtocolError, match="is abandoned at this party"):
        certified(ledger)
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    ledger.certify(replace(CLAIM, release_id=id_of("s")))
    ledger.abandon(id_of("s"))
    assert [summary.state for summary in ledger.summaries()] == ["abandoned", "certified"]


def test_an_unknown_release_is_not_abandoned(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.abandon(id_of("s"))
