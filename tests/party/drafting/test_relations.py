"""Drafts of relations, from names and keys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.attributes.unmodelled import UUIDS
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.drafting.draft import Draft
from dpmosaic.party.drafting.following import Around
from dpmosaic.party.drafting.related.links import Link
from dpmosaic.party.drafting.related.relations import draft_folder, save_folder
from dpmosaic.simulations.tables.frames import read_domain
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
    found = {table.name: table.links for table in draft_folder(folder)}
    assert found == {
        "patients": (),
        "stays": (Link("patient_id", "patients", "id", 0),),
        "codes": (Link("stay_id", "stays", "stay_id", 0),),
    }


@pytest.mark.slow
def test_a_key_is_an_identifier_of_its_own_table_and_in_no_other_domain(folder):
    drafts = {table.name: dict(table.draft.entries) for table in draft_folder(folder)}
    number = {"type": "identifier", "pattern": "{:d}"}
    assert drafts["patients"]["id"] == drafts["stays"]["stay_id"] == number
    assert "patient_id" not in drafts["stays"]
    assert "stay_id" not in drafts["codes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "pattern"),
    [
        (["p", "q", "r"], "patients-{:06d}"),
        ([f"0000000{n}-aaaa-4bbb-8ccc-0123456789ab" for n in (1, 2, 3)], UUIDS),
    ],
)
def test_keys_of_few_rows_are_drafted_in_their_form(folder, keys, pattern):
    PATIENTS.assign(id=keys).to_csv(folder / "patients.csv", index=False)
    stays = STAYS.assign(patient_id=[keys[place - 1] for place in STAYS.patient_id])
    stays.to_csv(folder / "stays.csv", index=False)
    drafts = {table.name: table.draft.entries for table in draft_folder(folder)}
    assert drafts["patients"]["id"]["pattern"] == pattern


@pytest.mark.slow
def test_a_table_of_keys_alone_gets_no_domain(folder, tmp_path):
    PATIENTS[["id"]].to_csv(folder / "patients.csv", index=False)
    stated = read_relations(save_folder(draft_folder(folder), tmp_path / "drafts"), folder)
    assert set(stated.domains) == {"stays", "codes"}


@pytest.mark.slow
def test_rows_without_a_parent_are_left_out_and_counted_for_the_owner(folder, tmp_path):
    STAYS.assign(patient_id=[1, 2, None, 99]).to_csv(folder / "stays.csv", index=False)
    drafted = draft_folder(folder)
    stays = next(table for table in drafted if table.name == "stays")
    assert stays.parent == "patients"
    (note,) = stays.notes()
    assert note.startswith("stays: 2 of 4 rows have in 'patient_id' no key of 'patients';")
    assert read_relations(save_folder(drafted, tmp_path / "drafts"), folder).drop_incomplete == {"stays"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mother_id", "motherID"])
def test_keys_of_the_same_table_are_in_no_domain_and_its_owner_is_told(folder, tmp_path, name):
    PATIENTS.assign(**{name: [None, 1, 1], "paid": [1, 1, 2]}).to_csv(folder / "patients.csv", index=False)
    drafted = draft_folder(folder)
    patients = next(table for table in drafted if table.name == "patients")
    assert [*patients.notes()] == [
        f"patients: {name!r} holds keys of other rows of this table, which no release keeps; it is left out "
        "of the domain"
    ]
    save_folder(drafted, tmp_path / "drafts")
    described = Domain.load(tmp_path / "drafts/patients.json")
    assert [one.name for one in described.attributes] == ["sex", "paid"]


@pytest.mark.slow
def test_a_column_that_mostly_holds_no_keys_relates_nothing(folder):
    STAYS.assign(patient_id=[1, 97, 98, 99]).to_csv(folder / "stays.csv", index=False)
    found = {table.name: table.parent for table in draft_folder(folder)}
    assert found["stays"] == ""


SHOP = {
    "customers": {"id": range(1, 21), "age": range(30, 50)},
    "orders": {"id": range(1, 41), "{customer}": [1 + n % 20 for n in range(40)], "paid": [True, False] * 20},
    "Items": {"id": range(1, 81), "{order}": [1 + n % 40 for n in range(80)], "product": list("abcd") * 20},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("customer", "order"),
    [
        ("customer_id", "order_id"),
        ("CustomerID", "orderId"),
        ("customer", "ORDER"),
        ("customers.id", "order id"),
    ],
)
def test_tables_that_count_their_rows_belong_by_the_column_that_names_another(tmp_path, customer, order):
    for name, columns in SHOP.items():
        named = {key.format(customer=customer, order=order): cells for key, cells in columns.items()}
        pd.DataFrame(named).to_csv(tmp_path / f"{name}.csv", index=False)
    found = {table.name: table.links for table in draft_folder(tmp_path)}
    assert found == {
        "customers": (),
        "orders": (Link(customer, "customers", "id", 0),),
        "Items": (Link(order, "orders", "id", 0),),
    }


@pytest.mark.slow
@pytest.mark.parametrize("listed", [4, 90])
def test_a_table_that_others_refer_to_is_public_if_its_owner_says_so(tmp_path, listed):
    """However many rows it has."""
    tables = {name: pd.DataFrame(columns) for name, columns in SHOP.items()}
    products = pd.DataFrame({"id": range(1, 1 + listed), "price": range(5, 5 + listed)})
    items = tables["Items"].assign(product_id=[1 + n % listed for n in range(80)])
    for name, rows in (tables | {"Items": items, "products": products}).items():
        rows.rename(columns={"{customer}": "customer_id", "{order}": "order_id"}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    drafted = draft_folder(tmp_path)
    path = save_folder(drafted, tmp_path / "drafts")
    assert [table.name for table in drafted if table.draft is None] == ["products"]
    assert read_relations(path, tmp_path).public == frozenset()
    path.write_text(path.read_text(encoding="utf-8").replace("# public", "public"), encoding="utf-8")
    stated = read_relations(path, tmp_path)
    assert stated.public == {"products"}
    assert stated.relations["Items"] == {"order_id": "orders.id", "product_id": "products.id"}
    assert "product_id" not in stated.domains["Items"]
    assert set(stated.domains) == {"customers", "orders", "Items"}


@pytest.mark.slow
def test_what_is_written_is_what_a_release_reads(folder, tmp_path):
    path = save_folder(draft_folder(folder), tmp_path / "drafts")
    stated = read_relations(path, folder)
    assert stated.relations == {"stays": {"patient_id": "patients.id"}, "codes": {"stay_id": "stays"}}
    assert stated.order == {"stays": "admitted"}
    assert {name: file.name for name, file in stated.files.items()} == {
        name: f"{name}.csv" for name in ("patients", "stays", "codes")
    }
    files = {name: tmp_path / f"drafts/{name}.json" for name in stated.domains}
    assert {name: read_domain(one) for name, one in stated.domains.items()} == {
        name: Domain.load(file) for name, file in files.items()
    }


@pytest.mark.slow
def test_columns_are_unreviewed_as_long_as_relations_are(folder, tmp_path):
    """Which hold, one person may decide: of all that a draft says of rows, a release bears the mark."""
    path = save_folder(draft_folder(folder), tmp_path / "drafts")
    for name in ("patients", "stays", "codes"):
        draft = Draft.load(path.with_name(f"{name}.json"))
        draft.confirm()
        draft.save(path.with_name(f"{name}.json"))
    text = path.read_text(encoding="utf-8")
    stated = read_relations(path, folder)
    unreviewed = {name: read_domain(one).unreviewed for name, one in stated.domains.items()}
    assert unreviewed == {"patients": (), "stays": ("admitted",), "codes": ("code",)}
    assert not released(stated).certificate.differentially_private
    path.write_text(text.replace("\nreviewed = false\n", "\n"), encoding="utf-8")
    assert released(read_relations(path, folder)).certificate.differentially_private


def released(stated):
    return dpmosaic.synthesize(
        stated.files,
        3.0,
        relations=stated.relations,
        order=stated.order,
        domain=stated.domains,
        mechanism="independent",
        ledger=False,
    )


def test_a_number_may_be_the_order_if_a_reader_says_so(folder, tmp_path):
    stays = pd.DataFrame({"stay_id": range(200), "patient_id": 1, "day": range(5, 1005, 5)})
    stays.to_csv(folder / "stays.csv", index=False)
    (folder / "codes.csv").unlink()
    path = save_folder(draft_folder(folder), tmp_path / "drafts")
    assert read_relations(path, folder).order == {}
    path.write_text(path.read_text(encoding="utf-8").replace("# order", "order"), encoding="utf-8")
    assert read_relations(path, folder).order == {"stays": "day"}


def write(rows, path):
    rows.to_parquet(path, index=False) if path.suffix == ".parquet" else rows.to_csv(path, index=False)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_that_lie_in_the_time_of_the_row_above_get_its_columns_as_bounds(tmp_path, suffix):
    """Of several columns the nearest; one that says little of when rows are is no beginning."""
    rng = np.random.default_rng(3)
    begin = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2_000_000, 400), "min")
    minutes = rng.integers(60, 10_000, 400)
    stays = pd.DataFrame(
        {
            "id": range(500, 900),
            "born": begin.normalize() - pd.to_timedelta(rng.integers(1, 30_000, 400), "D"),
            "referred": begin - pd.to_timedelta(rng.integers(1, 100_000, 400), "min"),
            "admitted": begin,
            "left": begin + pd.to_timedelta(minutes, "min"),
            "billed": begin + pd.to_timedelta(minutes + rng.integers(1, 90_000, 400), "min"),
        }
    )
    whose = rng.integers(0, 400, 1500)
    taken = begin[whose] + pd.to_timedelta((rng.random(1500) * minutes[whose]).astype(int), "min")
    tests = pd.DataFrame({"stay_id": stays["id"].to_numpy()[whose], "taken": taken, "value": whose % 7})
    write(stays, tmp_path / f"stays{suffix}")
    write(tests, tmp_path / f"tests{suffix}")
    drafted = draft_folder(tmp_path)
    stated = read_relations(save_folder(drafted, tmp_path / "drafts"), tmp_path)
    assert stated.within == {"tests": ("admitted", "left")}
    write(tests.assign(taken=rng.permutation(taken)), tmp_path / f"tests{suffix}")
    assert [table.around for table in draft_folder(tmp_path)] == [Around(), Around()]


def test_what_comes_after_another_column_is_no_order(folder):
    """The order is the first column of dates that is counted from no other."""
    began = pd.date_range("2020-01-01", periods=40, freq="9D")
    left = began + pd.to_timedelta(np.arange(40) % 5, "D")
    stays = pd.DataFrame({"stay_id": range(10, 50), "patient_id": 1, "left": left, "admitted": began})
    stays.to_csv(folder / "stays.csv", index=False)
    assert {table.name: table.order for table in draft_folder(folder)}["stays"] == "admitted"


@pytest.mark.parametrize("start", [0, 1])
def test_a_column_that_counts_the_rows_of_each_row_above_is_counted_anew(folder, start):
    rng = np.random.default_rng(4)
    numbers = rng.integers(1, 6, 40)
    lines = pd.DataFrame({"stay_id": np.repeat(np.arange(10, 50), numbers)})
    lines["of_day"] = rng.integers(1, 4, len(lines))
    lines["line"] = lines.groupby("stay_id").cumcount() + start
    pd.DataFrame({"stay_id": range(10, 50), "patient_id": 1}).to_csv(folder / "stays.csv", index=False)
    lines.sample(frac=1, random_state=1).to_csv(folder / "lines.csv", index=False)
    (drafted,) = (table for table in draft_folder(folder) if table.name == "lines")
    assert (drafted.order, drafted.counts) == ("", {"line": start})
    assert [*drafted.draft.entries] == ["of_day"]
    assert f"counts = {{ line = {start} }}" in drafted.section()


def test_a_count_is_no_count_of_rows_that_are_in_another_order_of_time(folder):
    rng = np.random.default_rng(4)
    lines = pd.DataFrame({"stay_id": np.repeat(np.arange(10, 50), 5), "line": np.tile(np.arange(1, 6), 40)})
    days = pd.to_timedelta(rng.permuted(np.tile(np.arange(5), (40, 1)), axis=1).ravel(), "D")
    pd.DataFrame({"stay_id": range(10, 50), "patient_id": 1}).to_csv(folder / "stays.csv", index=False)
    for shift, counts in ((days, {}), (pd.to_timedelta(lines["line"], "D"), {"line": 1})):
        lines.assign(when=pd.Timestamp("2024-03-01") + shift).to_csv(folder / "lines.csv", index=False)
        (drafted,) = (table for table in draft_folder(folder) if table.name == "lines")
        assert (drafted.order, drafted.counts) == ("when", counts)


@pytest.mark.slow
@pytest.mark.parametrize("visit", [[1, 2, 3], ["screening", "day 1", "week 4"]])
def test_a_table_belongs_by_two_columns_to_what_its_parent_has_once(tmp_path, visit):
    """Values of the visits of people, whose numbers or plan say which visit it was."""
    visits = pd.DataFrame({"id": np.repeat(np.arange(100), 3), "visit": visit * 100})
    visits["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * (np.arange(300) % 48), "D")
    values = visits.loc[np.repeat(np.arange(300), 2), ["id", "visit", "day"]].assign(test=["x", "y"] * 300)
    people = pd.DataFrame({"id": range(100), "sex": ["f", "m"] * 50})
    for name, rows in {"people": people, "visits": visits, "values": values}.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    drafts = draft_folder(tmp_path)
    found = {one.name: one for one in drafts}
    assert found["values"].links[0].columns == (("id", "id"), ("visit", "visit"))
    assert found["values"].repeats == {"day": "visits"}
    assert found["visits"].counts == ({"visit": 1} if visit[0] == 1 else {})
    assert [*found["values"].attributes] == ["test"]
    stated = read_relations(save_folder(drafts, tmp_path / "drafts"), tmp_path)
    assert stated.relations["values"] == {"id": "visits", "visit": "visits"}
    # Visits that a person has twice are no key.
    visits.assign(visit=visit[0], day="2024-01-01").to_csv(tmp_path / "visits.csv", index=False)
    assert {one.name: one.parent for one in draft_folder(tmp_path)}["values"] == "people"


def test_columns_that_are_the_same_in_a_row_above_repeat_it(folder):
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"patient_id": range(60), "sex": rng.choice(["f", "m"], 60), "born": 1950})
    stays = pd.DataFrame({"stay_id": range(100, 200), "patient_id": rng.integers(0, 60, 100)})
    stays = stays.merge(people[["patient_id", "sex"]], on="patient_id")
    stays["born"] = 1950 + rng.integers(0, 2, 100)
    codes = stays.loc[rng.integers(0, 100, 300)].assign(code=rng.choice(["x", "y"], 300))
    # Written as another type: a missing cell makes floats of whole numbers.
    codes["patient_id"] = codes["patient_id"].astype(float)
    for name, rows in {"patients": people, "stays": stays, "codes": codes}.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    drafted = {table.name: table for table in draft_folder(folder)}
    assert drafted["patients"].repeats == {}
    assert drafted["stays"].repeats == {"sex": "patients"}
    assert drafted["codes"].repeats == {"patient_id": "stays", "sex": "stays", "born": "stays"}
    assert [*drafted["codes"].draft.entries] == ["code"]
    assert 'repeats = { patient_id = "stays"' in drafted["codes"].section()


def test_columns_repeat_those_of_another_name_above_if_not_by_chance(folder):
    """What ships to is where the customer lives; two columns that nearly always say no are two things."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"patient_id": range(90), "city": rng.choice(list("abcd"), 90), "dead": "no"})
    stays = pd.DataFrame({"stay_id": range(200, 400), "patient_id": rng.integers(0, 90, 200)})
    stays["ship city"] = people["city"].to_numpy()[stays["patient_id"]]
    stays["paid"], stays["town"] = "no", rng.choice(list("abcd"), 200)
    codes = pd.DataFrame({"stay_id": rng.integers(200, 400, 300)})
    codes["place"] = stays["ship city"].to_numpy()[codes["stay_id"] - 200]
    for name, rows in {"patients": people, "stays": stays, "codes": codes}.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    drafted = draft_folder(folder)
    assert {one.name: one.repeats for one in drafted} == {
        "patients": {},
        "stays": {"ship city": "patients.city"},
        "codes": {"place": "stays.ship city"},
    }
    stated = read_relations(save_folder(drafted, folder / "drafts"), folder)
    tables = {one.name: pd.read_csv(folder / one.file) for one in drafted}
    found = dpmosaic.synthesize(
        tables,
        20.0,
        relations=stated.relations,
        repeats={one.name: one.repeats for one in drafted if one.repeats},
        domain=dict(stated.domains),
        mechanism="independent",
        seed=1,
    ).tables
    joined = found["codes"].merge(found["stays"], on="stay_id").merge(found["patients"], on="patient_id")
    assert len(joined) > 100
    assert (joined["place"] == joined["city"]).all()


