"""Threads, several ledgers on one file, and killed processes."""

import sqlite3
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.errors import BudgetError, PolicyError, ProtocolError
from dpmosaic.party.accounts.ledger import Ledger, LedgerEntry
from support.ledgers import (
    DATA,
    HALF,
    KEY,
    QUERY,
    SECOND_KEY,
    SECOND_SECRET,
    SECRET,
    TERMS,
    anything,
    together,
)
from support.terms import RELEASE_ID, id_of

pytestmark = pytest.mark.slow


def in_another_process(path, body):
    """Runs statements with `ledger`, `charge` and `os`, which end in os._exit(7)."""
    script = f"""
import os
from fractions import Fraction
from pathlib import Path
from dpmosaic.common.data.view import View
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.party.accounts.ledger import Ledger
ledger = Ledger(Path({str(path)!r}))
def charge():
    query = MarginalQuery({RELEASE_ID!r}, "q1", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
    return ledger.charge(query, Fraction(1, 2), {DATA!r}, {KEY!r})
{body}
"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert finished.returncode == 7, finished.stderr


def test_threads_with_different_introductions_leave_one(ledger):
    introductions = [bytes([place]) for place in range(6)]
    outcomes = together([lambda i=i: ledger.introduce(RELEASE_ID, i, i, {}) for i in introductions])
    (first,) = [place for place, outcome in enumerate(outcomes) if outcome is None]
    assert sum(isinstance(outcome, ProtocolError) for outcome in outcomes) == 5
    assert ledger.release(RELEASE_ID).introduction == introductions[first]


def test_threads_that_charge_one_id_get_one_key_and_charge_once(ledger):
    keys = [bytes([place]) * 32 for place in range(8)]
    entries = together([lambda key=key: ledger.charge(QUERY, HALF, DATA, key) for key in keys])
    assert len(set(entries)) == 1
    assert entries[0].noise_key in keys
    assert ledger.cost_of(RELEASE_ID) == HALF


def test_threads_that_race_for_the_rest_of_a_grant_do_not_exceed_it(ledger):
    queries = [replace(QUERY, query_id=str(place)) for place in range(8)]
    rho = Fraction(1, 3)
    outcomes = together([lambda query=query: ledger.charge(query, rho, DATA, KEY) for query in queries])
    assert sum(isinstance(outcome, LedgerEntry) for outcome in outcomes) == 3
    assert sum(isinstance(outcome, BudgetError) for outcome in outcomes) == 5
    assert ledger.cost_of(RELEASE_ID) == 1


def test_two_ledgers_on_one_file_charge_one_id_once(ledger, path):
    second = Ledger(path)
    tasks = [(ledger, KEY), (second, SECOND_KEY)] * 3
    entries = together(
        [lambda book=book, key=key: book.charge(QUERY, HALF, DATA, key) for book, key in tasks]
    )
    assert len(set(entries)) == 1
    assert ledger.cost_of(RELEASE_ID) == second.cost_of(RELEASE_ID) == HALF
    second.close()


def test_two_ledgers_on_one_file_reserve_a_release_once_with_one_secret(ledger, path):
    second = Ledger(path)
    for number in range(20):
        terms = replace(TERMS, release_id=id_of(number))
        first, other = together(
            [
                lambda book=book, t=terms, secret=secret: book.reserve(t, DATA, secret, anything)
                for book, secret in ((ledger, SECRET), (second, SECOND_SECRET))
            ]
        )
        assert first == other == ledger.release(id_of(number))
        assert first.secret in (SECRET, SECOND_SECRET)
    assert ledger.total_reserved() == 21
    second.close()


def test_releases_that_race_for_the_rest_of_a_lifetime_do_not_exceed_it(ledger, path):
    second = Ledger(path)

    def room_for_three(reserved):
        if sum(one.cost.zcdp_rho for one in reserved) + 1 > 3:
            raise PolicyError("full")

    tasks = [(book, replace(TERMS, release_id=id_of(f"x{i}"))) for i in range(4) for book in (ledger, second)]
    together(
        [lambda book=book, t=terms: book.reserve(t, DATA, SECRET, room_for_three) for book, terms in tasks]
    )
    assert ledger.total_reserved() == 3
    second.close()


def test_a_charge_survives_a_process_killed_right_after_it(ledger, path):
    in_another_process(path, "charge(); os._exit(7)")
    assert ledger.cost_of(RELEASE_ID) == HALF
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == KEY
    assert ledger.cost_of(RELEASE_ID) == HALF


WRITES = (
    "UPDATE release",
    "INSERT INTO history",
    "INSERT INTO moment",
    "INSERT INTO answer",
    "INSERT INTO charged",
)


@pytest.mark.parametrize("write", WRITES)
def test_a_process_killed_before_any_write_of_a_charge_leaves_none(ledger, path, write):
    in_another_process(
        path,
        f"""
def die(statement):
    if statement.startswith({write!r}):
        assert ledger._database.in_transaction
        os._exit(7)
ledger._database.set_trace_callback(die)
charge()
""",
    )
    assert ledger.charges() == []
    assert ledger.cost_of(RELEASE_ID) == 0
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == SECOND_KEY


def test_an_error_between_the_two_writes_of_a_charge_leaves_neither(ledger):
    with pytest.raises(sqlite3.IntegrityError):
        ledger.charge(QUERY, HALF, DATA, "text that the column of keys refuses")
    assert ledger.cost_of(RELEASE_ID) == 0
    ledger.charge(QUERY, HALF, DATA, KEY)
    assert ledger.cost_of(RELEASE_ID) == HALF
