"""How the certificates of a port are replaced: a port of the test answers, in the place of gRPC's."""

import contextlib
import socket
import time
from datetime import UTC, datetime
from types import NoneType

import grpc
import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.errors import DataError
from dpmosaic.common.wire import reloading
from dpmosaic.common.wire.reloading import Certificates
from dpmosaic.common.wire.tls import TlsSide
from support.waiting import wait_until

KEY = new_tls_key()
NORTH, CURATOR, OTHER = (self_signed(name, KEY, datetime.now(UTC)) for name in ("north", "curator", "other"))
HANDSHAKE, ALERT = b"\x16", b"\x15"


class Port:
    """A port and the certificates shown on it; `pinned` are the current pins, None for unreadable files."""

    def __init__(self):
        self.pinned, self.events = (CURATOR,), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(60)
        self.certificates = Certificates(self.side, self.events.append, every_s=0.01)
        self.certificates.start(f"127.0.0.1:{self.listener.getsockname()[1]}")

    def side(self):
        if self.pinned is None:
            raise DataError("the files are unreadable")
        return TlsSide(KEY, NORTH, self.pinned)

    def accept(self):
        """The next connection, after its first message of a handshake."""
        link, _ = self.listener.accept()
        link.settimeout(60)
        assert link.recv(4096)[:1] == HANDSHAKE
        return link

    def wait_for(self, kind):
        wait_until(lambda: self.events and isinstance(self.events[-1], kind))


@pytest.fixture
def offered(monkeypatch):
    """Asks for new certificates, as gRPC does at each connection."""
    fetchers = []

    def credentials(initial, fetch, require_client_authentication):
        assert require_client_authentication
        fetchers.append(fetch)

    monkeypatch.setattr(grpc, "dynamic_ssl_server_credentials", credentials)
    # However long this test is kept waiting.
    monkeypatch.setattr(reloading, "_ANSWER_S", 60.0)
    monkeypatch.setattr(reloading, "_HOLD_S", 600.0)
    return lambda: fetchers[0]()


@pytest.fixture
def port(offered):
    made = Port()
    yield made
    # First: a look that has just begun would wait for an answer of this port.
    made.listener.close()
    made.certificates.stop()
    made.certificates.close()


def is_open(link):
    link.settimeout(0.05)
    with contextlib.suppress(TimeoutError):
        return link.recv(1) != b""
    return True


def ends(link):
    """Waits for the other side to close a connection."""
    link.settimeout(60)
    return link.recv(1) == b""


def test_certificates_that_did_not_change_are_not_offered(port, offered):
    port.listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        port.accept()
    assert offered() is None


def test_new_certificates_are_offered_once_and_only_while_a_handshake_holds_the_earlier_ones(port, offered):
    port.pinned = (CURATOR, OTHER)
    with port.accept() as holding:
        assert offered() is None
        holding.sendall(HANDSHAKE)
        with port.accept() as taking:
            assert offered() is not None
            assert offered() is None
            taking.sendall(HANDSHAKE)
            port.wait_for(NoneType)
            assert ends(taking)
            assert is_open(holding)
    port.certificates.check_current()


def test_nothing_is_offered_without_a_handshake_that_holds_the_earlier_certificates(port, offered):
    port.pinned = (CURATOR, OTHER)
    with port.accept() as refused:
        refused.sendall(ALERT)
        port.wait_for(DataError)
    assert offered() is None
    with pytest.raises(DataError, match="begins no handshake"):
        port.certificates.check_current()


def test_an_offer_that_no_connection_took_is_withdrawn_and_made_again(port, offered):
    port.pinned = (CURATOR, OTHER)
    with port.accept() as holding, contextlib.ExitStack() as links:
        holding.sendall(HANDSHAKE)
        with port.accept() as refused:
            refused.sendall(ALERT)
            port.wait_for(DataError)
            assert offered() is None
        for _ in range(2):
            links.enter_context(port.accept()).sendall(HANDSHAKE)
        port.wait_for(NoneType)
        assert is_open(holding)
    port.certificates.check_current()


def test_files_that_cannot_be_read_are_logged_once_and_the_certificates_stay(port, offered):
    port.pinned = None
    port.wait_for(DataError)
    with pytest.raises(DataError, match="earlier certificates: the files are unreadable"):
        port.certificates.check_current()
    port.pinned = (CURATOR,)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(DataError):
            port.certificates.check_current()
            break
        time.sleep(0.01)
    port.certificates.check_current()
    assert offered() is None
    assert len(port.events) == 1


@pytest.mark.slow
def test_after_the_stop_nothing_is_begun_and_handshakes_are_held_until_the_close(port, offered):
    port.pinned = (CURATOR, OTHER)
    with port.accept() as holding:
        holding.sendall(HANDSHAKE)
        with port.accept() as taking:
            taking.sendall(HANDSHAKE)
            port.wait_for(NoneType)
        port.certificates.stop()
        port.pinned = (CURATOR,)
        port.listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            port.accept()
        assert is_open(holding)
        port.certificates.close()
        assert ends(holding)
