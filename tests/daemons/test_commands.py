"""From keys to a release by commands only, with a party that the test starts."""

import contextlib
import json
import signal
import stat
import subprocess
import sys
import time
import urllib.request

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.party.sources.source import read_table
from dpmosaic.simulations.local_network.network import Daemon, program
from support.edits import edit
from support.waiting import wait_until

POLICY = """
[source]
domain = "domain.json"
{source}
[policy]
protocols = ["masked"]
adjacencies = ["zero-out"]
max_release_rho = {release}
lifetime_rho = 1.5
max_cells = 1000
approval = {approval}
"""


class Institution:
    """One party and a curator that trust each other; the test starts the party."""

    def __init__(self, folder, dpmosaic, table_file):
        self.folder, self.dpmosaic, self.daemon = folder, dpmosaic, None
        self.party, self.curator, self.plan = (
            folder / "party",
            folder / "curator",
            folder / "curator/plan.toml",
        )
        dpmosaic("party", "init", self.party, "--name", "clinic")
        dpmosaic("curator", "init", self.curator, "--name", "curator")
        table_file(self.party / "rows.csv")
        (self.party / "domain.json").write_text(json.dumps({"kind": ["x", "y, z"], "code": 3, "bit": 2}))
        self.allow()
        dpmosaic("party", "card", self.party, "--out", folder / "clinic.json")
        self.enroll("127.0.0.1:1")
        dpmosaic("curator", "federation", self.curator, "--out", folder / "federation.json")
        dpmosaic("party", "trust", self.party, folder / "federation.json", "--yes")
        dpmosaic("curator", "plan", self.curator)
        changes = {
            "epsilon = 1.0  ": "rho = 0.5  ",
            "delta = 1e-9": "",
            '"mosaic"': '"independent"',
            "collusions = 1": "collusions = 0",
        }
        edit(self.plan, changes)

    def allow(self, source='file = "rows.csv"', approval="false", release=1.0):
        text = POLICY.format(source=source, approval=approval, release=release)
        (self.party / "policy.toml").write_text(text)

    def enroll(self, address):
        card = self.folder / "clinic.json"
        return self.dpmosaic("curator", "enroll", self.curator, card, "--address", address)

    def serve(self):
        self.daemon = Daemon.start(self.party)
        self.enroll(self.daemon.address())
        return self.daemon

    def release(self, name="out", **options):
        return self.dpmosaic("curator", "release", self.plan, "--out", self.folder / name, **options)


@pytest.fixture
def institution(tmp_path, command, table_file):
    made = Institution(tmp_path, command, table_file)
    yield made
    if made.daemon is not None:
        made.daemon.stop()


def written(path, within_s=120.0):
    """The JSON that another process writes to a file."""
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(path.read_text())
        time.sleep(0.05)
    raise TimeoutError(path)


def modes(folder):
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_makes_and_verifies_a_release_of_rows_in_a_csv(institution):
    institution.serve()
    assert "FIX" not in institution.dpmosaic("curator", "preflight", institution.plan)
    institution.release()
    out = institution.folder / "out"
    synthetic = read_table(out / "synthetic.csv", Domain.load(institution.curator / "plan.domain.json"))
    assert synthetic.record_count == 240
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["differentially_private"]
    (entry,) = json.loads(institution.dpmosaic("party", "ledger", institution.party, "--json"))
    assert entry["spent_rho"] == certificate["promise"]["zcdp_rho_spent"] <= 0.5
    assert entry["queries"] == len(certificate["charges"])
    listed = institution.folder / "federation.json"
    output = institution.dpmosaic("curator", "verify", out / "certificate.json", "--federation", listed)
    assert "party clinic: signed" in output
    assert "FAILED" not in output
    certificate["promise"]["epsilon"] = 0.1
    (out / "certificate.json").write_text(json.dumps(certificate))
    output = institution.dpmosaic(
        "curator", "verify", out / "certificate.json", "--federation", listed, fails=True
    )
    assert "FAILED  party clinic" in output
    assert "clinic" in institution.dpmosaic("party", "card", institution.party)
    assert entry["release"] in institution.dpmosaic("party", "ledger", institution.party)


@pytest.mark.slow
def test_files_of_keys_ledger_and_journal_are_private_to_their_owner(institution):
    institution.serve()
    institution.release()
    assert modes(institution.party / "identity") == modes(institution.curator / "identity") == {0o600}
    for path in (
        institution.party / "ledger.sqlite",
        institution.party / "ledger.sqlite-wal",
        institution.party / "shareable.log",
        institution.folder / "out.private/journal.sqlite",
        institution.folder / "out.private/journal.sqlite-wal",
    ):
        assert not path.exists() or stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.slow
