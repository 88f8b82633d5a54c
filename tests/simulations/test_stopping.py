"""Signals to commands that spend budget, as real processes."""

import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.common.privacy.budget import Charge
from dpmosaic.curator.measurers.measurer import Measurer
from dpmosaic.simulations.stopping import UNFINISHED, Spending, running, stoppable

NOTHING = "stopped: nothing was spent, and nothing was written\n"

INTERRUPTED_AT = """
import os, signal, sys, time
from dpmosaic.{module} import {owner}
before = {owner}.{method}
def interrupted(self, *arguments, **more):
    if not {late}:
        os.kill(os.getpid(), signal.{number})
        time.sleep(60)
    found = before(self, *arguments, **more)
    os.kill(os.getpid(), signal.{number})
    time.sleep(60)
{owner}.{method} = interrupted
from dpmosaic.command import main
if __name__ == "__main__":
    main()
"""
"""A command whose process is sent a signal before or after a step."""

CHARGE = {"module": "curator.measurers.measurer", "owner": "Measurer", "method": "charge"}
COUNT = {"module": "synthesis.learning.private_counts", "owner": "PrivateCounts", "method": "_charge"}
KEEP = {"module": "curator.parties.journal", "owner": "Journal", "method": "recall"}
WRITE = {"module": "curator.pgm.model", "owner": "MarkovRandomField", "method": "save"}
MATCH = {"module": "curator.parties.client", "owner": "PartyClient", "method": "align"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "x,0\ny,1\n" * 200)
    (tmp_path / "domain.json").write_text('{"a": ["x", "y"], "b": 2}')
    return tmp_path


def command(folder, name):
    files = [str(folder / "rows.csv"), "--domain", str(folder / "domain.json"), "--out", str(folder / "out")]
    return [name, *files, "--epsilon", "1"]


def interrupted(folder, name, number, late, at, *more):
    script = folder / "interrupted.py"
    script.write_text(INTERRUPTED_AT.format(**at, number=number.name, late=late))
    done = subprocess.run(
        [sys.executable, str(script), *command(folder, name), *more],
        capture_output=True,
        text=True,
        timeout=300,
    )
    done.stderr = without_progress(done.stderr)
    return done


def without_progress(text):
    """A slow machine is told every twenty seconds how far the command is."""
    return re.sub(r"^\d+ s: .*\n", "", text, flags=re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "charge"), [("synthesize", COUNT), ("simulate", CHARGE)])
def test_before_the_first_charge_nothing_was_spent(folder, name, charge):
    done = interrupted(folder, name, signal.SIGINT, False, charge)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)
    assert list((folder / "out").iterdir()) == []


@pytest.mark.slow
def test_after_a_charge_one_sentence_says_what_was_spent(folder):
    done = interrupted(folder, "simulate", signal.SIGTERM, True, CHARGE)
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr.startswith("stopped: ")
    assert done.stderr.endswith(
        " % of the budget (epsilon 1) was spent on noisy answers that nobody saw; nothing was written\n"
    )
    assert list((folder / "out").iterdir()) == []


@pytest.mark.slow
def test_the_sentence_of_a_release_that_can_go_on_says_how(folder):
    done = interrupted(folder, "synthesize", signal.SIGINT, True, CHARGE)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("stopped: ")
    assert done.stderr.endswith(
        f" % of the budget (epsilon 1) was spent; `dpmosaic resume {folder / 'out'}` goes on, and charges "
        "nothing twice\n"
    )
    assert [one.name for one in (folder / "out").iterdir()] == [UNFINISHED]
    done = interrupted(folder, "synthesize", signal.SIGINT, False, KEEP)
    assert done.stderr == (
        f"stopped: 5 % of the budget (epsilon 1) was spent; `dpmosaic resume {folder / 'out'}` goes on, and "
        "charges nothing twice\n"
    )


@pytest.mark.slow
def test_while_files_are_written_the_sentence_names_the_folder(folder):
    done = interrupted(folder, "simulate", signal.SIGINT, False, WRITE)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "stopped: 100 % of the budget (epsilon 1) was spent, and files may be missing in "
        f"{folder / 'out'}; delete the folder\n"
    )


@pytest.mark.slow
def test_the_budget_of_an_alignment_is_told_of_beside_that_of_the_release(folder):
    aligned = ("--grid", "1x2", "--overlap", "0.9", "--alignment-rho", "0.02")
    done = interrupted(folder, "simulate", signal.SIGINT, True, MATCH, *aligned)
    assert (done.returncode, done.stdout) == (130, "")
    spent = "stopped: the alignment's budget (rho 0.02) was spent on noisy answers that nobody saw"
    assert done.stderr.startswith(spent)
    done = interrupted(folder, "simulate", signal.SIGINT, True, CHARGE, *aligned)
    assert re.match(
        r"stopped: \d+ % of the budget \(epsilon 1\) and the alignment's budget \(rho 0.02\) were spent",
        done.stderr,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 1.5, 3.0])
