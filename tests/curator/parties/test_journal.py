import contextlib
import shutil
import sqlite3
import stat

import numpy as np
import pytest

from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.curator.parties.journal import Journal, NoJournal
from support.room import room


@pytest.fixture
def journal(tmp_path):
    made = Journal.create(tmp_path / "journal.sqlite", "the plan")
    yield made
    made.close()


def test_a_journal_keeps_every_bit_of_its_answers_after_a_restart(journal, tmp_path):
    answered = np.array([1 / 3, -0.0, 1e300, 7.0])
    journal.keep("000001", b"query", answered)
    again = Journal(tmp_path / "journal.sqlite")
    assert (again.key, again.release_id, again.plan) == (journal.key, journal.release_id, "the plan")
    assert again.recall("000001", b"query").tobytes() == answered.tobytes()
    assert again.recall("000002", b"query") is None
    again.close()


def test_notes_of_an_answer_take_the_place_of_earlier_ones_with_it_or_not_at_all(journal):
    journal.keep("000001", b"query", np.zeros(1), {"spent": b"1"})
    journal.keep("000002", b"query", np.zeros(1), {"spent": b"2"})
    assert journal.note("spent") == b"2"
    with pytest.raises(sqlite3.IntegrityError):
        journal.keep("000002", b"query", np.zeros(1), {"spent": b"3"})
    assert journal.note("spent") == b"2"


def test_an_answer_that_finds_no_room_is_not_kept_and_one_sentence_says_so(journal):
    with room(1 << 16), pytest.raises(DataError, match="make room, and resume the release"):
        journal.keep("000001", b"query", np.zeros(1 << 16))
    assert journal.recall("000001", b"query") is None
    journal.keep("000001", b"query", np.zeros(1 << 16))
    assert len(journal.recall("000001", b"query")) == 1 << 16


WRITES = {
    "note_once": lambda journal: journal.note_once("name", b"value"),
    "note_latest": lambda journal: journal.note_latest("name", b"value"),
    "bind": lambda journal: journal.bind("kind", "one", "digest"),
    "keep": lambda journal: journal.keep("000001", b"query", np.zeros(1)),
    "finish": lambda journal: journal.finish(),
    "abandon": lambda journal: journal.abandon(),
}


@pytest.mark.parametrize("name", WRITES)
def test_whatever_finds_no_room_changes_nothing_says_so_and_is_done_later(journal, tmp_path, name):
    journal.keep("000000", b"query", np.ones(1))
    with room(1), pytest.raises(DataError, match="make room, and resume the release"):
        WRITES[name](journal)
    journal.close()
    with contextlib.closing(Journal(tmp_path / "journal.sqlite")) as again:
        assert again.key == journal.key
        assert (again.recall("000001", b"query"), again.note("name")) == (None, None)
        assert again.recall("000000", b"query").tolist() == [1.0]
        WRITES[name](again)


def test_a_journal_that_cannot_be_opened_for_want_of_room_is_not_taken_for_damaged(journal, tmp_path):
    journal.close()
    with room(1), pytest.raises(DataError, match="make room, and resume the release"):
        Journal(tmp_path / "journal.sqlite")
    with contextlib.closing(Journal(tmp_path / "journal.sqlite")) as again:
        assert again.key == journal.key


@pytest.mark.parametrize("size", [1, 1 << 12, 1 << 13, 20_000, 30_000])
def test_a_journal_that_finds_no_room_at_its_beginning_leaves_no_file(tmp_path, size):
    path = tmp_path / "journal.sqlite"
    with room(size), pytest.raises(DataError, match="make room"):
        Journal.create(path, "x" * 30_000)
    assert [*tmp_path.iterdir()] == []
    Journal.create(path, "plan").close()


def test_refuses_an_id_of_another_query(journal):
    journal.keep("000001", b"query", np.zeros(1))
    with pytest.raises(ProtocolError, match="asks other queries"):
        journal.recall("000001", b"another")


def test_an_answer_is_kept_once(journal):
    journal.keep("000001", b"query", np.zeros(1))
    with pytest.raises(sqlite3.IntegrityError):
        journal.keep("000001", b"query", np.ones(1))


