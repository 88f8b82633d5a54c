"""A curator that records the messages of its connections, and may alter them."""

import itertools
import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.table import Table
from dpmosaic.common.messages import OpeningRequest
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.parties.federation import connect
from support.parties import cut, dealers_for, masked_terms, policy_for, started
from support.terms import RELEASE_ID

GRANTED = {32: Fraction(1), 64: Fraction(3 * 10**11)}
"""Budgets that make a release choose the ring."""


def table_of(kind, domain, records):
    """A table whose records are all equal, or all drawn at random."""
    rng = np.random.default_rng(11)
    columns = [
        np.full(records, n - 1) if kind == "equal" else rng.integers(0, n, records) for n in domain.sizes
    ]
    return Table.from_codes(domain, np.column_stack(columns))


class Tap:
    """A connection of a curator that records its messages and may alter openings.

    Args:
        connection: connection to the party or dealer.
        place: place of the participant in the plan.
        wire: state shared by all taps.
    """

    def __init__(self, connection, place, wire):
        self.connection, self.place, self.wire = connection, place, wire

    def call(self, method, requests):
        if method == "Deliver":
            self.wire.receiver = self.place
            requests = list(requests)
        replies = self.connection.call(method, requests)
        if method in ("Open", "Deal", "Answer"):
            replies = list(replies)
        if method == "Open" and self.wire.alter is not None:
            replies = list(streams.encode_payload(self.wire.alter(list(streams.decode_payload(replies)))))
        self.wire.crossed.append((self.place, method, requests, replies))
        yield from replies


class Sizes:
    """A connection whose messages are measured: method, direction and size of each, in order."""

    seen = ()

    def __init__(self, connection):
        self.connection = connection

    def call(self, method, requests):
        def measured():
            for request in requests:
                Sizes.seen.append((method, "in", len(request)))
                yield request

        for reply in self.connection.call(method, measured()):
            Sizes.seen.append((method, "out", len(reply)))
            yield reply

    def __getattr__(self, name):
        return getattr(self.connection, name)


class Wire:
    """The messages that a curator has seen so far, and its alteration of openings."""

    def __init__(self):
        self.crossed, self.alter, self._now = [], None, threading.local()

    @property
    def receiver(self):
        """Place of the participant to which this thread delivers; dealers deal at the same time."""
        return self._now.receiver

    @receiver.setter
    def receiver(self, place):
        self._now.receiver = place

    def methods(self):
        return {method for _, method, _, _ in self.crossed}


class Curator:
    """A release whose messages are tapped by its curator.

    Args:
        table: table that is cut into the grid.
        grid: grid of parties.
        granted: budget of the release.
        seed: seed of all keys.
        tolerated: tolerated collusions.
        dealers: number of dealers; see `dealers_for`.
    """

    def __init__(self, table, grid, granted=Fraction(1), seed=1, tolerated=None, dealers=0):
        self.table, self.granted, self.tolerated = table, granted, tolerated
        policy = policy_for("masked", granted_rho=float(granted))
        policy = replace(policy, lifetime_rho=3 * policy.lifetime_rho)
        keys = RandomStream.from_seed(seed)
        links = started(cut(table, grid), policy, keys)
        self.wire, places = Wire(), itertools.count()
        taps = [[Tap(link, next(places), self.wire) for link in row] for row in links]
        self.dealers = [Tap(dealer, next(places), self.wire) for dealer in dealers_for(links, keys, dealers)]
        self.federation = connect(table.domain, taps, dealers=self.dealers)
        self.links = [tap for row in taps for tap in row]
        self.clients = [member.client for member in self.federation.members]

    def terms(self, release_id=RELEASE_ID):
        return masked_terms(self.federation, self.granted, tolerated=self.tolerated, release_id=release_id)

    def measurer(self, release_id=RELEASE_ID):
        """Starts a release according to the protocol."""
        terms = self.terms(release_id)
        acceptances = self.federation.accept(terms)
        return MaskedMeasurer(self.federation, terms, acceptances, self.granted)

    def session(self, party, release_id=RELEASE_ID):
        """What a party, given by its place, has in memory of a release."""
        return self.links[party].connection.party._releases.of(release_id)._session

    def open(self, sender, chain, recipient, release_id=RELEASE_ID):
        """The sealed frames of an opening."""
        request = OpeningRequest(release_id, chain, recipient)
        return list(self.links[sender].call("Open", [codec.encode(request)]))

    def deliver(self, recipient, delivery, frames):
        """Delivers frames with this header."""
        list(self.links[recipient].call("Deliver", [streams.encode_delivery(delivery), *frames]))
