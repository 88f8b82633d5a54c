"""What a resumed release keeps of the one that began."""

import contextlib
import stat
import subprocess

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.releasing.abandoning import abandon_folder
from dpmosaic.curator.releasing.session import Session
from dpmosaic.curator.releasing.table_format import TableFile, TableFormat

PLAN = """
[release]
domain = "d.json"
rho = 0.5
[[slice]]
parties = ["a", "b"]
"""


@pytest.fixture
def begun(tmp_path):
    """Begins a release that writes a CSV for spreadsheets, and stops."""
    home = CuratorHome.create(tmp_path / "curator", "curator")
    (tmp_path / "d.json").write_text('{"x": 2, "y": 3}')
    (tmp_path / "plan.toml").write_text(PLAN)
    table_file = TableFile(spreadsheet_safe=True)
    session = Session.begin(tmp_path / "out", tmp_path / "plan.toml", home, table_file)
    session.journal.close()
    return tmp_path / "out"


def resumed(folder, *options):
    session = Session.resume(folder, *options)
    with contextlib.closing(session.journal):
        return session.table_file


def test_a_resumed_release_escapes_labels_as_it_began(begun):
    assert resumed(begun) == TableFile(TableFormat.CSV, spreadsheet_safe=True)


def test_a_resumed_release_takes_what_it_is_given(begun):
    assert resumed(begun, None, False) == TableFile()
    assert resumed(begun, TableFormat.PARQUET, False) == TableFile(TableFormat.PARQUET)


def test_refuses_parquet_for_a_release_that_began_with_escaped_labels(begun):
    with pytest.raises(DataError, match="resume with --no-spreadsheet-safe"):
        resumed(begun, TableFormat.PARQUET)


def test_refuses_to_resume_a_finished_release(begun):
    session = Session.resume(begun)
    session.journal.finish()
    session.journal.close()
    with pytest.raises(DataError, match="is finished; there is nothing to resume"):
        Session.resume(begun)


def test_the_journal_is_in_a_folder_of_its_own_that_only_its_owner_can_open(begun):
    private = begun.with_name("out.private")
    assert [path.name for path in private.iterdir() if path.suffix == ".sqlite"] == ["journal.sqlite"]
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert list(begun.iterdir()) == []


def test_refuses_a_second_release_into_a_folder_of_an_unfinished_one(begun):
    home, plan = CuratorHome.open(begun.parent / "curator"), begun.parent / "plan.toml"
    with pytest.raises(DataError, match=r"holds the journal of a release .* resume it"):
        Session.begin(begun, plan, home, TableFile())


@pytest.mark.parametrize("command", [resumed, abandon_folder])
def test_a_journal_that_an_earlier_version_put_among_the_results_is_refused_until_it_is_moved(begun, command):
    private = begun.with_name("out.private")
    for path in private.iterdir():
        path.rename(begun / path.name)
    private.rmdir()
    with pytest.raises(
        DataError, match=r"move it: mkdir -m 700 \S+out\.private && mv \S+ \S+out\.private/$"
    ) as told:
        command(begun)
    subprocess.run(str(told.value).partition("move it: ")[2], shell=True, check=True)
    command(begun)
