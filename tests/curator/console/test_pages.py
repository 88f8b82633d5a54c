"""The page of a curator's console, without daemons: what it shows and which buttons do something."""

import contextlib
import shutil
import sqlite3
from functools import partial

import pytest

from dpmosaic.common.console.serving import serve
from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.curator.console.operations import Operations
from dpmosaic.curator.console.overview import state_of
from dpmosaic.curator.console.pages import Place, curator_pages
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.parties.private_folder import journal_of
from support.browsing import INACCESSIBLE, Client, chromium, needs_browser, unreadable
from support.edits import edit

WAIT_S = 300


@pytest.fixture
def client(address):
    made = Client(address)
    made.enter()
    return made


@pytest.fixture
def journal(place):
    """The journal of a release that was begun."""
    path = journal_of(place.out)
    path.parent.mkdir(mode=0o700)
    with contextlib.closing(Journal.create(path, "plan")) as made:
        yield made


def disabled(text):
    """Names of the buttons that do nothing now."""
    return [part.partition("<")[0] for part in text.split(" disabled>")[1:]]


def test_the_state_of_a_release_is_that_of_its_journal(place, journal):
    assert state_of(place.out.with_name("other")) == "nothing"
    assert state_of(place.out) == "open"
    journal.abandon()
    assert state_of(place.out) == "abandoned"


def test_a_finished_release_is_known_by_its_journal_or_its_certificate(place, journal):
    journal.finish()
    assert state_of(place.out) == "finished"
    place.out.with_name("b").mkdir()
    (place.out.with_name("b") / "certificate.json").write_text("{}")
    assert state_of(place.out.with_name("b")) == "finished"


def test_reading_the_page_changes_nothing_and_starts_nothing(client, place, operations, journal):
    before = list(sqlite3.connect(journal_of(place.out)).iterdump())
    assert client.get("/")[0] == 200
    for path in ("/run", "/cancel", "/end"):
        assert client.get(path)[0] == 405
    assert list(sqlite3.connect(journal_of(place.out)).iterdump()) == before
    assert operations.snapshot().version == 0


def test_before_a_release_only_resume_is_off(client):
    text = client.get("/")[2]
    assert disabled(text) == ["Resume"]
    for words in ("party-1-1", "party-1-2", "not looked at", "Nothing was asked", "rho 0.5"):
        assert words in text


def test_an_unfinished_release_is_resumed_or_abandoned_and_not_begun_again(client, journal):
    text = client.get("/")[2]
    assert disabled(text) == ["Release"]
    assert "Abandon the release" in text


@pytest.mark.parametrize("operation", ["resume", "abandon", "", "init", "release --out /"])
def test_what_the_page_does_not_offer_is_not_run(client, operations, operation):
    status, _, text = client.post("/run", {"operation": operation, "sure": "yes"})
    assert (status, operations.snapshot().current) == (409, None)
    assert "cannot be started now" in text


def test_to_abandon_needs_a_tick(client, operations, journal):
    status, _, text = client.post("/run", {"operation": "abandon"})
    assert (status, operations.snapshot().current) == (409, None)
    assert "nothing was changed" in text


@pytest.mark.slow
def test_faults_are_shown_with_what_to_do_and_a_refused_release_is_logged(client, operations):
    """Nobody serves the parties of this plan."""
    client.post("/run", {"operation": "preflight"})
    assert operations.wait(WAIT_S)
    text = client.get("/")[2]
    assert text.count("connection, both certificates") >= 2
    assert "to be fixed" in text
    client.post("/run", {"operation": "dry run"})
    assert operations.wait(WAIT_S)
    assert "dry run, not done" in client.get("/")[2]
    (told,) = [one for one in operations.snapshot().told if one.failed and one.operation == "dry run"]
    assert "party-1-1" in told.text


@pytest.mark.slow
def test_one_operation_runs_at_a_time_and_is_stopped_by_its_button(place, operations):
    slow = Operations(("python3", "-c", "import time; print('{}', flush=True); time.sleep(600)"))
    with (
        contextlib.closing(slow),
        serve(partial(curator_pages, place, slow), Stop()) as address,
    ):
        client = Client(address)
        client.enter()
        client.post("/run", {"operation": "release"})
        text = client.get("/")[2]
        assert "Release is running" in text
        assert disabled(text) == ["Preflight", "Dry run", "Release", "Resume"]
        assert client.post("/run", {"operation": "preflight"})[0] == 409
        client.post("/cancel")
        assert slow.wait(WAIT_S)
        assert "release, stopped here" in client.get("/")[2]


def test_a_plan_that_is_none_keeps_the_console_from_starting(place, operations, tmp_path):
    (tmp_path / "plan.toml").write_text("nonsense")
    wrong = Place(tmp_path / "plan.toml", tmp_path / "out", place.home)
    with pytest.raises(DataError, match="TOML"), serve(partial(curator_pages, wrong, operations), Stop()):
        pass


@pytest.mark.slow
@needs_browser
def test_the_page_follows_an_operation_and_shows_hostile_texts_as_they_are(place, tmp_path):
    """The stream of events runs, in a plan whose purpose and whose parties' answers try to be markup."""
    folder = shutil.copytree(place.home, tmp_path / "curator")
    purpose = "<script>alert(1)</script> \\u202e " + "w" * 300
    edit(folder / "plan.toml", {'purpose = ""': f'purpose = "{purpose}"'})
    lies = """
import json, sys
nasty = "<img src=x onerror=alert(1)> \\u202e " + "w" * 300
print(json.dumps({"about": "party-1-1", "what": nasty, "passed": False, "finding": nasty}), flush=True)
sys.exit("error: " + nasty)
"""
    operations = Operations(("python3", "-c", lies))
    pages = partial(curator_pages, Place(folder / "plan.toml", tmp_path / "out", folder), operations)
    with contextlib.closing(operations), serve(pages, Stop()) as address, chromium() as browser:
        page = browser.new_page()
        told = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
        page.goto(address)
        page.get_by_text("Nothing was asked").wait_for()
        # Started elsewhere: the page hears of it by itself.
        operations.start("preflight", [])
        page.get_by_text("Last operation: preflight, not done.").wait_for(timeout=WAIT_S * 1000)
        page.locator("#live-checks .warning").wait_for()
        assert unreadable(page) == []
        assert page.evaluate(INACCESSIBLE) == []
        assert page.locator("img").count() == 0
        assert "\u202e" not in page.inner_text("body")
        assert told == []
        browser.close()
