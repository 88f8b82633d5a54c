"""The file of a ledger."""

import sqlite3

import pytest

from dpmosaic.common.errors import BudgetError, DataError, ProtocolError
from dpmosaic.party.accounts.ledger import Ledger
from support.ledgers import (
    DATA,
    HALF,
    KEY,
    OTHER,
    QUERY,
    SECOND_KEY,
    SECOND_SECRET,
    SECRET,
    TERMS,
    anything,
)
from support.terms import RELEASE_ID


def test_a_new_ledger_is_empty(path):
    ledger = Ledger.create(path)
    assert ledger.total_reserved() == 0
    assert ledger.cost_of(RELEASE_ID) == 0
    with pytest.raises(ProtocolError, match="has not accepted; accept it first"):
        ledger.release(RELEASE_ID)
    ledger.close()


def test_a_restart_keeps_all_entries(ledger, path):
    first = ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.close()
    again = Ledger(path)
    assert again.reserve(TERMS, DATA, SECOND_SECRET, anything).secret == SECRET
    assert (again.total_reserved(), again.cost_of(RELEASE_ID)) == (1, HALF)
    assert again.charge(QUERY, HALF, DATA, SECOND_KEY) == first
    assert again.cost_of(RELEASE_ID) == HALF
    with pytest.raises(BudgetError):
        again.charge(OTHER, HALF * 2, DATA, KEY)
    again.close()


def test_ledgers_in_memory_are_apart(path):
    first, second = Ledger(), Ledger()
    first.reserve(TERMS, DATA, SECRET, anything)
    assert first.total_reserved() == 1
    assert second.total_reserved() == 0
    first.close()
    second.close()


def test_a_ledger_of_another_format_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch(0o600)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE release (release_id TEXT PRIMARY KEY) STRICT; PRAGMA user_version = 2"
    )
    database.close()
    with pytest.raises(DataError, match="expected a ledger of format 1, found format 2"):
        Ledger(path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall() == [
        ("release",)
    ]
    database.close()
