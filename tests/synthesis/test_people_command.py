"""People and related tables by the commands `synthesize` and `resume`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.synthesis.related import making

RELATIONS = """\
[patients]
domain = "patients.json"
[stays]
domain = "stays.json"
belongs_to = {id = "patients"}
order = "day"
within = ["born", ""]
summaries = {intensive = {ward = "icu"}}
"""
DOMAINS = {
    "patients": {
        "sex": ["f", "m"],
        "born": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
    },
    "stays": {
        "day": {"type": "numeric", "min": 0, "max": 400, "bins": 20, "integer": True},
        "ward": ["a", "b", "icu"],
    },
}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    patients = pd.DataFrame(
        {"id": np.arange(800), "sex": rng.choice(["f", "m"], 800), "born": rng.integers(0, 100, 800)}
    )
    of = np.repeat(np.arange(800), rng.poisson(2, 800))
    day = patients.born.to_numpy()[of] + rng.integers(0, 200, len(of))
    stays = pd.DataFrame(
        {"id": of, "day": day, "ward": rng.choice(["a", "b", "icu"], len(of), p=[0.6, 0.3, 0.1])}
    )
    patients.to_csv(tmp_path / "patients.csv", index=False)
    stays.to_csv(tmp_path / "stays.csv", index=False)
    (tmp_path / "relations.toml").write_text(RELATIONS)
    for name, domain in DOMAINS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(domain))
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def released(folder, out, *more):
    return run(
        *("synthesize", folder, "--relations", folder / "relations.toml", "--out", folder / out, "--seed", 1),
        *("--mechanism", "independent", *more),
    )


@pytest.mark.slow
def test_a_folder_of_tables_is_released(folder):
    done = released(folder, "out", "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    release = dpmosaic.load_people(folder / "out")
    assert summary["tables"] == {name: len(rows) for name, rows in release.tables.items()}
    patients, stays = release.tables["patients"], release.tables["stays"]
    assert list(patients) == ["id", "sex", "born", "intensive"]
    assert list(stays) == ["id", "day", "ward"]
    joined = stays.merge(patients, on="id")
    assert len(joined) == len(stays)
    assert (joined.day >= joined.born).all()
    assert stays.groupby("id").day.is_monotonic_increasing.all()
    icu = set(stays.id[stays.ward == "icu"])
    assert icu == set(patients.id[patients.intensive])


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.slow
def test_a_release_whose_process_ends_goes_on_and_is_the_same(folder, monkeypatch):
    assert released(folder, "whole").exit_code == 0
    make, made = making.release_among, []

    def dies_at_the_second(*args, **options):
        made.append(1)
        if len(made) == 2:
            raise Killed
        return make(*args, **options)

    options = {
        "relations": {"stays": {"id": "patients"}},
        "order": {"stays": "day"},
        "within": {"stays": ("born", None)},
        "summaries": {"stays": {"intensive": {"ward": "icu"}}},
        "domain": DOMAINS,
        "mechanism": "independent",
        "seed": 1,
        "delta": 1e-9,
        "out": folder / "again",
    }
    tables = {name: folder / f"{name}.csv" for name in DOMAINS}
    with monkeypatch.context() as patch:
        patch.setattr(making, "release_among", dies_at_the_second)
        with pytest.raises(Killed):
            dpmosaic.synthesize(tables, **options)
    dpmosaic.synthesize(tables, **options)
    for name in tables:
        files = (folder / out / "tables" / f"{name}.csv" for out in ("whole", "again"))
        assert len({file.read_bytes() for file in files}) == 1


SUMMARIES = """
[stays.summaries]
intensive = {ward = "icu"}
in_a = {what = "count", column = "ward", values = ["a"]}
first_ward = {what = "first", column = "ward"}
last_ward = {what = "last", column = "ward"}
to_icu = {what = "time", column = "ward", values = ["icu"]}
"""


def with_summaries(folder):
    relations = RELATIONS.replace('summaries = {intensive = {ward = "icu"}}\n', "")
    (folder / "relations.toml").write_text(relations + SUMMARIES)


@pytest.mark.slow
def test_what_patients_say_of_their_stays_is_what_the_stays_are(folder):
    with_summaries(folder)
    done = released(folder, "out")
    assert done.exit_code == 0, done.output
    release = dpmosaic.load_people(folder / "out")
    for tables in (release.tables, release.generate(300, seed=2)):
        patients, stays = tables["patients"].set_index("id"), tables["stays"]
        wards = stays.groupby("id").ward
        icu = stays[stays.ward == "icu"].groupby("id").day.first()
        expected = {
            "intensive": patients.index.isin(icu.index),
            "in_a": (stays.ward == "a").groupby(stays.id).sum().reindex(patients.index, fill_value=0),
            "first_ward": wards.first().reindex(patients.index),
            "last_ward": wards.last().reindex(patients.index),
            "to_icu": (icu - patients.born.reindex(icu.index)).reindex(patients.index),
        }
        for name, column in expected.items():
            said = pd.Series(column, index=patients.index)
            pd.testing.assert_series_equal(
                patients[name].astype(object).fillna("none"),
                said.astype(object).fillna("none"),
                check_names=False,
            )
        assert patients.to_icu.notna().mean() > 0.05
        assert patients.intensive.dtype == bool


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "where", "holds"),
    [
        ({"what": "first", "column": "ward"}, "b", lambda said: said == "b"),
        ({"what": "last", "column": "ward"}, "icu", lambda said: said == "icu"),
        ({"what": "count", "column": "ward", "values": ["a"]}, (1, 1), lambda said: said == 1),
        ({"what": "time", "column": "ward", "values": ["icu"]}, (0, 31), lambda said: said < 32),
    ],
    ids=["first", "last", "count", "time"],
)
def test_people_are_drawn_by_what_they_say(folder, stated, where, holds):
    release = dpmosaic.synthesize(
        {name: folder / f"{name}.csv" for name in DOMAINS},
        relations={"stays": {"id": "patients"}},
        order={"stays": "day"},
        within={"stays": ("born", None)},
        summaries={"stays": {"said": stated}},
        domain=DOMAINS,
        mechanism="independent",
        seed=1,
    )
    some = release.generate(200, where={"said": where}, seed=3)
    assert holds(some["patients"].said).all()
    assert set(some["stays"].id) == set(some["patients"].id)


@pytest.mark.slow
def test_one_table_with_a_key_is_released(folder):
    domain = folder / "rows.json"
    domain.write_text(json.dumps(DOMAINS["stays"]))
    done = run(
        *("synthesize", folder / "stays.csv", "--key", "id", "--order", "day", "--domain", domain),
        *("--out", folder / "out", "--seed", 1, "--mechanism", "independent"),
    )
    assert done.exit_code == 0, done.output
    rows = dpmosaic.load_people(folder / "out").tables["rows"]
    assert list(rows) == ["id", "day", "ward"]
    assert rows.id.duplicated().any()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--key", "ids"), "did you mean 'id'"),
        (("--order", "day"), "expected --key"),
        (("--key", "id", "--copies", "3"), "copies: a release of people"),
        (("--key", "id", "--spreadsheet-safe", "--format", "parquet"), "expected the format csv"),
        (("--key", "id", "--rows", "3"), "rows: a release of people"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(folder, words, told):
    done = run("synthesize", folder / "stays.csv", "--out", folder / "out", *words)
    assert done.exit_code != 0
    assert told in str(done.exception)
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


def test_a_folder_without_relations_is_refused_with_the_way_to_draft_them(folder):
    done = run("synthesize", folder, "--out", folder / "out")
    assert "--relations beside a folder of tables" in str(done.exception)
    assert f"dpmosaic domain infer {folder} --out DRAFTS" in str(done.exception)


@pytest.mark.slow
def test_whether_a_person_has_several_rows_is_asked_before_anything_is_spent(folder):
    few = folder / "few.csv"
    few.write_text("id,ward\n" + "7,a\n8,b\n" * 10)
    done = run("synthesize", few, "--out", folder / "out")
    assert "too few to learn" in str(done.exception)
    assert "name the column that tells people apart as key" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_table_without_a_synthetic_row_is_named(folder):
    pd.read_csv(folder / "stays.csv").head(0).to_csv(folder / "stays.csv", index=False)
    done = released(folder, "out", "--json", "--epsilon", 50)
    assert any("stays: no row was drawn" in note for note in json.loads(done.stdout)["warnings"])


@pytest.mark.slow
def test_a_release_of_people_is_no_release_of_one_table(folder):
    assert released(folder, "out").exit_code == 0
    with pytest.raises(dpmosaic.DataError, match="load_people"):
        dpmosaic.load(folder / "out")


@pytest.mark.slow
def test_the_command_names_columns_that_a_spreadsheet_would_run(tmp_path):
    rows = pd.DataFrame({"id": [n // 2 for n in range(2000)], "ward": ["=1+1", "b"] * 1000})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps({"ward": ["=1+1", "b"]}))
    called = (
        "synthesize",
        tmp_path / "rows.csv",
        "--key",
        "id",
        "--domain",
        tmp_path / "domain.json",
        "--json",
    )
    for form, told in (("csv", 1), ("parquet", 0), ("safe", 0)):
        written = ("--spreadsheet-safe",) if form == "safe" else ("--format", form)
        done = run(*called, "--seed", 1, "--no-ledger", *written, "--out", tmp_path / form)
        assert done.exit_code == 0, done.output
        notes = json.loads(done.stdout)["warnings"]
        assert sum("'rows.ward'" in note and "spreadsheet" in note for note in notes) == told
    shown = pd.read_csv(tmp_path / "safe" / "tables" / "rows.csv")["ward"]
    assert set(shown) == {"'=1+1", "b"}
    tables = [dpmosaic.load_people(tmp_path / form).table for form in ("safe", "csv")]
    assert tables[0].equals(tables[1])


@pytest.mark.slow
def test_more_people_are_written_with_all_that_belongs_to_them(folder, tmp_path):
    assert released(folder, "out", "--epsilon", 20).exit_code == 0
    asked = ("generate", folder / "out", "--people", 300, "--where", "sex=f", "--seed", 4)
    done = run(*asked, "--out", tmp_path / "more", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    known = dpmosaic.load_people(folder / "out")
    found = known.generate(300, {"sex": "f"}, seed=4)
    assert said["people"] == 300
    assert said["tables"] == {name: len(rows) for name, rows in found.items()}
    # A known seed labels the release, and so what is drawn from it.
    assert "known seed" in (tmp_path / "more.NOT-FOR-RELEASE.txt").read_text()
    for name, rows in found.items():
        written = pd.read_csv(tmp_path / "more" / f"{name}.csv")
        pd.testing.assert_frame_equal(written, rows, check_dtype=False)
    assert set(found["stays"].id) <= set(found["patients"].id)
    again = run(*asked, "--out", tmp_path / "parquet", "--format", "parquet")
    assert "300 people" in again.output
    for name, rows in found.items():
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "parquet" / f"{name}.parquet"), rows)


@pytest.mark.slow
def test_people_are_not_written_over_files_nor_asked_for_as_rows(folder, tmp_path):
    assert released(folder, "out").exit_code == 0
    for words, told in (
        (("--rows", 5), "--people"),
        ((), "--people"),
        (("--people", 5, "--out", folder), "already exists"),
        (("--people", 5, "--where", "age=3", "--out", tmp_path / "none"), "age"),
    ):
        done = run("generate", folder / "out", *words)
        assert isinstance(done.exception, dpmosaic.DataError) or done.exit_code, words
        assert told in f"{done.exception} {done.output}", words
    assert not (tmp_path / "none").exists()
