"""Daemons of parties as processes that share what they import: many start in the time of one."""

import contextlib
import json
import multiprocessing
import os
import sys
import time

_IMPORTED = [
    "dpmosaic.command",
    "dpmosaic.party.operating.role_commands",
    "dpmosaic.party.serving.daemon",
    "grpc._server",
    "numpy.ma",
    "sqlglot.generators.duckdb",
]
_START_S = 120.0


def _serve(folder, address):
    from dpmosaic.command import app

    sys.stderr = (folder / "log.jsonl").open("w", buffering=1)
    os.dup2(sys.stderr.fileno(), 2)
    app(["party", "serve", str(folder), "--listen", address])


def _address(folder, process):
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.is_alive():
        with contextlib.suppress(OSError):
            for line in (folder / "log.jsonl").read_text().splitlines():
                event = json.loads(line) if line.endswith("}") else {}
                if event.get("event") == "started":
                    return event["address"]
        time.sleep(0.05)
    raise AssertionError(f"a daemon did not start: {folder}")


@contextlib.contextmanager
def forked_daemons(network, curator):
    """Starts the parties of a local network and enrolls their addresses; kills all at the end.

    Args:
        network: the network.
        curator: its curator's home.

    Yields:
        The process of each party, by name.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    found = {}
    try:
        for name in network.all_names:
            found[name] = context.Process(
                target=_serve, args=(network.party(name), "127.0.0.1:0"), daemon=True
            )
            found[name].start()
        for name, process in found.items():
            curator.enroll(curator.cards()[name], _address(network.party(name), process))
        yield found
    finally:
        for process in found.values():
            process.kill()
            process.join()
