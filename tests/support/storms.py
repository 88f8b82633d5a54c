"""Handshakes without a certificate, against a party or a curator in a process of its own."""

import contextlib
import itertools
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.wire.tls import TlsSide
from dpmosaic.curator.parties.attached import Admitted, AttachmentServer
from dpmosaic.party.serving.health import Health
from dpmosaic.party.serving.server import PartyServer
from dpmosaic.party.serving.servicer import PartyServicer
from support.parties import party_of, policy_for

TESTS = Path(__file__).parent.parent
ANY_PORT = "127.0.0.1:0"
# Closes by a reset: otherwise a million closed connections would use up the ports of this machine.
RESET = struct.pack("ii", 1, 0)


class Stormed:
    """A process with a port that strangers can reach.

    Args:
        kind: "party", whose certificates change at every look at them, or "curator", for attached parties.
        reload_s: seconds between two looks at the certificates.
    """

    def __init__(self, kind, reload_s=0.02):
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, __file__, kind, str(reload_s)],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def stop(self):
        """Stops it; its exit status, how often it replaced its certificates, and its standard error."""
        output, _ = self.process.communicate(timeout=120)
        with self.errors:
            self.errors.seek(0)
            return self.process.returncode, int(output or 0), self.errors.read()

    def resident_mb(self):
        """Memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def storm(port, handshakes, threads=8):
    """Handshakes of callers without a certificate; how many were answered."""
    hello, whole = client_hello(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    whole.check_hostname, whole.verify_mode = False, ssl.CERT_NONE
    # Counters that are safe in threads.
    tickets, answered = itertools.count(), itertools.count()

    def run():
        while (ticket := next(tickets)) < handshakes:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 60) as link:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                if ticket % 4 == 0:
                    # To the end, with no certificate; the others leave at the first answer.
                    with whole.wrap_socket(link, server_hostname="stranger"):
                        next(answered)
                else:
                    link.sendall(hello)
                    if link.recv(1):
                        next(answered)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return next(answered)


def client_hello():
    """The first message of a TLS handshake."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(received, sent).do_handshake()
    return sent.read()


class Changing:
    """A party or a curator whose certificates change at every look at them.

    Attributes:
        port: on which it listens once it has started.
        changes: for each change None, and for each that failed the error.
    """

    def __init__(self, kind, reload_s):
        key, self.changes = new_tls_key(), []
        own, *others = (self_signed(name, key, datetime.now(UTC)) for name in ("own", "other", "other"))
        sides = itertools.cycle(TlsSide(key, own, (other,)) for other in others)
        if kind == "party":
            table = Table.from_codes(Domain.coded({"a": 2}), np.array([[0], [1]]))
            servicer = PartyServicer(party_of("north", table, policy_for("indicator")))
            server = PartyServer(servicer, lambda: next(sides), ANY_PORT, Health({}), self._logged, reload_s)
            self.port, self.stop = server.address.rpartition(":")[2], lambda: server.stop(0)
        else:

            def admitted():
                return Admitted(next(sides), {})

            server = AttachmentServer(admitted, ANY_PORT, reloaded=self.changes.append, reload_s=reload_s)
            self.port, self.stop = server.port, server.close
        self.start = server.start

    def _logged(self, event):
        if event.event == "reload":
            self.changes.append(None if event.code == "OK" else event.reason)


def serve(kind, reload_s):
    """Serves until the standard input ends; prints the port, and at the end the number of changes."""
    server = Changing(kind, reload_s)
    server.start()
    print(server.port, flush=True)
    sys.stdin.read()
    server.stop()
    print(server.changes.count(None))


if __name__ == "__main__":
    serve(sys.argv[1], float(sys.argv[2]))
