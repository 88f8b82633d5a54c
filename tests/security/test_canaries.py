"""Rows of values that occur nowhere else: nothing that participants write, print or answer holds one.

Beside the values, the numbers of rows and of equal labels are searched in what holds no results of a release:
logs, trails, ledgers, metrics, diagnoses.
"""

import base64
import contextlib
import re
import urllib.request
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import PartyUnavailable
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.party.names import CODES, SHAREABLE_LOG
from dpmosaic.simulations.local_network import network as local
from dpmosaic.simulations.local_network.ports import free_port
from dpmosaic.simulations.parties.people import Overlap
from support import canaries
from support.forked import Forked
from support.small_network import small_network

pytestmark = pytest.mark.slow

PEOPLE = 1500
ROWS = ("people.csv", "rows.parquet")
"""Files of rows, in which alone the values may stand."""

DOMAIN = {
    "kind": {"type": "categorical", "categories": ["x", "y", "other"], "other": "other"},
    "age": {"type": "numeric", "min": 0, "max": 9999, "bins": 5},
    "size": {"type": "numeric", "min": 0, "max": 9999, "bins": 5},
    "bit": 2,
}
PLAN = {"\nrho = 0.5": "\nrho = 5", "# rho = 0.002 ": "rho = 50.0"}
LOGS = ("log.jsonl", SHAREABLE_LOG)
COMMANDS = ("check", "doctor", "ledger", "trail", "trail --json", "releases")
"""Of a party, whose output is read."""


def write_rows(path):
    """A table in which identifiers, numbers, and the kinds of a third of all people, occur nowhere else."""
    rng = np.random.default_rng(1)
    lines = ["id,kind,age,size,bit"]
    for person in range(PEOPLE):
        kind = rng.choice(["x", "y", canaries.text(person)])
        numbers = map(canaries.number, rng.integers(0, 9999, 2))
        lines.append(",".join([canaries.text(person), kind, *numbers, str(rng.integers(0, 2))]))
    path.write_text("\n".join(lines) + "\n")
    return path


