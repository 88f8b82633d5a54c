import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dpmosaic.command import COMMANDS, load_command
from dpmosaic.common.federation.card import as_text
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, declared
from dpmosaic.curator.mechanisms.listed import LISTED
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.party.command import party_commands
from dpmosaic.party.dealing.home import DealerHome
from dpmosaic.party.home.home import PartyHome

SLOW_TO_IMPORT = {
    *("cryptography", "dp_accounting", "duckdb", "google", "grpc", "jinja2", "networkx", "numba", "numpy"),
    *("pandas", "pyarrow", "scipy", "sklearn", "sqlglot", "statsmodels"),
}

IMPORTED_BY = """
import json, sys
from dpmosaic.command import app
app(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def packages_imported_by(*arguments, cwd=None):
    command = [sys.executable, "-c", IMPORTED_BY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["datasets"], ["experiment", "list"]),
        *(["party", name, "--help"] for name in ("serve", "approve", "doctor", "backup")),
        *(["curator", name, "--help"] for name in ("release", "verify", "plan", "listen")),
        *(["dealer", "init", "--help"], ["domain", "infer", "--help"], ["experiment", "run", "--help"]),
        *([name, "--help"] for name in COMMANDS),
    ],
    ids=" ".join,
)
def test_help_and_lists_import_no_package_that_is_slow_to_import(arguments):
    assert packages_imported_by(*arguments) & SLOW_TO_IMPORT == set()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of a party, a dealer and a curator who enrolled both, and their list of all cards."""
    at = tmp_path_factory.mktemp("folders")
    party = PartyHome.create(at / "clinic", "clinic")
    (at / "clinic" / "domain.json").write_text('{"a": 2}')
    dealer = DealerHome.create(at / "dealer", "dealer")
    curator = CuratorHome.create(at / "curator", "lab")
    for name, card in (("clinic", party.card()), ("dealer", dealer.card())):
        (at / f"{name}.json").write_text(as_text(card.to_json()))
        curator.enroll(card, "127.0.0.1:1")
    (at / "all.json").write_text(as_text(curator.federation().to_json()))
    party.trust(curator.federation())
    return at


LIGHT = [
    ("party ledger clinic", {"cryptography"}),
    ("party releases clinic", {"cryptography"}),
    ("party card clinic", {"cryptography"}),
    ("party trust clinic all.json --yes", {"cryptography"}),
    ("dealer releases dealer", {"cryptography"}),
    ("dealer card dealer", {"cryptography"}),
    ("curator enroll curator clinic.json --address 127.0.0.1:1", {"cryptography"}),
    ("curator federation curator", {"cryptography"}),
    ("mechanisms", set()),
    ("schema plan", {"cryptography", "numpy"}),
    ("schema policy", set()),
    ("schema dealer", {"cryptography"}),
    ("schema domain", set()),
]
"""Commands that read a small file or folder and print, and what they need; also numpy for numbers."""


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "needed"), LIGHT)
def test_a_light_command_imports_neither_transport_nor_engines_nor_numerics(folders, typed, needed):
    assert packages_imported_by(*typed.split(), cwd=folders) & SLOW_TO_IMPORT <= needed


def test_the_listed_parameters_are_those_of_the_mechanisms():
    stated = {name: declared(entry.variants["default"]()) for name, entry in CATALOGUE.items()}
    assert stated == LISTED, "run python .ci/check_parameters --write"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_says_first(name):
    assert COMMANDS[name][1] == load_command(name).help.splitlines()[0]


@pytest.mark.slow
def test_a_command_refuses_a_missing_argument_with_the_status_of_a_usage_error():
    done = subprocess.run(
        [sys.executable, "-c", "from dpmosaic.command import main; main()", "simulate"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Missing argument" in done.stderr


@pytest.mark.slow
def test_a_warning_and_an_error_are_one_sentence_each(tmp_path):
    (tmp_path / "rows.csv").write_text(",age\n1,21\n2,22\n")
    (tmp_path / "records.csv").write_text("Anna,1968-03-14\nBert,1951-02-11\n")
    said = []
    for name in ("rows.csv", "records.csv"):
        run = [sys.executable, "-c", "from dpmosaic.command import main; main()", "domain", "infer", name]
        done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
        said.append((done.returncode, done.stderr.splitlines()[0]))
    assert said[0] == (
        0,
        "warning: rows.csv: column 1 has no name; it is taken for row numbers and left out",
    )
    assert said[1][0] == 1
    assert said[1][1].startswith("error: records.csv: its first line reads as a record")


def test_a_command_without_enough_memory_ends_in_one_sentence_without_what_libraries_say():
    code = (
        "import sys, dpmosaic.command as command\n"
        "def app(): raise MemoryError('Unable to allocate an array with shape (48842,)')\n"
        "command.app = app\n"
        "command.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("error: expected to find room in memory")
    assert "48842" not in done.stderr


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        ("OSError(errno.EROFS, 'Read-only file system', 'keys/tls.crt.new')", 1),
        ("OSError(errno.ENOSPC, 'No space left on device')", 1),
        ("full()", 1),
        ("OSError(errno.EPIPE, 'Broken pipe')", None),
        ("ValueError('a fault of the program')", None),
    ],
)
def test_a_command_on_a_disk_that_cannot_be_written_ends_in_one_sentence(raised, code):
    program = (
        "import errno, sqlite3, sys, dpmosaic.command as command\n"
        "def full():\n"
        "    error = sqlite3.OperationalError('database or disk is full')\n"
        "    error.sqlite_errorcode = sqlite3.SQLITE_FULL\n"
        "    return error\n"
        f"def app(): raise {raised}\n"
        "command.app = app\n"
        "command.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if code is None:
        assert "Traceback" in done.stderr
        return
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert done.stderr.startswith("error: expected a disk with room that can be written, found another (")


def test_help_of_a_party_lists_every_command_once_in_the_order_of_a_day():
    done = CliRunner().invoke(party_commands, ["--help"])
    listed = re.findall(r"^│ ([a-z]+) ", done.output, flags=re.M)
    known = {command.callback.__name__ for command in party_commands.registered_commands}
    assert set(listed) == known
    assert len(listed) == len(known)
    assert listed.index("init") < listed.index("serve") < listed.index("approve") < listed.index("backup")
