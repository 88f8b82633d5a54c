"""A curator with a plan over two institutions that nobody serves, and its console."""

import contextlib
import signal
from functools import partial

import pytest

from dpmosaic.common.console.serving import serve
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.curator.console.operations import Operations
from dpmosaic.curator.console.pages import Place, curator_pages
from support.small_network import small_network


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """The files of a network; nobody serves them."""
    return small_network(tmp_path_factory.mktemp("network"), "1x2")


@pytest.fixture
def place(network, tmp_path):
    """A plan with the network's curator, and a folder for the results of this test."""
    return Place(network.plan, tmp_path / "out", network.plan.parent)


@pytest.fixture
def ctrl_c():
    """Tests that run in the background may ignore Ctrl-C; a console handles it, so its processes do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def operations(ctrl_c):
    with contextlib.closing(Operations()) as made:
        yield made


@pytest.fixture
def address(place, operations):
    """The address that opens the console."""
    with serve(partial(curator_pages, place, operations), Stop()) as opened:
        yield opened
