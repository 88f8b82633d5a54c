"""A party behind an HTTP proxy, which passes its connection on by CONNECT and sees encrypted bytes only."""

import contextlib
import socket
import threading

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.tables import Key, Table, check_file
from dpmosaic.common.wire.tls import TlsSide, secure_channel
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import GrpcConnection, RetryPolicy
from dpmosaic.party.policies.serve import SERVE, Serve


class Proxy:
    """Passes connections on by CONNECT, and keeps what it was asked for and the first bytes of each side."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked, self.passed, self._links = [], [], [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for link in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._links.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        method, target, _ = head.split(b" ", 2)
        self.asked.append((method, target.decode()))
        host, _, port = target.decode().rpartition(":")
        server = socket.create_connection((host, int(port)))
        self._links.append(server)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
        self._pump(client, server)

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.passed.append(data)
                sink.sendall(data)


@pytest.fixture
def proxy():
    with contextlib.closing(Proxy()) as made:
        yield made


def described(party, proxy=None):
    own = TlsSide(*party.curator, (party.party[1],))
    channel = secure_channel(party.address, own, party.party[1], proxy)
    with contextlib.closing(GrpcConnection("north", channel, RetryPolicy(call_s=30, tries=3))) as link:
        return PartyClient(link).describe()


def test_a_call_goes_through_the_proxy_encrypted(loopback, proxy):
    party = loopback()
    found = described(party, proxy.url)
    assert proxy.asked == [(b"CONNECT", party.address)]
    assert found == described(party)
    assert len(proxy.asked) == 1
    assert not any(found.name.encode() in data and b"protocol" in data for data in proxy.passed)


def test_a_proxy_of_the_environment_is_not_used(loopback, proxy, monkeypatch):
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, proxy.url)
    described(loopback())
    assert proxy.asked == []


@pytest.mark.parametrize(
    "url", ["proxy:3128", "https://proxy:3128", "http://user:word@proxy:3128", "http://proxy"]
)
def test_a_proxy_is_a_host_and_a_port_without_a_password(url):
    form = Table({"serve": Key(SERVE)})
    with pytest.raises(DataError, match=r"proxy in .*expected http://HOST:PORT, without"):
        check_file("policy.toml", form, {"serve": {"proxy": url}})
    given = {"serve": {"proxy": "http://proxy:3128"}}
    check_file("policy.toml", form, given)
    assert Serve.of(given).proxy == "http://proxy:3128"
