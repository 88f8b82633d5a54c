"""Ports of daemons that are started again."""

import socket

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.local_network import ports
from dpmosaic.simulations.local_network.ports import free_port


def test_each_port_is_free_new_and_none_that_the_system_gives_away():
    found = [free_port() for _ in range(50)]
    assert len(set(found)) == 50
    with socket.create_server(("127.0.0.1", 0)) as given:
        lowest = min(given.getsockname()[1], 32_768)
    for port in found:
        assert 1024 < port < lowest
        socket.create_server(("127.0.0.1", port)).close()


def test_a_port_that_is_taken_is_passed_over(monkeypatch):
    first = free_port()
    with socket.create_server(("127.0.0.1", first)):
        monkeypatch.setattr(ports, "_TURNS", iter([first - ports._FIRST_PORT, first - ports._FIRST_PORT + 1]))
        assert free_port() == first + 1


def test_no_free_port_is_an_error_that_says_where(monkeypatch):
    first = free_port()
    with socket.create_server(("127.0.0.1", first)):
        monkeypatch.setattr(ports, "_TURNS", iter([first - ports._FIRST_PORT]))
        with pytest.raises(DataError, match="expected a free port of 127"):
            free_port()
