"""`dpmosaic curator plan` asks in a terminal what is not given, and elsewhere nothing."""

import os
import pty
import subprocess
import sys
import tomllib

import pytest
from typer.testing import CliRunner

from dpmosaic.curator.command import curator_commands
from dpmosaic.curator.parties.home import ATTACHED, CuratorHome
from support.cards import cards

COMMAND = "from dpmosaic.command import main; main()"


@pytest.fixture
def home(tmp_path):
    """A curator's folder with two enrolled parties, one of which dials the curator."""
    made = CuratorHome.create(tmp_path / "curator", "curator")
    for card, address in zip(cards(a={"x": 2}, b={"y": 3}), ("127.0.0.1:7443", ATTACHED), strict=True):
        made.enroll(card, address)
    return made


def planned(home):
    return tomllib.loads((home.folder / "plan.toml").read_text(encoding="utf-8"))


def in_terminal(home, answers, *options):
    """Runs the command in a terminal, types the answers, and returns its status and what it wrote."""
    shown, keyboard = pty.openpty()
    command = [sys.executable, "-c", COMMAND, "curator", "plan", str(home.folder), *options]
    with subprocess.Popen(command, stdin=keyboard, stdout=keyboard, stderr=keyboard) as running:
        os.close(keyboard)
        os.write(shown, "".join(f"{answer}\n" for answer in answers).encode())
        written = b""
        try:
            while found := os.read(shown, 4096):
                written += found
        except OSError:
            # The other end closed: the command has ended.
            pass
        status = running.wait(120)
    os.close(shown)
    return status, written.decode()


@pytest.mark.slow
def test_a_terminal_is_asked_for_what_a_plan_needs_and_again_after_a_wrong_answer(home):
    answers = ["y", "Care of asthma", "desk@example.org", "much", "0.5", "soon", "2030-12-31", "yy", "y", ""]
    status, written = in_terminal(home, answers)
    assert status == 0, written
    assert "expected a number above 0, got a text" in written
    assert "did you mean 'y'" in written
    plan = planned(home)
    assert plan["about"] == {
        "purpose": "Care of asthma",
        "contact": "desk@example.org",
        "until": tomllib.loads("day = 2030-12-31")["day"],
    }
    assert (plan["release"]["epsilon"], plan["release"]["target"]) == (0.5, "y")
    assert "workload" not in plan["release"]
    assert plan["network"]["listen"] == "0.0.0.0:7444"


@pytest.mark.slow
def test_a_terminal_that_says_the_slices_are_wrong_gets_no_plan(home):
    status, written = in_terminal(home, ["n"])
    assert status == 1
    assert "name the parties of each slice with --slice" in written.replace("\r\n", " ")
    assert not (home.folder / "plan.toml").exists()


def test_without_a_terminal_nothing_is_asked(home):
    done = CliRunner().invoke(
        curator_commands, ["plan", str(home.folder), "--purpose", "Asthma"], input="n\n"
    )
    assert done.exit_code == 0, done.output
    assert "?" not in done.output
    assert planned(home)["about"] == {"purpose": "Asthma", "contact": ""}
