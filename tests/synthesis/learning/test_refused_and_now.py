"""A table that is too small to be learned: each way on that the refusal names works as it is typed."""

import re
import shlex
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError

RNG = np.random.default_rng(6)
ROWS = 300
TABLES = {
    "few rows": {"age": RNG.integers(18, 90, ROWS), "bmi": RNG.normal(27, 4, ROWS).round(1)},
    "many words": {f"q{n}": RNG.choice(["yes", "no", "unsure"], ROWS) for n in range(25)},
    "many small numbers": {f"c{n}": RNG.integers(0, 5, ROWS) for n in range(70)},
}


def run(line, **options):
    _, *words = shlex.split(line)
    return CliRunner().invoke(app, words, **options)


@pytest.fixture(params=TABLES)
def table(request):
    return pd.DataFrame(TABLES[request.param])


@pytest.mark.slow
def test_its_commands_make_a_release_with_a_domain_and_one_without(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("rows.csv", index=False)
    said = str(run("dpmosaic synthesize rows.csv --epsilon 1 --mechanism independent --out out").exception)
    typed = [
        one.replace("NEW_FOLDER", "new").replace("DATA", "rows.csv") for one in re.findall("`([^`]*)`", said)
    ]
    assert [one.split()[1] for one in typed] == ["domain", "domain", "synthesize", "resume"]
    for line in typed:
        done = run(line, input="a\n" * 100)
        assert done.exception is None, line
    assert not dpmosaic.load("new").certificate.labels
    assert not dpmosaic.load("out").certificate.labels


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_its_calls_make_a_release_with_a_domain(table):
    with pytest.raises(DataError, match="draft = dpmosaic") as said:
        dpmosaic.synthesize(table, seed=1, progress=False)
    assert "draft.confirm()" in str(said.value)
    draft = dpmosaic.draft(table)
    draft.confirm()
    made = dpmosaic.synthesize(table, domain=draft, mechanism="independent", progress=False)
    assert set(made.table) == set(table)


@pytest.mark.slow
@pytest.mark.parametrize(("usual", "named"), [("other", False), ("village {}", True)])
def test_a_text_that_is_other_in_the_table_is_not_reported_as_lost(usual, named):
    rows = [*(usual.format(number // 2) for number in range(3000)), *["north"] * 1000]
    table = pd.DataFrame({"place": rows, "y": np.arange(4000) % 2})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        dpmosaic.synthesize(table, seed=1, mechanism="independent", progress=False)
    assert any("are \"other\" in 'place'" in str(one.message) for one in said) == named
