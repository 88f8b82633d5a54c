"""Releases of people with all rows by commands, over daemons of hospitals and of columns that are aligned."""

import json

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.local_network.network import LocalNetwork
from dpmosaic.simulations.parties.people import Overlap
from support.edits import edit

pytestmark = pytest.mark.slow

DOMAIN = {"kind": ["x", "y"], "code": 3, "bit": 2, "ward": 4}
PEOPLE = 150


def visits(path):
    """A table of visits, from one to nine of each person, those of one person beside each other."""
    rng = np.random.default_rng(3)
    lines = ["id,kind,code,bit,ward"]
    for person in range(PEOPLE):
        kind = "xy"[person % 2]
        for _ in range(rng.integers(1, 10)):
            lines.append(f"P{person:03d},{kind},{rng.integers(3)},{rng.integers(2)},{rng.integers(4)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def network(folder, grid, max_rows='"all"', aligned=True):
    """A network whose parties name the person of each row."""
    data, overlap = visits(folder / "visits.csv"), Overlap(1.0, shuffle=True) if aligned else None
    made = LocalNetwork.create(
        folder / "net", data, Domain.from_json(DOMAIN), grid, key="id", all_rows=True, overlap=overlap
    )
    edit(made.plan, {'mechanism = "mosaic"': 'mechanism = "independent"', "epsilon = 1.0  ": "rho = 0.5"})
    edit(made.plan, {"delta = 1e-9\n": "", "collusions = 1": "collusions = 0"})
    for name in made.all_names:
        edit(made.party(name) / "policy.toml", {'person = "all"': f"person = {max_rows}"})
    return made


@pytest.mark.parametrize(
    ("grid", "aligned"), [("1x1", True), ("1x2", True), ("2x1", True), ("1x2", False), ("3x1", False)]
)
def test_people_with_all_rows_are_released_over_daemons_and_everybody_says_so(
    tmp_path, command, grid, aligned
):
    made = network(tmp_path, grid, aligned=aligned)
    with made.running():
        assert "FIX" not in command("curator", "preflight", made.plan)
        out = tmp_path / "out"
        command("curator", "release", made.plan, "--out", out)
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["plan"]["spec"]["rows_per_person"] == 0
    words = "person with all rows in all tables"
    assert words in certificate["plan"]["privacy_unit"]
    federation = tmp_path / "federation.json"
    command("curator", "federation", made.folder / "curator", "--out", federation)
    assert words in command("curator", "verify", out / "certificate.json", "--federation", federation)
    # People, not visits: with noise, of which the alignment has a deviation of some dozens.
    assert abs(len((out / "synthetic.csv").read_text().splitlines()) - 1 - PEOPLE) < 150


def test_a_party_that_allows_one_row_refuses_before_anything_is_spent(tmp_path, command):
    made = network(tmp_path, "1x2", max_rows="1")
    with made.running():
        said = command("curator", "preflight", made.plan, fails=True)
    assert "uses all rows of a person, and the policy does not allow that" in said
