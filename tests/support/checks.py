"""Commands that tests run in this process compute second opinions in it too.

A process for them takes longer to start than most of these releases; it has tests of its own, and commands
that tests run as processes use one.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dpmosaic.curator.certificates import checking


@pytest.fixture(autouse=True)
def checks_in_this_process(monkeypatch):
    monkeypatch.setattr(checking, "process_for_checks", lambda: ThreadPoolExecutor(1))
