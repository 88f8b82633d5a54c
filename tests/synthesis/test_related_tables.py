"""What a release of related tables refuses: in one sentence, before anything is asked of a table."""

import json
import random
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.people.table_files import formula_warning
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.synthesis.learning.private_counts import PrivateCounts
from dpmosaic.synthesis.related.making import Making
from dpmosaic.synthesis.related.order import has_order, places_in_order
from support.mutations import changed_bytes
from support.related import DOMAINS, RELATIONS, patients, release

pytestmark = pytest.mark.slow


@pytest.fixture
def asked(monkeypatch):
    """The steps that were charged."""
    return watch(monkeypatch.setattr)


def watch(setattr):
    steps, charged = [], PrivateCounts._charge

    def watched(self, step, *arguments, **options):
        steps.append(step)
        return charged(self, step, *arguments, **options)

    setattr(PrivateCounts, "_charge", watched)
    return steps


def changed(**tables):
    return patients() | {name: change(patients()[name]) for name, change in tables.items()}


def key_of(value):
    def change(rows):
        rows = rows.astype({"id": object})
        rows.loc[5, "id"] = value
        return rows

    return change


def flat(**options):
    data = patients()
    rows = data["stays"].merge(data["patients"], on="id")
    return dpmosaic.synthesize(rows, 2.0, mechanism="independent", anyway=True, **{"key": "id"} | options)


WARDS = pd.DataFrame({"ward": ["c", "b", "a"], "beds": [7, 20, 12], "name": ["=C", "Böll", None]})
OF_WARDS = {
    "relations": RELATIONS | {"stays": {"id": "patients", "ward": "wards"}},
    "public": ["wards"],
    "domain": DOMAINS | {"stays": {"day": DOMAINS["stays"]["day"]}},
}


def listing(*wards):
    """Domains of which that of stays lists these wards."""
    described = wards[0] if isinstance(wards[0], dict) else [*wards]
    return DOMAINS | {"stays": DOMAINS["stays"] | {"ward": described}}


