"""What a resumed release keeps of the one that began."""

import contextlib
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.related.session import RelatedSession
from dpmosaic.curator.releasing.session import Session
from dpmosaic.curator.results.table_format import TableFile, TableFormat

PLAN = """
[release]
domain = "d.json"
rho = 0.5
[[slice]]
parties = ["a", "b"]
"""


@pytest.fixture
def begun_with(tmp_path):
    """Begins a release by a plan and perhaps settings, and stops."""
    home = CuratorHome.create(tmp_path / "curator", "curator")
    (tmp_path / "d.json").write_text('{"x": 2, "y": 3}')
    (tmp_path / "w.json").write_text('[["x", "y"]]')

    def begin(plan, settings=None):
        (tmp_path / "plan.toml").write_text(plan)
        table_file = TableFile(spreadsheet_safe=True)
        session = Session.begin(tmp_path / "out", tmp_path / "plan.toml", home, table_file, settings)
        session.journal.close()
        return session

    return begin


@pytest.fixture
def begun(begun_with):
    """Begins a release that writes a CSV for spreadsheets, and stops."""
    return begun_with(PLAN).folder


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


def test_of_two_that_begin_at_once_one_is_refused(begun):
    home, plan = CuratorHome.open(begun.parent / "curator"), begun.parent / "plan.toml"
    together, told = threading.Barrier(2, timeout=30.0), []

    def begin(folder):
        together.wait()
        try:
            Session.begin(folder, plan, home, TableFile()).journal.close()
        except DataError as refusal:
            told.append(str(refusal))

    for number in range(20):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(begin, [begun.parent / f"out-{number}"] * 2))
    assert len(told) == 20
    assert all("resume it, or choose another folder" in one for one in told)


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        ("rho = 0.5", "rho = 0.75", r"rho in \[release\]: 0.5 before, 0.75 now"),
        ("rho = 0.5", "rho = 0.5\nrows = 9", r"rows in \[release\]: absent before, 9 now"),
        (
            'parties = ["a", "b"]',
            'parties = ["a"]',
            r'parties in \[slice 1\]: \["a", "b"\] before, \["a"\] now',
        ),
    ],
)
def test_a_plan_that_was_edited_is_refused_with_what_was_before_and_what_is_now(begun, before, now, shown):
    plan = begun.parent / "plan.toml"
    plan.write_text(PLAN.replace(before, now))
    with pytest.raises(
        DataError, match=f"changed since the release began: {shown}. Restore it.*nothing was charged now"
    ):
        Session.resume(begun)
    plan.write_text(PLAN)
    assert resumed(begun)


def test_a_comment_in_a_plan_is_no_change(begun):
    (begun.parent / "plan.toml").write_text(f"# Reviewed.\n{PLAN}")
    assert resumed(begun)


def test_a_domain_that_was_edited_is_refused_with_the_attribute(begun):
    (begun.parent / "d.json").write_text('{"x": 2, "y": 4}')
    with pytest.raises(
        DataError, match=r"y\.n in \[domain\]: 3 before, 4 now|y in \[domain\]: 3 before, 4 now"
    ):
        Session.resume(begun)


def test_a_workload_file_that_was_edited_is_refused(begun_with):
    session = begun_with(PLAN.replace("rho", 'workload = "w.json"\nrho'))
    (session.folder.parent / "w.json").write_text('[["x"]]')
    with pytest.raises(DataError, match="the workload file has other content"):
        Session.resume(session.folder)


def test_a_workload_file_that_is_not_there_begins_no_release(begun_with, tmp_path):
    with pytest.raises(DataError, match=r"cannot read the workload .*absent\.json"):
        begun_with(PLAN.replace("rho", 'workload = "absent.json"\nrho'))
    assert not (tmp_path / "out.private").exists()


def test_a_release_of_an_earlier_version_is_resumed_without_the_notes_that_it_lacks(begun):
    with sqlite3.connect(begun.parent / "out.private" / "journal.sqlite") as journal:
        journal.execute("DELETE FROM header WHERE name IN ('domain_file', 'workload', 'settings')")
    journal.close()
    assert resumed(begun)
    (begun.parent / "d.json").write_text('{"x": 2, "y": 4}')
    with pytest.raises(DataError, match="the domain file has other entries"):
        Session.resume(begun)


def test_a_resumed_release_keeps_the_settings_that_it_was_given(begun_with):
    session = begun_with(PLAN, {"time_limit": "5"})
    again = Session.resume(session.folder)
    again.journal.close()
    assert again.plan.settings == {"time_limit": "5"}


def test_a_setting_that_the_mechanism_does_not_have_begins_no_release(begun_with, tmp_path):
    with pytest.raises(DataError, match="did you mean 'time_limit'"):
        begun_with(PLAN, {"timelimit": "5"})
    assert not (tmp_path / "out.private").exists()


@pytest.mark.parametrize("kind", [lambda session: session, RelatedSession], ids=["table", "related tables"])
def test_begins_nothing_while_a_clock_is_wrong(begun, monkeypatch, kind):
    def refuse(home, links):
        raise DataError("the clock of a is wrong")

    monkeypatch.setattr(CuratorHome, "links", lambda *_: contextlib.nullcontext({}))
    monkeypatch.setattr(CuratorHome, "check_times", refuse)
    with pytest.raises(DataError, match="the clock of a is wrong"):
        kind(Session.resume(begun, None, False)).run()