def test_suggestions_of_a_table_are_kept_and_name_no_key(folder, tmp_path):
    rng = np.random.default_rng(4)
    stays = pd.DataFrame({"stay_id": range(600), "patient_id": rng.integers(1, 4, 600)})
    stays["ward"] = np.where(stays["patient_id"] == 1, "a", "b")
    stays["days"] = np.where(stays["ward"] == "a", 2, 40) + rng.integers(0, 3, 600)
    stays["paid"] = stays["days"] * 100 + rng.integers(0, 50, 600)
    stays.to_csv(folder / "stays.csv", index=False)
    (drafted,) = (table for table in draft_folder(folder) if table.name == "stays")
    steps = {"steps": "ward", "of": "paid", "at": [2000], "values": ["a", "b"]}
    assert steps in drafted.draft.suggested_rules
    assert not any("patient_id" in str(rule) for rule in drafted.draft.suggested_rules)


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"expected tables in .*found none"):
        draft_folder(tmp_path)


def test_a_table_is_found_whatever_the_case_of_its_suffix_and_refused_in_two_files(folder):
    (folder / "patients.csv").rename(folder / "patients.CSV")
    assert {table.name: table.parent for table in draft_folder(folder)} == {
        "patients": "",
        "stays": "patients",
        "codes": "stays",
    }
    PATIENTS.to_csv(folder / "patients.tsv", index=False, sep="\t")
    with pytest.raises(DataError, match=r"one file of each table, got patients\.CSV and patients\.tsv"):
        draft_folder(folder)


@pytest.mark.slow
def test_gaps_of_whole_months_and_days_of_months_are_stated(tmp_path):
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"id": range(200), "sex": ["f", "m"] * 100})
    number = rng.integers(2, 12, 200)
    begun = pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 900, 200), "D")
    bills = pd.DataFrame({"id": np.repeat(np.arange(200), number)})
    place = bills.groupby("id").cumcount()
    bills["billed"] = [
        begun[whose] + pd.offsets.MonthEnd(1 + k) for whose, k in zip(bills["id"], place, strict=True)
    ]
    checks = pd.DataFrame({"id": np.repeat(np.arange(200), 3)})
    checks["checked"] = begun[checks["id"]] + pd.to_timedelta(28 * (np.arange(600) % 3), "D")
    for name, rows in {
        "people": people,
        "bills": bills.assign(sum=1.5),
        "checks": checks.assign(ok=1),
    }.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    found = {one.name: dict(one.draft.entries) for one in draft_folder(tmp_path)}
    rhythm = found["bills"]["billed"]["rhythm"]
    assert (rhythm["monthdays"], rhythm["gaps"]) == ({"last": 1.0}, {"1 month": 1.0})
    assert found["checks"]["checked"]["rhythm"]["gaps"] == {"28 days": 1.0}
