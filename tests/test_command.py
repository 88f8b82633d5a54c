import json
import subprocess
import sys

import pytest

from dpmosaic.command import COMMANDS, loaded
from dpmosaic.party.home import PartyHome

SLOW_TO_IMPORT = {
    *("cryptography", "dp_accounting", "duckdb", "grpc", "jinja2", "networkx", "numba", "numpy", "pandas"),
    *("pyarrow", "scipy", "sklearn", "sqlglot", "statsmodels"),
}

IMPORTED_BY = """
import json, sys
from dpmosaic.command import app
app(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def packages_imported_by(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY, *arguments], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["datasets"], ["experiment", "list"]),
        *(["party", "serve", "--help"], ["dealer", "init", "--help"], ["curator", "release", "--help"]),
        *([name, "--help"] for name in COMMANDS),
    ],
    ids=" ".join,
)
def test_help_and_lists_import_no_package_that_is_slow_to_import(arguments):
    assert packages_imported_by(*arguments) & SLOW_TO_IMPORT == set()


@pytest.fixture(scope="module")
def party(tmp_path_factory):
    """The folder of a party with a domain."""
    folder = tmp_path_factory.mktemp("party") / "clinic"
    PartyHome.create(folder, "clinic")
    (folder / "domain.json").write_text('{"a": 2}')
    return folder


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("ledger", {"cryptography"}),
        ("releases", {"cryptography", "numpy"}),
        ("card", {"cryptography", "numpy"}),
    ],
)
def test_a_party_s_light_commands_import_neither_transport_nor_engines(party, name, needed):
    assert packages_imported_by("party", name, str(party)) & SLOW_TO_IMPORT <= needed


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_says_first(name):
    assert COMMANDS[name][1] == loaded(name).help.splitlines()[0]


def test_a_command_refuses_a_missing_argument_with_the_status_of_a_usage_error():
    done = subprocess.run(
        [sys.executable, "-c", "from dpmosaic.command import main; main()", "simulate"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Missing argument" in done.stderr
