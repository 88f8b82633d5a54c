"""New keys of related tables: in the form that a domain states, or in which most real ones are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.attributes.unmodelled import UUIDS, Identifier
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.keys import without_keys
from dpmosaic.common.errors import DataError
from dpmosaic.curator.dossier.institution import Institution
from dpmosaic.curator.dossier.metadata import csvw
from dpmosaic.curator.dossier.subject import Subject
from dpmosaic.curator.people.files import verify_people
from dpmosaic.curator.people.table_files import formula_warning
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.synthesis.learning.private_counts import Noisy
from dpmosaic.synthesis.over_parties.holders import Holders
from dpmosaic.synthesis.over_parties.releasing import simulate_people
from dpmosaic.synthesis.related.keys import count_forms, pattern_voted
from support.related import DOMAINS, ORDER, RELATIONS, patients, release

STATED = {
    **DOMAINS,
    "patients": {**DOMAINS["patients"], "id": {"type": "identifier", "pattern": "P{:04d}"}},
    "stays": {**DOMAINS["stays"], "stay": {"type": "identifier", "pattern": UUIDS}},
}


def with_keys(data, form):
    """The tables, in which the key of a patient is `form` of its number."""
    return {
        name: rows.assign(id=[form(one) for one in rows["id"]]) if "id" in rows else rows
        for name, rows in data.items()
    }


@pytest.mark.parametrize("pattern", ["{:d}", "P-{:d}", "{:06d}", UUIDS, "a{:2d}b7"])
def test_names_have_their_numbers_in_them(pattern):
    names = Identifier("id", pattern)
    assert names.numbers_in(names.draw(12, first=98)).tolist() == list(range(98, 110))


def test_the_form_of_keys_is_no_attribute_and_whole_numbers_unless_it_is_stated():
    domain = Domain.from_json(STATED["patients"])
    rest, pattern = without_keys(domain, "id")
    assert (rest, pattern) == (Domain.from_json(DOMAINS["patients"]), "P{:04d}")
    assert without_keys(rest, "id") == (rest, "{:d}")


def test_the_keys_of_a_parent_are_not_stated_below():
    with pytest.raises(DataError, match="in the domain of the table whose key it holds"):
        without_keys(Domain.from_json(STATED["patients"]), "", "id")


def test_each_key_has_one_form():
    keys = ["1", "0", "-7", "2.0", "007", "P1", "1.5", "9" * 30, "0f000000-aaaa-4bbb-8ccc-0123456789ab"]
    assert count_forms(pd.Index(keys)).tolist() == [4, 1, 4]


@pytest.mark.parametrize(
    ("votes", "first"),
    [
        ([900, -3, 2], 1),
        ([-5, 800, 10], "00000000-0000-4000-8000-000000000001"),
        ([400, 0, 500], "my_users-00000001"),
    ],
)
def test_most_votes_decide_how_new_keys_look(votes, first):
    pattern = pattern_voted(Noisy(np.array(votes, dtype=float), 5.0), "my users")
    assert Identifier("id", pattern).draw(1).tolist() == [first]


@pytest.mark.slow
def test_new_keys_look_as_domains_say_in_all_tables_and_files(tmp_path):
    made = release(domain=STATED)
    tables = made.tables
    people = len(tables["patients"])
    assert tables["patients"]["id"].tolist() == [f"P{one:04d}" for one in range(1, people + 1)]
    assert tables["stays"]["stay"].is_unique
    assert tables["stays"]["stay"].is_monotonic_increasing
    assert set(tables["stays"]["id"]) <= set(tables["patients"]["id"])
    assert set(tables["codes"]["stay"]) <= set(tables["stays"]["stay"])
    kinds = {(name, key): tables[name][key].dtype for name, key in (("stays", "id"), ("codes", "stay"))}
    assert kinds == {("stays", "id"): "str", ("codes", "stay"): "str"}
    assert made.generate(2)["patients"]["id"].tolist() == ["P0001", "P0002"]
    for kind in ("csv", "parquet", "feather"):
        made.save(tmp_path / kind, kind)
        again = dpmosaic.load_people(tmp_path / kind)
        assert all(again.tables[name].equals(tables[name]) for name in tables)
    described = Subject.load(tmp_path / "csv")
    stays = next(one for one in described.tables if one.name == "stays")
    assert [one.kind for one in stays.columns][:2] == ["text key", "text key"]
    schema = csvw(described, Institution({}))["tables"][1]["tableSchema"]
    assert schema["columns"][0]["datatype"] == {"base": "string"}


@pytest.mark.slow
def test_keys_labels_and_names_like_formulas_have_apostrophes_in_files_for_spreadsheets_alone(tmp_path):
    data = patients()
    data = {name: rows.rename(columns={"stay": "=stay", "ward": "+ward"}) for name, rows in data.items()}
    data["stays"]["+ward"] = data["stays"]["+ward"].replace("a", "@a")
    stays = {"=stay": {"type": "identifier", "pattern": "=S{:d}"}, "+ward": ["@a", "b", "c"]}
    stays["day"] = DOMAINS["stays"]["day"]
    made = release(
        data,
        relations={"stays": {"id": "patients"}, "codes": {"=stay": "stays"}},
        domain={**DOMAINS, "stays": stays},
    )
    made.save(tmp_path / "safe", TableFile(spreadsheet_safe=True))
    shown = {name: pd.read_csv(tmp_path / "safe" / "tables" / f"{name}.csv") for name in data}
    assert list(shown["stays"]) == ["'=stay", "id", "day", "'+ward"]
    assert set(shown["stays"]["'+ward"]) == {"'@a", "b", "c"}
    assert shown["codes"]["'=stay"].str.fullmatch(r"'=S\d+").all()
    again = dpmosaic.load_people(tmp_path / "safe")
    assert all(again.tables[name].equals(made.tables[name]) for name in data)
    assert all(check.passed for check in verify_people(tmp_path / "safe"))
    assert "'stays.=stay', 'stays.+ward'" in formula_warning(made.family, TableFile())
    assert formula_warning(made.family, TableFile(spreadsheet_safe=True)) is None


@pytest.mark.slow
@pytest.mark.parametrize("domain", [DOMAINS, {"stays": DOMAINS["stays"]}], ids=["given", "learned"])
def test_one_odd_key_changes_no_type_of_new_ones(domain):
    """Of 1,500 keys; without a domain of patients, by a vote whose noise is 27 keys."""
    data = patients(people=1500)
    odd = with_keys(data, lambda one: "X" if one == 1000 else one)
    frames = [release(one, domain=domain, anyway=True, epsilon=20.0).tables for one in (data, odd)]
    assert frames[0]["stays"].dtypes.equals(frames[1]["stays"].dtypes)
    assert frames[1]["patients"]["id"].dtype == "int64"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmosaic.synthesis.synthesize.DomainWarning")
def test_without_a_domain_most_keys_decide_and_their_vote_is_paid_for(tmp_path):
    made = release(with_keys(patients(1500), "K{}".format), domain=None, anyway=True, epsilon=20.0)
    assert made.tables["stays"]["id"].str.fullmatch(r"patients-\d{8}").all()
    parts = [part for part in made.certificate.parts if part.of == "the form of keys"]
    assert [part.table for part in parts] == ["patients", "stays"]
    assert all(part.zcdp_rho > 0 for part in parts)
    made.save(tmp_path / "out")
    assert all(check.passed for check in verify_people(tmp_path / "out"))


@pytest.mark.slow
def test_a_domain_that_says_nothing_of_keys_leaves_them_numbers_whatever_they_are():
    made = release(with_keys(patients(), "K{}".format))
    assert made.tables["stays"]["id"].dtype == "int64"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmosaic.synthesis.synthesize.DomainWarning")
def test_one_table_with_a_key_has_the_form_that_its_domain_says():
    rows = patients()["stays"].drop(columns="stay")
    domain = DOMAINS["stays"] | {"id": {"type": "identifier", "pattern": "P{:04d}"}}
    made = dpmosaic.synthesize(rows, 2.0, key="id", order="day", domain=domain, progress=False)
    assert made.table["id"].str.fullmatch(r"P\d{4}").all()
    voted = dpmosaic.synthesize(
        rows.assign(id=rows["id"].map("K{}".format)), 20.0, key="id", anyway=True, progress=False
    )
    assert voted.table["id"].str.fullmatch(r"id-\d{8}").all()


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["pyarrow", "numpy_nullable"])
def test_keys_are_stored_as_the_frame_stores_its_columns(storage):
    data = {name: rows.convert_dtypes(dtype_backend=storage) for name, rows in patients().items()}
    kinds = release(data, domain={**DOMAINS, "patients": STATED["patients"]}).tables["stays"].dtypes
    assert (str(kinds["stay"]).lower(), str(kinds["id"])) == (
        ("int64[pyarrow]", "string[pyarrow]") if storage == "pyarrow" else ("int64", "string")
    )


@pytest.mark.slow
def test_over_parties_the_plan_says_how_new_keys_look():
    made = simulate_people(
        patients(),
        300.0,
        holders=Holders((("patients",), ("stays", "codes")), collusions=0),
        relations=RELATIONS,
        order=ORDER,
        domain=STATED,
        mechanism="independent",
        progress=False,
    )
    assert made.tables["patients"]["id"].iloc[0] == "P0001"
    assert set(made.tables["stays"]["id"]) <= set(made.tables["patients"]["id"])
    assert made.tables["codes"]["stay"].str.startswith("00000000-0000-4000-8000-").all()