class Left:
    """All that participants left: its name -> its bytes."""

    def __init__(self):
        self.by_name = {}

    def run(self, *arguments):
        """A command; what it prints and raises is left."""
        words = [*map(str, arguments)]
        done = CliRunner().invoke(app, words)
        causes = [error := done.exception]
        while error := error and (error.__cause__ or error.__context__):
            causes.append(error)
        self.by_name[" ".join(words)] = f"{done.output} {causes}".encode()
        return done

    def take_files(self, folder):
        """All files of a folder but those of rows, and of their codes while a party is up."""
        found = (path for path in folder.rglob("*") if path.is_file() and CODES not in path.parts)
        paths = [path for path in found if path.name not in ROWS]
        self.by_name |= {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    def with_values(self):
        found = {name: canaries.found_in(content) for name, content in self.by_name.items()}
        return {name: forms for name, forms in found.items() if forms}


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A network of two parties whose rows are aligned."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("support.small_network.write_table", write_rows)
        patched.setattr(local, "begin", Forked)
        yield small_network(
            tmp_path_factory.mktemp("canaries"),
            grid="1x2",
            domain=DOMAIN,
            overlap=Overlap(0.9, shuffle=True),
            key="id",
            changes=PLAN,
            mechanism="mosaic",
        )


@contextlib.contextmanager
def serving(network):
    """All parties, each with metrics; the port of the metrics of each."""
    addresses, ports = CuratorHome.open(network.folder / "curator").addresses(), {}
    daemons = {}
    for name in network.all_names:
        ports[name] = free_port()
        options = ("--listen", addresses[name], "--metrics", f"127.0.0.1:{ports[name]}")
        daemons[name] = local.Daemon.start(network.party(name), *options)
    try:
        for name, daemon in daemons.items():
            network.enroll(name, daemon)
        yield ports
    finally:
        for daemon in daemons.values():
            daemon.stop()


def counts_of(network):
    """Numbers of rows and of equal labels of each party, as they must not be told."""
    tables = [pq.read_table(network.party(name) / "rows.parquet") for name in network.all_names]
    labels = [Counter(column.to_pylist()) for one in tables for column in one.columns]
    equal = {number for one in labels for number in one.values() if number >= 100}
    return {one.num_rows for one in tables} | equal


def test_nothing_that_is_left_by_an_aligned_release_holds_a_value_or_a_count(network):
    left, parties = Left(), {name: network.party(name) for name in network.all_names}
    folder = network.folder.parent
    with serving(network) as ports:
        assert left.run("curator", "preflight", network.plan).exit_code == 0
        assert left.run("curator", "release", network.plan, "--out", folder / "out").exit_code == 0
        for name, port in ports.items():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
                left.by_name[f"metrics of {name}"] = page.read()
    left.run("dossier", folder / "out", "--out", folder / "dossier")
    for party in parties.values():
        for command in COMMANDS:
            left.run("party", *command.split(), party)
        left.run("party", "doctor", party, "--diagnose", folder / f"{party.name}.json")
    left.take_files(folder)
    assert left.with_values() == {}
    assert {"out/synthetic.csv", "out/report.html", "dossier/data-card.html"} <= set(left.by_name)
    assert sum(name.endswith(("log.jsonl", "journal.sqlite", "ledger.sqlite")) for name in left.by_name) >= 5

    own = "|".join(sorted(map(str, counts_of(network))))
    texts = {
        name: content.decode()
        for name, content in left.by_name.items()
        if name.startswith(("metrics", "party")) or name.endswith(LOGS)
    }
    assert len(texts) == len(parties) * (len(COMMANDS) + 3 + len(LOGS))
    # Sizes of messages are known to all who see the network; modes of files are three digits, too.
    other = r'"bytes_(in|out)": \d+|bytes_total\{.*\} \S+|: "[67]00"'
    told = {name: re.sub(other, "", text) for name, text in texts.items()}
    found = {name: re.findall(rf"(?<![\w.:])(?:{own})(?![\w.])", text) for name, text in told.items()}
    assert [name for name in found if found[name]] == []


@pytest.mark.parametrize("column", ["size", "bit"])
def test_a_party_whose_rows_cannot_be_read_tells_no_value_to_anybody(network, column):
    left, party = Left(), network.party(network.names[0][1])
    rows, whole = pq.read_table(party / "rows.parquet"), (party / "rows.parquet").read_bytes()
    cells = [canaries.text(column), *rows[column].to_pylist()[1:]]
    place = rows.column_names.index(column)
    pq.write_table(rows.set_column(place, column, pa.array(map(str, cells))), party / "rows.parquet")
    assert left.run("party", "check", party).exit_code == 1
    with pytest.raises(PartyUnavailable), serving(network):
        pass
    left.take_files(network.folder)
    (party / "rows.parquet").write_bytes(whole)
    assert b"row 1: expected" in left.by_name[f"parties/{party.name}/log.jsonl"]
    assert left.with_values() == {}


@pytest.mark.parametrize("form", ["a text", "a number"])
def test_values_are_found_in_files_of_rows(network, form):
    rows = network.party(network.names[0][1]) / "rows.parquet"
    assert form in canaries.found_in(rows.read_bytes())


@pytest.mark.parametrize(
    "content",
    [
        b"at zqcanary7, row 1",
        b"zqcanary7".hex().encode(),
        *(base64.b64encode(b"a" * before + b"zqcanary7 and more") for before in range(3)),
        "zqcanary7".encode("utf-16-le"),
        b"mean 17.421017736",
        b"abc" + np.array([17.4210177359]).tobytes(),
    ],
    ids=range(8),
)
def test_a_value_is_found_in_every_form(content):
    assert canaries.found_in(content)
    assert not canaries.found_in(content[:4])
