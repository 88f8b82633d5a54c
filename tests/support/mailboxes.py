"""A curator's mailbox on this machine, and parties in threads that fetch their bundles from it."""

import time
from datetime import UTC, datetime
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.federation.card import PARTY, Card
from dpmosaic.curator.parties.by_files.connection import FilesConnection
from dpmosaic.curator.parties.by_files.mailbox import Mailbox
from dpmosaic.curator.parties.home import BY_FILES, CuratorHome
from dpmosaic.curator.parties.over_https.server import MailboxServer
from dpmosaic.party.serving.collecting import Collector
from dpmosaic.party.serving.https import Place
from dpmosaic.simulations.contracts.trial import Trial
from support.waiting import wait_until

RELEASE = "ab" * 16
DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
TRIAL = Trial(Fraction(1), protocol="masked", grid="2x1", release_id=RELEASE)
NAMES = ("party-1-1", "party-2-1")
"""Parties of the trial, one for each slice."""


def trial_table():
    """The table of the trial."""
    rng = np.random.default_rng(3)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 300) for n in DOMAIN.sizes]))


class Post:
    """A curator, its parties by files, and its mailbox.

    Attributes:
        home: folder of the curator.
        events: what the mailbox told.
        logs: what each party logged, by name.
    """

    def __init__(self, folder, names=("north", "south"), tls=None, host="127.0.0.1", now=time.time):
        self.home = CuratorHome.create(folder / "curator", "curator")
        self.identities = {name: self.enroll(name) for name in names}
        self.events, self.logs, self._running = [], {}, []
        self.server = MailboxServer(self.home, (host, 0), tls, lambda *event: self.events.append(event), now)
        self.server.start()

    @property
    def port(self):
        return self.server.port

    def enroll(self, name, address=BY_FILES):
        identity, certificate = Identity.generate(), self_signed(name, new_tls_key(), datetime.now(UTC))
        card = Card.issue(PARTY, name, identity, certificate, Domain.coded({"a": 2}))
        self.home.enroll(card, address)
        return identity

    def send(self, name, *calls, release=RELEASE):
        """Writes a bundle for a party; where it is."""
        mailbox = self.mailbox(name, release)
        return mailbox.path(mailbox.send(calls).number)

    def mailbox(self, name, release=RELEASE):
        return Mailbox(self.home.folder, self.home.keyring, self.home.cards()[name], release)

    def connections(self, names, answer_s=60.0):
        """Connections of the curator to parties, which wait for what they bring."""
        beside, told = [], []
        return [FilesConnection(self.mailbox(name), beside, answer_s, told.append) for name in names]

    def fetch(self, name, servicer, url, waiting=frozenset, **place):
        """Starts a party that fetches through an address; all that it is asked, `servicer` answers."""
        self.logs[name] = []
        home = SimpleNamespace(
            keyring=SimpleNamespace(name=name, identity=self.identities[name]),
            curators=lambda: [self.home.card()],
        )
        ledger = SimpleNamespace(summaries=tuple)
        reached, log = Place(url, **place), self.logs[name].append
        collector = Collector(home, servicer, ledger, reached, self.home.card(), waiting, log)
        collector.start()
        self._running.append(collector)
        return collector

    def describe(self, name):
        """Waits until a party has said what it holds."""
        self.home.first_bundle(name)
        wait_until(lambda: (self.home.folder / "inbox" / name / "description").exists())

    def codes(self, name, event="link"):
        return [one.code for one in self.logs[name] if one.event == event]

    def close(self):
        for collector in self._running:
            collector.stop()
        self.server.close()
