import contextlib
import json
import signal
import subprocess

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.over_parties import release_over_parties
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.sources.source import FileSource, read_table
from dpmosaic.simulations.local_network import network as module
from dpmosaic.simulations.local_network.network import LocalNetwork, begin, program
from dpmosaic.simulations.parties.people import Overlap, link_tables
from support.edits import edit
from support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("attach", [False, True])
def test_a_network_of_processes_releases_the_partitioned_table(
    tmp_path, network_of, command, monkeypatch, attach
):
    if not attach:
        # Each daemon is a process of the installed command, and no fork.
        monkeypatch.setattr(module, "begin", begin)
    changes = {"rho = 0.5": "rho = 1e5"}
    network = network_of(tmp_path, changes=changes, mechanism="mosaic", attach=attach)
    with network.running():
        output = command("curator", "preflight", network.plan)
        assert "FIX" not in output
        assert output.count(": clock: ") == output.count(": throughput: ") == len(network.all_names)
        command("curator", "release", network.plan, "--out", tmp_path / "out")
    domain = Domain.load(network.plan.with_name("domain.json"))
    real, synthetic = (
        read_table(path, domain) for path in (tmp_path / "people.csv", tmp_path / "out/synthetic.csv")
    )
    for clique in (("kind",), ("age", "code"), ("kind", "bit")):
        assert np.abs(real.marginal(clique) - synthetic.marginal(clique)).max() <= 4
    ledgers = [
        json.loads(command("party", "ledger", network.party(name), "--json")) for name in network.all_names
    ]
    spent = {entry["spent_rho"] for (entry,) in ledgers}
    promise = json.loads((tmp_path / "out/certificate.json").read_text())["promise"]
    assert spent == {promise["zcdp_rho_spent"]}


def test_two_releases_at_once_ask_attached_parties_over_one_listener(tmp_path, network_of, command):
    network = network_of(tmp_path, grid="1x2", attach=True)
    address = ReleasePlan.load(network.plan).listen
    edit(network.plan, {f'listen = "{address}"': ""})
    listen = ["curator", "listen", str(network.plan.parent), "--address", address]
    listener = subprocess.Popen(
        [*program(), *listen], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert "listening for party-1-1, party-1-2" in listener.stderr.readline()
        daemons = [network.start(name, address) for name in network.all_names]
        come = [json.loads(listener.stdout.readline()) for _ in daemons]
        assert {(entry["event"], entry["party"]) for entry in come} == {
            ("attached", name) for name in network.all_names
        }
        release = [*program(), "curator", "release", str(network.plan), "--out"]
        releases = [subprocess.Popen([*release, str(tmp_path / out)]) for out in ("first", "second")]
        assert [one.wait(300) for one in releases] == [0, 0]
    finally:
        for daemon in daemons:
            daemon.stop()
        listener.terminate()
        assert listener.wait(120) == 0
        listener.communicate()
    for name in network.all_names:
        assert len(json.loads(command("party", "ledger", network.party(name), "--json"))) == 2


def test_frequent_texts_that_nobody_listed_are_released_by_a_network(tmp_path, network_of, command):
    open_kind = {"type": "categorical", "categories": ["other"], "other": "other", "open": True}
    domain = {"id": open_kind, "kind": open_kind, "code": 3}
    changes = {"epsilon = 1.0  ": "rho = 50.0", "delta = 1e-9": "delta = 1e-9"}
    network = network_of(tmp_path, domain=domain, changes=changes)
    with network.running():
        command("curator", "release", network.plan, "--out", tmp_path / "out")
    chosen = Domain.load(tmp_path / "out/bins/domain.json")
    assert chosen["kind"].categories == ("other", "x", "y, z")
    assert chosen["id"].categories == ("other",)
    assert {*pd.read_csv(tmp_path / "out/synthetic.csv")["kind"]} == {"x", "y, z"}
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"P170" in path.read_bytes() for path in files)


def joined_by_id(network, domain):
    """The rows of the parties' files, joined by the identifiers in them."""
    slices = []
    for names in network.names:
        homes = [network.party(name) for name in names]
        read = [
            FileSource(home / "rows.parquet").read_with_texts(Domain.load(home / "domain.json"), ("id",))
            for home in homes
        ]
        tables, texts = [table for table, _ in read], [found["id"] for _, found in read]
        slices.append(link_tables(domain, tables, texts, Population.EVERYWHERE))
    return Table.concatenate(slices)


