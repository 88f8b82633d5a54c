"""A party behind an HTTP proxy, which passes its connection on by CONNECT and sees encrypted bytes only."""

import base64
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
from support.waiting import wait_until


class Proxy:
    """Passes connections on by CONNECT, and keeps what it was asked for and the first bytes of each side."""

    def __init__(self, login=None):
        self.login, self.logins = login, []
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
        # Whoever asked may be gone at any time.
        with contextlib.suppress(OSError):
            self._pass(client)

    def _pass(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = client.recv(1)
            if not byte:
                return
            head += byte
        method, target, _ = head.split(b" ", 2)
        self.asked.append((method, target.decode()))
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        self.logins.append(fields.get(b"Proxy-Authorization"))
        if self.login is not None and self.logins[-1] != b"Basic " + base64.b64encode(self.login):
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            client.close()
            return
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
    with contextlib.closing(GrpcConnection("north", channel, RetryPolicy(call_s=120, tries=3))) as link:
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


LOGIN = "zoë:p@ss:w/rd%20"


@pytest.fixture
def asking():
    """A proxy that asks for a user and a password."""
    with contextlib.closing(Proxy(LOGIN.encode())) as made:
        yield made


def served(proxy, login=None):
    return Serve("", None, proxy.url, login)


def test_a_call_goes_through_a_proxy_that_asks_for_a_password(loopback, asking, tmp_path):
    secret = tmp_path / "proxy.txt"
    secret.write_text(LOGIN + "\n", encoding="utf-8")
    secret.chmod(0o600)
    party = loopback()
    assert described(party, served(asking, "file:proxy.txt").proxy_url(tmp_path)) == described(party)
    assert asking.asked == [(b"CONNECT", party.address)]


@pytest.mark.parametrize("login", [None, "env:PROXY_LOGIN"])
def test_a_party_says_that_the_proxy_wants_a_password_and_not_that_the_curator_is_away(
    arrival, asking, login, tmp_path, monkeypatch
):
    monkeypatch.setenv("PROXY_LOGIN", "zoë:another")
    proxy = served(asking, login).proxy_url(tmp_path)
    party = arrival(proxy=proxy)
    told = wait_until(lambda: [event.reason for event in party.events if event.reason])
    assert "the proxy of [serve] asks for a user and a password" in told[0]
    assert "proxy_login" in told[0]
    assert "another" not in "".join(told)


@pytest.mark.parametrize(
    ("proxy", "login", "said"),
    [
        (None, "env:PROXY_LOGIN", "goes with proxy"),
        ("http://proxy:3128", "env:NOBODY_SET_THIS", "expected the environment variable NOBODY_SET_THIS"),
        ("http://proxy:3128", "env:PROXY_LOGIN", "expected USER:PASSWORD there"),
        ("http://proxy:3128", "file:open.txt", "other users can read"),
        ("http://proxy:3128", "file:absent.txt", "found none; write it"),
    ],
)
def test_a_login_that_cannot_be_used_is_refused_before_the_daemon_dials(
    proxy, login, said, tmp_path, monkeypatch
):
    monkeypatch.setenv("PROXY_LOGIN", "secretword")
    (tmp_path / "open.txt").write_text("user:secretword")
    (tmp_path / "open.txt").chmod(0o644)
    with pytest.raises(DataError, match=said) as refused:
        Serve("", None, proxy, login).proxy_url(tmp_path)
    assert "secretword" not in str(refused.value)