def test_at_any_time_there_is_one_sentence_or_a_release(folder, seconds):
    """A terminal sends Ctrl-C to all processes of the command."""
    script = "from dpmosaic.command import main; open('begun', 'x').close(); main()"
    entry = [sys.executable, "-c", script]
    process = subprocess.Popen(
        [*entry, *command(folder, "synthesize")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=folder,
    )
    while process.poll() is None and not (folder / "begun").exists():
        time.sleep(0.01)
    time.sleep(seconds)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=300)
    if process.returncode == 130:
        error = without_progress(error)
        assert out == ""
        assert error.startswith("stopped: ")
        assert error.count("\n") == 1
    else:
        assert process.returncode == 0
        assert out.startswith("Release(")


IN_A_CALL_FROM_COMPILED_CODE = """
import ctypes, os, signal, time
from dpmosaic.simulations.stopping import stoppable
@ctypes.CFUNCTYPE(None)
def called():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)
with stoppable("epsilon 1"):
    called()
    time.sleep(60)
"""

AT_THE_END_OF_AN_OBJECT = """
import os, signal, time
from dpmosaic.simulations.stopping import stoppable
class Ending:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)
with stoppable("epsilon 1"):
    Ending()
    time.sleep(60)
"""

WHILE_A_THREAD_FAILS = """
import os, signal, threading, time
from dpmosaic.simulations.stopping import stoppable
stopped = threading.Event()
def fail():
    stopped.wait()
    raise ValueError("what it used is gone")
with stoppable("epsilon 1"):
    thread = threading.Thread(target=fail)
    thread.start()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    finally:
        stopped.set()
        thread.join()
"""


@pytest.mark.parametrize(
    "script", [IN_A_CALL_FROM_COMPILED_CODE, AT_THE_END_OF_AN_OBJECT, WHILE_A_THREAD_FAILS]
)
def test_what_an_interrupt_breaks_adds_nothing_to_the_sentence(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)


SEMAPHORE_OF_ANOTHER_THREAD = """
import os, signal, time
from multiprocessing.resource_tracker import register
from dpmosaic.simulations.stopping import stoppable
with stoppable("epsilon 1"):
    register("/removed-meanwhile", "semaphore")
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
"""A thread was stopped after it removed a semaphore, before Python's tracker of semaphores was told."""


def test_a_semaphore_that_is_half_removed_adds_nothing_to_the_sentence():
    done = subprocess.run(
        [sys.executable, "-c", SEMAPHORE_OF_ANOTHER_THREAD], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", NOTHING)


class Measuring(Measurer):
    """Charges, and measures nothing."""

    expected_sigma = _charge = _answer = None


def test_the_shares_of_the_choice_of_bins_and_of_the_release_add_up():
    domain = Domain.coded({"a": 2})
    choosing, releasing = (Measuring(domain, 10, Fraction(granted)) for granted in (1, 9))
    with stoppable("rho 10") as spending:
        for one in running():
            one.measure(choosing, 0.1)
        choosing.charge(Charge("bins", ("a",), Fraction(1)))
        assert spending.description.startswith("10 % of the budget (rho 10) was spent on noisy")
        for one in running():
            one.measure(releasing, 0.9)
        releasing.charge(Charge("pairs", ("a",), Fraction(3)))
        assert spending.share == pytest.approx(0.4)
        spending.write(Path("out"))
        assert spending.description.endswith("files may be missing in out; delete the folder")
    for one in running():
        one.measure(releasing, 0.9)
    assert spending.share == pytest.approx(0.4)


def failing(measurer):
    with stoppable("epsilon 1"):
        for one in running():
            one.measure(measurer, 1.0)
        raise ModelError("too large")


def test_an_error_after_a_charge_says_what_was_spent():
    measurer = Measuring(Domain.coded({"a": 2}), 10, Fraction(2))
    with pytest.raises(ModelError, match=r"^too large$"):
        failing(measurer)
    measurer.charge(Charge("first", ("a",), Fraction(1)))
    with pytest.raises(ModelError, match=r"^too large. 50 % of the budget \(epsilon 1\) was spent"):
        failing(measurer)


def test_a_little_is_not_nothing():
    spending, measurer = Spending("epsilon 1"), Measuring(Domain.coded({"a": 2}), 10, Fraction(1))
    spending.measure(measurer, 1.0)
    assert spending.description in NOTHING
    measurer.charge(Charge("first", ("a",), Fraction(1, 1000)))
    assert "less than 1 % of the budget" in spending.description


def test_handlers_of_signals_are_those_of_before_afterwards():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stoppable("epsilon 1"):
        assert signal.getsignal(signal.SIGINT) not in before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert signal.set_wakeup_fd(-1) == -1