BAD = {
    "parent key is missing": (
        {"data": changed(patients=key_of(None))},
        "patients: expected a key 'id' in every",
    ),
    "parent key is blank": (
        {"data": changed(patients=key_of("  "))},
        "patients: expected a key 'id' in every",
    ),
    "parent key stands twice": ({"data": changed(patients=key_of(1000))}, "expected each key 'id' once"),
    "same key as a text": ({"data": changed(patients=key_of(" 1000 "))}, "expected each key 'id' once"),
    "child key in no parent": (
        {"data": changed(stays=key_of(7))},
        "stays: expected in 'id' a key of 'patients'",
    ),
    "child key is missing": (
        {"data": changed(stays=key_of(np.nan))},
        "stays: expected in 'id' a key of 'patients'",
    ),
    "no key column": (
        {"data": changed(patients=lambda rows: rows.drop(columns="id"))},
        "expected the column 'id'",
    ),
    "circle": (
        {"relations": RELATIONS | {"patients": {"id": "stays"}}},
        "none, so that relations go in a circle",
    ),
    "own parent": ({"relations": {"stays": {"id": "stays"}, "codes": {"stay": "codes"}}}, "expected a tree"),
    "two roots": (
        {"relations": {"stays": {"id": "patients"}}},
        "expected one table that belongs to no other",
    ),
    "unknown child": ({"relations": RELATIONS | {"stay": {"id": "patients"}}}, r"did you mean 'stays'\?"),
    "unknown parent": ({"relations": RELATIONS | {"stays": {"id": "patient"}}}, r"did you mean 'patients'\?"),
    "unknown column": ({"relations": RELATIONS | {"stays": {"idd": "patients.id"}}}, r"did you mean 'id'\?"),
    "two parents": (
        {"relations": RELATIONS | {"stays": {"id": "patients", "ward": "codes"}}},
        "the key of one parent",
    ),
    "order of the root": ({"order": {"patients": "born"}}, "order: expected tables that belong to another"),
    "order by a key": ({"order": {"stays": "id"}}, "expected an order by a column that is no key"),
    "order by words": (
        {"order": {"stays": "ward"}},
        "expected a number, date or timestamp of the order 'ward' in every row",
    ),
    "order is missing": (
        {"data": changed(stays=lambda rows: rows.assign(day=rows["day"].where(rows["id"] > 1001)))},
        "expected a number, date or timestamp of the order 'day' in every row",
    ),
    "order is not in the domain": (
        {"domain": DOMAINS | {"stays": {"ward": ["a", "b", "c"]}}},
        "expected the order 'day' among the attributes",
    ),
    "key in the domain": ({"domain": DOMAINS | {"patients": {"id": 3}}}, "patients|id"),
    "domain of another table": ({"domain": {"stay": {"ward": ["a"]}}}, "domain: expected one for each table"),
    "name that the release makes": (
        {
            "data": changed(patients=lambda rows: rows.rename(columns={"born": "number_of_stays"})),
            "domain": None,
        },
        "expected no column 'number_of_stays'",
    ),
    "place that the release makes": (
        {
            "data": changed(patients=lambda rows: rows.rename(columns={"born": "first_day_of_stays"})),
            "domain": None,
        },
        "expected no column 'first_day_of_stays'",
    ),
    "step that the release makes": (
        {"data": changed(stays=lambda rows: rows.rename(columns={"ward": "step_of_day"})), "domain": None},
        "expected no column 'step_of_day'",
    ),
    "summary with the name of a number": (
        {"summaries": {"stays": {"number_of_stays": {"ward": "a"}}}},
        "expected names of new columns that differ",
    ),
    "summary of no column": ({"summaries": {"stays": {"any": {"wrad": "a"}}}}, r"did you mean 'ward'\?"),
    "workload of a text": ({"workload": "2way"}, "workload: expected pairs of columns, such as"),
    "workload of the root": ({"workload": {"patients": [("sex", "born")]}}, "tables that belong to another"),
    "workload without pairs": ({"workload": {"stays": []}}, "expected pairs of columns, got none"),
    "workload of a triple": (
        {"workload": {"stays": [("ward", "day", "patients.sex")]}},
        "expected pairs of two columns",
    ),
    "workload of an unknown column": (
        {"workload": {"stays": [("ward", "patients.sexx")]}},
        r"did you mean 'patients.sex'\?",
    ),
    "workload of the row before without an order": (
        {"workload": {"codes": [("code", "previous code")]}},
        "'previous COLUMN' if it has an order",
    ),
    "workload of columns above": (
        {"workload": {"stays": [("patients.sex", "patients.born")]}},
        "expected a column of its rows in each pair",
    ),
    "bounds that are one text": ({"within": {"stays": "born"}}, "expected two columns or None"),
    "columns without texts as names": (
        {"data": changed(patients=lambda rows: rows.rename(columns={"sex": 1}))},
        "expected columns with different texts",
    ),
    "a type that no release holds": (
        {"data": changed(stays=lambda rows: rows.assign(x=1 + 2j)), "domain": None},
        "column 'x': expected booleans, numbers",
    ),
    "a table that is none": ({"data": patients() | {"codes": 3}}, "codes: expected a data frame or the path"),
    "no epsilon": ({"epsilon": 0.0}, "epsilon: expected a positive"),
    "negative epsilon": ({"epsilon": -1.0}, "epsilon: expected a positive"),
    "epsilon as a text": ({"epsilon": "1"}, "epsilon: expected a positive"),
    "no delta": ({"delta": 0.0}, "delta: expected a number in"),
    "delta of one": ({"delta": 1.0}, "delta: expected a number in"),
    "replaced people": ({"adjacency": "replace-one"}, "adjacency: a release of people"),
    "public and unknown": ({"public": ["ward"]}, "public: expected names of tables"),
    "public and one file with another": (
        {"data": patients() | {"Patients": WARDS}, "public": ["Patients"]},
        "differ as those of files",
    ),
    "public and of people": ({"public": ["codes"]}, "expected tables that belong to no other, got 'codes'"),
    "two parents, one of people": (
        {"relations": RELATIONS | {"codes": {"stay": "stays", "code": "patients.id"}}},
        "got 'stay', 'code'; a table belongs to one other",
    ),
    "public key of no row": (
        {"data": patients() | {"wards": WARDS[:2]}, **OF_WARDS},
        "stays: expected in 'ward' a key of the public table in every row",
    ),
    "public key stands twice": (
        {"data": patients() | {"wards": pd.concat([WARDS, WARDS])}, **OF_WARDS},
        "wards: expected a key 'ward' in every row of a public table, and each once",
    ),
    "no public key in a domain": (
        {"data": patients() | {"wards": WARDS}, **OF_WARDS, "domain": listing("a", "b", "c", "d")},
        "stays: expected keys of a public table as the categories of 'ward'",
    ),
    "other public keys in a domain": (
        {
            "data": patients() | {"wards": WARDS},
            **OF_WARDS,
            "domain": listing({"type": "categorical", "categories": ["a", "b"], "other": "b"}),
        },
        "stays: expected keys of a public table as the categories of 'ward'",
    ),
    "public key that a domain does not list": (
        {"data": patients() | {"wards": WARDS}, **OF_WARDS, "domain": listing("a", "b")},
        "stays: expected in 'ward' a key of the public table in every row",
    ),
    "two keys of a public table": (
        {
            "data": patients() | {"wards": WARDS.assign(code=range(3))},
            **OF_WARDS,
            "relations": OF_WARDS["relations"] | {"patients": {"born": "wards.code"}},
        },
        "relations: expected one key of the table 'wards', got several",
    ),
    "public key that names rows": (
        {
            "data": patients() | {"wards": WARDS},
            **OF_WARDS,
            "relations": RELATIONS | {"stays": {"id": "patients", "stay": "wards.ward"}},
        },
        "stays: expected 'stay' to name rows of one table",
    ),
    "public without its key": (
        {"data": patients() | {"wards": WARDS[["beds"]]}, **OF_WARDS},
        "wards: expected the column 'ward', found none",
    ),
    "an order by no column": ({"order": {"stays": ""}}, "stays: expected the column '', found none"),
    "an order by a number": (
        {"order": {"stays": 5}},
        "order: expected a column, True, or one of these for each table",
    ),
    "left out of no table": ({"drop_incomplete": ["stay"]}, r"did you mean 'stays'\?"),
    "nothing left": (
        {"data": changed(stays=lambda rows: rows.assign(id=-1)), "drop_incomplete": True},
        "stays: expected rows with a key, a parent",
    ),
    "a mechanism that reads rows": (
        {"mechanism": "dp-gan"},
        "mechanism: expected one that only adds Gaussian",
    ),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=list(BAD))
