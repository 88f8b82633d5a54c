"""Operations of a curator's console: one at a time, watched, and stopped when asked."""

import sys
import textwrap

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.console.operations import Operations

WAIT_S = 120
"""Generous: the machine may be busy."""


@pytest.fixture
def operations(ctrl_c):
    made = Operations((sys.executable, "-u", "-c"))
    yield made
    made.close()


def run(operations, program, name="work"):
    """Starts a program and waits for its end: the operation."""
    operations.start(name, [textwrap.dedent(program)])
    assert operations.wait(WAIT_S)
    return operations.snapshot().current


def started(operations, program):
    """Starts a program and waits for its first JSON object."""
    operations.start("work", [textwrap.dedent(program)])
    while not operations.snapshot().current.records:
        assert not operations.wait(0.01)


def test_an_operation_tells_its_records_its_progress_and_what_it_says(operations):
    done = run(
        operations,
        """
        import json, sys
        report = {"event": "progress", "step": "round", "clique": ["a"], "round": 1, "parties": []}
        for spent in (0.5, 0.5, 0.75):
            print(json.dumps(report | {"spent": spent}), file=sys.stderr)
        print(json.dumps({"out": "folder"}))
        print("a sentence", file=sys.stderr)
        print("[1, 2]")
        """,
    )
    assert done.ended == "done"
    assert done.records == ({"out": "folder"},)
    assert [step["spent"] for step in done.steps] == [0.5, 0.75]
    (told,) = operations.snapshot().told
    assert (set(told.text.split("\n")), told.failed) == ({"a sentence", "[1, 2]"}, False)


def test_a_refusal_is_told_with_what_to_do(operations):
    done = run(operations, "import sys; sys.exit('error: expected this, got that; do so')")
    assert done.ended == "not done"
    (told,) = operations.snapshot().told
    assert (told.operation, told.text, told.failed) == ("work", "expected this, got that; do so", True)


def test_a_program_that_dies_in_silence_is_told_by_its_status(operations):
    run(operations, "import os; os._exit(3)")
    assert operations.snapshot().told[0].text == "ended with status 3"


def test_one_operation_runs_at_a_time_and_another_one_after_it(operations):
    started(operations, "import time; print('{}'); time.sleep(600)")
    with pytest.raises(DataError, match="another operation is running"):
        operations.start("other", ["pass"])
    operations.stop()
    assert operations.wait(WAIT_S)
    assert run(operations, "print('{}')", "other").ended == "done"
    assert set(operations.snapshot().last) == {"work", "other"}


def test_an_operation_is_stopped_as_by_ctrl_c(operations):
    started(
        operations,
        """
        import sys, time
        try:
            print("{}")
            time.sleep(600)
        except KeyboardInterrupt:
            print('{"cleaned": "up"}')
            sys.exit("cleaned up")
        """,
    )
    operations.stop()
    assert operations.wait(WAIT_S)
    shown = operations.snapshot()
    assert (shown.current.ended, shown.told[-1].text) == ("stopped here", "stopped here")
    assert shown.current.records == ({}, {"cleaned": "up"})


def test_an_operation_that_does_not_stop_is_ended(monkeypatch):
    monkeypatch.setattr("dpmosaic.curator.console.operations._GRACE_S", 0.1)
    operations = Operations((sys.executable, "-u", "-c"))
    stubborn = "import signal, time; signal.signal(2, signal.SIG_IGN); print('{}'); time.sleep(600)"
    started(operations, stubborn)
    operations.close()
    assert operations.snapshot().current.ended == "stopped here"


def test_stopping_without_an_operation_has_no_effect_and_every_change_has_a_new_number(operations):
    operations.stop()
    assert operations.snapshot().version == 0
    first = run(operations, "pass") and operations.snapshot().version
    operations.stop()
    assert operations.snapshot().version == first > 0
