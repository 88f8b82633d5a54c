"""Both consoles over a network of processes: a curator asks, an officer approves, the release is made."""

import contextlib
import json
import re
import subprocess
import sys
from functools import partial

import pytest

from dpmosaic.common.console.serving import serve
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.curator.console.operations import Operations
from dpmosaic.curator.console.pages import Place, curator_pages
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.party.console.pages import party_pages
from support.browsing import Client
from support.edits import edit

WAIT_S = 300


@contextlib.contextmanager
def opened(pages):
    with serve(pages, Stop()) as address:
        client = Client(address)
        client.enter()
        yield client


@pytest.fixture(scope="module")
def network(tmp_path_factory, network_of):
    return network_of(tmp_path_factory.mktemp("consoles"), "1x2")


@pytest.mark.slow
def test_a_release_is_checked_asked_for_approved_and_resumed_in_two_consoles(tmp_path, network, command):
    officer_folder = network.party("party-1-1")
    edit(officer_folder / "policy.toml", {"approval = false": "approval = true"})
    place = Place(network.plan, tmp_path / "out", network.plan.parent)

    def addresses():
        return CuratorHome.open(place.home).addresses()

    def do(curator, operation):
        assert curator.post("/run", {"operation": operation, "sure": "yes"})[0] == 303
        assert operations.wait(WAIT_S)
        return curator.get("/")[2]

    with (
        network.running(),
        contextlib.closing(Operations()) as operations,
        opened(partial(curator_pages, place, operations)) as curator,
        opened(partial(party_pages, officer_folder, addresses()["party-1-1"])) as officer,
    ):
        text = do(curator, "preflight")
        assert "checks are in order" in text
        assert len(re.findall("software [0-9.]+, the curator", text)) == 2
        assert "of at most" in do(curator, "dry run")
        text = do(curator, "release")
        assert "party &#39;party-1-1&#39;: the release waits for this party&#39;s operator" in text
        (request,) = json.loads(command("party", "releases", officer_folder, "--json"))
        asked = officer.get(f"/releases/{request['release']}")[2]
        assert "waits for you" in asked
        signed = {"by": "D. P. Officer", "reason": "a trial", "read": "yes"}
        assert officer.post(f"/releases/{request['release']}/approve", signed)[0] == 303
        text = do(curator, "resume")
        assert "The release is finished" in text
        assert "The daemon of your institution is not running" not in officer.get("/")[2]
        assert "to be fixed" not in officer.get("/health")[2]
        assert "finished" in officer.get(f"/releases/{request['release']}")[2]
        assert request["release"] in officer.get("/certificates")[2]
    assert (tmp_path / "out/certificate.json").exists()


@pytest.mark.slow
def test_the_commands_print_an_address_that_opens_and_end_with_their_process(network):
    program = (sys.executable, "-c", "from dpmosaic.command import main; main()")
    for arguments in (("party", "console", network.party("party-1-1")), ("curator", "console", network.plan)):
        with subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as process:
            address = process.stdout.readline().rpartition(" ")[2].strip()
            client = Client(address)
            assert client.enter()[0] == 200
            client.post("/end")
            assert process.wait(WAIT_S) == 0
