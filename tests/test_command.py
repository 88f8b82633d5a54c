"""The command as a process of its own."""

import subprocess
import sys

import pytest

from dpmosaic import __version__

REGISTERED = "import atexit; atexit.register(print, 'at the end')"
WORKING = """
import threading
def work():
    threading.main_thread().join()
    print("at the end")
threading.Thread(target=work).start()
"""


def process(*arguments, before="pass"):
    code = f"import sys; sys.argv = ['dpmosaic', *{arguments}]\n{before}\n"
    code += "from dpmosaic.command import main\nmain()\nprint('came back')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("before", [REGISTERED, WORKING])
def test_ends_after_what_is_registered_for_the_end_and_after_threads_that_still_work(before):
    done = process("--version", before=before)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{__version__}\nat the end\n"


def test_ends_with_the_status_of_the_command():
    done = process("no-such-command")
    assert done.returncode == 2
    assert "No such command" in done.stderr