def test_the_first_note_under_a_name_stays(journal):
    assert journal.note("terms") is None
    assert journal.note_once("terms", b"first") == b"first"
    assert journal.note_once("terms", b"second") == b"first"


def test_two_releases_have_two_keys_and_ids(journal, tmp_path):
    other = Journal.create(tmp_path / "other.sqlite", "the plan")
    assert other.key != journal.key
    assert other.release_id != journal.release_id
    other.close()


def test_a_journal_is_readable_only_by_its_owner_and_not_created_twice(journal, tmp_path):
    assert stat.S_IMODE((tmp_path / "journal.sqlite").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        Journal.create(tmp_path / "journal.sqlite", "the plan")


def test_refuses_a_file_that_is_not_a_journal(tmp_path):
    with pytest.raises(DataError, match="found none"):
        Journal(tmp_path / "journal.sqlite")
    for name in ("text", "empty"):
        (tmp_path / name).touch(0o600)
    (tmp_path / "text").write_text("not a database, and long enough to be looked at " * 20)
    with pytest.raises(DataError, match="expected the journal of a release, got"):
        Journal(tmp_path / "text")
    with pytest.raises(DataError, match="not finished"):
        Journal(tmp_path / "empty")


def left_of(key, folder):
    """Names of files that hold any part of a key."""
    parts = [key[at : at + 8] for at in range(0, len(key), 8)]
    return [path.name for path in folder.iterdir() if any(part in path.read_bytes() for part in parts)]


@pytest.mark.parametrize("number", [0, 2])
def test_a_journal_of_another_format_is_refused(journal, tmp_path, number):
    path = tmp_path / "journal.sqlite"
    journal.close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(DataError, match=f"of format 1, found format {number}; install the version"):
        Journal(path)


def test_a_finished_release_leaves_no_byte_of_its_key_in_the_journal_or_its_log(journal, tmp_path):
    """Whoever has the key can take dealt masks off recorded openings."""
    for number in range(40):
        journal.note_once(f"note {number}", bytes(200 * number))
        journal.keep(f"{number:06}", b"query", np.ones(30 * number))
    assert left_of(journal.key, tmp_path)
    journal.finish()
    assert left_of(journal.key, tmp_path) == []
    assert (tmp_path / "journal.sqlite-wal").stat().st_size == 0
    assert journal.recall("000007", b"query").tobytes() == np.ones(210).tobytes()


def test_a_finished_release_is_not_opened_again(journal, tmp_path):
    journal.finish()
    with pytest.raises(DataError, match="is finished; there is nothing to resume"):
        Journal(tmp_path / "journal.sqlite")


def test_a_curator_killed_before_the_log_was_emptied_leaves_no_key_after_the_next_start(
    journal, tmp_path, monkeypatch
):
    monkeypatch.setattr(journal, "_truncate", lambda: None)
    journal.note_once("terms", b"terms")
    journal.finish()
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("journal.sqlite", "journal.sqlite-wal"):
        shutil.copy(tmp_path / name, copy)
    assert left_of(journal.key, copy)
    with pytest.raises(DataError, match="is finished"):
        Journal(copy / "journal.sqlite")
    assert left_of(journal.key, copy) == []


@pytest.mark.slow
def test_says_so_if_another_program_keeps_the_key_in_the_log(journal, tmp_path):
    journal.note_once("terms", b"terms")
    reader = sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM header").fetchone()
    with pytest.raises(DataError, match="its key is not erased yet"):
        journal.finish()
    reader.close()


def test_simulations_keep_nothing():
    forgetful = NoJournal()
    forgetful.keep("000001", b"query", np.zeros(1))
    assert forgetful.recall("000001", b"query") is None


def test_what_the_curator_s_own_dealer_received_is_bound_in_its_journal_until_the_end(journal, tmp_path):
    assert journal.bind("score from east", "one", "a" * 64) == "a" * 64
    journal.close()
    with contextlib.closing(Journal(tmp_path / "journal.sqlite")) as again:
        assert again.bind("score from east", "one", "b" * 64) == "a" * 64
        assert again.bound("score from east", "one") == "a" * 64
        assert again.bound("score from east", "two") is None
        again.finish()
    assert b"a" * 64 not in (tmp_path / "journal.sqlite").read_bytes()
