"""Institutions that reach the coordinator's mailbox over HTTPS, by the commands that their people type."""

import contextlib
import json
import subprocess
import threading

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.local_network.network import Daemon, program
from support.edits import edit
from support.middleboxes import Authority
from support.waiting import wait_until

pytestmark = pytest.mark.slow

AWAY = "party-3-1"


@contextlib.contextmanager
def mailbox_of(curator, *options):
    """The process of `curator mailbox`; gives its port, and what it logged when it has ended."""
    command = [*program(), "curator", "mailbox", str(curator), "--address", "127.0.0.1:0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    logged = []
    try:
        yield process.stderr.readline().split()[-1].strip(), logged
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=120)
        logged.extend(map(json.loads, said.splitlines()))
    assert process.returncode == 0


@pytest.fixture
def sites(tmp_path, network_of, command):
    """Three institutions, of which two are dialled and one has no open port."""
    network = network_of(tmp_path, "3x1")
    folder = network.party(AWAY)
    with contextlib.ExitStack() as stack:
        for name in network.all_names:
            if name != AWAY:
                daemon = network.start(name)
                stack.callback(daemon.stop)
                network.enroll(name, daemon)
        command("party", "card", folder, "--out", tmp_path / "card.json")
        command("curator", "enroll", network.folder / "curator", tmp_path / "card.json", "--by-files")
        authority = Authority(tmp_path / "authority")
        edit(folder / "policy.toml", {"[policy]": f'[serve]\nauthorities = "{authority.file}"\n[policy]'})
        yield network, folder, authority


def test_the_officer_of_one_of_three_sites_decides_while_its_daemon_waits_which_was_killed_before(
    sites, command, tmp_path
):
    network, folder, authority = sites
    edit(folder / "policy.toml", {"approval = false": "approval = true"})
    certificate, key = authority.issue()
    curator = network.folder / "curator"
    with mailbox_of(curator, "--certificate", certificate, "--key", key) as (port, logged):
        url = f"https://localhost:{port}/mailbox"
        daemon = Daemon.start(folder, "--through", url)
        wait_until(lambda: (curator / "inbox" / AWAY / "description").exists())
        release = ("curator", "release", network.plan, "--out", tmp_path / "out")
        releasing = threading.Thread(target=command, args=release)
        releasing.start()
        wait_until(lambda: codes_of(daemon) == ["PERMISSION_DENIED"])
        daemon.process.kill()
        daemon.stop()
        daemon = Daemon.start(folder, "--through", url)
        wait_until(lambda: codes_of(daemon) == ["PERMISSION_DENIED"])
        command("party", "approve", folder, "--yes", "--reason", "a trial")
        releasing.join(300)
        assert not releasing.is_alive()
        assert codes_of(daemon) == ["PERMISSION_DENIED", "OK"]
        # It waits for the next bundle, for longer than this.
        daemon.process.terminate()
        assert daemon.process.wait(60) == 0
        daemon.stop()
    federation = tmp_path / "federation.json"
    command("curator", "federation", curator, "--out", federation)
    command("curator", "verify", tmp_path / "out/certificate.json", "--federation", federation)
    (charged,) = json.loads(command("party", "ledger", folder, "--json"))
    assert charged["state"] == "certified"
    assert charged["spent_rho"] == pytest.approx(0.5)
    assert not list(curator.glob(f"*box/{AWAY}/{charged['release']}*"))
    assert {event["event"] for event in logged} == {"fetched", "taken"}
    assert {event["party"] for event in logged} == {AWAY}


def codes_of(daemon):
    """What became of the terms, each time that they came."""
    return [event["code"] for event in daemon.events() if event.get("method") == "Accept"]


def test_a_mailbox_needs_parties_by_files_a_key_for_its_certificate_and_a_port_of_its_own(command, tmp_path):
    curator, listen = tmp_path / "curator", ("curator", "mailbox", tmp_path / "curator", "--address")
    command("curator", "init", curator, "--name", "curator")
    with pytest.raises(DataError, match="expected parties that are enrolled with --by-files, got none"):
        command(*listen, "127.0.0.1:0")
    with pytest.raises(DataError, match="expected --certificate and --key together"):
        command(*listen, "127.0.0.1:0", "--certificate", curator / "identity/tls.crt")


def test_a_daemon_is_reached_in_one_way_and_a_dealer_not_by_files(command, tmp_path):
    folder, url = tmp_path / "dealer", "https://curator.example/"
    command("dealer", "init", folder, "--name", "university")
    with pytest.raises(DataError, match="expected one of --listen, --attach and --through, got several"):
        command("dealer", "serve", folder, "--through", url, "--listen", "127.0.0.1:0")
    with pytest.raises(DataError, match="got a dealer, which deals all the time"):
        command("dealer", "serve", folder, "--through", url)
