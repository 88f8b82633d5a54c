"""Drafts of relations, from names and keys."""

from __future__ import annotations

import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.drafting.relations import draft_folder, save_folder
from dpmosaic.synthesis.relations_file import read_relations

PATIENTS = pd.DataFrame({"id": [1, 2, 3], "sex": ["f", "m", "f"]})
STAYS = pd.DataFrame(
    {
        "stay_id": [10, 11, 12, 13],
        "patient_id": [1, 1, 2, 3],
        "admitted": pd.date_range("2024-01-01", periods=4),
    }
)
CODES = pd.DataFrame({"patient_id": [1, 1, 2, 3, 3], "stay_id": [10, 11, 12, 13, 13], "code": list("aabba")})


@pytest.fixture
def folder(tmp_path):
    for name, rows in {"patients": PATIENTS, "stays": STAYS, "codes": CODES}.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_a_table_belongs_to_the_nearest_one_whose_keys_it_holds(folder):
    found = {table.name: (table.parent, table.foreign, table.key) for table in draft_folder(folder)}
    assert found == {
        "patients": ("", "", ""),
        "stays": ("patients", "patient_id", "id"),
        "codes": ("stays", "stay_id", "stay_id"),
    }


@pytest.mark.slow
def test_keys_are_in_no_domain(folder):
    drafts = {table.name: set(table.draft.entries) for table in draft_folder(folder)}
    assert drafts["patients"] == {"sex"}
    assert "stay_id" not in drafts["stays"] | drafts["codes"]


@pytest.mark.slow
def test_a_key_that_is_in_no_parent_relates_nothing(folder):
    STAYS.assign(patient_id=[1, 2, 3, 99]).to_csv(folder / "stays.csv", index=False)
    found = {table.name: table.parent for table in draft_folder(folder)}
    assert found["stays"] == ""


@pytest.mark.slow
def test_what_is_written_is_what_a_release_reads(folder, tmp_path):
    path = save_folder(draft_folder(folder), tmp_path / "drafts")
    stated = read_relations(path, folder)
    assert stated.relations == {"stays": {"patient_id": "patients.id"}, "codes": {"stay_id": "stays"}}
    assert stated.order == {"stays": "admitted"}
    assert {name: file.name for name, file in stated.files.items()} == {
        name: f"{name}.csv" for name in ("patients", "stays", "codes")
    }
    assert all(domain.is_file() for domain in stated.domains.values())


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"expected tables in .*found none"):
        draft_folder(tmp_path)
