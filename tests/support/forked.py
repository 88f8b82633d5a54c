"""Daemons as processes that share what they import: many start in the time of one."""

import atexit
import contextlib
import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection

_IMPORTED = [
    "pytest",
    "dpmosaic.command",
    "dpmosaic.party.operating.role_commands",
    "dpmosaic.party.dealing.home",
    "dpmosaic.party.home.opening",
    "dpmosaic.party.serving.daemon",
    "grpc._server",
    "numpy.ma",
    "sqlglot.generators.duckdb",
]


class Forked:
    """A process of the command `dpmosaic`, with what tests use of `subprocess.Popen`.

    Args:
        arguments: of the command.
        stderr: file that receives its error stream.
    """

    def __init__(self, arguments, stderr):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_IMPORTED)
        read, self.stdin = context.Pipe(duplex=False)
        # A connection is passed on as a descriptor, whatever is at its other end.
        with read, contextlib.closing(Connection(os.dup(stderr.fileno()))) as errors:
            given = list(map(str, arguments)), dict(os.environ), os.getcwd(), read, errors
            self._process = context.Process(target=_run, args=given, daemon=True)
            self._process.start()
        self.pid, self.kill, self.terminate = self._process.pid, self._process.kill, self._process.terminate

    def send_signal(self, number):
        """Sends a signal to the process if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self):
        """Its exit status, negative if a signal ended it; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout=None):
        """Waits for its end; its exit status."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("dpmosaic", timeout)
        return self.poll()


def _run(arguments, environment, folder, stdin, stderr):
    from dpmosaic.command import main

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, connection in ((0, stdin), (2, stderr)):
        os.dup2(connection.fileno(), number)
        connection.close()
    sys.stdin = open(0, closefd=False)
    sys.stderr = open(2, "w", buffering=1, closefd=False)
    sys.argv = ["dpmosaic", *arguments]
    try:
        main()
    finally:
        # A fork leaves these out; the command deletes private folders by them.
        atexit._run_exitfuncs()