def test_bad_input_is_refused_in_one_sentence_before_anything_is_asked(options, message, asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MosaicError, match=message) as refusal:
            release(**{"anyway": True} | options)
    assert not asked
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "iid"}, r"expected the column 'iid', found none \(did you mean 'id'\?\)"),
        ({"order": "dya"}, r"expected the column 'dya', found none \(did you mean 'day'\?\)"),
        ({"order": "dya", "drop_incomplete": True}, "expected the column 'dya', found none"),
        ({"order": ""}, "expected the column '', found none"),
        ({"order": 1}, "order: expected a column, True, or one of these for each table"),
        ({"key": 5}, "key: expected the name of a column"),
        ({"per_person": "sex"}, "expected names of columns, got a single text"),
        ({"per_person": ["id"]}, "expected columns beside the key"),
        ({"per_person": ["day"], "order": "day"}, "expected a column that differs between rows"),
        ({"relations": {"a": {"b": "c"}}}, "relations: expected several tables"),
        ({"order": {"rows": "day"}}, "order: expected a column or True"),
        ({"domain": {"id": 3, "ward": ["a", "b", "c"]}}, "key: expected a column that is no attribute"),
        ({"rows": 5}, "rows: a release of people"),
        ({"public": ["rows"]}, "public: expected several tables"),
        ({"drop_incomplete": ["rows"]}, "drop_incomplete: expected True or False"),
        ({"workload": "missing.json"}, "workload: expected a JSON file of pairs"),
        ({"workload": [("ward", "sexx")]}, r"did you mean 'sex'"),
    ],
)
def test_bad_choices_beside_a_key_are_refused_before_anything_is_asked(options, message, asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MosaicError, match=message):
            flat(**options)
    assert not asked


