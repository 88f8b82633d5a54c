"""Command lines that files for operators contain, and the parser that the command itself has."""

import re
import shlex

import typer
from typer.core import TyperGroup

from dpmosaic.command import COMMANDS, load_command

ROLES = ("party", "dealer")


def in_script(text):
    """The command lines of `dpmosaic` in a shell script, each as its arguments; "$role" is both roles."""
    text = "\n".join(line for line in text.replace("\\\n", " ").splitlines() if line.lstrip()[:1] != "#")
    found = re.findall(r"(?<![\w/-])dpmosaic ([^\n;|&>)]+)", text)
    return [shlex.split(line.replace('"$role"', role)) for line in found for role in ROLES]


def check(arguments):
    """Parses a command line as the command does, without running it; fails if it could not run."""
    name, *rest = arguments
    assert name in COMMANDS, arguments
    command = load_command(name)
    if isinstance(command, TyperGroup) and rest != ["--help"]:
        assert rest, arguments
        assert rest[0] in command.commands, arguments
        command, rest = command.commands[rest[0]], rest[1:]
    try:
        command.make_context(name, list(rest))
    except typer.Exit:
        assert "--help" in rest, arguments
    except Exception as wrong:
        raise AssertionError(f"dpmosaic {shlex.join(arguments)}: {wrong}") from wrong
