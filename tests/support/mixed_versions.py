"""A small federation whose curator and parties run two installations of the software."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.simulations.local_network.network import program
from support.installations import using
from support.small_network import small_network

_WAIT_S = 240.0


class MixedFederation:
    """One slice of two parties, and a curator; each is a process of an installation.

    Args:
        folder: for the network and its release.
        parties: folder of the installation of each party; None for this one.
    """

    def __init__(self, folder, parties):
        self.network = small_network(folder, grid="1x2", mechanism="mst")
        self.out, self.federation = folder / "out", folder / "federation.json"
        self.certificate = self.out / "certificate.json"
        self.daemons = {}
        for name, installed in zip(self.network.all_names, parties, strict=True):
            self.start(name, installed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in self.daemons.values():
            daemon.stop()

    def start(self, name, installed):
        """Starts a party by an installation; one that runs is killed first."""
        if name in self.daemons:
            self.daemons[name].process.kill()
            self.daemons[name].stop()
        with using(installed):
            self.daemons[name] = self.network.start(name)
        self.network.enroll(name, self.daemons[name])

    def begin(self, installed):
        """A release that has begun, by the curator of an installation."""
        with using(installed):
            line = [*program(), "curator", "release", self.network.plan, "--out", self.out]
            return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def after(self, answers, release):
        """Waits until so many queries of a release were answered; it must not have ended."""
        until = time.monotonic() + _WAIT_S
        while self._answers() < answers:
            assert release.poll() is None
            assert time.monotonic() < until
            time.sleep(0.005)

    def command(self, installed, *arguments):
        """What a command of an installation prints."""
        with using(installed):
            done = subprocess.run(
                [*program(), *map(str, arguments)], capture_output=True, text=True, timeout=_WAIT_S
            )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self, release):
        """Kills the curator."""
        release.send_signal(signal.SIGKILL)
        release.wait()
        assert not self.certificate.exists()

    def check(self, version, readers):
        """The release used a version, every ledger was charged once, and all installations verify it."""
        stated = json.loads(self.certificate.read_text())
        terms = decode_terms(bytes.fromhex(stated["signed"]["terms"]))
        assert terms.protocol_version == version
        for name in self.network.all_names:
            with contextlib.closing(Ledger(self.network.party(name) / "ledger.sqlite")) as ledger:
                (entry,) = ledger.summaries()
                assert float(entry.spent) == stated["promise"]["zcdp_rho_spent"]
        for installed in readers:
            self.command(
                installed, "curator", "federation", self.network.plan.parent, "--out", self.federation
            )
            verified = self.command(
                installed, "curator", "verify", self.certificate, "--federation", self.federation
            )
            assert "FAILED" not in verified
            os.remove(self.federation)

    def _answers(self):
        journal = f"file:{self.out}.private/journal.sqlite?mode=ro"
        try:
            with contextlib.closing(sqlite3.connect(journal, uri=True)) as database:
                (count,) = database.execute("SELECT count(*) FROM answer").fetchone()
        except sqlite3.OperationalError:
            return 0
        return count


def check_mixture(folder, curator, parties, version):
    """A release by a curator and parties of these installations."""
    with MixedFederation(folder, parties) as mixed:
        mixed.command(curator, "curator", "release", mixed.network.plan, "--out", mixed.out)
        mixed.check(version, {curator, *parties})


def check_rolling_upgrade(folder, before, after, version):
    """All are upgraded one after the other while a release is under way, each in the middle of its work."""
    with MixedFederation(folder, [before, before]) as mixed:
        first, second = mixed.network.all_names
        release = mixed.begin(before)
        mixed.after(1, release)
        mixed.start(first, after)
        mixed.after(3, release)
        mixed.kill(release)
        mixed.start(second, after)
        mixed.command(after, "curator", "resume", mixed.out)
        mixed.check(version, {before, after})
