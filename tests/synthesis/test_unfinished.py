"""A release from one table that stopped goes on from its folder, and nothing is charged twice."""

import contextlib
import json
import shutil
import signal
import stat
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy import noise
from dpmosaic.curator.analysis.release import Release
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.simulations.stopping import UNFINISHED
from dpmosaic.synthesis.unfinished import unfinished_release

ROWS = 3000
DEVIATION = 36
"""Of the noise of the number of rows: a thirtieth of epsilon 1."""
FILES = ("synthetic.csv", "model.npz", "evidence.npz", "bins/domain.json")
RNG = np.random.default_rng(8)
AGE = RNG.integers(18, 90, ROWS)
TABLE = pd.DataFrame(
    {"age": AGE, "town": np.where(AGE > 50, "north", "south"), "paid": np.round(RNG.gamma(2, 300, ROWS), 2)}
)


class Killed(BaseException):
    """The end of a process."""


def synthesize(out, table=TABLE, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return dpmosaic.synthesize(table, **{"progress": False, "seed": 1, "out": out, **options})


def killed(out, answers, monkeypatch, **options):
    """Whether a release is killed when it would keep one answer more than these."""
    left, keep = [answers], Journal.keep

    def kept(self, *arguments):
        if not left[0]:
            raise Killed
        left[0] -= 1
        keep(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "keep", kept)
        try:
            synthesize(out, **options)
        except Killed:
            return True
    return False


@pytest.fixture
def drawn(monkeypatch):
    """The number of times that noise was drawn of each number of cells."""
    sizes, before = [], noise.discrete_gaussian

    def counted(*arguments, **more):
        found = before(*arguments, **more)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(noise, "discrete_gaussian", counted)
    return sizes


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.slow
def test_a_release_that_is_killed_again_and_again_is_that_of_one_that_was_not(tmp_path, monkeypatch):
    whole = synthesize(tmp_path / "whole")
    kills = 0
    while killed(tmp_path / "killed", 7, monkeypatch):
        kills += 1
    assert kills >= 3
    assert contents(tmp_path / "whole") == contents(tmp_path / "killed")
    again = dpmosaic.load(tmp_path / "killed").certificate
    assert again.charges == whole.certificate.charges
    assert again.promise == whole.certificate.promise
    assert not (tmp_path / "killed" / UNFINISHED).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [("independent", 0), ("independent", 6), ("mst", 11), ("privbayes", 12), ("aim", 14)],
)
def test_every_mechanism_goes_on_where_it_stopped(tmp_path, monkeypatch, drawn, mechanism, answers):
    options = {"mechanism": mechanism, "epsilon": 0.8, "rows": 200}
    synthesize(tmp_path / "whole", **options)
    once = len(drawn)
    assert killed(tmp_path / "killed", answers, monkeypatch, **options)
    before = len(drawn) - once
    synthesize(tmp_path / "killed", **options)
    assert contents(tmp_path / "whole") == contents(tmp_path / "killed")
    # What was drawn for the answer that was not kept is drawn again.
    assert len(drawn) - once - before < once or not answers


@pytest.mark.slow
def test_without_a_seed_what_was_answered_is_part_of_the_release(tmp_path, monkeypatch):
    """Two answers with their own noise would be two answers for the price of one."""
    options = {"seed": None, "mechanism": "independent"}
    assert killed(tmp_path / "out", 1, monkeypatch, **options)
    recalled, keep = [], Journal.recall
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "recall", lambda *asked: recalled.append(keep(*asked)) or recalled[-1])
        release = synthesize(tmp_path / "out", **options)
    assert [answer is None for answer in recalled[:2]] == [False, True]
    counted = recalled[0][-1]
    assert counted != ROWS
    # More counts of all rows are averaged with it: five deviations of its noise.
    assert release.certificate.plan.record_counts[0] == pytest.approx(counted, abs=5 * DEVIATION)
    assert release.certificate.promise.spent_within_grant


@pytest.mark.slow
def test_answers_that_were_kept_hold_no_noise_that_comes_again(tmp_path, monkeypatch):
    """The journal has no key of noise: a release that goes on draws it anew."""
    options = {"seed": None, "mechanism": "independent"}
    assert killed(tmp_path / "one", 1, monkeypatch, **options)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    synthesize(tmp_path / "one", **options)
    synthesize(tmp_path / "two", **options)
    assert contents(tmp_path / "one")["evidence.npz"] != contents(tmp_path / "two")["evidence.npz"]


