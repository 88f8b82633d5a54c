"""The pages of a party's console: they show what the commands show, and decide as the commands do."""

import csv
import io
import json
import sqlite3

import pytest

from dpmosaic.party.home.folder import LEDGER, SHAREABLE_LOG
from dpmosaic.party.home.home import REQUESTS
from support.browsing import Client
from support.consoles import ABOUT, FINISHED, HOSTILE, RUNNING, WAITING
from support.operators import proposed

pytestmark = pytest.mark.slow

PATHS = ("/", "/releases", f"/releases/{WAITING}", "/certificates", "/health", "/trail", "/trail.csv")
SIGNED = {"by": "D. P. Officer", "reason": "the purpose is ours", "read": "yes"}


def shown(operator, release):
    return json.loads(operator.run("show", release, "--json"))


def contents(operator):
    """All rows of the party's files."""
    found = {}
    for name in (LEDGER, REQUESTS):
        database = sqlite3.connect(operator.home.folder / name)
        found[name] = list(database.iterdump())
        database.close()
    return found


def test_reading_every_page_changes_nothing(client, past):
    before = contents(past)
    for path in (*PATHS, f"/releases/{HOSTILE}", f"/releases/{RUNNING}", f"/releases/{FINISHED}"):
        assert client.get(path)[0] == 200
    for path in (f"/releases/{WAITING}/approve", f"/releases/{WAITING}/deny", "/end"):
        assert client.get(path)[0] == 405
    assert contents(past) == before


def test_the_overview_says_what_waits_and_what_is_left(client):
    text = client.get("/")[2]
    assert text.count("Read and decide") == 2
    for words in (ABOUT.purpose, "10 %", "7.5 %", "82.5 %", "not running"):
        assert words in text


def test_an_approval_is_that_of_the_command(client, past):
    status, headers, _ = client.post(f"/releases/{WAITING}/approve", SIGNED)
    assert (status, headers["Location"]) == (303, f"{client.base}/releases/{WAITING}")
    form = shown(past, WAITING)
    (decision,) = form["decisions"]
    assert form["state"] == "approved"
    assert (decision["by"], decision["reason"]) == ("D. P. Officer", "the purpose is ours")
    assert decision["signed_by_this_party"]
    assert "D. P. Officer" in client.get(f"/releases/{WAITING}")[2]


def test_a_denial_says_why_and_can_be_taken_back_before_the_release_runs(client, past):
    assert client.post(f"/releases/{WAITING}/deny", SIGNED)[0] == 303
    assert shown(past, WAITING)["state"] == "denied"
    text = client.get(f"/releases/{WAITING}")[2]
    assert "Approve this release" in text
    assert "Deny this release" not in text
    client.post(f"/releases/{WAITING}/approve", SIGNED)
    assert shown(past, WAITING)["state"] == "approved"


def test_a_denial_of_a_running_release_stops_it_for_good(client, past):
    assert "Deny and stop this release" in client.get(f"/releases/{RUNNING}")[2]
    client.post(f"/releases/{RUNNING}/deny", SIGNED)
    form = shown(past, RUNNING)
    assert (form["state"], form["ledger"]["state"]) == ("denied", "abandoned")
    status, _, text = client.post(f"/releases/{RUNNING}/approve", SIGNED)
    assert status == 409
    assert "was running when it was denied" in text


def test_a_denial_that_comes_too_late_says_so(client, past):
    status, _, text = client.post(f"/releases/{FINISHED}/deny", SIGNED)
    assert status == 409
    assert "comes too late" in text
    assert shown(past, FINISHED)["state"] == "approved"


@pytest.mark.parametrize(
    ("verdict", "changes"),
    [
        ("approve", {"read": ""}),
        ("approve", {"by": " "}),
        ("approve", {"by": "x" * 201}),
        ("approve", {"reason": "x" * 2001}),
        ("deny", {"by": ""}),
        ("deny", {"reason": ""}),
    ],
)
def test_a_decision_without_what_it_needs_changes_nothing(client, past, verdict, changes):
    status, _, text = client.post(f"/releases/{WAITING}/{verdict}", SIGNED | changes)
    assert status == 409
    assert "nothing was changed" in text
    assert shown(past, WAITING)["state"] == "pending"


@pytest.mark.parametrize("release", [WAITING[:8], "", "0" * 32, "..%2f..", "%00"])
def test_a_decision_needs_the_whole_id_of_a_release(client, past, release):
    assert client.post(f"/releases/{release}/approve", SIGNED)[0] in (404, 409)
    assert shown(past, WAITING)["state"] == "pending"


def test_what_was_approved_here_the_daemon_accepts(client, past):
    client.post(f"/releases/{WAITING}/approve", SIGNED)
    with past.serving() as (party, ledger):
        (request,) = [r for r in past.home.approvals().requests() if r.terms.release_id == WAITING]
        proposed(party, request.terms)
        assert WAITING in ledger.open_releases()


