"""Alignments by commands, over daemons of parties whose rows are in any order."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpmosaic.common.errors import PartyUnavailable
from dpmosaic.curator.parties.connection import GrpcConnection
from dpmosaic.simulations.local_network.network import Daemon
from dpmosaic.simulations.local_network.ports import free_port
from support.edits import edit

POLICY = """
[source]
domain = "domain.json"
file = "rows.csv"
key = "patient"
[records]
same_as = {same_as}
[policy]
protocols = ["masked"]
adjacencies = ["zero-out"]
max_release_rho = 1.0
max_alignment_rho = 0.5
lifetime_rho = 2.0
max_cells = 1000
approval = {approval}
dealers = ["curator"]
"""
STEPS = {"Accept", "Introduce", "Deliver", "Align", "Certify"}
HELD = {"north": range(0, 130), "south": range(20, 170)}


@dataclass
class Hospitals:
    """Two parties of one slice and a curator, which trust each other."""

    folder: Path
    dpmosaic: object
    approval: str = "false"

    def __post_init__(self):
        self.curator, self.plan = self.folder / "curator", self.folder / "curator/plan.toml"
        self.daemons = {}
        self.dpmosaic("curator", "init", self.curator, "--name", "curator")
        for (name, held), attribute in zip(HELD.items(), "xy", strict=True):
            party = self.folder / name
            self.dpmosaic("party", "init", party, "--name", name)
            (party / "domain.json").write_text(json.dumps({attribute: 2}))
            same_as = json.dumps([other for other in HELD if other != name])
            (party / "policy.toml").write_text(POLICY.format(same_as=same_as, approval=self.approval))
            order = np.random.default_rng(len(name)).permutation(list(held))
            (party / "rows.csv").write_text(
                f"patient,{attribute}\n" + "".join(f"p{number},{number % 2}\n" for number in order)
            )
            card = self.folder / f"{name}.json"
            self.dpmosaic("party", "card", party, "--out", card)
            self.dpmosaic("curator", "enroll", self.curator, card, "--address", "127.0.0.1:1")
        listed = self.folder / "federation.json"
        self.dpmosaic("curator", "federation", self.curator, "--out", listed)
        for name in HELD:
            self.dpmosaic("party", "trust", self.folder / name, listed, "--yes")
        self.dpmosaic("curator", "plan", self.curator)
        changes = {
            "# [alignment]": "[alignment]\nrho = 0.25",
            "epsilon = 1.0  ": "rho = 0.5  ",
            "delta = 1e-9": "",
            '"mosaic"': '"independent"',
        }
        edit(self.plan, changes)

    def serve(self, name):
        self.daemons[name] = Daemon.start(self.folder / name, "--listen", f"127.0.0.1:{free_port()}")
        card, address = self.folder / f"{name}.json", self.daemons[name].address()
        self.dpmosaic("curator", "enroll", self.curator, card, "--address", address)

    def kill(self, name):
        """Kills a party's process and starts another at the same address."""
        address = self.daemons[name].address()
        self.daemons[name].process.kill()
        self.daemons[name].process.wait()
        self.daemons[name].process.stdin.close()
        self.daemons[name] = Daemon.start(self.folder / name, "--listen", address)
        self.daemons[name].address()

    def stop(self):
        for daemon in self.daemons.values():
            daemon.stop()

    def align(self, *options):
        return self.dpmosaic("curator", "align", self.plan, *options)

    def release(self, *options):
        return self.dpmosaic("curator", "release", self.plan, *options)

    def charged(self, name):
        entries = json.loads(self.dpmosaic("party", "ledger", self.folder / name, "--json"))
        return [(entry["spent_rho"], entry["queries"]) for entry in entries]


@pytest.fixture
def hospitals(tmp_path, command):
    made = Hospitals(tmp_path, command)
    for name in HELD:
        made.serve(name)
    yield made
    made.stop()