def test_the_keys_of_a_public_table_are_the_categories_of_the_column_that_refers_to_it():
    options = {"seed": 1, "mechanism": "independent"}
    found = release(patients() | {"wards": WARDS}, **OF_WARDS, **options)
    listed = DOMAINS | {"stays": {"day": DOMAINS["stays"]["day"], "ward": ["c", "b", "a"]}}
    expected = release(domain=listed, **options)
    for name, rows in expected.tables.items():
        assert found.tables[name].astype(str).equals(rows.astype(str))


def test_a_row_above_has_each_key_of_a_public_table_once_where_nobody_has_one_twice():
    """A domain of the rows need not list these keys."""
    drug = [f"d{n}" for n in range(12)]
    taken = pd.DataFrame({"id": np.repeat(range(200), 3), "dose": 1.0})
    taken["drug"] = [drug[(one + 5 * number) % 12] for one in range(200) for number in range(3)]
    found = dpmosaic.synthesize(
        {"people": pd.DataFrame({"id": range(200)}), "taken": taken, "drugs": pd.DataFrame({"drug": drug})},
        5.0,
        relations={"taken": {"id": "people", "drug": "drugs"}},
        public=["drugs"],
        once={"taken": ["drug"]},
        domain={"taken": {"dose": {"type": "numeric", "min": 0, "max": 2, "bins": 2}}},
        mechanism="independent",
        seed=1,
    ).tables["taken"]
    assert len(found) > 300
    assert not found.duplicated(["id", "drug"]).any()


def test_keys_of_files_that_missing_cells_gave_a_point_are_those_without(tmp_path):
    """As pandas writes a column of whole numbers of which one is missing."""
    people = pd.DataFrame({"id": range(1, 201), "sex": ["f", "m"] * 100})
    stays = pd.DataFrame({"id": [None, *np.arange(1.0, 201)], "ward": [None, *np.arange(200.0) % 4]})
    wards = pd.DataFrame({"ward": range(4), "beds": range(4)})
    files = {"people": people, "stays": stays, "wards": wards}
    for name, rows in files.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    found = dpmosaic.synthesize(
        {name: tmp_path / f"{name}.csv" for name in files},
        50.0,
        relations={"stays": {"id": "people", "ward": "wards"}},
        public=["wards"],
        drop_incomplete=["stays"],
        domain={"people": {"sex": ["f", "m"]}},
        mechanism="independent",
        seed=1,
    ).tables["stays"]
    assert 150 < len(found) < 250
    assert {*found["ward"]} == {*range(4)}


def test_without_a_domain_every_key_of_a_public_table_may_come(tmp_path):
    """Ward "a" is where most are, and of "z" nobody knows."""
    wards = pd.concat([WARDS, WARDS.head(1).assign(ward="z")], ignore_index=True)
    stated = OF_WARDS | {"domain": {"patients": DOMAINS["patients"]}}
    found = release(patients() | {"wards": wards}, **stated, epsilon=50.0, mechanism="mosaic", seed=1)
    assert set(found.tables["stays"].ward) >= {"a", "b", "c"}
    assert set(found.tables["stays"].ward) <= set(wards.ward)


@pytest.mark.parametrize("table_format", ["csv", "parquet", "feather", "xlsx"])
def test_a_public_table_is_saved_loaded_and_joined_as_it_is(tmp_path, table_format):
    made = release(patients() | {"wards": WARDS}, **OF_WARDS, seed=1)
    made.save(tmp_path / "out", table_format)
    loaded = dpmosaic.load_people(tmp_path / "out")
    for one in (made, loaded):
        assert _texts(one.tables["wards"]).equals(_texts(WARDS))
        beds = one.query("SELECT SUM(beds) AS n FROM stays JOIN wards USING (ward)").frame.n[0]
        assert beds == made.tables["stays"].merge(WARDS, on="ward").beds.sum()


