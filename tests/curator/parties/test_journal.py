import sqlite3
import stat

import numpy as np
import pytest

from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.curator.parties.journal import Journal, NoJournal


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
    (tmp_path / "text").write_text("not a database, and long enough to be looked at " * 20)
    with pytest.raises(DataError, match="expected the journal of a release, got"):
        Journal(tmp_path / "text")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="not finished"):
        Journal(tmp_path / "empty")


def test_simulations_keep_nothing():
    forgetful = NoJournal()
    forgetful.keep("000001", b"query", np.zeros(1))
    assert forgetful.recall("000001", b"query") is None
