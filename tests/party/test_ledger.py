import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import BudgetError, DataError, PolicyError, ProtocolError
from dpmosaic.common.messages import AnswerForm, MarginalQuery, ReleaseTerms, ScoreQuery
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.party.ledger import Ledger, LedgerEntry, LedgerRelease

TERMS = ReleaseTerms("r", 2, "indicator", Adjacency.ZERO_OUT, 1.0)
QUERY = MarginalQuery("r", "q1", AnswerForm.HISTOGRAM, ("a",), 2.0)
OTHER = replace(QUERY, query_id="q2")
HALF = Fraction(1, 2)
DATA = "d" * 64
KEY, SECOND_KEY = b"k" * 32, b"s" * 32
SECRET, SECOND_SECRET = b"e" * 32, b"f" * 32
INTRODUCTION = b"who takes part, encoded"


def anything(reserved):
    """Admits every release."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    ledger = Ledger(path)
    ledger.reserve(TERMS, DATA, SECRET, anything)
    yield ledger
    ledger.close()


def in_another_process(path, body):
    """Runs statements that find `ledger`, `charge` and `os`, and end in os._exit(7)."""
    script = f"""
import os
from fractions import Fraction
from pathlib import Path
from dpmosaic.common.messages import AnswerForm, MarginalQuery
from dpmosaic.party.ledger import Ledger
ledger = Ledger(Path({str(path)!r}))
def charge():
    query = MarginalQuery("r", "q1", AnswerForm.HISTOGRAM, ("a",), 2.0)
    return ledger.charge(query, Fraction(1, 2), {DATA!r}, {KEY!r})
{body}
"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 7, finished.stderr


def together(tasks):
    """What each task returned or raised, all started at once."""
    barrier, outcomes = threading.Barrier(len(tasks)), [None] * len(tasks)

    def work(place):
        barrier.wait()
        try:
            outcomes[place] = tasks[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_a_new_ledger_knows_nothing(path):
    ledger = Ledger(path)
    assert ledger.reserved() == 0
    assert ledger.spent("r") == 0
    with pytest.raises(ProtocolError, match="has not accepted; accept it first"):
        ledger.release("r")
    ledger.close()


def test_reserved_budgets_add_up_exactly(ledger):
    ledger.reserve(replace(TERMS, release_id="s", granted_rho=0.1), DATA, SECRET, anything)
    assert ledger.reserved() == 1 + Fraction(0.1)
    assert ledger.release("r").terms == encode_terms(TERMS)
    assert ledger.spent("r") == ledger.spent("s") == 0


def test_a_release_is_kept_with_its_data_its_secret_and_no_introduction(ledger):
    kept = ledger.reserve(replace(TERMS, release_id="s"), DATA, SECOND_SECRET, anything)
    encoded = encode_terms(replace(TERMS, release_id="s"))
    assert kept == ledger.release("s") == LedgerRelease(encoded, DATA, SECOND_SECRET, None)
    assert ledger.release("r") == LedgerRelease(encode_terms(TERMS), DATA, SECRET, None)


def test_charges_add_up_in_their_release_alone(ledger):
    ledger.reserve(replace(TERMS, release_id="s"), DATA, SECRET, anything)
    assert ledger.charge(QUERY, Fraction(1, 3), DATA, KEY) == LedgerEntry("q1", Fraction(1, 3), KEY)
    ledger.charge(OTHER, Fraction(2, 3), DATA, KEY)
    ledger.charge(replace(QUERY, release_id="s"), Fraction(1, 7), DATA, KEY)
    assert ledger.spent("r") == 1
    assert ledger.spent("s") == Fraction(1, 7)
    assert ledger.reserved() == 2


def test_a_charge_past_the_grant_by_the_last_digit_is_refused_and_nothing_is_recorded(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(BudgetError, match="more than is left"):
        ledger.charge(OTHER, HALF + Fraction(1, 2**64), DATA, KEY)
    assert ledger.spent("r") == HALF
    assert ledger.charge(OTHER, HALF, DATA, SECOND_KEY).noise_key == SECOND_KEY
    assert ledger.spent("r") == 1


def test_the_same_query_again_gets_the_first_entry_and_is_charged_once(ledger):
    first = ledger.charge(QUERY, HALF, DATA, KEY)
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY) == first
    assert ledger.spent("r") == HALF


def test_an_answered_query_is_answered_again_though_the_grant_is_used_up(ledger):
    first = ledger.charge(QUERY, Fraction(1), DATA, KEY)
    assert ledger.charge(QUERY, Fraction(1), DATA, SECOND_KEY) == first
    assert ledger.spent("r") == 1


def test_a_restart_forgets_nothing(ledger, path):
    first = ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.close()
    again = Ledger(path)
    assert again.reserve(TERMS, DATA, SECOND_SECRET, anything).secret == SECRET
    assert (again.reserved(), again.spent("r")) == (1, HALF)
    assert again.charge(QUERY, HALF, DATA, SECOND_KEY) == first
    assert again.spent("r") == HALF
    with pytest.raises(BudgetError):
        again.charge(OTHER, HALF * 2, DATA, KEY)
    again.close()


@pytest.mark.parametrize(
    "change",
    [
        {"sigma": 3.0},
        {"clique": ("b",)},
        {"clique": ("a", "b")},
        {"form": AnswerForm.RECORD_WISE},
        {"boxes": (((0, 1),),)},
    ],
)
def test_another_query_under_a_used_id_is_refused(ledger, change):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="query id stands for another query"):
        ledger.charge(replace(QUERY, **change), HALF, DATA, KEY)
    assert ledger.spent("r") == HALF