def test_reads_rows_from_a_query_over_parquet_files(institution):
    import duckdb

    rows = institution.party / "rows.csv"
    duckdb.sql(
        f"COPY (SELECT * FROM read_csv('{rows}', all_varchar=true)) TO '{rows.with_suffix('.parquet')}'"
    )
    institution.allow("query = \"SELECT * FROM read_parquet('rows.parquet') ORDER BY age, kind, code, bit\"")
    institution.serve()
    institution.release()


@pytest.mark.slow
@pytest.mark.parametrize(("resumed_as", "kept"), [((), "parquet"), (("--format", "csv"), "csv")])
def test_a_resumed_release_writes_its_initial_or_the_given_format(institution, resumed_as, kept):
    institution.allow(approval="true")
    institution.serve()
    out = institution.folder / "out"
    line = ("curator", "release", institution.plan, "--out", out, "--format", "parquet")
    institution.dpmosaic(*line, fails=True)
    (request,) = json.loads(institution.dpmosaic("party", "releases", institution.party, "--json"))
    institution.dpmosaic(
        "party", "approve", institution.party, request["release"], "--yes", "--reason", "a trial"
    )
    institution.dpmosaic("curator", "resume", out, *resumed_as)
    assert [path.name for path in out.glob("synthetic.*")] == [f"synthetic.{kept}"]
    domain = Domain.load(institution.curator / "plan.domain.json")
    assert read_table(out / f"synthetic.{kept}", domain).record_count == 240


@pytest.mark.slow
def test_a_release_waits_for_approval_and_resumes_after_it(institution):
    institution.allow(approval="true")
    institution.serve()
    output = institution.release(fails=True)
    assert "waits for this party's operator" in output
    assert "dpmosaic curator resume" in output
    (request,) = json.loads(institution.dpmosaic("party", "releases", institution.party, "--json"))
    assert request["decision"] == "pending"
    institution.dpmosaic(
        "party", "approve", institution.party, request["release"][:8], "--yes", "--reason", "a trial"
    )
    with contextlib.closing(Journal(institution.folder / "out.private/journal.sqlite")) as journal:
        key = journal.key
    institution.dpmosaic("curator", "resume", institution.folder / "out")
    for name in ("out", "out.private"):
        assert not any(key in path.read_bytes() for path in (institution.folder / name).iterdir())
    assert stat.S_IMODE((institution.folder / "out.private").stat().st_mode) == 0o700
    published = {path.name for path in (institution.folder / "out").iterdir()}
    assert published == {
        "certificate.json", "evidence.npz", "model.npz", "report.html", "synthetic.csv"
    }  # fmt: skip
    assert (institution.folder / "out/synthetic.csv").exists()
    output = institution.dpmosaic("curator", "resume", institution.folder / "out", fails=True)
    assert "finished" in output


@pytest.mark.slow
def test_a_denied_release_stops(institution):
    institution.allow(approval="true")
    institution.serve()
    institution.release(fails=True)
    (request,) = json.loads(institution.dpmosaic("party", "releases", institution.party, "--json"))
    institution.dpmosaic("party", "deny", institution.party, request["release"])
    output = institution.dpmosaic("curator", "resume", institution.folder / "out", fails=True)
    assert "denied" in output


@pytest.mark.slow
def test_refuses_a_release_that_exceeds_the_lifetime_budget(institution):
    institution.serve()
    for name in ("first", "second", "third"):
        institution.release(name)
    assert "lifetime_rho" in institution.release("fourth", fails=True)


@pytest.mark.slow
def test_the_initial_policy_allows_no_release(institution):
    institution.allow(release=0.0)
    institution.serve()
    assert "max_release_rho" in institution.release(fails=True)


@pytest.mark.slow
def test_preflight_names_an_unreachable_party(institution):
    output = institution.dpmosaic("curator", "preflight", institution.plan, fails=True)
    assert "FIX  clinic: connection" in output


@pytest.mark.slow
def test_preflight_names_every_limit_of_a_policy_and_neither_charges_nor_asks_an_operator(institution):
    institution.allow(release=0.1, approval="true")
    changes = {"1000\n": "1000\nmin_records = 1000\n", '["zero-out"]': "[]", "1.5": "0.2"}
    edit(institution.party / "policy.toml", changes)
    institution.serve()
    output = institution.dpmosaic("curator", "preflight", institution.plan, fails=True)
    for limit in ("max_release_rho", "lifetime_rho", "min_records", "adjacency 'zero-out'"):
        assert limit in output
    assert output.count("FIX  clinic: the release") == 4
    assert "ok    plan: mechanism independent" in output
    for listed in ("ledger", "releases"):
        assert json.loads(institution.dpmosaic("party", listed, institution.party, "--json")) == []