@pytest.mark.parametrize("table_format", ["csv", "parquet"])
def test_more_people_come_with_the_public_tables_that_they_refer_to(tmp_path, table_format):
    made = release(patients() | {"wards": WARDS}, **OF_WARDS, seed=1)
    made.save(tmp_path / "out", table_format)
    for drawn in (made.generate(30, seed=2), dpmosaic.load_people(tmp_path / "out").generate(30, seed=2)):
        assert list(drawn) == list(made.tables)
        assert _texts(drawn["wards"]).equals(_texts(WARDS))
    words = ("generate", tmp_path / "out", "--people", 30, "--seed", 2, "--format", table_format)
    done = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "more")])
    assert done.exit_code == 0, done.output
    assert {path.stem for path in (tmp_path / "more").iterdir()} == set(made.tables)
    written = tmp_path / "more" / f"wards.{table_format}"
    read = pd.read_csv(written) if table_format == "csv" else pd.read_parquet(written)
    assert _texts(read).equals(_texts(WARDS))


def test_a_public_table_for_spreadsheets_is_read_without_their_apostrophes(tmp_path):
    data = patients()
    data["stays"]["ward"] = data["stays"]["ward"].replace({"a": "=a"})
    wards = WARDS.rename(columns={"beds": "@beds"}).replace({"a": "=a"})
    made = release(data | {"wards": wards}, **OF_WARDS)
    made.save(tmp_path / "out", TableFile(spreadsheet_safe=True))
    assert "'=a" in (tmp_path / "out" / "tables" / "wards.csv").read_text()
    loaded = dpmosaic.load_people(tmp_path / "out").tables
    assert _texts(loaded["wards"]).equals(_texts(wards))
    assert {*loaded["stays"].ward} <= {*loaded["wards"].ward}


@pytest.mark.parametrize("table_format", ["csv", "parquet", "feather", "xlsx"])
def test_a_public_table_that_a_stranger_changed_is_read_or_refused_in_one_sentence(tmp_path, table_format):
    rng, said = random.Random(1), []
    wards = pd.concat([WARDS, *(WARDS.head(1).assign(ward=f"w{n}") for n in range(60))], ignore_index=True)
    release(patients() | {"wards": wards}, **OF_WARDS).save(tmp_path, table_format)
    path, certificate = tmp_path / "tables" / f"wards.{table_format}", tmp_path / "certificate.json"
    whole, form = path.read_bytes(), json.loads(certificate.read_text())
    others = [b"", b"a,b\n1,2\n", b"ward,beds\n\x8f,1\n", b'ward,beds\n"']
    for changed in [*others, *(changed_bytes(whole, rng) for _ in range(40))]:
        path.write_bytes(changed)
        # Nobody signs a certificate from one place.
        form["outputs"][f"tables/{path.name}"] = sha256_of(path)
        certificate.write_text(json.dumps(form))
        try:
            assert [*dpmosaic.load_people(tmp_path).tables["wards"]] == [*WARDS]
        except MosaicError as refusal:
            said.append(str(refusal))
    assert len(said) >= len(others)
    assert all(map(str.isprintable, said))


def _texts(rows):
    return rows.astype(object).where(rows.notna(), "").astype(str)


def test_a_public_table_for_spreadsheets_comes_back_without_apostrophes(tmp_path):
    """The keys are like formulas, and one begins with zeros."""
    wards = WARDS.assign(ward=["007", "=b", "+a"]).rename(columns={"beds": "@beds"})
    data = patients()
    data["stays"]["ward"] = data["stays"]["ward"].map({"a": "+a", "b": "=b", "c": "007"})
    made = release(data | {"wards": wards}, **OF_WARDS, seed=1)
    warned = formula_warning(made.family, TableFile(), made.public)
    assert "'wards.ward', 'wards.@beds', 'wards.name'" in warned
    made.save(tmp_path / "out", TableFile(spreadsheet_safe=True))
    assert "'=b,20," in (tmp_path / "out" / "tables" / "wards.csv").read_text()
    loaded = dpmosaic.load_people(tmp_path / "out").tables
    assert _texts(loaded["wards"]).equals(_texts(wards))
    assert len(loaded["stays"].merge(loaded["wards"], on="ward")) == len(loaded["stays"])


