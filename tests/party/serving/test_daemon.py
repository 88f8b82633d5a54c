"""A stop request ends a daemon within a bound, also while a call computes."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading
from dpmosaic.party.serving import daemon
from dpmosaic.party.serving.events import EventLog

daemon._END_S = float(sys.argv[1])
daemon.end_in_time(EventLog(sys.stdout))
if sys.argv[2] == "computes":
    threading.Event().wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "how", "told"), [("0.1", "computes", True), ("600", "ends", False)])
def test_a_stopped_daemon_ends_by_itself_or_is_ended(seconds, how, told):
    line = [sys.executable, "-c", SCRIPT, seconds, how]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0
    assert ("DEADLINE_EXCEEDED" in ended.stdout) is told
