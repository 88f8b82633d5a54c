"""The files of a release of people: saved, loaded, verified, and refused when they changed."""

import hashlib
import json
import random
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError, MosaicError
from dpmosaic.curator.people.certificate import digest_of
from dpmosaic.curator.people.files import file_name, verify_people
from dpmosaic.curator.results.table_format import TableFile, TableFormat
from support.mutations import changed_bytes, changed_value
from support.related import release
from support.room import room
from support.two_releases import listed
from support.verifiers import NODE, failed_checks_of_people, second

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made():
    return release()


@pytest.fixture(scope="module")
def learned():
    from support.related import DOMAINS

    return release(domain={"patients": DOMAINS["patients"]}, anyway=True)


@pytest.fixture
def folder(learned, tmp_path):
    learned.save(tmp_path / "out")
    return tmp_path / "out"


def failed(folder):
    return [check.what for check in verify_people(folder) if not check.passed]


def edited(folder, change):
    path = folder / "certificate.json"
    form = json.loads(path.read_text())
    change(form)
    path.write_text(json.dumps(form))


@pytest.mark.parametrize("table_format", TableFormat)
def test_what_is_saved_is_loaded(made, learned, table_format, tmp_path):
    for place, one in enumerate((made, learned)):
        one.save(tmp_path / str(place), table_format)
        again = dpmosaic.load_people(tmp_path / str(place))
        assert list(again.frames) == list(one.frames)
        for name, rows in one.frames.items():
            pd.testing.assert_frame_equal(again.frames[name], rows)
        assert again.family == one.family
        assert again.certificate.parts == one.certificate.parts
        digests = [{name: digest_of(c) for name, c in r.choices.items()} for r in (again, one)]
        assert digests[0] == digests[1]
        some = again.generate(5, seed=1)
        for name, rows in one.generate(5, seed=1).items():
            pd.testing.assert_frame_equal(some[name], rows)


VISITS = pd.DataFrame(
    {
        "patient": np.repeat(np.arange(200), 2),
        "at": pd.date_range("2024-01-01", periods=400, freq="h", tz="Europe/Zurich"),
        "emergency": np.arange(400) % 3 == 0,
        "nights": pd.array(np.arange(400) % 5, dtype="Int64"),
        "ward": pd.Categorical(np.array(["a b", "é", "=1+1"])[np.arange(400) % 3]),
        "cost in %": np.where(np.arange(400) % 7 == 0, np.nan, np.arange(400) / 4),
    }
)
"""Rows of people, of every kind of column, some of which are missing."""


@pytest.fixture(scope="module")
def of_visits():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpmosaic.DomainWarning)
        return dpmosaic.synthesize(VISITS, key="patient", order="at", epsilon=50, anyway=True, seed=1)


@pytest.mark.parametrize("table_format", TableFormat)
def test_columns_of_every_kind_come_back_from_a_file(of_visits, table_format, tmp_path):
    of_visits.save(tmp_path / "out", table_format)
    again = dpmosaic.load_people(tmp_path / "out").table
    assert dict(again.dtypes) == dict(of_visits.table.dtypes) == dict(VISITS.dtypes)
    pd.testing.assert_frame_equal(again, of_visits.table)


def test_a_folder_with_a_release_is_refused(folder, learned):
    with pytest.raises(DataError, match="already holds"):
        learned.save(folder)


def test_an_unknown_format_is_refused(made, tmp_path):
    with pytest.raises(DataError, match="expected one of csv, parquet"):
        made.save(tmp_path / "out", "xls")


def test_a_release_of_one_table_is_not_read_from_it(folder):
    with pytest.raises(DataError, match="load_people"):
        dpmosaic.load(folder)


def test_a_certificate_and_its_files_verify(folder):
    assert not failed(folder)
    assert [check.what for check in verify_people(folder)][-4:] == ["parts", "costs", "promise", "label"]


