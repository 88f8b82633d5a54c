"""Cells in separate processes: a failure or the death of a process affects no other cell."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.experiments.cell import Cell, software_version
from dpmosaic.simulations.experiments.conduct import conduct
from dpmosaic.simulations.experiments.experiment import Panel
from dpmosaic.simulations.experiments.runner import _Pool, missing, run
from dpmosaic.simulations.experiments.store import Store
from dpmosaic.simulations.experiments.tables import DataFolder

from .conftest import write_table

CELL = Cell("adult", method="independent", measures=("kway",))


@pytest.mark.slow
def test_a_failed_cell_and_a_dead_process_affect_no_other_cell(data, tmp_path, monkeypatch):
    """The second cell has an unknown label; the process of the third is killed."""
    cells = [CELL, replace(CELL, measures=("svm",)), replace(CELL, seed=2), replace(CELL, seed=3)]
    store, tables = Store(tmp_path / "out", "1"), DataFolder(data)
    seen = []
    give = _Pool._give

    def give_and_kill(pool, connection, item):
        process = pool._processes[connection]
        if item.cell == cells[2]:
            os.kill(process.pid, signal.SIGSTOP)
        give(pool, connection, item)
        if item.cell == cells[2]:
            process.kill()

    monkeypatch.setattr(_Pool, "_give", give_and_kill)
    run(missing(cells, store, tables), store, tables, 1, lambda done, total, _: seen.append((done, total)))
    digest = tables.load("adult").digest()
    results = [store.read(cell, digest) for cell in cells]
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [result.failure and result.failure.kind for result in results] == [
        None,
        "DataError",
        "ProcessDied",
        None,
    ]
    assert set(results[0].values) == {"tv_2way", "kl_2way", "tv_3way", "kl_3way"} | {
        "seconds",
        "rounds",
        "model_mb",
    }
    assert multiprocessing.active_children() == []
    assert [work.cell for work in missing(cells, store, tables)] == cells[1:3]


@pytest.mark.slow
def test_a_process_that_dies_after_its_cell_is_replaced_before_the_next(data, tmp_path, monkeypatch):
    store, tables = Store(tmp_path / "out", "1"), DataFolder(data)
    cells = [CELL, replace(CELL, seed=2), replace(CELL, seed=3)]
    digest = tables.load("adult").digest()
    give = _Pool._give

    def give_to_the_dead(pool, connection, item):
        pool._processes[connection].kill()
        pool._processes[connection].join()
        give(pool, connection, item)

    monkeypatch.setattr(_Pool, "_give", give_to_the_dead)
    run(missing(cells, store, tables), store, tables, 1, lambda *_: None)
    assert [store.read(cell, digest).failure for cell in cells] == [None, None, None]


@pytest.mark.slow
def test_does_not_repeat_finished_cells_and_names_failures(data, tmp_path, experiment, monkeypatch):
    options = {"seeds": 1, "quick": True, "processes": 2}
    reduced = experiment.for_quick_run()
    outcome = conduct(reduced, data, tmp_path / "out", report=lambda *_: None, **options)
    assert outcome.releases == (2, 2, 0)
    monkeypatch.setattr("dpmosaic.simulations.experiments.conduct.run", None)
    again = conduct(reduced, data, tmp_path / "out", report=lambda *_: None, **options)
    assert again.releases == (2, 0, 0)
    assert {path.name for path in again.files.values()} == {"small.csv", "small.svg", "small.html"}
    assert again.results == outcome.results


@pytest.mark.slow
def test_missing_tables_leave_gaps_and_no_table_is_refused(data, tmp_path, experiment):
    both = replace(
        experiment.for_quick_run(),
        panels=(*experiment.panels, Panel("Elsewhere", Cell("elsewhere", measures=("kway",)))),
        lines=experiment.lines[:1],
        reported=(),
        quick=replace(experiment.quick, lines=()),
    )
    options = {"seeds": 1, "quick": True, "processes": 1, "report": lambda *_: None}
    outcome = conduct(both, data, tmp_path / "out", **options)
    assert outcome.releases == (2, 1, 1)
    assert list(outcome.results.gaps()) == [("Elsewhere", "independent", None)]
    with pytest.raises(DataError, match="for NAME adult or elsewhere"):
        conduct(both, tmp_path / "nothing", tmp_path / "out", **options)
    with pytest.raises(DataError, match="cannot create the folder"):
        conduct(both, data, data / "adult" / "domain.json" / "out", **options)


def test_accepts_a_folder_of_downloads(data, tmp_path):
    flat = tmp_path / "flat"
    flat.mkdir()
    (data / "adult" / "domain.json").rename(flat / "adult.domain.json")
    (data / "adult" / "adult.csv.gz").rename(flat / "adult.csv.gz")
    assert DataFolder(flat).load("adult").record_count == 120
    with pytest.raises(DataError, match="for the table 'adult', found none"):
        DataFolder(data).load("adult")
    assert DataFolder(flat).load("adult", binary=True).domain.names[-1] == "income.bit0"


KILLED_AT_THE_FIRST_RESULT = """
import os, signal
from dpmosaic.simulations.experiments.store import Store
before = Store.write
def write(self, *arguments):
    before(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)
Store.write = write
from dpmosaic.command import main
main()
"""


@pytest.mark.slow
def test_a_killed_run_resumes(tmp_path):
    """Figure 12 on a small table: its two lines have the same numbers, as its page states."""
    write_table(tmp_path / "data", rows=300)
    out = tmp_path / "out"
    command = ["experiment", "run", "randdpgen-figure12", "--quick", "--json", "--processes", "1"]
    command += ["--data", str(tmp_path / "data"), "--out", str(out)]
    killed = [sys.executable, "-c", KILLED_AT_THE_FIRST_RESULT, *command]
    first = subprocess.run(killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert first.returncode == -signal.SIGKILL
    written = {path: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}
    assert len(written) == 1
    outcome = json.loads(CliRunner().invoke(app, command, catch_exceptions=False).stdout)
    assert outcome["releases"] == {"all": 4, "run_now": 3, "without_result": 0}
    assert {path: path.stat().st_mtime_ns for path in written} == written
    results = [json.loads(path.read_text()) for path in (out / "cells").glob("*.json")]
    assert {result["software"] for result in results} == {software_version()}
    numbers = {}
    for result in results:
        result["values"].pop("seconds")
        numbers.setdefault(result["cell"]["epsilon"], []).append(result["values"])
    assert len(numbers) == 2
    assert all(first == second for first, second in numbers.values())
