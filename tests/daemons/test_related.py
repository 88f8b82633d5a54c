"""Releases of related tables by commands, over daemons of hospitals and of parties of some tables each."""

import json

import numpy as np
import pytest

from dpmosaic.curator.people.release import load_people
from support.related import patients
from support.related_network import ALL, APART, cut, network

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("grid", "slices"), [(APART, 1), ((ALL,), 2)], ids=["apart", "hospitals"])
def test_related_tables_are_released_over_daemons_and_everybody_says_so(tmp_path, command, grid, slices):
    real = patients(people=300)
    made = network(tmp_path / "net", cut(real, slices), grid)
    out = tmp_path / "out"
    with made.running():
        command("curator", "release", made.plan, "--out", out)
    release = load_people(out)
    assert set(release.tables) == set(ALL)
    assert set(release.tables["stays"]["id"]) <= set(release.tables["patients"]["id"])
    assert abs(len(release.tables["patients"]) - 300) < 60
    assert abs(len(release.tables["stays"]) / len(real["stays"]) - 1) < 0.25
    found, wanted = (
        one["stays"]["ward"].value_counts(normalize=True).sort_index() for one in (release.tables, real)
    )
    assert np.abs(found - wanted).max() < 0.06
    certificate = json.loads((out / "certificate.json").read_text())
    assert "person with all rows in all tables" in certificate["privacy_unit"]
    said = command("query", out, "SELECT sex, COUNT(*) FROM patients GROUP BY sex")
    assert "(" in said
