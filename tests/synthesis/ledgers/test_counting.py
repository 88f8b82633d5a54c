"""A release is counted in the ledger of its table before it draws noise, once, also if its process dies."""

import contextlib
import json
import math
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic import BudgetWarning
from dpmosaic.command import app
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy import noise
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from dpmosaic.common.privacy.spending import Cost
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.simulations.parties.releasing import release_among
from dpmosaic.simulations.stopping import UNFINISHED
from dpmosaic.synthesis import one_table
from dpmosaic.synthesis.ledgers.ledger import Ledger, charge
from dpmosaic.synthesis.ledgers.places import SUFFIX, beside, ledgers_of
from dpmosaic.synthesis.ledgers.spent import Spent
from dpmosaic.synthesis.related.describing import Describing

RNG = np.random.default_rng(8)
TABLE = pd.DataFrame({"age": RNG.integers(18, 90, 3000), "town": RNG.choice(["north", "south"], 3000)})
DOMAIN = {
    "age": {"type": "numeric", "min": 0, "max": 100, "bins": 10, "integer": True},
    "town": ["north", "south"],
}
UNIT = PrivacyUnit(Adjacency.ADD_REMOVE)


class Killed(BaseException):
    """The end of a process."""


def synthesize(table, **options):
    """A release and what was warned of budgets."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        release = dpmosaic.synthesize(
            table, **{"progress": False, "mechanism": "independent", "domain": DOMAIN, **options}
        )
    return release, [str(one.message) for one in warned if issubclass(one.category, BudgetWarning)]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    return path


@pytest.fixture
def content(table):
    """Reads the ledger of the table."""
    return lambda: Ledger(beside(table)).read()


@pytest.mark.slow
def test_a_second_release_names_what_both_promise_together(table):
    _, first = synthesize(table)
    _, second = synthesize(table)
    found = dpmosaic.budget(table)
    assert first == []
    (together,) = found.together
    assert len(second) == 1
    assert f"2 releases together promise epsilon {together.epsilon:.4g} at delta 1e-09" in second[0]
    assert 1 < together.epsilon < 2
    assert together.releases == len(found.releases) == 2


@pytest.mark.slow
def test_a_data_frame_has_a_ledger_that_its_rows_find_whatever_the_order_of_rows_and_columns(state):
    synthesize(TABLE)
    _, second = synthesize(TABLE.sample(frac=1, random_state=1)[["town", "age"]])
    assert "2 releases together" in second[0]
    assert dpmosaic.budget(TABLE).path.is_relative_to(state)
    assert dpmosaic.budget(TABLE.head(2999)).releases == ()


def test_the_budget_of_a_data_frame_is_shown_whatever_its_columns_are_called(state):
    frame = pd.DataFrame([[1, 2]], columns=pd.Index([0, "a"], dtype=object))
    assert dpmosaic.budget(frame).releases == ()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"ledger": False}, {"seed": 1}])
def test_opted_out_and_seeded_releases_are_not_counted(table, options):
    synthesize(table, **options)
    assert not beside(table).exists()


@pytest.mark.slow
def test_a_named_ledger_counts_tables_that_change(tmp_path):
    path = tmp_path / "mine.json"
    synthesize(TABLE, ledger=path)
    _, second = synthesize(TABLE.head(2900), ledger=path)
    assert "2 releases together" in second[0]
    assert "its rows have changed" in second[0]
    assert dpmosaic.budget(TABLE, ledger=path).changed


def test_a_file_of_other_rows_under_the_same_name_is_the_same_table(table):
    synthesize(table)
    assert not dpmosaic.budget(table).changed
    TABLE.head(2900).to_csv(table, index=False)
    found = dpmosaic.budget(table)
    assert found.changed
    assert "rows of the table have changed" in str(found)
    assert len(found.releases) == 1


@pytest.mark.slow
def test_beyond_the_limit_nothing_is_spent(table, content, tmp_path, monkeypatch):
    dpmosaic.budget(table, limit=1.2)
    synthesize(table)
    before = content()
    monkeypatch.setattr(noise, "discrete_gaussian", None)
    with pytest.raises(BudgetError, match=r"which is left of the limit 1\.2 .* Nothing was spent"):
        synthesize(table, out=tmp_path / "out")
    assert content() == before
    monkeypatch.undo()
    dpmosaic.budget(table, limit=float("inf"))
    synthesize(table)
    assert len(content().spent) == 2


def test_the_charge_is_on_disk_before_the_first_noise(table, content, monkeypatch):
    def killed(*arguments, **options):
        assert len(content().spent) == 1
        raise Killed

    monkeypatch.setattr(noise, "discrete_gaussian", killed)
    with pytest.raises(Killed):
        synthesize(table)


def test_a_release_that_failed_before_any_noise_is_not_counted(table, content, monkeypatch):
    monkeypatch.setattr("dpmosaic.synthesis.one_table.begun_with", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synthesize(table)
    assert content().spent == ()


def test_a_refusal_for_too_few_rows_costs_what_it_spent(tmp_path):
    table = tmp_path / "few.csv"
    TABLE.head(20).to_csv(table, index=False)
    with pytest.raises(DataError, match="of the budget went into the number of rows"):
        synthesize(table, domain=None)
    (one,) = Ledger(beside(table)).read().spent
    whole = Budget(1.0, 1e-9).without_delta(1e-10).granted(gaussian_only=True)
    assert one.ended
    # A tenth over two columns.
    assert float(one.cost.zcdp_rho / whole) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.slow
def test_a_release_that_failed_costs_what_it_spent_whatever_another_thread_releases(tmp_path, monkeypatch):
    visits = pd.DataFrame({"id": np.arange(600) % 200, "town": TABLE["town"][:600]})

    def fail(*arguments):
        raise Killed

    def release_people():
        # It fails after it has gone to its first table, which has a part of the budget.
        with monkeypatch.context() as patched, contextlib.suppress(Killed):
            patched.setattr(Describing, "describe", fail)
            synthesize(visits, key="id", domain={"town": DOMAIN["town"]}, ledger=False)

    def beside_another(*arguments, **options):
        thread = threading.Thread(target=release_people)
        thread.start()
        thread.join()
        release_among(*arguments, **options)
        raise Killed

    for name in ("whole", "failed"):
        with contextlib.suppress(Killed):
            synthesize(TABLE, ledger=tmp_path / name)
        monkeypatch.setattr(one_table, "release_among", beside_another)
    whole, failed = (Ledger(tmp_path / name).read().spent[0] for name in ("whole", "failed"))
    assert (whole.ended, failed.ended) == (False, True)
    assert failed.cost.zcdp_rho == pytest.approx(float(whole.cost.zcdp_rho), rel=1e-3)


@pytest.mark.slow
def test_a_release_that_is_killed_and_resumed_is_charged_once(table, content, tmp_path, monkeypatch):
    kills, keep, left = 0, Journal.keep, [0]

    def kept(self, *arguments):
        if not left[0]:
            raise Killed
        left[0] -= 1
        keep(self, *arguments)

    for _ in range(10):
        left[0] = 1
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "keep", kept)
            try:
                synthesize(table, out=tmp_path / "out")
                break
            except Killed:
                kills += 1
                assert len(content().spent) == 1
    assert kills >= 2
    (one,) = content().spent
    assert not one.ended
    assert one.cost.zcdp_rho == Budget(1.0, 1e-9).granted(gaussian_only=True)


def run_to_its_end_or(answers, folder, table, monkeypatch, kept):
    """Whether a release goes on in a folder to its end; killed after so many answers, which are noted."""
    left, keep = answers, Journal.keep

    def counted(self, query_id, *arguments):
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        kept[query_id] = kept.get(query_id, 0) + 1
        keep(self, query_id, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "keep", counted)
        try:
            synthesize(table, out=folder)
        except (Killed, BudgetError):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_killed_copied_and_restored_no_answer_is_drawn_more_often_than_charged(
    seed, table, content, tmp_path, monkeypatch
):
    """Also if a copy of the folder goes on beside it, before or after its end."""
    rng, drawn, folders = random.Random(seed), {}, [tmp_path / "0"]
    for step in range(6):
        folder = rng.choice(folders)
        unfinished = folder / UNFINISHED
        if unfinished.exists() and rng.random() < 0.5:
            folders.append(tmp_path / str(step + 1))
            shutil.copytree(folder, folders[-1])
        elif unfinished.exists() or not folder.exists():
            run_to_its_end_or(rng.choice([1, 2, 99]), folder, table, monkeypatch, drawn)
        assert max(drawn.values(), default=0) <= len(content().spent)


@pytest.mark.slow
@pytest.mark.parametrize("ended", [False, True], ids=["beside it", "after its end"])
def test_a_copy_of_an_unfinished_folder_that_goes_on_is_a_release_of_its_own(
    ended, table, content, tmp_path, monkeypatch
):
    dpmosaic.budget(table, limit=1.0)
    first, copy = tmp_path / "first", tmp_path / "copy"
    assert not run_to_its_end_or(2, first, table, monkeypatch, {})
    shutil.copytree(first, copy)
    if ended:
        synthesize(table, out=first)
    else:
        run_to_its_end_or(0, first, table, monkeypatch, {})
    monkeypatch.setattr(noise, "discrete_gaussian", None)
    with pytest.raises(BudgetError, match=r"left of the limit 1"):
        synthesize(table, out=copy)
    monkeypatch.undo()
    dpmosaic.budget(table, limit=math.inf)
    synthesize(table, out=copy)
    assert len(content().spent) == 2


@pytest.mark.slow
def test_a_release_of_an_earlier_version_goes_on_uncharged(table, content, tmp_path, monkeypatch):
    assert not run_to_its_end_or(2, tmp_path / "out", table, monkeypatch, {})
    written = json.loads(beside(table).read_text())
    del written["releases"][0]["turn"]
    beside(table).write_text(json.dumps(written))
    synthesize(table, out=tmp_path / "out")
    assert len(content().spent) == 1


_KILLED = """
import os, signal, sys
import dpmosaic
from dpmosaic.synthesis.ledgers import ledger
name = sys.argv[2]
before = getattr(ledger, name)
def last(*arguments):
    if sys.argv[3] == "after":
        before(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(ledger, name, last)
dpmosaic.budget(sys.argv[1], limit=3.0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "limit"), [("before", None), ("after", 3.0)])
def test_a_ledger_whose_writer_is_killed_is_whole(table, content, moment, limit):
    synthesize(table)
    ended = subprocess.run([sys.executable, "-c", _KILLED, table, "write_private", moment], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(content().spent) == 1
    assert (content().limit and content().limit.epsilon) == limit


_CHARGING = """
import sys
from pathlib import Path
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.privacy.spending import Cost
from dpmosaic.simulations.parties.releasing import release_among
from dpmosaic.simulations.stopping import UNFINISHED
from dpmosaic.synthesis.ledgers.ledger import Ledger, charge
from dpmosaic.synthesis.ledgers.spent import Spent
budget = Budget(0.1, 1e-9)
cost = Cost(PrivacyUnit(Adjacency.ADD_REMOVE), budget.granted(gaussian_only=True))
print("ready", flush=True)
sys.stdin.readline()
for place in range(20):
    try:
        charge([Ledger(Path(sys.argv[1]))], Spent(f"{sys.argv[2]} {place}", "", "", budget, cost))
    except BudgetError:
        pass
"""


def charge_from_two_processes(path):
    """Forty releases of epsilon 0.1 from two processes at once; how many were charged."""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _CHARGING, path, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in both:
        process.communicate()
        assert process.returncode == 0
    return len(Ledger(path).read().spent)


@pytest.mark.slow
def test_two_processes_lose_no_charge_and_keep_to_the_limit_together(tmp_path):
    assert charge_from_two_processes(tmp_path / "free.json") == 40
    limited = tmp_path / "limited.json"
    dpmosaic.budget(TABLE, ledger=limited, limit=0.5)
    # The rho of 0.5 has room for so many of 0.1.
    one, all_ = (Budget(epsilon, 1e-9).granted(gaussian_only=True) for epsilon in (0.1, 0.5))
    assert charge_from_two_processes(limited) == int(all_ / one)


@pytest.mark.slow
def test_a_person_and_a_row_are_in_no_sum(table, content):
    people = TABLE.assign(id=RNG.permutation(3000) // 2)
    people.to_csv(table, index=False)
    synthesize(table, domain=None)
    _, second = synthesize(table, key="id", domain=None)
    assert "1 of another unit is in no sum" in second[0]
    units = [one.unit for one in dpmosaic.budget(table).together]
    assert units == [UNIT, PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)]
    rows = content().spent[1].cost
    assert rows.zcdp_rho == Budget(1.0, 1e-9).without_delta(1e-10).granted(gaussian_only=True)


@pytest.mark.slow
def test_related_tables_are_counted_in_the_ledger_of_each_or_of_none(tmp_path):
    paths = {name: tmp_path / f"{name}.csv" for name in ("patients", "stays")}
    pd.DataFrame({"id": range(2000), "sex": ["f", "m"] * 1000}).to_csv(paths["patients"], index=False)
    pd.DataFrame({"id": [n % 2000 for n in range(4000)], "ward": ["a", "b"] * 2000}).to_csv(
        paths["stays"], index=False
    )
    options = {"relations": {"stays": {"id": "patients"}}, "domain": None, "mechanism": "mosaic"}
    dpmosaic.budget(paths["stays"], limit=0.5)
    with pytest.raises(BudgetError, match="left of the limit"):
        synthesize(paths, **options)
    assert dpmosaic.budget(paths["patients"]).releases == ()
    dpmosaic.budget(paths["stays"], limit=1)
    synthesize(paths, **options)
    assert [len(dpmosaic.budget(path).releases) for path in paths.values()] == [1, 1]


def test_a_ledger_is_private_and_holds_no_value(table):
    synthesize(table)
    text = beside(table).read_text()
    assert stat.S_IMODE(beside(table).stat().st_mode) == 0o600
    found = json.loads(text)
    assert not any(value in text for value in ("north", "south", "age", "3000"))
    beside(table).unlink()
    synthesize(table)
    again = json.loads(beside(table).read_text())
    # The same rows have another digest where the salt is another.
    assert found["releases"][0]["rows"] != again["releases"][0]["rows"]


def refuse_to_open(monkeypatch, path):
    """As in a folder or for a file that is read only, which it never is for root."""
    before = os.open

    def refused(name, *arguments, **options):
        if os.fspath(name).startswith(str(path)):
            raise PermissionError(13, "Permission denied", str(name))
        return before(name, *arguments, **options)

    monkeypatch.setattr(os, "open", refused)


def test_where_no_ledger_can_be_made_the_release_says_that_it_is_not_counted(table, monkeypatch):
    refuse_to_open(monkeypatch, beside(table))
    _, warned = synthesize(table)
    assert f"this release is not counted where no ledger can be written: {beside(table)}" in warned[0]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".new"])
