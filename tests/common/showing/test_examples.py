"""The examples of the help are commands that can be run."""

import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dpmosaic.command import COMMANDS, app, load_command
from dpmosaic.common.showing.examples import EXAMPLES

ALL = [example for examples in EXAMPLES.values() for example in examples]


@pytest.mark.parametrize("example", ALL)
def test_an_example_has_options_and_arguments_that_the_command_knows(example):
    program, name, *arguments = shlex.split(example)
    assert program == "dpmosaic"
    load_command(name).make_context(name, arguments)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_help_has_the_examples_before_the_options(name):
    asked = [name, "--help"] if name else ["--help"]
    shown = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, asked).output.split())
    for example in EXAMPLES[name]:
        assert 0 < shown.index(" ".join(example.split())) < shown.index("Options")


def test_every_command_that_is_no_group_and_is_for_users_has_examples():
    groups = {"domain", "party", "dealer", "curator", "datasets", "omop", "experiment"}
    assert set(COMMANDS) - groups - {"local-network", "schema"} == set(EXAMPLES) - {""}


@pytest.mark.parametrize(
    ("words", "known"), [("dpmosaic sy", "synthesize"), ("dpmosaic query --le", "--level")]
)
def test_a_shell_completes_commands_and_options(words, known):
    asked = {
        "_DPMOSAIC_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv = ['dpmosaic']; from dpmosaic.command import main; main()",
    ]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert known in done.stdout.split()


@pytest.mark.slow
def test_the_package_is_run_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "dpmosaic", "query", "--help"], capture_output=True, text=True, check=True
    )
    assert "Usage: python -m dpmosaic query" in done.stdout
