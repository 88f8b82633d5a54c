"""The page on other tools: its Python runs, in the order of the page."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import dpmosaic

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")]

PAGE = (Path(__file__).parent.parent / "docs" / "other-tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
OPTIONAL = ("sdmetrics", "kedro")


def needs(block):
    """The package that a block imports and that may be missing."""
    return next((name for name in OPTIONAL if f"from {name}" in block), None)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The names that the blocks without other packages define."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        for block in BLOCKS:
            if needs(block) is None:
                exec(compile(block, "other-tools.md", "exec"), names)
    return names


def test_a_pipeline_of_scikit_learn_learns_from_synthetic_rows(known):
    share = known["real"]["idp"].mean()
    assert list(known["pipeline"].classes_) == [0, 1]
    # Whoever says 1 or 0 with the shares of the real rows is right so often.
    assert known["accuracy"] > share**2 + (1 - share) ** 2


def test_metadata_and_the_signature_of_smartnoise_are_as_the_page_says(known):
    assert list(known["release"].table.columns) == ["idp", "mdvis"]
    assert list(known["rows"].columns) == ["idp", "mdvis"]
    assert len(known["rows"]) == 100


def test_a_node_is_a_function_of_tables_and_never_spends_twice(known, tmp_path):
    asked = {"epsilon": 1.0, "domain": known["domain"], "out": tmp_path / "out", "mechanism": "independent"}
    made = known["release_table"](known["real"], asked)
    assert list(made.columns) == list(known["real"].columns)
    with pytest.raises(dpmosaic.DataError, match="out"):
        known["release_table"](known["real"], asked)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPTIONAL)
def test_the_blocks_of_other_packages_run_where_these_are_installed(name, known, tmp_path, monkeypatch):
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        if needs(block) == name:
            exec(compile(block, "other-tools.md", "exec"), known)
    if name == "sdmetrics":
        assert 0.8 < known["quality"] <= 1
    else:
        assert (tmp_path / "released" / "certificate.json").is_file()