@pytest.mark.parametrize(
    "name",
    ["people.json", "tables/stays.csv", "records/stays/certificate.json", "choices/stays.json"],
)
def test_a_changed_or_missing_file_is_found_and_not_loaded(folder, name):
    kept = (folder / name).read_bytes()
    for change in (lambda path: path.write_bytes(kept + b" "), lambda path: path.unlink()):
        change(folder / name)
        assert f"file {name}" in failed(folder)
        with pytest.raises(DataError, match="restore it"):
            dpmosaic.load_people(folder)


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_no_file_of_the_folder_can_be_another_one(learned, tmp_path):
    # Of the choice of bins, by a release that has no domain at all.
    for name, one in {"learned": learned, "one table": of_one_table()}.items():
        folder = tmp_path / name
        one.save(folder)
        assert not failed(folder)
        paths = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
        assert len({path.name for path in paths}) > 5
        for path in paths:
            kept = path.read_bytes()
            path.write_bytes(altered(path.name, kept))
            assert_refused(folder)
            path.write_bytes(kept)
            beside = path.with_name("synthetic.parquet")
            beside.write_bytes(kept)
            assert "other files" in {what.rpartition(": ")[2] for what in failed(folder)}
            beside.unlink()
        below = folder / "records" / "rows" / "more"
        if below.parent.exists():
            below.mkdir()
            (below / "report.html").write_text("a page")
            assert_refused(folder)


def of_one_table():
    rows = VISITS.assign(patient=np.arange(400) // 2, nights=np.arange(400) % 5)
    return dpmosaic.synthesize(
        rows[["patient", "at", "nights"]],
        30.0,
        key="patient",
        order="at",
        anyway=True,
        mechanism="independent",
        progress=False,
        ledger=False,
    )


def altered(name, content):
    """Another file of the same form: a certificate says another time, and others end in a blank."""
    if name != "certificate.json":
        return content + b" "
    form = json.loads(content)
    return json.dumps(form | {"created": "2020-01-01T00:00:00+00:00"}).encode()


def assert_refused(folder):
    found = set(failed(folder))
    assert found
    if NODE is not None:
        assert found == {
            one["what"] for one in second("folder", folder=str(folder)) if one["passed"] is False
        }
    with pytest.raises(DataError, match="restore it"):
        dpmosaic.load_people(folder)


def test_a_file_that_no_certificate_names_is_found(folder):
    (folder / "tables" / "real.csv").write_text("id\n1\n")
    assert failed(folder) == ["other files"]


def _less(form):
    form["parts"][0]["zcdp_rho"] = "1/1000000"


def _without_a_part(form):
    del form["parts"][-1]


def _smaller_epsilon(form):
    form["epsilon_spent"] = 0.1


def _smaller_promise(form):
    form["budget"]["epsilon"] = 0.5


def _of_rows(form):
    form["privacy_unit"] = "One record is one row."


def _under_another_adjacency(form):
    form["adjacency"] = "replace-one"


def _labelled(form):
    form["labels"] = ["a label"]


def _with_another_delta(form):
    form["parts"][-1]["labels_delta"] = 1e-12


def _without_the_delta_of_labels(form):
    for part in form["parts"]:
        part["labels_delta"] = 0.0


def _of_another(form):
    form["parts"][-1]["certificate"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_less, "costs"),
        (_without_a_part, "parts"),
        (_smaller_epsilon, "costs"),
        (_smaller_promise, "promise"),
        (_of_rows, "record"),
        (_under_another_adjacency, "record"),
        (_labelled, "label"),
        (_of_another, "parts"),
        (_with_another_delta, "parts"),
        (_without_the_delta_of_labels, "parts"),
    ],
)
def test_a_changed_certificate_is_found(folder, change, found):
    edited(folder, change)
    assert found in failed(folder)
    if NODE is not None:
        assert found in {
            one["what"] for one in second("folder", folder=str(folder)) if one["passed"] is False
        }


def test_a_release_from_one_place_is_none_of_the_institutions_of_cards(folder):
    assert failed_checks_of_people(folder, listed([], None)) == {"form"}


def test_a_part_of_another_release_is_found(folder, made, tmp_path):
    made.save(tmp_path / "other")
    shutil.copytree(
        tmp_path / "other" / "records" / "stays", folder / "records" / "stays", dirs_exist_ok=True
    )
    assert {"file records/stays/certificate.json", "parts"} <= set(failed(folder))


def test_a_name_outside_of_the_folder_is_found(folder):
    edited(folder, lambda form: form["outputs"].update({"../secret": "0" * 64}))
    assert "file ../secret" in failed(folder)


