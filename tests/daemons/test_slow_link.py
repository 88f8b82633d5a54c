"""A release over links that delay every byte."""

import contextlib
import json
import queue
import socket
import threading
import time

import pytest

from dpmosaic.curator.forecasting.preflight import preflight
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.releasing.planning.plan import ReleasePlan

DELAY_S = 0.03


class SlowLink:
    """A proxy of a party that forwards all bytes in both directions after a delay.

    Args:
        target: host and port of the party.
        delay_s: delay of every byte, in seconds.
    """

    def __init__(self, target, delay_s=DELAY_S):
        host, _, port = target.rpartition(":")
        self.target, self.delay_s, self.sockets = (host, int(port)), delay_s, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = []
        self.run(self.accept)

    def run(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                self.sockets.append(near)
                far = socket.create_connection(self.target)
                self.sockets.append(far)
                for one, other in ((near, far), (far, near)):
                    late = queue.Queue()
                    self.run(self.read, one, late)
                    self.run(self.write, other, late)

    def read(self, one, late):
        data = b"?"
        while data:
            try:
                data = one.recv(1 << 16)
            except OSError:
                data = b""
            late.put((time.monotonic() + self.delay_s, data))

    def write(self, other, late):
        with contextlib.suppress(OSError):
            while True:
                due, data = late.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    other.shutdown(socket.SHUT_WR)
                    return
                other.sendall(data)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        accepting, *others = self.threads
        # After this there are no more sockets to close.
        accepting.join(5)
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in others:
            thread.join(5)


@pytest.fixture
def slow(tmp_path, network_of):
    """A network whose curator reaches every party over a slow link."""
    network = network_of(tmp_path, grid="1x2")
    with network.running(), contextlib.ExitStack() as stack:
        home = CuratorHome.open(network.folder / "curator")
        for name, card in home.cards().items():
            link = stack.enter_context(contextlib.closing(SlowLink(home.addresses()[name])))
            home.enroll(card, link.address)
        yield network


@pytest.mark.slow
def test_a_release_over_slow_links_succeeds_and_takes_longer(slow, command, tmp_path):
    output = json.loads(command("curator", "release", slow.plan, "--dry-run", "--json"))
    assert output["assumed"]["latency_s"] >= 2 * DELAY_S
    assert output["seconds"] > 10 * DELAY_S
    command("curator", "release", slow.plan, "--out", tmp_path / "out")
    certificate = json.loads((tmp_path / "out/certificate.json").read_text())
    for name in slow.all_names:
        (entry,) = json.loads(command("party", "ledger", slow.party(name), "--json"))
        assert entry["spent_rho"] == certificate["promise"]["zcdp_rho_spent"]


@pytest.mark.slow
def test_the_latency_of_a_slow_link_is_not_taken_for_a_clock_offset(slow):
    home = CuratorHome.open(slow.folder / "curator")
    with home.links(slow.all_names, None, RetryPolicy(call_s=20)) as links:
        client = PartyClient(links[slow.all_names[0]])
        client.describe()
        found = client.probe(2)
    assert found.upload_s >= 2 * DELAY_S
    assert abs(found.offset_s) <= found.upload_s
    # Whether the link is fast enough hangs on the machine that delays it, and is not asked here.
    clocks = [line for line in preflight(home, ReleasePlan.load(slow.plan)) if line.what == "clock"]
    assert len(clocks) == len(slow.all_names)
    assert all(line.passed for line in clocks), clocks


@pytest.mark.slow
def test_names_a_party_that_exceeds_the_deadline_over_a_slow_link(slow, command, tmp_path):
    text = slow.plan.read_text()
    slow.plan.write_text(text.replace("call_seconds = 3600.0", "call_seconds = 0.001"))
    output = command("curator", "release", slow.plan, "--dry-run", fails=True)
    assert f"party '{slow.all_names[0]}'" in output