@pytest.mark.slow
def test_other_rows_are_refused_also_where_one_cell_differs(tmp_path, monkeypatch):
    assert killed(tmp_path / "out", 4, monkeypatch)
    other = TABLE.copy()
    other.loc[ROWS - 1, "paid"] += 0.01
    with pytest.raises(DataError, match=r"other values of: the rows\. Restore them .* Nothing was charged"):
        synthesize(tmp_path / "out", other)
    assert synthesize(tmp_path / "out").certificate.promise.spent_within_grant


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("epsilon and delta", {"epsilon": 2}),
        ("adjacency", {"adjacency": "zero-out"}),
        ("mechanism", {"mechanism": "mst"}),
        ("workload", {"workload": "1way"}),
        ("rows", {"rows": 10}),
        ("seed", {"seed": 2}),
        ("domain", {"domain": {"age": {"type": "numeric", "min": 18, "max": 90, "bins": 6}}}),
    ],
)
def test_other_settings_are_refused_and_named(tmp_path, monkeypatch, named, options):
    assert killed(tmp_path / "out", 2, monkeypatch)
    with pytest.raises(DataError, match=f"it began with other values of: .*{named}"):
        synthesize(tmp_path / "out", **options)


@pytest.mark.slow
def test_a_table_of_too_few_rows_goes_on_with_the_number_of_rows_that_was_paid_for(tmp_path, drawn):
    few = TABLE[:200]
    with pytest.raises(DataError, match="too few"):
        synthesize(tmp_path / "out", few, mechanism="independent")
    assert drawn == [1]
    release = synthesize(tmp_path / "out", few, mechanism="independent", anyway=True)
    once = len(drawn)
    synthesize(tmp_path / "anew", few, mechanism="independent", anyway=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "anew")
    assert len(drawn) == 2 * once
    first = release.published.drawn.bins
    assert [charge.step for charge in first.charges].count("number of rows") == 1


def test_what_fails_before_the_first_answer_leaves_nothing(tmp_path):
    with pytest.raises(DataError, match="time limit"):
        synthesize(tmp_path / "out", mechanism="mst", time_limit=5)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