def with_files(folder, **contents):
    """Other files in the folder, and a certificate that names them: nobody signs that of one place."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    edited(folder, lambda form: form["outputs"].update(digests))


def test_whatever_a_stranger_writes_into_a_folder_is_read_or_refused_in_one_sentence(folder):
    rng = random.Random(1)
    names = ["people.json", *(f"tables/{name}.csv" for name in ("patients", "stays", "codes"))]
    whole = {name: (folder / name).read_bytes() for name in names}
    said = []
    for number in range(120):
        name = names[0] if number % 2 else rng.choice(names[1:])
        if name == "people.json":
            changed = json.dumps(changed_value(json.loads(whole[name]), rng)).encode()
        else:
            changed = changed_bytes(whole[name], rng)
        with_files(folder, **whole | {name: changed})
        try:
            held = dpmosaic.load_people(folder)
            held.report()
            held.generate(3, seed=1)
        except MosaicError as refusal:
            said.append(str(refusal))
    assert all(map(str.isprintable, said))
    assert len(said) > 30


def _group_of_a_billion(form):
    form["tables"][0]["groups"] = {"born": [1 << 40]}


def _child_of_itself(form):
    form["tables"][1]["parent"] = form["tables"][1]["name"]


def _two_roots(form):
    form["tables"][1] |= {"parent": "", "foreign": ""}


def _one_name_twice(form):
    form["tables"][2]["name"] = form["tables"][1]["name"]


def _no_tables(form):
    form["tables"] = []


def _a_key_that_is_no_column(form):
    form["tables"][1]["key"] = "another"


@pytest.mark.parametrize(
    "change",
    [
        *(_group_of_a_billion, _child_of_itself, _two_roots, _one_name_twice, _no_tables),
        _a_key_that_is_no_column,
    ],
)
def test_a_description_of_other_tables_is_refused(folder, change):
    form = json.loads((folder / "people.json").read_text())
    change(form)
    with_files(folder, **{"people.json": json.dumps(form).encode()})
    with pytest.raises(DataError, match="expected a description of its tables"):
        dpmosaic.load_people(folder)


def test_a_seed_is_a_label_of_the_whole_with_a_warning_beside_it(tmp_path):
    seeded = release(seed=1)
    seeded.save(tmp_path / "out")
    assert "seed" in (tmp_path / "out" / "NOT-FOR-RELEASE.txt").read_text()
    assert failed(tmp_path / "out") == ["label"]
    assert "not for release" in repr(seeded)
    assert dpmosaic.load_people(tmp_path / "out").certificate.labels == seeded.certificate.labels
    edited(tmp_path / "out", lambda form: form.update(labels=[], differentially_private=True))
    assert failed(tmp_path / "out") == ["label"]


def test_the_command_verify_needs_no_cards_for_a_release_of_people(folder):
    done = CliRunner().invoke(app, ["curator", "verify", str(folder / "certificate.json")])
    assert done.exit_code == 0, done.output
    assert "promise: kept" in done.stdout
    (folder / "tables" / "stays.csv").write_text("")
    done = CliRunner().invoke(app, ["curator", "verify", str(folder / "certificate.json")])
    assert done.exit_code == 1
    assert "FAILED  file tables/stays.csv" in done.stdout


def test_names_of_files_hold_no_path():
    assert file_name("../a/b") == "___a_b"
    assert file_name("über-1") == "über-1"
    assert len(file_name("x" * 500)) == 100


def test_nothing_that_is_shown_or_written_holds_a_real_key_or_number(tmp_path):
    from support.related import patients

    data = patients()
    # Keys that no noise makes up.
    data["patients"]["id"] = data["patients"]["id"].map("person-{:d}-key".format)
    data["stays"]["id"] = data["stays"]["id"].map("person-{:d}-key".format)
    data["stays"]["stay"] = data["stays"]["stay"] + "-key"
    data["codes"]["stay"] = data["codes"]["stay"] + "-key"
    one = release(data)
    one.save(tmp_path / "out")
    texts = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"-key" in text for text in [*texts, repr(one).encode(), repr(one.certificate).encode()])


SIZES = [0, 1, 100, 1000, 4000, 10_000, 20_000, 40_000, 80_000]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("table_format", TableFormat)
def test_a_disk_that_fills_up_anywhere_is_said_in_one_sentence_and_the_files_are_written_later(
    learned, table_format, tmp_path
):
    one = next(iter(learned.releases.values()))
    for kind, saved, load in (("people", learned, dpmosaic.load_people), ("rows", one, dpmosaic.load)):
        refused = 0
        for size in SIZES:
            folder = tmp_path / f"{kind}{size}"
            folder.mkdir()
            with room(size):
                try:
                    saved.write(folder, TableFile.of(table_format))
                except DataError:
                    refused += 1
            saved.write(folder, TableFile.of(table_format))
            load(folder)
        assert refused >= 4
