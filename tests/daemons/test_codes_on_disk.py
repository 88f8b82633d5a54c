"""Codes of rows on the disk of a party: SIGKILL leaves them there, and its next start deletes them."""

import signal
import subprocess
import time

import pytest

from dpmosaic.simulations.local_network.network import program
from dpmosaic.simulations.parties.people import Overlap

WAIT_S = 120
OVERLAPS = {"aligned": Overlap(), "in one order": None}


@pytest.fixture(params=OVERLAPS)
def network(request, tmp_path, network_of, monkeypatch):
    """Two parties and a curator, with a folder of temporary files of their own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    made = network_of(tmp_path, grid="1x2", mechanism="mosaic", overlap=OVERLAPS[request.param])
    with made.running() as daemons:
        yield made, daemons, temporary


def folders(network, name):
    """Folders of codes of a party."""
    return sorted((network.party(name) / ".codes").glob("dpmosaic-*"))


def ranges(network, name):
    return sorted((network.party(name) / ".codes").rglob("*.parquet"))


@pytest.mark.slow
def test_a_killed_party_deletes_its_codes_when_it_starts_and_finishes_the_release(network, tmp_path):
    network, daemons, temporary = network
    name = network.all_names[1]
    out = tmp_path / "out"
    line = [*program(), "curator", "release", str(network.plan), "--out", str(out)]
    release = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + WAIT_S
    while release.poll() is None and not ranges(network, name) and time.monotonic() < until:
        time.sleep(0.001)
    killed = daemons[name]
    address = killed.address()
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()
    killed.process.stdin.close()
    left = folders(network, name)
    assert len(left) == 2
    assert ranges(network, name)
    daemons[name] = network.start(name)
    assert daemons[name].address() == address
    assert not set(left) & set(folders(network, name))
    release.communicate(timeout=WAIT_S)
    assert (out / "certificate.json").exists()
    for party in network.all_names:
        assert ranges(network, party) == []
        assert len(folders(network, party)) == 1
        daemons[party].stop()
        assert folders(network, party) == []
    assert list(temporary.iterdir()) == []