def test_a_folder_is_private_and_labelled_until_the_release_is_written(tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert killed(out, 9, monkeypatch)
    assert [one.name for one in out.iterdir()] == [UNFINISHED]
    assert stat.S_IMODE((out / UNFINISHED).stat().st_mode) == 0o700
    assert "not for release" in (out / UNFINISHED / "NOT-FOR-RELEASE.txt").read_text()
    kept = out / UNFINISHED / "journal.sqlite"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.slow
def test_the_same_rows_have_other_digests_in_other_folders(tmp_path, monkeypatch):
    """A digest without a secret key would show whether a guess of the table is right."""
    digests = []
    for name in ("one", "two"):
        assert killed(tmp_path / name, 1, monkeypatch)
        digests.append(Journal(tmp_path / name / UNFINISHED / "journal.sqlite").note("rows"))
    assert digests[0] != digests[1]


@pytest.mark.slow
def test_a_folder_with_a_finished_release_is_refused_before_anything_is_asked(tmp_path, drawn):
    synthesize(tmp_path / "out", mechanism="independent")
    before = len(drawn)
    with pytest.raises(DataError, match="already holds"):
        synthesize(tmp_path / "out", mechanism="independent")
    assert len(drawn) == before


@pytest.mark.slow
def test_a_release_that_does_not_fit_into_its_folder_is_written_when_there_is_room(tmp_path, monkeypatch):
    def full(*arguments):
        raise DataError("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Release, "write", full)
        with pytest.raises(DataError, match="No space left"):
            synthesize(tmp_path / "out", mechanism="independent")
    release = synthesize(tmp_path / "out", mechanism="independent")
    assert len(dpmosaic.load(tmp_path / "out").table) == len(release.table)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


OPTIONS = ("--mechanism", "independent", "--format", "parquet", "--copies", "2", "--seed", "3")


@pytest.mark.slow
def test_the_command_resume_goes_on_with_all_options_of_the_command_that_stopped(folder, monkeypatch):
    def stopped(*arguments, **more):
        raise DataError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Release, "write", stopped)
        done = run("synthesize", "rows.csv", "--out", "out", *OPTIONS)
    assert "no room. 100 % of the budget (epsilon 1) was spent; `dpmosaic resume out` goes" in str(
        done.exception
    )
    monkeypatch.chdir("/")
    shutil.move(folder / "out", folder / "moved")
    done = run("resume", folder / "moved", "--json")
    assert done.exception is None
    assert json.loads(done.stdout)["out"] == str(folder / "moved")
    assert {one.name for one in (folder / "moved" / "copies").iterdir()} >= {"1.parquet", "2.parquet"}
    assert dpmosaic.load(folder / "moved").certificate.promise.epsilon == 1


@pytest.mark.slow
def test_resume_refuses_a_changed_file_and_goes_on_when_it_is_restored(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Release, "write", lambda *arguments: (_ for _ in ()).throw(DataError("no room")))
        run("synthesize", "rows.csv", "--out", "out", "--mechanism", "independent")
    content = (folder / "rows.csv").read_bytes()
    (folder / "rows.csv").write_bytes(content + b"30,north,1.00\n")
    assert "other values of: the rows" in str(run("resume", "out").exception)
    (folder / "rows.csv").write_bytes(content)
    assert run("resume", "out").exception is None


def test_resume_refuses_a_folder_without_a_release_that_stopped(folder, monkeypatch):
    assert "found none; fix the path, or use dpmosaic curator resume" in str(run("resume", "out").exception)
    assert killed(folder / "out", 2, monkeypatch)
    assert "begun by a call in Python" in str(run("resume", "out").exception)


@pytest.mark.slow
@pytest.mark.parametrize("answers", [3, 12])
def test_a_process_that_is_killed_leaves_a_folder_that_resume_finishes(folder, answers):
    script = folder / "killed.py"
    script.write_text(KILLED.format(answers=answers))
    command = ["synthesize", "rows.csv", "--seed", "1", "--mechanism", "mst", "--out"]
    done = subprocess.run([sys.executable, script, *command, "out"], capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert run("resume", "out").exception is None
    assert run(*command, "whole").exception is None
    assert contents(folder / "out") == contents(folder / "whole")


KILLED = """
import os, signal
from dpmosaic.curator.parties.journal import Journal
keep, left = Journal.keep, [{answers}]
def killed(*arguments):
    keep(*arguments)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.keep = killed
from dpmosaic.command import main
if __name__ == "__main__":
    main()
"""
"""A command that is killed after so many answers."""


def test_a_setting_that_is_left_out_is_refused_and_named(tmp_path, monkeypatch):
    prior = {"prior": TABLE[:500], "prior_is_public": True}
    assert killed(tmp_path / "out", 1, monkeypatch, **prior)
    with pytest.raises(DataError, match="it began with other values of: prior"):
        synthesize(tmp_path / "out")


def test_of_those_that_begin_at_once_in_one_folder_one_goes_on(tmp_path):
    """And the others are refused: they had deleted each other's beginning, so that none went on."""
    together, went_on = threading.Barrier(4, timeout=30.0), []

    def begin(folder):
        together.wait()
        with contextlib.suppress(DataError), unfinished_release(folder) as kept:
            went_on.append(folder)
            kept.keep("one", b"asked", np.zeros(1))
            together.wait()
            return
        together.wait()

    folders = [tmp_path / str(number) for number in range(25)]
    for folder in folders:
        folder.mkdir()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(begin, [folder] * 4))
        assert list(folder.iterdir()) == []
    assert went_on == folders


VISITS = pd.DataFrame(
    {
        "who": np.repeat(np.arange(200), 3),
        "since": np.tile(["a", "b", "c"], 200),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(600), "D"),
        "test": np.tile(["x", "y"], 300),
    }
)
PEOPLE = pd.DataFrame({"who": np.arange(200), "since": pd.Timestamp("2020-01-01"), "sex": ["f", "m"] * 100})
OF_PEOPLE = {
    "relations": {"visits": {"who": "people"}},
    "order": {"visits": "day"},
    "mechanism": "independent",
    "anyway": True,
}
STATED = {
    "series": {"visits": "since"},
    "near": {"visits": "since"},
    "within": {"visits": ("since", None)},
    "implied": {"visits": ["test"]},
    "drop_incomplete": ["visits"],
    "pairs": {"visits": [["test", "since"]]},
    "summaries": {"visits": {"ever": {"test": ["x"]}}},
}
"""What may be said of rows, by the name that an error has for it."""
CALLED = {"implied": "same", "pairs": "workload"}


@pytest.mark.slow
@pytest.mark.parametrize("first", STATED)
def test_what_is_said_of_rows_of_people_stays_the_same(tmp_path, monkeypatch, first):
    """A mapping that means one thing is not taken for an equal one that means another, or for none."""
    tables = {"people": PEOPLE, "visits": VISITS}
    begun = OF_PEOPLE | {CALLED.get(first, first): STATED[first]}
    assert killed(tmp_path / "out", 1, monkeypatch, table=tables, **begun)
    for other in {*STATED} - {first}:
        said = OF_PEOPLE | {CALLED.get(other, other): STATED[other]}
        with pytest.raises(DataError, match=f"it began with other values of: .*{first}"):
            synthesize(tmp_path / "out", tables, **said)
    with pytest.raises(DataError, match=f"it began with other values of: {first}\\."):
        synthesize(tmp_path / "out", tables, **OF_PEOPLE)


@pytest.mark.slow
def test_tables_keep_their_names(tmp_path, monkeypatch):
    ones = {name: pd.DataFrame({"who": np.arange(200), "sex": ["f", "m"] * 100}) for name in ("a", "b")}
    ones["b"] = ones["b"].assign(sex="f")
    options = {"relations": {"b": {"who": "a"}}, "mechanism": "independent", "anyway": True}
    assert killed(tmp_path / "out", 1, monkeypatch, table=ones, **options)
    with pytest.raises(DataError, match="it began with other values of: names of tables"):
        synthesize(tmp_path / "out", dict(zip(("b", "a"), ones.values(), strict=True)), **options)
