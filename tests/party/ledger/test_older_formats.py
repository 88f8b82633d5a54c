"""Ledgers that earlier versions of the software wrote; `older/` holds their SQL as it was."""

import contextlib
import shutil
import sqlite3
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.formats import Format, copies_of, copy_of
from dpmosaic.party import ledger_format
from dpmosaic.party.ledger import Ledger
from support.ledgers import DATA, HALF, KEY, OTHER, QUERY, SECOND_KEY, SECOND_SECRET, SECRET, TERMS, anything

OLDER = Path(__file__).parent / "older"


def tables(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")
        return rows.fetchall()


def content(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [
            database.execute(f"SELECT * FROM {name}").fetchall()
            for name in ("history", "release", "answer", "peer")
        ]


def older_ledger(path, number):
    """A ledger of an earlier format with a charged query of an open release."""
    with contextlib.closing(Ledger.create(path.with_suffix(".now"))) as made:
        made.reserve(TERMS, DATA, SECRET, anything)
        made.charge(QUERY, HALF, DATA, KEY)
    path.touch(0o600)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript((OLDER / f"format-{number}.sql").read_text())
        database.execute("ATTACH ? AS made", (str(path.with_suffix(".now")),))
        for name in ("history", "release", "answer", "peer"):
            database.execute(f"INSERT INTO main.{name} SELECT * FROM made.{name}")
        bound = (QUERY.release_id, QUERY.query_id, "answer", "a" * 64)
        database.execute("INSERT INTO main.bound VALUES (?, ?, ?, ?)", bound)
    return path


@pytest.fixture(params=[5, 6, 7, 8])
def older(request, path):
    return older_ledger(path, request.param), request.param


def test_a_ledger_of_an_earlier_format_goes_on_as_it_was(older):
    path, _ = older
    before = content(path)
    with contextlib.closing(Ledger(path)) as ledger:
        assert content(path) == before
        assert ledger.reserve(TERMS, DATA, SECOND_SECRET, anything).secret == SECRET
        assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == KEY
        assert (ledger.reserved(), ledger.mark().events) == (1, 2)
        assert ledger.bind(QUERY.release_id, "answer", QUERY.query_id, "b" * 64) == "a" * 64


def test_a_ledger_that_was_brought_forward_has_the_tables_of_a_new_one(older):
    path, _ = older
    Ledger(path).close()

    def words(found):
        return [(name, sql.split()) for name, sql in found]

    assert words(tables(path)) == words(tables(path.with_suffix(".now")))


def test_a_copy_is_kept_until_the_ledger_writes_an_event_since_it_would_be_an_old_ledger_then(older):
    path, number = older
    before = content(path)
    with contextlib.closing(Ledger(path)) as ledger:
        kept = copy_of(path, number)
        assert (copies_of(path), content(kept)) == ([kept], before)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        ledger.check_writable()
        assert kept.exists()
        ledger.charge(OTHER, Fraction(1, 4), DATA, KEY)
        assert copies_of(path) == []


def test_a_party_killed_at_any_statement_of_it_finds_the_ledger_as_it_was_or_complete(older, tmp_path):
    path, number = older
    before, found = content(path), set()

    def killed(statement):
        """What a killed process would leave before this statement."""
        left = tmp_path / f"left-{len(list(tmp_path.glob('left-*')))}" / path.name
        left.parent.mkdir()
        for file in (path, *path.parent.glob(f"{path.name}-wal")):
            shutil.copy2(file, left.parent / file.name)

    database = sqlite3.connect(path, isolation_level=None)
    database.set_trace_callback(killed)
    ledger_format.FORMAT.bring_forward(database, path)
    database.set_trace_callback(None)
    database.close()
    for left in tmp_path.glob(f"left-*/{path.name}"):
        found.add(ledger_format.FORMAT.found_in(left))
        assert content(left) == before
        with contextlib.closing(Ledger(left)) as ledger:
            assert ledger.charge(QUERY, HALF, DATA, SECOND_KEY).noise_key == KEY
    assert found <= {number, ledger_format.FORMAT.number}
    assert number in found


def test_a_daemon_of_an_earlier_version_that_sets_its_number_again_does_no_harm(older):
    path, number = older
    with contextlib.closing(Ledger(path)) as ledger:
        ledger.restored()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {number}")
    with contextlib.closing(Ledger(path)) as ledger:
        assert ledger.is_held()
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA user_version = 10")
        ledger.check_writable()
    assert ledger_format.FORMAT.found_in(path) == 10


def test_a_step_that_fails_leaves_the_ledger_as_it_was(older):
    path, number = older
    before = tables(path), content(path)
    broken = Format("ledger", 9, {**{n: (f"CREATE TABLE a{n} (b)",) for n in (5, 6, 7)}, 8: ("no SQL",)}, "")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        with pytest.raises(sqlite3.OperationalError, match="syntax error"):
            broken.bring_forward(database, path)
    assert ((tables(path), content(path)), broken.found_in(path)) == (before, number)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (4, "expected a ledger of format 5 to 9, found format 4; keep the file"),
        (
            10,
            "expected a ledger of format 9 or earlier, found format 10, which a later version",
        ),
    ],
)
def test_a_ledger_that_is_too_old_or_newer_is_refused_with_both_formats_and_left_as_it_is(path, number, said):
    older_ledger(path, 6)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {number}")
    before = tables(path), content(path)
    with pytest.raises(DataError, match=said):
        Ledger(path)
    assert ((tables(path), content(path)), copies_of(path)) == (before, [])


def test_charges_of_an_earlier_format_have_no_time_and_later_ones_have_theirs(older):
    path, _ = older
    with contextlib.closing(Ledger(path, clock=lambda: 1_800_000_000.9)) as ledger:
        assert [charge.at for charge in ledger.charges()] == [None]
        assert (ledger.events()[0].accepted_at, ledger.summaries()[0].charged_at) == (None, None)
        ledger.charge(OTHER, Fraction(1, 4), DATA, KEY)
        assert [charge.at for charge in ledger.charges()] == [None, 1_800_000_000]
        ledger.abandon(TERMS.release_id)
        assert (ledger.events()[0].accepted_at, ledger.events()[0].closed_at) == (None, 1_800_000_000)
        assert ledger.summaries()[0].charged_at == 1_800_000_000
