"""A small table on disk, an experiment on it, and prepared results."""

import gzip
import json

import numpy as np
import pytest

from dpmosaic.simulations.experiments.cell import Cell
from dpmosaic.simulations.experiments.experiment import (
    Axis,
    Experiment,
    Line,
    Panel,
    Quick,
    Reported,
    Shown,
    at_epsilon,
)
from dpmosaic.simulations.experiments.results import Results
from dpmosaic.simulations.experiments.store import Failure, Result

from ...curator.report.test_browser import browser as browser

DOMAIN = {"a": 2, "b": 2, "income": ["<=50K", ">50K"]}
TV = Shown("tv_2way", "total variation of pairs", log=True)
FAST = Line("independent", {"method": "independent"})
AGAIN = Line("again", {"method": "independent", "protocol": "indicator", "grid": "2x1"})


def write_table(folder, name="adult", rows=120):
    """NAME/NAME.csv.gz and NAME/domain.json, as `--data` expects them."""
    (folder / name).mkdir(parents=True)
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, rows)
    lines = [f"{x},{y},{DOMAIN['income'][x]}" for x, y in zip(a, rng.integers(0, 2, rows), strict=True)]
    with gzip.open(folder / name / f"{name}.csv.gz", "wt") as file:
        file.write("\n".join(["a,b,income", *lines]) + "\n")
    (folder / name / "domain.json").write_text(json.dumps(DOMAIN))


@pytest.fixture
def data(tmp_path):
    write_table(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def experiment():
    cell = Cell("adult", measures=("kway",))
    return Experiment(
        "small",
        "A small one",
        "Nobody, Table 9",
        Axis("epsilon", (0.5, 1.0), at_epsilon),
        (Panel("Adult", cell),),
        (FAST, AGAIN, Line("DPLT", {"method": "dplt", "grid": "1x2"})),
        (TV,),
        Quick((1.0,), lines=("independent", "DPLT")),
        ("The table is small & <made up>.",),
        (Reported("paper", "tv_2way", {("Adult", 0.5): 0.2, ("Adult", 1.0): 0.1}, ("independent", "again")),),
        seeds=2,
    )


@pytest.fixture
def results(experiment):
    """Both seeds: the line `independent` has 0.3 and 0.5, `again` has 0.1 only at 0.5, `DPLT` failed."""
    found = {}
    for cell in experiment.cells(2):
        if cell.method == "dplt":
            found[cell] = Result(cell, {}, Failure("DataError", "a <reason>"))
        elif cell.protocol == "trusted":
            found[cell] = Result(cell, {"tv_2way": 0.1 + 0.2 * cell.seed})
        elif cell.epsilon == 0.5:
            found[cell] = Result(cell, {"tv_2way": 0.1})
    return Results(experiment, 2, found)
