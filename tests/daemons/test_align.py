"""Alignments by commands, over daemons of parties whose rows are in any order."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpmosaic.simulations.local_network import Daemon

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
"""
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
        text = self.plan.read_text()
        for old, new in (
            ("# [alignment]", "[alignment]\nrho = 0.25"),
            ("epsilon = 1.0  ", "rho = 0.5  "),
            ("delta = 1e-9", ""),
            ('"mosaic"', '"independent"'),
        ):
            assert old in text
            text = text.replace(old, new)
        self.plan.write_text(text)

    def serve(self, name):
        self.daemons[name] = Daemon.start(self.folder / name)
        card, address = self.folder / f"{name}.json", self.daemons[name].address()
        self.dpmosaic("curator", "enroll", self.curator, card, "--address", address)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.stop()

    def align(self, *options):
        return self.dpmosaic("curator", "align", self.plan, *options)

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


def test_an_alignment_is_made_once_and_then_used_again_free_of_charge(hospitals):
    assert "FIX" not in hospitals.dpmosaic("curator", "preflight", hospitals.plan)
    first = json.loads(hospitals.align("--json"))
    assert first["made"]
    assert first["zcdp_rho_charged"] <= 0.25
    again = json.loads(hospitals.align("--json"))
    assert not again["made"]
    assert again["alignment"] == first["alignment"]
    for name in HELD:
        assert hospitals.charged(name) == [(first["zcdp_rho_charged"], 1)]


def test_a_release_aligns_on_the_way_and_the_next_one_uses_the_same_alignment(hospitals):
    for name in ("one", "two"):
        hospitals.dpmosaic("curator", "release", hospitals.plan, "--out", hospitals.folder / name)
    assert not json.loads(hospitals.align("--json"))["made"]
    for name in HELD:
        alignment, *releases = hospitals.charged(name)
        assert alignment[1] == 1
        assert len(releases) == 2