@pytest.mark.slow
def test_the_reason_of_a_release_is_read_by_the_operator_and_stated_by_the_certificate(institution):
    institution.allow(approval="true")
    changes = {
        'purpose = ""': 'purpose = "waiting times"',
        'contact = ""': 'contact = "data-office@example.org"',
        "# until = 2030-12-31": "until = 2999-12-31",
    }
    edit(institution.plan, changes)
    institution.serve()
    assert "ok    clinic: the release: its operator decides" in institution.dpmosaic(
        "curator", "preflight", institution.plan
    )
    institution.release(fails=True)
    (request,) = json.loads(institution.dpmosaic("party", "releases", institution.party, "--json"))
    assert request["purpose"] == "waiting times"
    assert "data-office@example.org" in institution.dpmosaic(
        "party", "approve", institution.party, request["release"], "--yes"
    )
    institution.dpmosaic("curator", "resume", institution.folder / "out")
    certificate = institution.folder / "out/certificate.json"
    about = json.loads(certificate.read_text())["plan"]["spec"]["about"]
    assert (about["purpose"], about["until"]) == ("waiting times", "2999-12-31")
    assert "data-office@example.org" in (institution.folder / "out/report.html").read_text()
    listed = institution.folder / "federation.json"
    assert "FAILED" not in institution.dpmosaic("curator", "verify", certificate, "--federation", listed)


@pytest.mark.slow
def test_a_revoked_curator_gets_no_answer(institution):
    institution.serve()
    institution.dpmosaic("party", "trust", institution.party, "--revoke", "curator")
    output = institution.dpmosaic("curator", "preflight", institution.plan, fails=True)
    assert "FIX  clinic: connection" in output


@pytest.mark.slow
def test_health_is_that_of_the_running_daemon_and_its_status_says_so(institution):
    asked = ("party", "health", institution.party)
    assert "no daemon of this folder answers at 127.0.0.1:7" in institution.dpmosaic(
        *asked, "--address", "127.0.0.1:7", fails=True
    )
    daemon = institution.serve()
    assert institution.dpmosaic(*asked, "--address", daemon.address()) == "SERVING\n"
    (institution.party / "rows.csv").unlink()
    wait_until(lambda: any(event["code"] == "NOT_SERVING" for event in daemon.events()))
    assert "NOT_SERVING" in institution.dpmosaic(*asked, "--address", daemon.address(), fails=True)


@pytest.mark.slow
def test_refuses_a_second_daemon_in_one_folder(institution):
    institution.serve()
    output = institution.dpmosaic("party", "serve", institution.party, "--listen", "127.0.0.1:0", fails=True)
    assert "already served" in output


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_party_logs_a_stop_signal_and_ends(institution, number):
    daemon = institution.serve()
    daemon.process.send_signal(number)
    assert daemon.process.wait(60) == 0
    assert daemon.events()[-1]["event"] == "stopped"


@pytest.mark.slow
def test_the_shareable_log_holds_only_codes(institution):
    institution.allow(approval="true")
    institution.serve()
    institution.release(fails=True)
    lines = (institution.party / "shareable.log").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert {"PERMISSION_DENIED", "OK", "SERVING"} <= {event["code"] for event in events}
    assert {key for event in events for key in event} == {"time", "event", "method", "code"}


@pytest.mark.slow
def test_a_dry_run_forecasts_a_release_and_does_not_change_the_ledger(institution):
    institution.serve()
    output = json.loads(institution.dpmosaic("curator", "release", institution.plan, "--dry-run", "--json"))
    assert json.loads(institution.dpmosaic("party", "ledger", institution.party, "--json")) == []
    institution.release()
    certificate = json.loads((institution.folder / "out/certificate.json").read_text())
    assert output["zcdp_rho"] == certificate["promise"]["zcdp_rho_granted"]
    assert output["parties"]["clinic"]["sent"] > 0
    assert "Nothing was measured" in institution.dpmosaic("curator", "release", institution.plan, "--dry-run")


@pytest.mark.slow
def test_json_output_is_one_object_and_progress_lines_on_the_error_stream(institution):
    institution.serve()
    line = [*program(), "curator", "release", str(institution.plan), "--out", str(institution.folder / "out")]
    done = subprocess.run([*line, "--json"], capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout)["records"] == 240
    told = [json.loads(text) for text in done.stderr.splitlines()]
    assert {one["event"] for one in told} == {"progress"}
    (party,) = told[-1]["parties"]
    assert party["party"] == "clinic"
    assert party["received"] > 0


STOPPED_AT_AN_ANSWER = """
import os, signal, sys
from dpmosaic.curator.parties.journal import Journal
before = Journal.keep
def keep(self, *arguments, **more):
    before(self, *arguments, **more)
    os.kill(os.getpid(), signal.SIGINT)
Journal.keep = keep
from dpmosaic.command import main
main()
"""
"""The command, whose process is sent Ctrl-C after the first answer."""


