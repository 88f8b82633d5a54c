"""Dealers as processes: alone, and in a release over a network."""

import json
import urllib.request

import pytest

from dpmosaic.common.errors import MosaicError
from dpmosaic.common.federation.card import DEALER, FederationList, as_text
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.simulations.local_network.network import Daemon

pytestmark = pytest.mark.slow


@pytest.fixture
def dealer(tmp_path, command):
    """A dealer that serves, the curator that pinned it, and where its metrics are."""
    command("dealer", "init", tmp_path / "dealer", "--name", "university")
    (tmp_path / "card.json").write_text(command("dealer", "card", tmp_path / "dealer"))
    command("curator", "init", tmp_path / "curator", "--name", "curator")
    curator = CuratorHome.open(tmp_path / "curator")
    command("curator", "enroll", curator.folder, tmp_path / "card.json", "--address", "127.0.0.1:1")
    listed = FederationList(curator.card(), (), tuple(curator.cards().values()))
    (tmp_path / "federation.json").write_text(as_text(listed.to_json()))
    command("dealer", "trust", tmp_path / "dealer", tmp_path / "federation.json", "--yes")
    daemon = Daemon.start(tmp_path / "dealer", "--listen", "127.0.0.1:0", "--metrics", "0", role=DEALER)
    curator.enroll(curator.cards()["university"], daemon.address())
    yield daemon, curator
    daemon.stop()


def test_a_dealer_answers_its_curator_over_mutual_tls_and_stops_cleanly(dealer):
    daemon, curator = dealer
    with curator.links(["university"], None, RetryPolicy()) as links:
        client = PartyClient(links["university"])
        described = client.describe()
        assert (described.name, described.domain) == ("university", None)
        assert described.identity == curator.cards()["university"].identity
        client.probe(1)
        with pytest.raises(MosaicError, match="a dealer aligns no rows"):
            client.align("0" * 32, 0, 1)
    (at,) = [event["address"] for event in daemon.events() if event["event"] == "metrics"]
    with urllib.request.urlopen(f"http://{at}/metrics", timeout=60) as page:
        found = page.read().decode()
    for what in ("ledger", "certificate", "reload"):
        assert f'dpmosaic_dealer_healthy{{what="{what}"}} 1.0' in found
    assert "budget" not in found
    assert daemon.stop() == 0
    assert daemon.events()[-1]["event"] == "stopped"


@pytest.mark.slow
def test_three_dealers_deal_for_a_release_of_a_network_and_sign_its_certificate(
    tmp_path, network_of, command
):
    network = network_of(tmp_path, mechanism="mosaic", dealers=3)
    with network.running():
        assert "FIX" not in command("curator", "preflight", network.plan)
        command("curator", "release", network.plan, "--out", tmp_path / "out")
    assert network.dealers == ("dealer-1", "dealer-2", "dealer-3")
    states = [
        [
            entry["state"]
            for entry in json.loads(command("dealer", "releases", network.dealer(name), "--json"))
        ]
        for name in network.dealers
    ]
    assert states == [["certified"]] * 3
    listed = tmp_path / "federation.json"
    command("curator", "federation", network.folder / "curator", "--out", listed)
    verified = command("curator", "verify", tmp_path / "out/certificate.json", "--federation", listed)
    assert "FAILED" not in verified