def test_a_ledger_that_is_there_and_cannot_be_changed_stops_the_release(table, content, monkeypatch, suffix):
    synthesize(table)
    before = content()
    refuse_to_open(monkeypatch, f"{beside(table)}{suffix}")
    monkeypatch.setattr(noise, "discrete_gaussian", None)
    with pytest.raises(DataError, match=r"expected a ledger that can be changed|cannot write"):
        synthesize(table)
    monkeypatch.undo()
    assert content() == before


def test_without_a_folder_of_state_a_data_frame_is_not_counted(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    _, warned = synthesize(TABLE)
    assert "this release is not counted" in warned[0]


def test_a_named_ledger_that_cannot_be_made_is_refused(table, tmp_path):
    with pytest.raises(
        DataError, match=r"ledger: expected a file that can be written, got .* Nothing was spent"
    ):
        synthesize(table, ledger=tmp_path / "missing" / "ledger.json")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for other in ("folder", "pipe"):
        with pytest.raises(DataError, match="expected a ledger that can be changed"):
            synthesize(table, ledger=tmp_path / other)
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_to_a_ledger_is_that_ledger_before_and_after_a_charge(table, tmp_path):
    held, link = tmp_path / "held.json", tmp_path / "link.json"
    link.symlink_to(held)
    beside(table).symlink_to(link)
    dpmosaic.budget(table, limit=1)
    synthesize(table, epsilon=0.8)
    assert len(dpmosaic.budget(table, ledger=held).releases) == 1
    for ledger in (True, link, held):
        with pytest.raises(BudgetError, match="left of the limit"):
            synthesize(table, epsilon=0.8, ledger=ledger)
    assert beside(table).is_symlink()


def test_tables_of_one_file_or_one_ledger_are_charged_in_it_once(table, tmp_path):
    same, other = tmp_path / "same.csv", tmp_path / "other.csv"
    same.symlink_to(table)
    shutil.copy(table, other)
    beside(other).symlink_to(beside(table))
    (ledger,) = ledgers_of({"one": table, "same": same, "other": other}, True)
    assert ledger.tables == (table, same, other)
    charge([ledger], Spent("a", "", "", Budget(1.0, 1e-9), Cost(UNIT, Fraction(1))))
    assert len(Ledger(beside(other)).read().spent) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda found: "{", "restore the ledger"),
        (lambda found: "[]", "the whole: expected a table of keys and values"),
        (lambda found: json.dumps(found | {"format": "2"}), "format: expected"),
        (lambda found: json.dumps(found | {"limit": {"epsilon": 1}}), "limit"),
        (
            lambda found: json.dumps(found | {"releases": [found["releases"][0] | {"epsilon": -1}]}),
            "releases 1 epsilon: expected",
        ),
        (
            lambda found: json.dumps(found | {"releases": [found["releases"][0] | {"zcdp_rho": "-1/2"}]}),
            "releases 1 zcdp_rho: expected a fraction",
        ),
    ],
)
def test_what_is_no_ledger_is_refused_before_anything_is_spent(table, monkeypatch, damage, said):
    synthesize(table)
    damaged = damage(json.loads(beside(table).read_text()))
    beside(table).write_text(damaged)
    monkeypatch.setattr(noise, "discrete_gaussian", None)
    with pytest.raises(DataError, match=said):
        synthesize(table)
    assert beside(table).read_text() == damaged


