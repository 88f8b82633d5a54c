"""Where a progress bar is shown: in a terminal, and in a notebook that can draw it."""

import io
import re
import threading

import pytest
from rich.console import Console

from dpmosaic.curator.mechanisms.parts.fitted import Progress
from dpmosaic.curator.releasing import progress
from dpmosaic.curator.releasing.progress import progress_bar


def shown_on(spent=0.5, **kind):
    written = io.StringIO()
    with progress_bar(Console(file=written, width=100, **kind)) as report:
        report(Progress("a step", ("age", "sex"), 1, spent))
    return written.getvalue()


def test_a_terminal_shows_progress():
    assert "round 1: age x sex" in shown_on(force_terminal=True)


@pytest.mark.parametrize(("spent", "said"), [(0.999, "99 % of the budget"), (1.0, "not finished")])
def test_nothing_says_100_percent_while_a_release_goes_on(spent, said):
    shown = shown_on(spent, force_terminal=True)
    assert said in shown
    assert "100 %" not in shown


@pytest.mark.parametrize(
    "kind",
    [{"force_terminal": False}, {"force_terminal": True, "quiet": True}, {"force_jupyter": True}],
    ids=["a file, in a short release", "a console that is to be quiet", "a notebook without ipywidgets"],
)
def test_nothing_is_shown_elsewhere(kind, monkeypatch):
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert shown_on(**kind) == ""


class Written(io.StringIO):
    """A file that tells when something was written to it."""

    def __init__(self):
        super().__init__()
        self.told = threading.Event()

    def flush(self):
        if self.getvalue():
            self.told.set()


def test_a_long_release_writes_a_line_now_and_then_without_a_terminal():
    """The line comes while a step is under way, not only after it."""
    written = Written()
    with progress_bar(Console(file=written, width=100), rarely_s=0.01) as report:
        report(Progress("a step", ("age", "[red]"), 1, 0.5))
        assert written.told.wait(60)
    assert re.fullmatch(
        r"(\d+ s: (round 1: age x \[red\], 50|starting, 0) % of the budget\n)+", written.getvalue()
    )
