import functools
import json
import re
from inspect import signature
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.stopping import UNFINISHED
from dpmosaic.synthesis.omop import command
from dpmosaic.synthesis.omop import synthesize as releasing
from dpmosaic.synthesis.omop.checks import check
from dpmosaic.synthesis.omop.read import CATEGORIES, read
from dpmosaic.synthesis.omop.synthesize import RELEASE, synthesize_cdm
from dpmosaic.synthesis.related import making

EPSILON = 20.0
"""So few people are not enough for less."""

PAGE = Path(__file__).parents[3] / "docs" / "omop.md"

pytestmark = pytest.mark.slow


QUICK = functools.partial(releasing.synthesize, mechanism="independent")
"""Releases columns alone; the commands of the page release pairs as well."""


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(releasing, "synthesize", QUICK)


@pytest.fixture(scope="module")
def made(cdm, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(releasing, "synthesize", QUICK)
        return synthesize_cdm(cdm, tmp_path_factory.mktemp("made") / "out", EPSILON, seed=1, progress=False)


def test_a_released_cdm_keeps_every_rule_and_reads_back_in_the_same_categories(made, cdm):
    assert [one.rule.name for one in check(made.database, released=True) if not one.holds] == []
    assert read(made.database).choices.domain() == read(cdm).choices.domain()
    assert len(read(made.database).tables["person"]) > 0


def test_the_promise_is_for_a_person_with_all_records_and_a_seed_is_labelled(made):
    certificate = made.release.certificate
    assert "one person with all rows in all tables" in certificate.privacy_unit
    assert certificate.epsilon_spent <= EPSILON
    with duckdb.connect(str(made.database), read_only=True) as connection:
        ((said,),) = connection.execute("SELECT source_description FROM cdm_source").fetchall()
    assert said == "; ".join(certificate.labels) != ""
    assert (made.database.parent / "cdm.duckdb.NOT-FOR-RELEASE.txt").read_text().strip() == said


def test_refuses_a_folder_that_holds_a_release_before_anything_is_read(made, tmp_path):
    with pytest.raises(DataError, match="exists already"):
        synthesize_cdm(tmp_path / "missing.duckdb", made.database.parent)


def test_figures_come_back(made, cdm):
    """The seed fixes the noise; at this budget it is far below the tolerance in any case."""
    real, found = read(cdm).tables, read(made.database).tables
    assert len(found["person"]) == pytest.approx(len(real["person"]), abs=15)
    for name in ("visit_occurrence", "condition_occurrence", "drug_exposure", "measurement"):
        assert len(found[name]) == pytest.approx(len(real[name]), rel=0.35)
    for name, column in (("person", "gender"), ("visit_occurrence", "kind"), ("measurement", "measurement")):
        one, other = (table[name][column].value_counts(normalize=True) for table in (real, found))
        assert one.sub(other, fill_value=0).abs().sum() / 2 < 0.2


def test_a_release_that_stopped_goes_on_and_one_of_other_records_is_refused(
    quick, cdm, tmp_path, monkeypatch
):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(making, "drawn_rows", stopped)
        with pytest.raises(KeyboardInterrupt):
            synthesize_cdm(cdm, tmp_path, 1.0, progress=False)
    assert (tmp_path / RELEASE / UNFINISHED).exists()
    with pytest.raises(DataError, match="began with other values of: epsilon and delta"):
        synthesize_cdm(cdm, tmp_path, 2.0, progress=False)
    made = synthesize_cdm(cdm, tmp_path, 1.0, progress=False)
    assert made.release.certificate.epsilon_spent <= 1.0
    assert made.database.exists()


def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    """On fewer people than the page has."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^<!-- ci: omop -->\n+```sh\n(.*?)^```", text, flags=re.M | re.S)
    lines = [line for line in block.splitlines() if line]
    assert {line.split()[2] for line in lines} == {"generate", "check", "synthesize"}
    for line in lines:
        program, *words = re.sub(r"--people \d+", "--people 150", line).split()
        assert program == ".venv/bin/dpmosaic"
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output


def test_the_python_of_the_page_runs(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").replace("people=10_000", "people=150")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile("\n".join(blocks), PAGE.name, "exec"), {})


def test_the_command_has_the_same_usual_number_of_categories():
    stated = signature(command.synthesize).parameters["categories"].default
    assert stated == CATEGORIES == signature(synthesize_cdm).parameters["most"].default


def test_a_check_says_each_rule_and_fails_if_one_is_broken(cdm):
    done = CliRunner().invoke(app, ["omop", "check", str(cdm)])
    assert done.exit_code == 0
    assert "rules hold" in done.stdout
    broken = CliRunner().invoke(app, ["omop", "check", str(cdm), "--released", "--json"])
    assert broken.exit_code == 1
    assert json.loads(broken.stdout)["person: source values and texts are empty"] == 300
