"""The command `generate`: files that are complete or absent, and equal to what data frames write."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis import drawing
from dpmosaic.curator.analysis.conditions import Condition
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.analysis.row_files import write_rows
from dpmosaic.curator.certificates.verify import CERTIFICATE
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.results.outputs import MODEL
from dpmosaic.curator.results.row_values import spelled_column
from dpmosaic.curator.results.table_format import TableFile, TableFormat
from support.certificates import certificate_form

pytestmark = pytest.mark.slow

DOMAIN = Domain.from_json(
    {
        "id": {"type": "identifier", "pattern": "P-{:03d}"},
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "nullable": True, "integer": True},
        "pay": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "multiple_of": 0.1, "atoms": [0.5]},
        "share": {"type": "numeric", "min": 0, "max": 100, "bins": 4, "format": "{}%", "integer": True},
        "job": ["", "clerk, senior", "=cook", 'a "b"'],
        "=kind": {"type": "categorical", "categories": ["S", "M"], "ordered": True},
        "mixed": [1, "one", ""],
        "smokes": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
        "well": {"type": "boolean"},
        "born": {"type": "date", "min": "2000-01-01", "max": "2003-12-31", "bins": 4, "format": "%d.%m.%Y"},
        "seen": {
            "type": "timestamp",
            "min": "2020-01-01",
            "max": "2020-12-31T23:59:59",
            "bins": 4,
            "timezone": "Europe/Berlin",
            "nullable": True,
        },
        "code": 3,
    }
)


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    MarkovRandomField.uniform(DOMAIN, 1000.0).save(folder / MODEL)
    form = certificate_form(DOMAIN) | {"outputs": {MODEL: sha256_of(folder / MODEL)}}
    (folder / CERTIFICATE).write_text(json.dumps(form))
    return folder


def run(*arguments):
    return CliRunner().invoke(app, ["generate", *map(str, arguments)])


def written(release, path, rows, spreadsheet_safe=False):
    kind = TableFormat(path.suffix[1:])
    made = drawing.Drawing.of(Published.load(release), rows, None, 1)
    write_rows(made, path, TableFile(kind, spreadsheet_safe), (), lambda rows: None)
    return path


def test_a_csv_file_holds_the_rows_that_its_domain_reads_again(release, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 200)
    path = written(release, tmp_path / "rows.csv", 500)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(frame.columns) == list(DOMAIN.columns)
    assert frame["id"].tolist() == [f"P-{number:03d}" for number in range(1, 501)]
    rows = encode_table(DOMAIN, {name: frame[name].to_numpy(dtype=object) for name in DOMAIN})
    blocks = list(drawing.Drawing.of(Published.load(release), 500, None, 1).blocks())
    for name in DOMAIN:
        expected = np.concatenate([block.table.column(name) for block in blocks])
        np.testing.assert_array_equal(rows.column(name), expected)


def test_a_csv_file_is_what_pandas_writes_of_the_same_values(release, tmp_path):
    path = written(release, tmp_path / "rows.csv", 300)
    made = drawing.Drawing.of(Published.load(release), 300, None, 1)
    block = next(iter(made.blocks()))
    values = {
        name: DOMAIN[name].decode(block.table.column(name), np.random.default_rng(0)) for name in DOMAIN
    }
    values |= block.values | {"id": DOMAIN.unmodelled[0].draw(300)}
    frame = pd.DataFrame({name: spelled_column(DOMAIN, name, values[name]) for name in DOMAIN.columns})
    assert path.read_text() == frame.to_csv(index=False)


def test_a_parquet_file_has_the_types_and_values_of_the_data_frame(release, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 200)
    frame = drawing.generate_rows(Published.load(release), 500, seed=1)
    frame.to_parquet(tmp_path / "expected.parquet", engine="pyarrow", index=False)
    path = written(release, tmp_path / "rows.parquet", 500)
    assert pq.read_schema(path).equals(pq.read_schema(tmp_path / "expected.parquet"))
    pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(tmp_path / "expected.parquet"))


def test_text_like_a_formula_gets_an_apostrophe(release, tmp_path):
    path = written(release, tmp_path / "rows.csv", 200, spreadsheet_safe=True)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert "'=kind" in frame.columns
    assert "'=cook" in set(frame["job"])
    assert "=cook" not in set(frame["job"])


def test_the_command_writes_a_file_under_a_condition(release, tmp_path):
    out = tmp_path / "rows.csv"
    result = run(release, "--rows", 300, "--where", "age=30..39,job='clerk, senior'", "--out", out)
    assert result.exit_code == 0, result.output
    assert "300 rows" in result.output
    frame = pd.read_csv(out)
    assert len(frame) == 300
    assert frame["age"].between(30, 39).all()
    assert set(frame["job"]) == {"clerk, senior"}


def test_json_prints_one_object(release, tmp_path):
    out = tmp_path / "rows.parquet"
    result = run(release, "--rows", 20, "--format", "parquet", "--out", out, "--json", "--seed", 1)
    assert json.loads(result.stdout) == {
        "out": str(out),
        "rows": 20,
        "where": "",
        "labels": [],
        "warnings": [],
    }
    assert pq.read_metadata(out).num_rows == 20


def test_a_labelled_release_labels_its_rows(release, tmp_path):
    form = json.loads((release / CERTIFICATE).read_text())
    form |= {"labels": ["made with a known seed"], "differentially_private": False}
    (release / CERTIFICATE).write_text(json.dumps(form))
    run(release, "--rows", 20, "--out", tmp_path / "rows.csv")
    assert "known seed" in (tmp_path / "rows.csv.NOT-FOR-RELEASE.txt").read_text()


def test_refuses_to_overwrite(release, tmp_path):
    (tmp_path / "rows.csv").write_text("mine")
    result = run(release, "--rows", 20, "--out", tmp_path / "rows.csv")
    assert isinstance(result.exception, DataError)
    assert "already exists" in str(result.exception)
    assert (tmp_path / "rows.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--where", "age=200"], "from 0 to 99"),
        (["--where", "years=3"], "id|age"),
        (["--format", "parquet", "--spreadsheet-safe"], "spreadsheet"),
        (["--out", "nowhere/rows.csv"], "folder"),
    ],
)
def test_refuses_bad_options_before_anything_is_written(release, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    result = run(release, "--rows", 20, *arguments)
    assert isinstance(result.exception, DataError)
    assert any(word in str(result.exception) for word in told.split("|"))
    assert os.listdir(tmp_path) == ["release"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_an_interrupted_run_leaves_no_file(release, tmp_path, monkeypatch, name):
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 100)
    made = drawing.Drawing.of(Published.load(release), 500, Condition.of(DOMAIN, None), 1)

    def interrupted(rows):
        assert os.listdir(tmp_path) != ["release"]
        raise KeyboardInterrupt

    kind = TableFormat(name.split(".")[1])
    with pytest.raises(KeyboardInterrupt):
        write_rows(made, tmp_path / name, TableFile(kind), ("a label",), interrupted)
    assert os.listdir(tmp_path) == ["release"]