def test_a_score_query_under_the_id_of_a_marginal_query_is_refused(ledger):
    score = ScoreQuery("r", "q1", (("a",),), 2.0, bytes(32), 1, 2)
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="query id stands for another query"):
        ledger.charge(score, HALF, DATA, KEY)
    first = ledger.charge(replace(score, query_id="q2"), HALF, DATA, KEY)
    assert ledger.charge(replace(score, query_id="q2"), HALF, DATA, SECOND_KEY) == first
    assert ledger.spent("r") == 1


def test_other_exact_values_under_the_noise_of_an_answered_query_are_refused(ledger, path):
    ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.bind(QUERY, {"share": "digest of a share"})
    ledger.close()
    again = Ledger(path)
    again.bind(QUERY, {"share": "digest of a share"})
    with pytest.raises(ProtocolError, match="answered from other products"):
        again.bind(QUERY, {"share": "digest of another share"})
    again.bind(QUERY, {"share": "digest of a share", "scores": "digest of scores"})
    again.close()


def test_values_of_which_one_is_another_bind_nothing(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.bind(QUERY, {"share": "one"})
    with pytest.raises(ProtocolError, match="answered from other products"):
        ledger.bind(QUERY, {"scores": "first", "share": "another"})
    ledger.bind(QUERY, {"scores": "second"})


def test_an_id_may_be_used_once_in_each_release(ledger):
    ledger.reserve(replace(TERMS, release_id="s"), DATA, SECRET, anything)
    ledger.charge(QUERY, HALF, DATA, KEY)
    other = ledger.charge(replace(QUERY, release_id="s"), HALF, DATA, SECOND_KEY)
    assert other.noise_key == SECOND_KEY


@pytest.mark.parametrize("query", [QUERY, OTHER])
def test_other_data_are_refused_for_old_queries_and_for_new_ones(ledger, query):
    ledger.charge(QUERY, HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="data changed"):
        ledger.charge(query, HALF, "e" * 64, KEY)
    assert ledger.spent("r") == HALF


def test_a_query_for_an_unknown_release_is_refused(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.charge(replace(QUERY, release_id="s"), HALF, DATA, KEY)
    assert ledger.spent("s") == 0


def test_the_same_terms_again_change_nothing_and_return_what_was_kept(ledger):
    ledger.charge(QUERY, HALF, DATA, KEY)
    ledger.introduce("r", INTRODUCTION)
    again = ledger.reserve(TERMS, DATA, SECOND_SECRET, anything)
    assert again == LedgerRelease(encode_terms(TERMS), DATA, SECRET, INTRODUCTION)
    assert (ledger.reserved(), ledger.spent("r")) == (1, HALF)


def test_the_same_terms_again_are_not_asked_about_anew(ledger):
    def nothing(reserved):
        raise PolicyError("full")

    assert ledger.reserve(TERMS, DATA, SECOND_SECRET, nothing).secret == SECRET
    with pytest.raises(PolicyError, match="full"):
        ledger.reserve(replace(TERMS, release_id="s"), DATA, SECOND_SECRET, nothing)
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.release("s")
    assert ledger.reserved() == 1


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({"granted_rho": 2.0}, DATA),
        ({"protocol": "trusted"}, DATA),
        ({"adjacency": Adjacency.REPLACE_ONE}, DATA),
        ({"protocol_version": 3}, DATA),
        ({}, "e" * 64),
    ],
)
def test_other_terms_or_other_data_under_a_used_release_id_are_refused(ledger, change, data):
    with pytest.raises(ProtocolError, match="other terms or other data"):
        ledger.reserve(replace(TERMS, **change), data, SECOND_SECRET, anything)
    assert ledger.reserved() == 1
    assert ledger.release("r") == LedgerRelease(encode_terms(TERMS), DATA, SECRET, None)


