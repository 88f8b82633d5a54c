"""`dpmosaic copies`, and `--copies` of `dpmosaic synthesize`."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.integers(0, 3, 900), "b": rng.choice(["x", "y"], 900)}).to_csv(
        folder / "real.csv", index=False
    )
    (folder / "domain.json").write_text('{"a": 3, "b": ["x", "y"]}')
    run(
        "synthesize", folder / "real.csv", "--domain", folder / "domain.json", "--out", folder / "out",
        "--seed", 1, "--copies", 2,
    )  # fmt: skip
    return folder


def run(*arguments):
    found = CliRunner().invoke(app, list(map(str, arguments)))
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_a_release_has_its_copies_beside_it(released):
    folder = released / "out/copies"
    assert {path.name for path in folder.iterdir()} == {"1.csv", "2.csv", "NOT-FOR-RELEASE.txt"}
    one, other = (pd.read_csv(folder / name) for name in ("1.csv", "2.csv"))
    assert list(one.columns) == ["a", "b"]
    assert len(one) == len(other) == len(pd.read_csv(released / "out" / "synthetic.csv"))
    assert not one.equals(other)


def test_copies_of_a_saved_release(released, tmp_path):
    arguments = ("copies", released / "out", "--number", 3, "--format", "parquet", "--seed", 2, "--json")
    found = json.loads(run(*arguments, "--out", tmp_path / "one").stdout)
    assert found["copies"] == 3
    assert found["labels"]
    run(*arguments, "--out", tmp_path / "again")
    for name in ("1.parquet", "2.parquet", "3.parquet"):
        assert pd.read_parquet(tmp_path / "one" / name).equals(pd.read_parquet(tmp_path / "again" / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "one"]


def test_refuses_too_few_copies_and_a_folder_that_exists_before_any_work(released, tmp_path):
    with pytest.raises(DataError, match="at least 2 copies"):
        run("copies", released / "out", "--number", 1, "--out", tmp_path / "one")
    assert not (tmp_path / "one").exists()
    with pytest.raises(DataError, match="already exists"):
        run("copies", released / "out", "--out", tmp_path)
    with pytest.raises(DataError, match="at least 2 copies"):
        run("synthesize", released / "real.csv", "--out", tmp_path / "other", "--copies", 1)
    assert not (tmp_path / "other" / "certificate.json").exists()