def test_one_command_aligns_the_rows_of_a_network_and_releases_them(tmp_path, network_of, command):
    overlap = Overlap(0.8, shuffle=True, typos=0.02)
    changes = {"\nrho = 0.5": "\nrho = 1e5", "# rho = 0.002 ": "rho = 50.0"}
    network = network_of(tmp_path, overlap=overlap, key="id", changes=changes, mechanism="mosaic")
    with network.running():
        command("curator", "release", network.plan, "--out", tmp_path / "out")
        assert "nothing was charged" in command("curator", "align", network.plan)
    domain = Domain.load(network.plan.with_name("domain.json"))
    real = joined_by_id(network, domain)
    synthetic = read_table(tmp_path / "out/synthetic.csv", domain)
    for clique in (("kind",), ("age", "code"), ("kind", "bit")):
        shares = [table.marginal(clique) / table.record_count for table in (real, synthetic)]
        assert np.abs(shares[0] - shares[1]).max() <= 0.02
    for name in network.all_names:
        ledger = json.loads(command("party", "ledger", network.party(name), "--json"))
        assert sorted(entry["spent_rho"] for entry in ledger)[0] == pytest.approx(50)
        assert len(ledger) == 2


def test_a_release_has_identifiers_that_the_curator_draws_anew(tmp_path, network_of, command):
    domain = {"id": {"type": "identifier", "pattern": "S{:03d}"}, "kind": ["x", "y, z"], "code": 3}
    network = network_of(tmp_path, "1x2", domain=domain)
    with network.running():
        command("curator", "release", network.plan, "--out", tmp_path / "out")
    lines = (tmp_path / "out/synthetic.csv").read_text().splitlines()
    assert lines[0] == "id,kind,code"
    assert [line[:5] for line in lines[1:]] == [f"S{number:03d}," for number in range(1, 241)]


def test_the_protocol_indicator_works_over_a_network(tmp_path, network_of, command):
    network = network_of(
        tmp_path,
        changes={'protocol = "masked"  ': 'protocol = "indicator"', "collusions = 1": "", "dealers = ": "# "},
    )
    with network.running():
        command("curator", "release", network.plan, "--out", tmp_path / "out")
    assert (tmp_path / "out/synthetic.csv").exists()


def test_the_command_starts_a_network_prints_the_next_commands_and_stops_it(tmp_path, table_file):
    data = table_file(tmp_path / "people.csv")
    (tmp_path / "domain.json").write_text(json.dumps({"kind": ["x", "y, z"], "code": 3}))
    started = subprocess.Popen(
        [
            *program(),
            "local-network",
            str(tmp_path / "net"),
            "--data",
            str(data),
            "--domain",
            str(tmp_path / "domain.json"),
            "--grid",
            "1x2",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert "2 parties serve" in started.stdout.readline()
        assert "curator preflight" in started.stdout.readline()
    finally:
        started.send_signal(signal.SIGINT)
        assert started.wait(120) == 0
        started.stdout.close()
    for name in ("party-1-1", "party-1-2"):
        log = (tmp_path / "net/parties" / name / "log.jsonl").read_text().splitlines()
        assert json.loads(log[-1])["event"] == "stopped"
    with LocalNetwork.open(tmp_path / "net").running() as daemons:
        assert len(daemons) == 2


def claimable(folder):
    try:
        with PartyHome.open(folder).claim():
            return True
    except DataError:
        return False


def test_parties_end_when_their_network_is_killed(tmp_path, network_of):
    network = network_of(tmp_path, grid="1x2")
    started = subprocess.Popen(
        [*program(), "local-network", str(network.folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert "2 parties serve" in started.stdout.readline()
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
    for name in network.all_names:
        party = network.party(name)
        wait_until(lambda log=party / "log.jsonl": '"stopped"' in log.read_text())
        assert json.loads((party / "log.jsonl").read_text().splitlines()[-1])["event"] == "stopped"
        # A daemon holds its folder while it runs, and a moment longer than it writes to its log.
        wait_until(lambda party=party: claimable(party))


def test_refuses_a_folder_that_is_not_empty(tmp_path, network_of):
    network_of(tmp_path)
    with pytest.raises(DataError, match="not empty"):
        network_of(tmp_path)


def test_refuses_to_restart_a_folder_without_a_network(tmp_path):
    with pytest.raises(DataError, match="found none"):
        LocalNetwork.open(tmp_path)


def test_refuses_a_party_with_another_identity_than_its_card(tmp_path, network_of):
    network = network_of(tmp_path, grid="1x1", changes={"collusions = 1": "collusions = 0"})
    home = CuratorHome.open(network.folder / "curator")
    plan = ReleasePlan.load(network.plan)
    with network.running(), contextlib.closing(Journal.create(tmp_path / "j.sqlite", plan.text)) as journal:
        identity = home.keyring.identity
        with home.links(network.all_names, None, RetryPolicy()) as links:
            slices = [[links[name] for name in network.all_names]]
            identities = {"party-1-1": bytes(32)}
            with pytest.raises(PolicyError, match="expected the identity of its enrolled card"):
                release_over_parties(plan, slices, journal, signer=identity, identities=identities)