def test_budgets_that_cannot_be_are_refused(table):
    with pytest.raises(BudgetError, match="epsilon: expected a positive finite number"):
        dpmosaic.budget(table, limit=0)
    with pytest.raises(DataError, match="found no file"):
        dpmosaic.budget(table.with_name("other.csv"))
    with pytest.raises(DataError, match="expected one table, got several"):
        dpmosaic.budget({"a": TABLE})
    with pytest.raises(DataError, match="ledger: expected the path of one"):
        dpmosaic.budget(table, ledger=False)
    assert not beside(table).exists()


def run(*arguments, status=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.mark.slow
def test_the_command_counts_says_and_refuses(table, tmp_path):
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps(DOMAIN))
    said = run("budget", table, "--limit", "1.5").output
    assert "No release of this table is counted." in said
    options = ("--domain", domain, "--mechanism", "independent")
    run("synthesize", table, "--out", tmp_path / "one", *options)
    second = run("synthesize", table, "--out", tmp_path / "two", "--epsilon", "0.5", *options)
    assert "2 releases together promise epsilon 1.1" in " ".join(second.output.split())
    refused = CliRunner().invoke(
        app, [str(one) for one in ("synthesize", table, "--out", tmp_path / "three", *options)]
    )
    assert isinstance(refused.exception, BudgetError)
    run("synthesize", table, "--out", tmp_path / "four", "--no-ledger", *options)
    run("synthesize", table, "--out", tmp_path / "five", "--ledger", tmp_path / "other.json", *options)
    found = json.loads(run("budget", table, "--json").output)
    assert [one["epsilon"] for one in found["releases"]] == [1.0, 0.5]
    assert found["ledger"].endswith(f"table.csv{SUFFIX}")
    assert found["together"][0]["epsilon"] == pytest.approx(1.13, abs=0.01)
    assert 0.9 < found["epsilon_left"] < 1


def test_one_ledger_is_named_or_none(table, tmp_path):
    result = CliRunner().invoke(
        app, ["synthesize", str(table), "--out", str(tmp_path / "out"), "--ledger", "x", "--no-ledger"]
    )
    assert isinstance(result.exception, DataError)
    assert "expected one of them" in str(result.exception)
