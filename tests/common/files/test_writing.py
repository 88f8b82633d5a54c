"""Files are written as a whole or not at all."""

import contextlib
import os

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.federation.private_files import private_draft
from dpmosaic.common.files.writing import told_if_unwritable, whole_file, write_text
from dpmosaic.party.accounts.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.csv"


def fail_halfway(path):
    """The draft that a failed writer had."""
    with contextlib.suppress(ZeroDivisionError), whole_file(path) as draft:
        draft.write_text("new")
        raise ZeroDivisionError
    return draft


def test_a_file_gets_its_name_at_the_end_and_replaces_another(path):
    path.write_text("old")
    with whole_file(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [one.name for one in path.parent.iterdir()] == ["table.csv"]


def test_a_failure_leaves_the_old_file_and_nothing_else(path):
    path.write_text("old")
    fail_halfway(path)
    assert path.read_text() == "old"
    assert [one.name for one in path.parent.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("written", [whole_file, private_draft])
def test_a_pipe_or_a_device_is_not_replaced(path, written):
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is a device, a pipe or a folder"), written(path):
        pass
    assert path.is_fifo()
    assert [one.name for one in path.parent.iterdir()] == ["table.csv"]


def test_what_a_killed_process_left_is_not_continued(path):
    left = fail_halfway(path)
    left.write_text("left")
    with whole_file(path) as draft:
        assert draft == left
        assert not draft.exists()
        draft.write_text("new")
    assert path.read_text() == "new"


def test_a_text_is_written_into_a_folder_that_is_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "text", "ä\n")
    assert (tmp_path / "a" / "b" / "text").read_bytes() == "ä\n".encode()


def test_whoever_cannot_write_is_told_where_and_why(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write .*text: .*; choose another path"):
        write_text(tmp_path / "file" / "text", "")
    with (
        pytest.raises(DataError, match="; choose another folder"),
        told_if_unwritable(tmp_path, "choose another folder"),
    ):
        raise PermissionError(13, "Permission denied")


def written_whole(path):
    with told_if_unwritable(path), whole_file(path) as draft:
        draft.write_text("new")


def written_privately(path):
    with told_if_unwritable(path), private_draft(path) as file:
        file.write(b"new")


@pytest.mark.parametrize("write", [written_whole, written_privately, lambda path: write_text(path, "new")])
def test_no_file_takes_the_place_of_a_ledger(tmp_path, write):
    path = tmp_path / "ledger.sqlite"
    Ledger.create(path).close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="it is a database, such as a ledger"):
        write(path)
    assert path.read_bytes() == before
    write(tmp_path / "new")
    write(tmp_path / "new")
    assert (tmp_path / "new").read_text() == "new"
