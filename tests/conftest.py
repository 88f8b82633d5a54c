"""Settings of the whole suite."""

import atexit
import contextlib
import gc
import itertools
import os
import re
import shutil
import tempfile
from importlib.util import find_spec

# Read when numpy is imported: tests run in one process for each core, and so do the parties that they start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

from support.packages import install as install
from support.repeatable import noise_of

# Ledgers of data frames; those of fixtures of modules too.
STATE = tempfile.mkdtemp(prefix="dpmosaic-state-")
os.environ["XDG_STATE_HOME"] = STATE
atexit.register(shutil.rmtree, STATE, ignore_errors=True)
NUMBERS = itertools.count()

# As in the command: there are few cycles, and looking for them took a seventh of the time of collecting.
gc.set_threshold(20_000)

# Whether a test fails depends on the commit alone: examples and noise are the same in each run, and examples
# take any time. `--hypothesis-profile=search` looks for others.
UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("suite", derandomize=True, **UNTIMED)
hypothesis.settings.register_profile("fast", derandomize=True, max_examples=15, **UNTIMED)
hypothesis.settings.register_profile("search", derandomize=False, **UNTIMED)
hypothesis.settings.load_profile("suite")

SLOW_FILE = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)
WITHOUT_GAN = [module for module in ("torch", "opacus") if find_spec(module) is None]


@pytest.fixture(autouse=True)
def state(monkeypatch):
    """Each test has ledgers of its own, in a folder that its first ledger makes."""
    folder = os.path.join(STATE, str(next(NUMBERS)))
    monkeypatch.setenv("XDG_STATE_HOME", folder)
    return folder


def repeated(name):
    """The noise of a test or of a shared fixture."""
    searching = hypothesis.settings.get_current_profile_name() == "search"
    return contextlib.nullcontext() if searching else noise_of(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with repeated(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What several tests share is the same whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with repeated(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


def pytest_ignore_collect(collection_path, config):
    """Without slow tests, files of nothing else are not even imported, with all that they import."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return None


def pytest_runtest_setup(item):
    """Skips what needs an extra that is not installed."""
    if WITHOUT_GAN and item.get_closest_marker("gan"):
        pytest.skip(f"the extra 'gan' is not installed: no {' and no '.join(WITHOUT_GAN)}")
