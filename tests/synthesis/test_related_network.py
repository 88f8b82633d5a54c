"""Parties of related tables as processes on this machine: what each of them holds, and the plan."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.curator.related.planned import related_order, tables_of
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.operating.checking import check_home
from dpmosaic.synthesis.over_parties.network import create_network
from dpmosaic.synthesis.related.tables import read_tables
from support.related import DOMAINS, RELATIONS, patients

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent

STATED = """
[patients]
domain = "patients.json"
[stays]
domain = "stays.json"
belongs_to = { id = "patients" }
order = "day"
summaries = { ever_a = { ward = ["a"] } }
[codes]
domain = "codes.json"
belongs_to = { stay = "stays" }
[visits]
belongs_to = { id = "patients" }
"""


@pytest.fixture
def real(tmp_path):
    """A folder of patients, stays, codes of these, and visits of which nothing but keys is known."""
    folder = tmp_path / "real"
    folder.mkdir()
    tables = patients(people=40)
    tables["visits"] = tables["stays"][["id"]]
    for name, rows in tables.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    for name, domain in DOMAINS.items():
        (folder / f"{name}.json").write_text(json.dumps(domain))
    (folder / "relations.toml").write_text(STATED)
    return folder


@pytest.mark.parametrize(
    ("grid", "held"),
    [
        ("1x1", [["patients", "stays", "codes", "visits"]]),
        ("1x2", [["patients"], ["stays", "codes", "visits"]]),
        ("2x2", [["patients"], ["stays", "codes", "visits"]] * 2),
        ("3x1", [["patients", "stays", "codes", "visits"]] * 3),
    ],
)
def test_parties_hold_the_tables_of_the_people_of_their_slice(tmp_path, real, grid, held):
    made = create_network(tmp_path / "net", real, real / "relations.toml", grid)
    plan = ReleasePlan.load(made.plan)
    assert [sorted(plan.tables.holds[name]) for name in made.all_names] == [sorted(own) for own in held]
    for name, own in zip(made.all_names, held, strict=True):
        assert {one.stem for one in made.party(name).glob("*.csv")} == {*own, "patients"}
    people = []
    for row in made.names:
        tables = {
            one.stem: one for name in row for one in made.party(name).glob("*.csv") if one.stem != "patients"
        }
        for name in row:
            # Whoever holds no table of people lists them, by keys alone.
            listed = pd.read_csv(made.party(name) / "patients.csv")
            assert (list(listed) == ["id"]) == (name != row[0])
        tables["patients"] = made.party(row[0]) / "patients.csv"
        # No row without its parent.
        read_tables(tables, RELATIONS | {"visits": {"id": "patients"}}, {}, np.random.default_rng(0))
        people += pd.read_csv(tables["patients"])["id"].tolist()
    assert len(set(people)) == len(people) == 40
    for name in made.all_names:
        assert PartyHome.open(made.party(name)).card().domain


def test_what_is_asked_and_how_keys_look_is_in_the_plan(tmp_path, real):
    relations = real / "relations.toml"
    text = relations.read_text().replace(
        'order = "day"', 'order = "day"\nseries = "ward"\nworkload = [["ward", "previous ward"]]'
    )
    relations.write_text(text)
    stays = pd.read_csv(real / "stays.csv")
    stays.assign(kind=stays["ward"]).to_csv(real / "stays.csv", index=False)
    (real / "stays.json").write_text(json.dumps(DOMAINS["stays"] | {"kind": ["a", "b", "c"]}))
    people = json.loads((real / "patients.json").read_text())
    form = {"type": "identifier", "pattern": "P-{:06d}"}
    (real / "patients.json").write_text(json.dumps(people | {"id": form}))
    made = create_network(tmp_path / "net", real, relations, "1x2")
    tables = {one.name: one for one in ReleasePlan.load(made.plan).tables.tables}
    assert tables["stays"].pairs == [["ward", "previous ward"]]
    assert tables["stays"].series == "ward"
    assert tables["patients"].pattern == form["pattern"]
    for name in made.all_names:
        assert PartyHome.open(made.party(name)).card().domain


def test_the_hospital_of_the_documentation_becomes_a_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (block,) = [one for one in blocks if "out/hospital" in one]
    exec(compile(block, "people.md", "exec"), {})
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("dpmosaic")]
    (infer,) = [one for one in commands if one[:3] == ["domain", "infer", "out/hospital"]]
    assert CliRunner().invoke(app, infer).exit_code == 0
    relations = Path("out/drafts/relations.toml")
    (serve,) = [one for one in commands if one[:2] == ["local-network", "out/related"]]
    assert serve[2:] == ["--data", "out/hospital", "--relations", str(relations), "--grid", "1x2"]
    relations.write_text(relations.read_text().replace("# public = true", "public = true"))
    made = create_network(tmp_path / "net", Path("out/hospital"), relations, "1x2")
    plan = ReleasePlan.load(made.plan)
    assert [*plan.tables.public] == ["wards"]
    assert tables_of(plan).tables[1].references == {"ward": "wards"}
    assert related_order(plan, "a" * 32).granted > 0


def test_public_tables_are_at_the_curator_and_their_keys_in_domains(tmp_path, real):
    relations = real / "relations.toml"
    text = relations.read_text().replace(
        'belongs_to = { id = "patients" }\norder',
        'belongs_to = { id = "patients", ward = "wards.code" }\norder',
    )
    relations.write_text(f"{text}[wards]\npublic = true\n")
    (real / "wards.csv").write_text("code,beds,floor\nc,7,01\nb,0,02\na,12,03\n")
    (real / "stays.json").write_text(json.dumps({"day": DOMAINS["stays"]["day"]}))
    made = create_network(tmp_path / "net", real, relations, "2x2")
    tables = ReleasePlan.load(made.plan).tables
    assert tables.public["wards"]["beds"].sum() == 19
    assert tables.public["wards"]["floor"].tolist() == ["01", "02", "03"]
    assert tables.domains["stays"]["ward"].categories == ("c", "b", "a")
    assert "wards" not in {name for held in tables.holds.values() for name in held}
    for name in made.all_names:
        home = PartyHome.open(made.party(name))
        assert not list(home.folder.glob("wards*"))
        assert home.card().domain
        assert not [one for one in check_home(home) if one.refused]


@pytest.mark.parametrize(
    ("change", "grid", "said"),
    [
        (("", ""), "1x4", "with at most 3 parties in a slice"),
        (("", ""), "1x3", "columns beside keys, got one of visits alone"),
        (("", ""), "two", "expected KxS"),
        (("", ""), "41x1", "at most one for each person"),
        (('order = "day"', 'order = "day"\nwithin = ["born", ""]'), "1x1", "expected no within"),
        (('domain = "stays.json"\n', ""), "1x1", "stays: expected a domain"),
    ],
)
def test_what_parties_cannot_hold_is_refused(tmp_path, real, change, grid, said):
    relations = real / "relations.toml"
    relations.write_text(relations.read_text().replace(*change))
    with pytest.raises(DataError, match=said):
        create_network(tmp_path / "net", real, relations, grid)
    assert not (tmp_path / "net").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--relations", "relations.toml", "--key", "id"], "leave these out"),
        (["--relations", "relations.toml", "--shuffle"], "leave these out"),
        (["--key", "id"], "or none of them"),
        (["--domain", "stays.json", "--key", "id", "--align-by", "day"], "aligned by the same column"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, real, options, said):
    asked = ["local-network", tmp_path / "net", "--data", real, *options]
    result = CliRunner().invoke(app, [str(word) for word in asked])
    assert isinstance(result.exception, DataError)
    assert said in str(result.exception)