def test_a_public_table_of_a_file_stands_in_the_release_as_it_was_written(tmp_path):
    """Keys are numbers in both tables, in memory and when they are read again."""
    text = "ward,price,open,code,rate\n1,7.50,true,007,\n2,1.10,,1,3\n3,2,false,2,4\n"
    data = patients()
    data["stays"]["ward"] = data["stays"]["ward"].map({"a": 1, "b": 2, "c": 3})
    for name, rows in data.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "wards.csv").write_text(text)
    made = release({name: tmp_path / f"{name}.csv" for name in (*data, "wards")}, **OF_WARDS, seed=1)
    made.save(tmp_path / "out")
    assert (tmp_path / "out" / "tables" / "wards.csv").read_text() == text
    loaded = dpmosaic.load_people(tmp_path / "out")
    for one in (made, loaded):
        assert len(one.tables["stays"].merge(one.tables["wards"], on="ward")) == len(one.tables["stays"])
    assert loaded.tables["wards"]["price"].sum() == 10.6
    assert loaded.tables["wards"]["code"].tolist() == ["007", "1", "2"]


def test_a_public_table_has_no_ledger(tmp_path):
    data = patients() | {"wards": WARDS}
    for name, rows in data.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    release({name: tmp_path / f"{name}.csv" for name in data}, **OF_WARDS)
    ledgers = {path.name for path in tmp_path.iterdir() if path.suffix != ".csv"}
    assert ledgers
    assert not any(name.startswith("wards") for name in ledgers)


def test_what_is_left_out_is_as_if_it_had_never_been_there():
    """Rows without a key, of nobody, of a row that is left out, and without a value of the order."""
    clean, dirty = patients(), {}
    for name, rows in clean.items():
        spoiled = rows.sample(30, random_state=1).astype(object)
        spoiled.iloc[:10, spoiled.columns.get_indexer(["id" if name != "codes" else "stay"])] = None
        if name != "patients":
            spoiled.iloc[10:, spoiled.columns.get_indexer(["id" if name == "stays" else "stay"])] = -7
        else:
            spoiled["id"] = None
        dirty[name] = pd.concat(
            [spoiled.iloc[:15], rows.astype(object), spoiled.iloc[15:]], ignore_index=True
        )
    late = dirty["stays"].iloc[[20]].assign(day=None, stay=-3)
    dirty["stays"] = pd.concat([dirty["stays"], late], ignore_index=True)
    dirty["codes"] = pd.concat([dirty["codes"], dirty["codes"].iloc[[20]].assign(stay=-3)], ignore_index=True)
    options = {"seed": 1, "mechanism": "independent"}
    found, expected = release(dirty, drop_incomplete=True, **options), release(clean, **options)
    for name, rows in expected.tables.items():
        assert found.tables[name].astype(str).equals(rows.astype(str))


def test_no_cell_of_an_order_decides_how_others_are_read():
    rows = pd.DataFrame({"day": ["2020-10-01", "5", "2020-02-01", "9", "1/3/2020"]})
    places = places_in_order("rows", rows, np.array([0, 1, 0, 1, 0]), "day", np.random.default_rng(1))
    assert places.tolist() == [4, 2, 0, 1, 3]


ORDERED = ["9999-12-31", "0001-01-01", "2020-01-01", "1500-05-05 10:30", "7", "2020-01-01T10:00:00.5Z"]


