"""A curator's operator is told why a release stopped."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

from dpmosaic.common.errors import (
    ApprovalPending,
    DataError,
    DeliveriesLost,
    PartyUnavailable,
    PolicyError,
    ProtocolError,
)
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.telling import notify_on_failure, say_how_to_resume

WRITES = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


@pytest.fixture
def home(tmp_path):
    made = CuratorHome.create(tmp_path / "curator", "ministry")
    command = json.dumps([sys.executable, "-c", WRITES, str(tmp_path / "notices")])
    (made.folder / "notify.toml").write_text(f"[notify]\ncommand = {command}\n")
    return made


def test_a_party_that_is_down_and_an_approval_that_waits_are_told_and_nothing_else(home, tmp_path):
    for error in (PartyUnavailable("x"), ApprovalPending("x"), PolicyError("x")):
        with pytest.raises(type(error)), notify_on_failure(home):
            raise error
    with notify_on_failure(home):
        pass
    notices = [json.loads(line) for line in (tmp_path / "notices").read_text().splitlines()]
    assert [(n["role"], n["name"], n["event"]) for n in notices] == [
        ("curator", "ministry", "party_down"),
        ("curator", "ministry", "approval_waits"),
    ]


def test_a_notice_that_fails_changes_nothing_of_the_error(home, capsys):
    (home.folder / "notify.toml").write_text('[notify]\ncommand = ["/no/such/program"]\n')
    with pytest.raises(PartyUnavailable, match="clinic"), notify_on_failure(home):
        raise PartyUnavailable("clinic")
    assert "a notice was not delivered: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[notify]\ncomand = []\n", "[other]\n", "notify", "notify = 1", '[notify]\ncommand = "a"\n']
)
def test_a_file_that_is_wrong_is_refused(home, text):
    (home.folder / "notify.toml").write_text(text)
    with pytest.raises(DataError, match=r"notify\.toml"), notify_on_failure(home):
        pass


def test_without_the_file_nobody_is_told(tmp_path):
    with (
        pytest.raises(PartyUnavailable),
        notify_on_failure(CuratorHome.create(tmp_path / "curator", "ministry")),
    ):
        raise PartyUnavailable("x")


@pytest.fixture
def journal(tmp_path):
    with contextlib.closing(Journal.create(tmp_path / "journal.sqlite", "")) as made:
        yield made


@pytest.mark.parametrize("error", [PartyUnavailable, ApprovalPending, PolicyError, DeliveriesLost])
def test_a_release_that_can_be_resumed_says_by_which_command(journal, error):
    said = r"^x\. The release stopped; resume it with: dpmosaic curator resume out$"
    with pytest.raises(error, match=said), say_how_to_resume(journal, Path("out")):
        raise error("x")


@pytest.mark.parametrize(("error", "abandoned"), [(PolicyError, True), (ProtocolError, False)])
def test_a_release_that_cannot_be_resumed_does_not_say_so(journal, error, abandoned):
    if abandoned:
        journal.abandon()
    with pytest.raises(error, match=r"^x$"), say_how_to_resume(journal, Path("out")):
        raise error("x")
