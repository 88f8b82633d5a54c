import json

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.experiments import catalogue
from dpmosaic.simulations.experiments.catalogue import EXPERIMENTS

pytestmark = pytest.mark.slow


def run(*arguments):
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)], catch_exceptions=False)


def test_the_list_names_every_experiment_its_tables_and_its_releases():
    assert all(name in run("list").stdout for name in EXPERIMENTS)
    listed = {found["name"]: found for found in json.loads(run("list", "--json").stdout)}
    assert list(listed) == list(EXPERIMENTS)
    assert listed["randdpgen-table1"]["tables"] == ["adult", "big5"]
    assert listed["randdpgen-table1"]["releases"] == {"all": 90, "quick": 6}


@pytest.fixture
def small(experiment, monkeypatch):
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"small": experiment})


def test_a_run_writes_numbers_figure_and_page_and_shows_the_table(small, data, tmp_path):
    shown = run("run", "small", "--data", data, "--out", tmp_path / "out", "--quick", "--processes", 1)
    assert shown.exit_code == 0
    assert "2 releases, 2 of them made now, 0 without a result" in shown.stdout
    for kind in ("csv", "svg", "html"):
        assert (tmp_path / "out" / f"small.{kind}").stat().st_size > 100
    again = run(
        *("run", "small", "--data", data, "--out", tmp_path / "out"),
        *("--seeds", 1, "--processes", 1, "--json"),
    )
    # The quick run had two of the six.
    assert json.loads(again.stdout)["releases"] == {"all": 6, "run_now": 4, "without_result": 0}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--quick", "--seeds", 2), "leave out --seeds"),
        (("--processes", 0), "processes: expected at least 1"),
        (("--seeds", 0), "seeds: expected at least 1"),
    ],
)
def test_refuses_invalid_options_before_running_any_cell(small, data, tmp_path, arguments, says):
    with pytest.raises(DataError, match=says):
        run("run", "small", "--data", data, "--out", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()