@pytest.mark.parametrize(
    "odd",
    [
        *("2020-01-01 00:00:00.123456789", "20200101T101010.1234567", "2020-01-01T00:00:00.1234567+02:00"),
        *("soon", "", "1e400", "9999-12-31 23:59:59.999999", "1/3/2020", "\uff12\uff10\uff12\uff10-01-01"),
    ],
)
def test_an_odd_cell_leaves_no_row_of_another_person_out_and_moves_none(odd):
    rows = pd.Series([*ORDERED, odd], dtype=object)
    table = pd.DataFrame({"day": rows})
    assert has_order(table, "day")[:-1].all()
    person = np.array([0] * len(ORDERED) + [1])
    held = table[has_order(table, "day")]
    rng = np.random.default_rng(1)
    places = places_in_order("rows", held, person[: len(held)], "day", rng)
    assert places[: len(ORDERED)].tolist() == [4, 1, 3, 2, 5, 0]


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%Y-%m-%d", "%d %b %Y", "%m/%d/%Y"])
def test_rows_are_in_the_order_that_their_column_means(monkeypatch, form, described):
    """By the domain that is given, or else by what is learned; rows of rows stay with their own."""
    rng = np.random.default_rng(4)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 700, 4000)), "D")
    stays = pd.DataFrame({"stay": range(4000), "id": rng.integers(0, 800, 4000), "day": days.strftime(form)})
    codes = pd.DataFrame({"stay": rng.integers(0, 4000, 6000)})
    codes["year"] = days.year.to_numpy()[codes["stay"]].astype(str)
    shuffled = stays.sample(frac=1, random_state=1)
    found, describe = [], Making._describe
    monkeypatch.setattr(Making, "_describe", lambda self: found.append(describe(self)))
    timed = {"type": "timestamp" if "H" in form else "date", "min": "2021-01-01", "max": "2022-12-31"}
    timed |= {"bins": 24, "format": form} | ({"granularity": "minute"} if "H" in form else {})
    with pytest.raises(AttributeError):  # What was described is kept from the release.
        dpmosaic.synthesize(
            {"people": pd.DataFrame({"id": range(800)}), "stays": shuffled, "codes": codes},
            50.0,
            relations={"stays": {"id": "people"}, "codes": {"stay": "stays"}},
            order={"stays": "day"},
            domain={"stays": {"day": timed}, "codes": {"year": ["2021", "2022"]}} if described else None,
        )
    rows = found[0].rows
    gaps = stays.assign(day=days).groupby("id")["day"].diff().dt.days
    assert (rows["stays"].codes["step_of_day"] == 1).sum() == (gaps == 0).sum()
    of_stays = np.bincount(rows["codes"].parent, minlength=4000)
    assert (pd.Series(rows["stays"].codes["number_of_codes"]).groupby(of_stays).nunique() == 1).all()


def test_a_table_with_a_key_is_left_what_has_one(asked):
    rows = patients()["stays"].drop(columns="stay")
    more = rows.head(20).astype(object).assign(id=[None, " "] * 10)
    late = rows.head(2).astype(object).assign(day=[None, "soon"])
    dirty = pd.concat([more, rows.astype(object), late], ignore_index=True)
    stated = {"key": "id", "order": "day", "domain": DOMAINS["stays"], "mechanism": "independent", "seed": 1}
    found = dpmosaic.synthesize(dirty, 2.0, drop_incomplete=True, **stated)
    expected = dpmosaic.synthesize(rows, 2.0, **stated)
    assert found.tables["rows"].astype(str).equals(expected.tables["rows"].astype(str))
    with pytest.raises(MosaicError, match="leave such rows out by drop_incomplete"):
        dpmosaic.synthesize(dirty, 2.0, **stated)


def test_tables_whose_names_are_one_file_are_refused(asked):
    data = {"a/b": patients()["patients"], "A_B": patients()["stays"]}
    with pytest.raises(MosaicError, match="differ as those of files"):
        release(data, relations={"A_B": {"id": "a/b"}}, order=None, domain={})
    assert not asked


def test_a_key_of_two_tables_is_refused_where_others_refer_to_it(asked):
    data = patients()
    data["stays"] = data["stays"].drop_duplicates("id")
    data["codes"] = data["codes"].assign(stay=1000)
    with pytest.raises(MosaicError, match="relate the tables below it to 'patients'"):
        release(data, relations={"stays": {"id": "patients"}, "codes": {"stay": "stays.id"}}, domain={})
    assert not asked


# Tables of random cells, with what people do to tables.