def test_an_introduction_is_kept_with_its_release_alone(ledger):
    ledger.reserve(replace(TERMS, release_id="s"), DATA, SECOND_SECRET, anything)
    ledger.introduce("r", INTRODUCTION)
    assert ledger.release("r").introduction == INTRODUCTION
    assert ledger.release("s").introduction is None


def test_the_same_introduction_again_changes_nothing_also_after_a_restart(ledger, path):
    ledger.introduce("r", INTRODUCTION)
    ledger.introduce("r", INTRODUCTION)
    ledger.close()
    again = Ledger(path)
    again.introduce("r", INTRODUCTION)
    assert again.release("r").introduction == INTRODUCTION
    again.close()


def test_another_introduction_of_a_release_is_refused_and_the_first_one_kept(ledger):
    ledger.introduce("r", INTRODUCTION)
    with pytest.raises(ProtocolError, match="introduced with other parties or masks"):
        ledger.introduce("r", INTRODUCTION + b"!")
    assert ledger.release("r").introduction == INTRODUCTION


def test_an_introduction_of_an_unknown_release_is_refused(ledger):
    with pytest.raises(ProtocolError, match="accept it first"):
        ledger.introduce("s", INTRODUCTION)


def test_threads_that_introduce_a_release_otherwise_leave_one_introduction(ledger):
    introductions = [bytes([place]) for place in range(6)]
    outcomes = together([lambda i=i: ledger.introduce("r", i) for i in introductions])
    (first,) = [place for place, outcome in enumerate(outcomes) if outcome is None]
    assert sum(isinstance(outcome, ProtocolError) for outcome in outcomes) == 5
    assert ledger.release("r").introduction == introductions[first]


def test_threads_that_charge_one_id_get_one_key_and_charge_once(ledger):
    keys = [bytes([place]) * 32 for place in range(8)]
    entries = together([lambda key=key: ledger.charge(QUERY, HALF, DATA, key) for key in keys])
    assert len(set(entries)) == 1
    assert entries[0].noise_key in keys
    assert ledger.spent("r") == HALF


def test_threads_that_race_for_the_rest_of_a_grant_do_not_pass_it(ledger):
    queries = [replace(QUERY, query_id=str(place)) for place in range(8)]
    rho = Fraction(1, 3)
    outcomes = together([lambda query=query: ledger.charge(query, rho, DATA, KEY) for query in queries])
    assert sum(isinstance(outcome, LedgerEntry) for outcome in outcomes) == 3
    assert sum(isinstance(outcome, BudgetError) for outcome in outcomes) == 5
    assert ledger.spent("r") == 1


