"""Settings of the whole suite."""

import gc
import os
from importlib.util import find_spec

# Read when numpy is imported: tests run in one process for each core, and so do the parties that they start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

from support.packages import install as install

# As in the command: there are few cycles, and looking for them took a seventh of the time of collecting.
gc.set_threshold(20_000)

hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

WITHOUT_GAN = [module for module in ("torch", "opacus") if find_spec(module) is None]


def pytest_runtest_setup(item):
    """Skips what needs an extra that is not installed."""
    if WITHOUT_GAN and item.get_closest_marker("gan"):
        pytest.skip(f"the extra 'gan' is not installed: no {' and no '.join(WITHOUT_GAN)}")
