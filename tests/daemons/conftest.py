"""A small federation of real processes, and the commands as a user types them."""

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.simulations.local_network import network
from support.forked import Forked
from support.small_network import small_network, write_table


def dpmosaic(*arguments, fails=False):
    """Runs a command in this process; what it printed, or the error that it ended with."""
    done = CliRunner().invoke(app, [*map(str, arguments)])
    if fails:
        assert done.exit_code != 0
        return f"{done.exception} {done.output}"
    if done.exception is not None:
        done.exception.add_note(done.output)
        raise done.exception
    return done.stdout


@pytest.fixture(scope="session")
def command():
    return dpmosaic


@pytest.fixture(scope="session")
def network_of():
    return small_network


@pytest.fixture(scope="session")
def table_file():
    return write_table


@pytest.fixture(scope="module", autouse=True)
def started_as():
    """How daemons start: in most modules as forks, which share what they import."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(network, "begin", Forked)
        yield