@pytest.mark.slow
def test_a_stopped_release_says_what_was_spent_and_goes_on_as_it_says(institution):
    institution.serve()
    out = institution.folder / "out"
    line = ["curator", "release", str(institution.plan), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_AT_AN_ANSWER, *line], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith(
        f"stopped: no step was finished, but the first may be charged; `dpmosaic curator resume {out}` goes "
        "on, and charges nothing twice\n"
    )
    institution.dpmosaic("curator", "resume", out)
    certificate = json.loads((out / "certificate.json").read_text())
    (charged,) = json.loads(institution.dpmosaic("party", "ledger", institution.party, "--json"))
    assert charged["spent_rho"] == certificate["promise"]["zcdp_rho_spent"]


@pytest.mark.slow
def test_a_daemon_serves_metrics_without_names_of_attributes(institution):
    institution.daemon = Daemon.start(institution.party, "--listen", "127.0.0.1:0", "--metrics", "0")
    institution.enroll(institution.daemon.address())
    institution.release()
    (event,) = [event for event in institution.daemon.events() if event["event"] == "metrics"]
    assert event["address"].startswith("127.0.0.1:")
    with urllib.request.urlopen(f"http://{event['address']}/metrics", timeout=60) as page:
        output = page.read().decode()
    assert 'dpmosaic_party_calls_total{code="OK",method="Answer"}' in output
    assert "dpmosaic_party_releases 1.0" in output
    assert not any(name in output for name in ('kind="x', "bit", "y, z"))


def test_refuses_a_release_without_a_folder_for_its_results(institution):
    output = institution.dpmosaic("curator", "release", institution.plan, fails=True)
    assert "expected --out" in output


@pytest.mark.slow
def test_an_old_backup_is_refused_until_the_party_counts_what_it_spent_and_hands_over_to_a_new_identity(
    institution,
):
    dpmosaic, folder = institution.dpmosaic, institution.folder
    institution.serve()
    institution.release("before")
    dpmosaic("party", "backup", institution.party, folder / "backup")
    institution.release("after")
    institution.daemon.stop()
    (institution.party / "rows.csv").rename(folder / "rows.csv")
    institution.party.rename(folder / "lost")
    told = dpmosaic("party", "restore", folder / "backup", institution.party)
    assert "open releases are abandoned, and their grants count as spent" in told
    (folder / "rows.csv").rename(institution.party / "rows.csv")
    institution.serve()
    assert "was restored from an old copy" in institution.release("refused", fails=True)
    certificate = folder / "after/certificate.json"
    told = dpmosaic("party", "recount", institution.party, certificate, "--reason", "the only curator")
    assert "counted rho 0.5 as spent" in told
    assert "refuse this identity" in told
    assert "was restored from an old copy" in institution.release("again", fails=True)
    institution.daemon.stop()
    dpmosaic("party", "rotate", institution.party, "--yes")
    (folder / "clinic.json").unlink()
    dpmosaic("party", "card", institution.party, "--out", folder / "clinic.json")
    institution.enroll("127.0.0.1:1")
    dpmosaic("curator", "federation", institution.curator, "--out", folder / "federation.json")
    dpmosaic("party", "trust", institution.party, folder / "federation.json", "--yes")
    institution.serve()
    assert "more than is left of lifetime_rho" not in institution.release("new")
    assert "more than is left of lifetime_rho" in institution.release("too-much", fails=True)


@pytest.mark.slow
def test_a_backup_that_lacks_nothing_goes_on_under_the_same_identity(institution):
    dpmosaic, folder = institution.dpmosaic, institution.folder
    institution.serve()
    institution.release("before")
    dpmosaic("party", "backup", institution.party, folder / "backup")
    institution.daemon.stop()
    (institution.party / "rows.csv").rename(folder / "rows.csv")
    institution.party.rename(folder / "lost")
    dpmosaic("party", "restore", folder / "backup", institution.party)
    (folder / "rows.csv").rename(institution.party / "rows.csv")
    with (institution.party / "policy.toml").open("a") as policy:
        writes = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
        command = json.dumps([sys.executable, "-c", writes, str(folder / "notices")])
        policy.write(f"[notify]\ncommand = {command}\nbudget_below = 0.9\n")
    institution.serve()
    assert written(folder / "notices")["event"] == "budget_low"
    assert "accepts nothing until its operator" in dpmosaic(
        "curator", "preflight", institution.plan, fails=True
    )
    dpmosaic("party", "recount", institution.party, "--reason", "no release since")
    institution.release("after")
    told = dpmosaic("party", "doctor", institution.party, "--address", institution.daemon.address())
    assert "FIX" not in told
    assert f"ok   daemon: serves at {institution.daemon.address()}" in told
    entries = json.loads(dpmosaic("party", "ledger", institution.party, "--json"))
    assert sum(entry["reserved_rho"] for entry in entries) == pytest.approx(1.0)
