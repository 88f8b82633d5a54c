"""Text of others on a terminal."""

import io
import warnings

import pytest
from rich.progress import Progress
from rich.table import Table

from dpmosaic.common import errors
from dpmosaic.common.errors import DataError, MosaicWarning
from dpmosaic.common.showing.printable import printable, printable_lines, visible
from dpmosaic.common.showing.telling import tell, write
from dpmosaic.common.showing.terminal import Terminal

EVIL = "x\x1b]0;PWNED\x07\x1b[2K\x1b[1A\u202efake\x9b"
SHOWN = r"x\x1b]0;PWNED\x07\x1b[2K\x1b[1A\u202efake\x9b"


@pytest.mark.parametrize(
    ("came", "shown"),
    [
        ("clinic north, 10 % über [bold]", "clinic north, 10 % über [bold]"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[2K\x1b[1A", r"\x1b[2K\x1b[1A"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("no\u00adbreak\u00a0\u3000\u2028", r"no\xadbreak\xa0\u3000\u2028"),
        ("\ud800\U000e0041", r"\ud800\U000e0041"),
    ],
)
def test_characters_that_a_terminal_obeys_or_hides_are_escaped(came, shown):
    assert printable(came) == shown


def test_lines_stay_lines_where_there_are_several():
    assert printable_lines(f"a\n{EVIL}\n\ttab") == f"a\n{SHOWN}\n" + r"\ttab"
    assert visible(EVIL) == SHOWN
    assert visible(3) == 3


def test_a_line_that_is_told_cannot_become_two(capsys):
    tell(f"a\nerror: {EVIL}")
    write(f"{EVIL}\nb\n", err=True)
    told = capsys.readouterr()
    assert told.out == rf"a\nerror: {SHOWN}" + "\n"
    assert told.err == f"{SHOWN}\nb\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_tables_and_progress_have_no_escapes_but_their_own(terminal):
    out = io.StringIO()
    console = Terminal(file=out, force_terminal=terminal, width=200, color_system=None)
    grid = Table(EVIL, title=EVIL, caption=EVIL)
    grid.add_row(EVIL)
    console.print(grid)
    console.print(f"line {EVIL}", markup=False)
    with Progress(console=console, auto_refresh=False) as bar:
        bar.add_task(EVIL)
    shown = out.getvalue()
    # Rich leaves out the bell, and shows of a cell what its column has room for.
    assert shown.count(r"x\x1b]0;PWNED") >= 6
    assert not any(mark in shown for mark in ("\x1b]", "\x07", "\u202e", "\x9b"))
    assert ("\x1b" in shown) is terminal


@pytest.mark.parametrize(
    "kind",
    [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.MosaicError)],
)
def test_every_error_says_its_text_printably(kind):
    assert str(kind(f"expected a name, got {EVIL}")) == f"expected a name, got {SHOWN}"


def test_a_warning_says_its_text_printably():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(EVIL, MosaicWarning, stacklevel=1)
    assert SHOWN in warnings.formatwarning(caught[0].message, MosaicWarning, "file", 1)


def test_an_error_shows_no_more_of_a_long_name_than_people_read():
    assert len(str(DataError("x" * 100_000))) < 5000
