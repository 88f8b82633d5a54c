import json
from dataclasses import replace

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.experiments import cell as cells
from dpmosaic.simulations.experiments.cell import Cell
from dpmosaic.simulations.experiments.store import Failure, Result, Store

CELL = Cell("adult", settings=(("eta", "0.5"),), measures=("kway",))


def test_a_result_is_found_only_for_its_cell_table_and_software(tmp_path):
    store = Store(tmp_path, "1")
    kept = Result(CELL, {"tv_2way": 0.1})
    store.write(kept, "digest")
    assert store.read(CELL, "digest") == kept
    assert Store(tmp_path, "1").read(CELL, "digest") == kept
    for other in (
        store.read(CELL, "other table"),
        Store(tmp_path, "2").read(CELL, "digest"),
        *(
            store.read(replace(CELL, **change), "digest")
            for change in ({"seed": 2}, {"epsilon": 2.0}, {"settings": (("eta", "0.6"),)}, {"measures": ()})
        ),
    ):
        assert other is None


def test_a_failure_is_kept_with_its_reason(tmp_path):
    store = Store(tmp_path, "1")
    failed = Result(CELL, {}, Failure("DataError", "say so"))
    store.write(failed, "digest")
    assert store.read(CELL, "digest") == failed


def test_writes_a_file_atomically(tmp_path, monkeypatch):
    store = Store(tmp_path, "1")
    store.write(Result(CELL, {"tv_2way": 0.1}), "digest")

    def dies(form, file, **options):
        file.write('{"half": ')
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", dies)
    with pytest.raises(KeyboardInterrupt):
        store.write(Result(CELL, {"tv_2way": 0.2}), "digest")
    assert store.read(CELL, "digest") == Result(CELL, {"tv_2way": 0.1})


def test_refuses_a_damaged_result_by_name(tmp_path):
    store = Store(tmp_path, "1")
    store.write(Result(CELL, {}), "digest")
    (path,) = (tmp_path / "cells").iterdir()
    path.write_text("{")
    with pytest.raises(DataError, match=f"{path.name}.*remove it"):
        store.read(CELL, "digest")


def test_the_software_version_depends_on_the_code_of_results(tmp_path, monkeypatch):
    for name in ("common/a.py", "simulations/experiments/page.py", "simulations/experiments/measures.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("first")
    monkeypatch.setattr(cells, "_PACKAGE", tmp_path)

    def version():
        cells.software_version.cache_clear()
        return cells.software_version()

    first = version()
    (tmp_path / "simulations/experiments/page.py").write_text("another look")
    assert version() == first
    (tmp_path / "simulations/experiments/measures.py").write_text("another measure")
    second = version()
    assert second != first
    (tmp_path / "common/a.py").write_text("other noise")
    assert version() not in (first, second)
    cells.software_version.cache_clear()