def test_two_ledgers_on_one_file_charge_one_id_once(ledger, path):
    second = Ledger(path)
    tasks = [(ledger, KEY), (second, SECOND_KEY)] * 3
    entries = together(
        [lambda book=book, key=key: book.charge(QUERY, HALF, DATA, key) for book, key in tasks]
    )
    assert len(set(entries)) == 1
    assert ledger.spent("r") == second.spent("r") == HALF
    second.close()


def test_two_ledgers_on_one_file_reserve_a_release_once_with_one_secret(ledger, path):
    second = Ledger(path)
    for number in range(20):
        terms = replace(TERMS, release_id=str(number))
        first, other = together(
            [
                lambda book=book, t=terms, secret=secret: book.reserve(t, DATA, secret, anything)
                for book, secret in ((ledger, SECRET), (second, SECOND_SECRET))
            ]
        )
        assert first == other == ledger.release(str(number))
        assert first.secret in (SECRET, SECOND_SECRET)
    assert ledger.reserved() == 21
    second.close()


def test_releases_that_race_for_the_rest_of_a_lifetime_do_not_pass_it(ledger, path):
    second = Ledger(path)

    def room_for_three(reserved):
        if reserved + 1 > 3:
            raise PolicyError("full")

    tasks = [(book, replace(TERMS, release_id=f"x{i}")) for i in range(4) for book in (ledger, second)]
    together(
        [lambda book=book, t=terms: book.reserve(t, DATA, SECRET, room_for_three) for book, terms in tasks]
    )
    assert ledger.reserved() == 3
    second.close()


def test_a_process_that_dies_right_after_a_charge_leaves_it(ledger, path):
    in_another_process(path, "charge(); os._exit(7)")
    assert ledger.spent("r") == HALF
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == KEY
    assert ledger.spent("r") == HALF


def test_a_process_that_dies_between_the_two_writes_of_a_charge_leaves_neither(ledger, path):
    in_another_process(
        path,
        """
def die(statement):
    if statement.startswith("INSERT INTO answer"):
        assert ledger._database.in_transaction
        os._exit(7)
ledger._database.set_trace_callback(die)
charge()
""",
    )
    assert ledger.spent("r") == 0
    assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == SECOND_KEY


def test_an_error_between_the_two_writes_of_a_charge_leaves_neither(ledger):
    with pytest.raises(sqlite3.IntegrityError):
        ledger.charge(QUERY, HALF, DATA, "text that the column of keys refuses")
    assert ledger.spent("r") == 0
    ledger.charge(QUERY, HALF, DATA, KEY)
    assert ledger.spent("r") == HALF


def test_a_charge_costs_no_more_work_after_many_others():
    ledger, steps = Ledger(), []
    ledger.reserve(TERMS, DATA, SECRET, anything)
    for number in range(500):
        before = len(steps)
        ledger._database.set_progress_handler(lambda: steps.append(1), 1)
        ledger.charge(replace(QUERY, query_id=f"q{number}"), Fraction(1, 500), DATA, KEY)
        work = len(steps) - before
        if number == 20:
            early = work
    assert work <= 2 * early


def test_ledgers_in_memory_are_apart(path):
    first, second = Ledger(), Ledger()
    first.reserve(TERMS, DATA, SECRET, anything)
    assert first.reserved() == 1
    assert second.reserved() == 0
    first.close()
    second.close()


def test_a_ledger_of_another_format_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "ledger.sqlite"
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE release (release_id TEXT PRIMARY KEY) STRICT; PRAGMA user_version = 1"
    )
    database.close()
    with pytest.raises(DataError, match="expected a ledger of format 4, found format 1"):
        Ledger(path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall() == [
        ("release",)
    ]
    database.close()
