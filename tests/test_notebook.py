"""The notebook runs cell by cell as it stands, and is stored without results."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_every_cell_of_a_notebook_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, cell in enumerate(cells_of(notebook), start=1):
        exec(compile("".join(cell["source"]), f"{notebook.name}, code cell {number}", "exec"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_stored_without_results(notebook):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells_of(notebook))


def test_there_is_a_notebook():
    assert [path.name for path in NOTEBOOKS] == ["first-release.ipynb"]
