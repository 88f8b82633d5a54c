"""Private data in temporary files goes with its process, however that ends."""

import gc
import os
import signal
import stat
import subprocess
import sys

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.private_folders import PrivateFolder

HOLD = """
import sys
from dpmosaic.common.processes.private_folders import PrivateFolder
folder = PrivateFolder()
(folder.path / "rows").write_text("private")
print(folder.path.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def holder():
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_a_folder_is_for_its_owner_and_goes_with_its_last_reference(temporary):
    folder = PrivateFolder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert names(temporary) == {folder.path.name}
    del folder
    gc.collect()
    assert names(temporary) == set()


@pytest.mark.slow
def test_what_a_killed_process_left_is_deleted_by_the_next_one_and_what_a_living_one_holds_is_not(
    temporary, holder
):
    held = holder.stdout.readline().strip()
    first = PrivateFolder()
    assert names(temporary) == {held, first.path.name}
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    second = PrivateFolder()
    assert names(temporary) == {first.path.name, second.path.name}


def test_what_others_made_is_left_alone(temporary):
    (temporary / "dpmosaic-making-half").mkdir()
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / "file").touch()
    os.symlink(temporary / "elsewhere", temporary / "dpmosaic-rows-link")
    (temporary / "dpmosaic-rows-file").touch()
    before = names(temporary)
    with_own = PrivateFolder()
    assert names(temporary) == before | {with_own.path.name}
    assert (temporary / "elsewhere" / "file").exists()


def test_a_folder_for_temporary_files_that_is_missing_is_named(temporary, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "none"))
    with pytest.raises(DataError, match="none where files can be made"):
        PrivateFolder()
