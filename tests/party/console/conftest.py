"""An institution whose console is open."""

from functools import partial

import pytest

from dpmosaic.common.console.serving import serve
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.party.console.pages import party_pages
from support.authorities import Authority
from support.browsing import Client
from support.consoles import copied, institution
from support.operators import Operator


@pytest.fixture
def consoles():
    """Opens the console of an operator: its address."""
    opened = []

    def address_of(operator):
        context = serve(partial(party_pages, operator.home.folder, None), Stop())
        opened.append(context)
        return context.__enter__()

    yield address_of
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """The authority of the institution, which issues certificates."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The operator of an institution with releases of every kind; tests take copies."""
    return institution(tmp_path_factory.mktemp("made"))


@pytest.fixture
def past(made, tmp_path):
    """The operator of an institution with releases of every kind."""
    return copied(made, tmp_path)


@pytest.fixture
def client(past, consoles):
    """A client of its console."""
    made = Client(consoles(past))
    made.enter()
    return made


@pytest.fixture
def empty(tmp_path_factory):
    """The operator of an institution that was never asked for anything."""
    return Operator(tmp_path_factory.mktemp("empty"))