CELLS = {
    "words": st.sampled_from(["a", "b", "c", "long word, with a comma", ""]),
    "numbers": st.integers(-5, 5000),
    "decimals": st.floats(-1e6, 1e6),
    "odd": st.sampled_from([None, "", "x", 3, 2.5, True, "2020-01-01", "nan", "1e5", "-"]),
    "missing": st.none(),
    "texts": st.text(max_size=5),
    "truth": st.booleans(),
}
NAMES = ["x", "number_of_t1", "previous_x", "step_of_x", "none", "a b", "ü.'\"", "sex", "parent"]


@st.composite
def trees(draw):
    """Tables of a random tree with odd cells and names; keys of several types."""
    tables, relations, order = {}, {}, {}
    for place in range(draw(st.integers(2, 4))):
        name = f"t{place}"
        rows = draw(st.integers(0 if place else 1, 40))
        owner = f"t{draw(st.integers(0, place - 1))}" if place else ""
        columns = {
            column: [draw(CELLS[kind]) for _ in range(rows)]
            for column, kind in zip(
                draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)),
                draw(st.lists(st.sampled_from(list(CELLS)), min_size=2, max_size=2)),
                strict=False,
            )
        }
        kind = draw(st.sampled_from([int, float, str]))
        frame = pd.DataFrame({f"k{place}": np.arange(rows).astype(kind)} | columns)
        if owner:
            above = len(tables[owner])
            if not above:
                frame = frame.iloc[:0]
            frame[f"k{owner[1:]}"] = [draw(st.integers(0, max(0, above - 1))) for _ in range(len(frame))]
            relations[name] = {f"k{owner[1:]}": owner}
            if columns and draw(st.booleans()):
                order[name] = draw(st.sampled_from([True, *columns]))
        tables[name] = frame
    return tables, relations, order


@settings(max_examples=25)
@given(trees())
def test_random_tables_are_released_with_their_relations_or_refused_before_anything_is_asked(tree):
    tables, relations, order = tree
    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = watch(patched.setattr)
        try:
            made = dpmosaic.synthesize(
                tables,
                3.0,
                relations=relations,
                order=order,
                anyway=True,
                mechanism="independent",
                progress=False,
            )
        except MosaicError:
            made = None
    if made is None:
        assert not asked
        return
    for name, stated in relations.items():
        ((foreign, owner),) = stated.items()
        keys = made.tables[owner]
        known = keys[foreign] if foreign in keys else range(1, len(keys) + 1)
        assert set(made.tables[name][foreign]) <= set(known)
    for name, rows in made.tables.items():
        assert set(rows.columns) <= set(tables[name].columns)


def test_a_table_of_nothing_but_names_an_order_and_rows_below_it_comes_back_from_a_file(tmp_path):
    rng = np.random.default_rng(1)
    stays = pd.DataFrame(
        {"id": rng.integers(0, 40, 100), "stay": range(100), "day": rng.integers(0, 30, 100)}
    )
    tables = {
        "patients": pd.DataFrame({"id": range(40), "sex": rng.choice(["f", "m"], 40)}),
        "stays": stays.assign(receipt=[f"R{number:04d}" for number in range(100)]),
        "notes": pd.DataFrame({"stay": rng.integers(0, 100, 150), "kind": rng.choice(["a", "b"], 150)}),
    }
    release = dpmosaic.synthesize(
        tables,
        epsilon=5.0,
        relations={"stays": {"id": "patients"}, "notes": {"stay": "stays"}},
        order={"stays": "day"},
        domain={
            "patients": {"sex": ["f", "m"]},
            "stays": {
                "day": {"type": "numeric", "min": 0, "max": 30, "bins": 30, "integer": True},
                "receipt": {"type": "identifier", "pattern": "R{:04d}"},
            },
            "notes": {"kind": ["a", "b"]},
        },
        mechanism="independent",
    )
    assert list(release.tables["stays"]) == ["id", "stay", "day", "receipt"]
    assert release.tables["stays"]["receipt"].is_unique
    release.save(tmp_path / "out")
    loaded = dpmosaic.load_people(tmp_path / "out")
    pd.testing.assert_frame_equal(loaded.tables["stays"], release.tables["stays"])