def test_the_certificate_that_was_signed_is_named_by_its_digest(client, past):
    text = client.get("/certificates")[2]
    with past.serving() as (_, ledger):
        (signed,) = [one for one in ledger.events() if one.certificate is not None]
    assert signed.certificate.hex() in text
    assert ABOUT.purpose[:40] in text


def test_the_trail_has_requests_decisions_and_events_of_ledger_and_daemon(client, past):
    events = (
        {"event": "started", "code": "SERVING"},
        {"event": "call", "method": "Describe", "code": "OK"},
        {"event": "call", "method": "Accept", "code": "PERMISSION_DENIED"},
    )
    lines = [json.dumps({"time": f"2026-11-01T00:00:0{n}+00:00"} | one) for n, one in enumerate(events)]
    (past.home.folder / SHAREABLE_LOG).write_text("\n".join([*lines, "half a li"]))
    rows = list(csv.DictReader(io.StringIO(client.get("/trail.csv")[2])))
    kinds = [row["kind"] for row in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "requested": 4,
        "decided": 2,
        "ledger": 5,
        "daemon": 2,
    }
    of_one = [row["what"].split()[0] for row in rows if row["release_id"] == FINISHED]
    assert of_one == ["certified", "charged", "accepted", "approved:", "asked"]
    assert [row["what"] for row in rows[-2:]] == ["call Accept PERMISSION_DENIED", "started SERVING"]


def test_filters_choose_lines_and_the_csv_has_the_same_lines(client):
    def count(query):
        rows = list(csv.DictReader(io.StringIO(client.get(f"/trail.csv?{query}")[2])))
        entries = "entry" if len(rows) == 1 else "entries"
        assert f"{len(rows)} {entries}" in client.get(f"/trail?{query}")[2]
        return len(rows)

    everything = count("")
    assert count("kind=decided") == 2
    assert count(f"words={WAITING[:12].upper()}") == 1
    assert count("until=2020-01-01") == 0
    assert count("since=2020-01-01") == everything
    assert count("kind=nothing") == 0


def test_no_cell_of_the_csv_is_a_formula_and_no_line_break_of_a_curator_makes_a_row(client, past):
    past.run("deny", HOSTILE, "--by", "=cmd|' /C calc'!A0", "--reason", "@SUM(1)\n=1")
    text = client.get("/trail.csv")[2]
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {7}
    assert not [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r\n" and cell]
    assert [row[4] for row in rows if row[2] == "decided" and row[3] == HOSTILE] == ["'=cmd|' /C calc'!A0"]
    assert "\u202e" not in text


def test_text_of_others_is_never_markup(client):
    for path in ("/", "/releases", f"/releases/{HOSTILE}", "/trail"):
        text = client.get(path)[2]
        assert "&lt;script&gt;" in text
        for markup in ("<script>", "<img", "<b>1", "\u202e", "\u200b", "\x1b"):
            assert markup not in text


def test_health_names_what_has_to_be_fixed(client, past):
    text = client.get("/health")[2]
    assert "to be fixed" not in text
    assert "not running" in text
    past.home.folder.joinpath("rows.csv").unlink()
    text = client.get("/health")[2]
    assert text.count("to be fixed") == text.count("To do:") == 1


def test_looking_whether_the_daemon_runs_does_not_keep_it_from_starting(past):
    assert not past.home.is_served()
    with past.home.claim():
        assert past.home.is_served()
    assert not past.home.is_served()


def test_a_damaged_policy_is_told_and_the_console_goes_on(client, past):
    policy = past.home.folder / "policy.toml"
    kept = policy.read_text()
    policy.write_text("nonsense")
    status, _, text = client.get("/")
    assert status == 409
    assert "policy.toml" in text
    policy.write_text(kept)
    assert client.get("/")[0] == 200


def test_a_console_closes_when_it_is_asked_to(empty, consoles):
    client = Client(consoles(empty))
    client.enter()
    assert "closed" in client.post("/end")[2]


def test_a_page_offers_the_approvers_and_says_who_is_missing(client, past):
    policy = past.home.folder / "policy.toml"
    policy.write_text(
        policy.read_text().replace("[policy]", '[policy]\napprovers = ["D. P. Officer", "B"]\napprovals = 2')
    )
    assert "<option>B</option>" in client.get(f"/releases/{WAITING}")[2]
    status, _, text = client.post(f"/releases/{WAITING}/approve", SIGNED | {"by": "root"})
    assert (status, "nothing was changed" in text) == (409, True)
    client.post(f"/releases/{WAITING}/approve", SIGNED)
    assert shown(past, WAITING)["state"] == "pending"
    assert "1 more of B has to approve before it goes on" in client.get(f"/releases/{WAITING}")[2]
    past.run("approve", WAITING, "--by", "B", "--yes", "--reason", "read")
    assert shown(past, WAITING)["state"] == "approved"


def test_the_overview_says_what_is_left_of_quotas(client, past):
    assert "Quotas" not in client.get("/")[2]
    policy = past.home.folder / "policy.toml"
    policy.write_text(policy.read_text() + "\n[quotas]\nyearly_rho = 1\n")
    text = client.get("/")[2]
    assert "of yearly_rho in [quotas] 1 this calendar year" in text
