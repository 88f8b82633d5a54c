"""Releases of tables that SDV's metadata describes, and domain files from it."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.synthesis.relations_file import read_relations

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
HOTELS = pd.DataFrame({"id": [f"H-{n:03d}" for n in range(800)], "city": RNG.choice(["Bern", "Basel"], 800)})
GUESTS = pd.DataFrame({"hotel": RNG.choice(HOTELS["id"], 2400), "room": RNG.choice(["A", "B"], 2400)})
ONE = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"room": {"sdtype": "categorical"}}}
BOTH = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "hotels": {
            "primary_key": "id",
            "columns": {"id": {"sdtype": "id"}, "city": {"sdtype": "categorical"}},
        },
        "guests": {"columns": {"hotel": {"sdtype": "id"}, "room": {"sdtype": "categorical"}}},
    },
    "relationships": [
        {
            "parent_table_name": "hotels",
            "parent_primary_key": "id",
            "child_table_name": "guests",
            "child_foreign_key": "hotel",
        }
    ],
}


class OfSDV:
    """As SDV's class, which has more."""

    def to_dict(self):
        return ONE


@pytest.mark.parametrize("metadata", [ONE, OfSDV()], ids=["content", "object"])
def test_a_release_learns_what_the_metadata_does_not_state_and_says_so_once(metadata):
    with pytest.warns(dpmosaic.DomainWarning) as warned:
        made = dpmosaic.synthesize(GUESTS, 2.0, domain=metadata, mechanism="independent", ledger=False)
    (said,) = warned
    assert str(said.message).startswith(
        "SDV's metadata states no bounds and categories: a release learns those of"
    )
    assert set(made.table["room"].dropna()) >= {"A", "B"}
    assert list(made.table.columns) == ["room"]


def test_several_rows_of_one_are_not_released_as_if_they_were_one_each():
    form = ONE | {"sequence_key": "hotel", "columns": {**ONE["columns"], "hotel": {"sdtype": "id"}}}
    with pytest.raises(dpmosaic.DataError, match="expected key='hotel' beside SDV's metadata"):
        dpmosaic.synthesize(GUESTS, 2.0, domain=form, ledger=False)


def test_metadata_of_several_tables_states_their_relations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpmosaic.DomainWarning)
        made = dpmosaic.synthesize({"hotels": HOTELS, "guests": GUESTS}, 4.0, domain=BOTH, ledger=False)
    assert set(made.frames["guests"]["hotel"]) <= set(made.frames["hotels"]["id"])
    assert set(made.frames["hotels"]["city"].dropna()) >= {"Bern", "Basel"}


def run(*arguments):
    return CliRunner().invoke(app, ["domain", "from", *map(str, arguments)])


def test_the_command_writes_a_domain_file(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps(ONE))
    done = run(tmp_path / "metadata.json", "--out", tmp_path / "domain.json")
    assert done.exit_code == 0, done.output
    assert "a release learns those of 'room' from its budget" in done.output
    written = dpmosaic.Domain.load(tmp_path / "domain.json")
    assert written == dpmosaic.Domain.from_json(ONE)


def test_the_command_writes_relations_as_synthesize_reads_them(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps(BOTH))
    HOTELS.to_csv(tmp_path / "hotels.csv", index=False)
    GUESTS.to_csv(tmp_path / "guests.csv", index=False)
    done = run(tmp_path / "metadata.json", "--out", tmp_path / "described")
    assert done.exit_code == 0, done.output
    written = read_relations(tmp_path / "described" / "relations.toml", tmp_path)
    direct = read_relations(tmp_path / "metadata.json", tmp_path)
    assert written.relations == direct.relations == {"guests": {"hotel": "hotels.id"}}
    assert written.files == direct.files
    for name, path in written.domains.items():
        assert dpmosaic.Domain.load(path) == dpmosaic.Domain.from_json(direct.domains[name])


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "domain.json").write_text('{"sex": ["f", "m"]}')
    done = run(tmp_path / "domain.json")
    assert "expected metadata of SDV, with a METADATA_SPEC_VERSION, or a domain of dpsynth" in str(
        done.exception
    )