@pytest.mark.slow
def test_rows_are_aligned_once_and_releases_use_the_alignment_free_of_charge(hospitals):
    assert "FIX" not in hospitals.dpmosaic("curator", "preflight", hospitals.plan)
    predicted = json.loads(hospitals.align("--dry-run", "--json"))
    assert predicted["zcdp_rho"] == 0.25
    assert "Nothing was matched or charged" in hospitals.align("--dry-run")
    before = hospitals.release("--dry-run", "--json")
    assert json.loads(before.splitlines()[0]) == predicted
    assert all(not hospitals.charged(name) for name in HELD)
    hospitals.release("--out", hospitals.folder / "one")
    made = json.loads(hospitals.align("--json"))
    assert not made["made"]
    assert made["sigma"] == pytest.approx(predicted["sigma"])
    assert json.loads(hospitals.release("--dry-run", "--json"))["zcdp_rho"] == 0.5
    text = hospitals.plan.read_text()
    hospitals.plan.write_text(text.replace("rho = 0.25", 'rho = 0.25\npopulation = "anywhere"'))
    hospitals.release("--out", hospitals.folder / "two")
    certificates = [
        json.loads((hospitals.folder / name / "certificate.json").read_text()) for name in ("one", "two")
    ]
    assert {one["plan"]["alignment"]["alignment_id"] for one in certificates} == {made["alignment"]}
    listed = hospitals.folder / "federation.json"
    for name in ("one", "two"):
        path = hospitals.folder / name / "certificate.json"
        verified = hospitals.dpmosaic("curator", "verify", path, "--federation", listed)
        assert "FAILED" not in verified
    for name in HELD:
        (rho, queries), *releases = hospitals.charged(name)
        assert rho <= 0.25
        assert queries == 1
        assert len(releases) == 2


@pytest.mark.slow
def test_an_alignment_that_stopped_is_abandoned_or_resumed_with_its_release(hospitals, monkeypatch):
    def unreachable(agreement, keys):
        raise PartyUnavailable("party 'south' does not answer")

    edit(hospitals.plan, {"[network]": "[network]\naway_seconds = 0"})
    with monkeypatch.context() as patched:
        patched.setattr("dpmosaic.curator.releasing.aligning.over_parties.match_slices", unreachable)
        stopped = hospitals.dpmosaic("curator", "align", hospitals.plan, fails=True)
        command = "or end it with: dpmosaic curator abandon "
        folder = stopped[stopped.index(command) + len(command) :].split()[0]
        assert "abandoned here and at every party" in hospitals.dpmosaic("curator", "abandon", folder)
        out = hospitals.folder / "out"
        again = hospitals.dpmosaic("curator", "release", hospitals.plan, "--out", out, fails=True)
        assert f"resume it with: dpmosaic curator resume {out}" in again
    hospitals.dpmosaic("curator", "resume", out)
    made = json.loads(hospitals.align("--json"))
    assert not made["made"]
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["plan"]["alignment"]["alignment_id"] == made["alignment"]
    for name in HELD:
        abandoned, (_, queries), release = hospitals.charged(name)
        assert abandoned == (0.0, 0)
        assert queries == 1
        assert release[0] == certificate["promise"]["zcdp_rho_spent"]


@pytest.mark.slow
def test_a_daemon_that_is_killed_after_every_step_charges_once(hospitals, monkeypatch):
    asked, killed = GrpcConnection.call, []

    def killing(connection, method, requests):
        yield from asked(connection, method, requests)
        if connection._party == "south" and method in STEPS and method not in killed:
            killed.append(method)
            hospitals.kill("south")

    with monkeypatch.context() as patched:
        patched.setattr(GrpcConnection, "call", killing)
        made = json.loads(hospitals.align("--json"))
    assert set(killed) == STEPS
    assert not json.loads(hospitals.align("--json"))["made"]
    for name in HELD:
        assert hospitals.charged(name) == [(made["zcdp_rho_charged"], 1)]
