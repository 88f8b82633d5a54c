"""Lines of a log are kept for the days that the policy says."""

import json
import os
from datetime import date

import pytest

from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.serving.log_files import LogFile, log_of
from support.edits import edit

DAYS = ("2031-05-01", "2031-05-02", "2031-05-03")


def lines(*days):
    return "".join(json.dumps({"time": f"{day}T10:00:00+00:00", "event": "call"}) + "\n" for day in days)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "log").touch(mode=0o600)
    (tmp_path / "log").write_text(lines(*DAYS))
    return tmp_path / "log"


@pytest.mark.parametrize(("days", "kept"), [(None, DAYS), (3, DAYS), (2, DAYS[1:]), (1, DAYS[2:])])
def test_old_lines_are_deleted_when_the_file_is_opened(path, days, kept):
    with LogFile(path, days, lambda: date(2031, 5, 4)) as log:
        log.write(lines("2031-05-04"))
    assert path.read_text() == lines(*kept, "2031-05-04")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_process_that_goes_on_deletes_them_each_day(path):
    today = [date(2031, 5, 3)]
    with LogFile(path, 1, lambda: today[0]) as log:
        log.write(lines("2031-05-03"))
        today[0] = date(2031, 5, 5)
        log.write(lines("2031-05-05"))
        log.flush()
        assert path.read_text() == lines("2031-05-05")


def test_what_is_no_line_of_a_log_is_deleted_with_the_old_ones(path):
    path.write_text("half a li\n[1]\n" + lines(DAYS[2]))
    with LogFile(path, 9, lambda: date(2031, 5, 4)):
        assert path.read_text() == lines(DAYS[2])


def test_without_room_lines_stay_and_new_ones_are_written(path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with LogFile(path, 1, lambda: date(2031, 5, 4)) as log:
        log.write(lines("2031-05-04"))
    assert path.read_text() == lines(*DAYS, "2031-05-04")
    assert [one.name for one in path.parent.iterdir()] == ["log"]


def test_the_policy_says_for_how_long(tmp_path):
    home = PartyHome.create(tmp_path / "clinic", "clinic")
    edit(home.folder / "policy.toml", {"# keep_log_days = 400": "keep_log_days = 400"})
    home.file("shareable.log").write_text(lines("2001-01-01"))
    with log_of(home, "shareable.log"):
        assert home.file("shareable.log").read_text() == ""
