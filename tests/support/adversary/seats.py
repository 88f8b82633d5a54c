"""The roles of a release in this process: each can be asked, and started again from its ledger."""

import contextlib
import itertools
from dataclasses import dataclass, replace

import numpy as np

from dpmosaic.common.errors import MosaicError, PolicyError, ProtocolError
from dpmosaic.common.wire import streams
from dpmosaic.common.wire.refusals import decode_refusal, encode_refusal
from dpmosaic.curator.parties.dealer import CuratorDealer
from dpmosaic.party.dealing.dealer import Dealer
from dpmosaic.party.party import Party
from dpmosaic.party.policies.direct import Direct
from dpmosaic.party.serving.servicer import PartyServicer


class Seat:
    """A party or dealer, by its place in the plan.

    Args:
        place: its place.
        connection: connection to it, as it was started.
        world: all seats.
    """

    def __init__(self, place, connection, world):
        self.place, self.world = place, world
        self.curators = isinstance(connection, CuratorDealer)
        self._connection = connection
        self.direct, self.rows = {}, None
        if not self.curators:
            self.role = connection.servicer._party
            self._serve()

    def _serve(self, **direct):
        self.direct = direct or self.direct
        self.servicer = PartyServicer(self.role, **self.direct)

    def dials(self, other):
        """Openings for another seat go straight to it."""
        self._serve(direct=Dialling(self, other), side=lambda: None)
        other._serve(direct=Direct(take=frozenset({self.role.describe().name})))

    def restart(self, changed=""):
        """The process ends; another one goes on from the ledger.

        Args:
            changed: what is different from its first start: "rows" in another order; "rows behind its back",
                of a party whose source does not notice; a "sampler" that draws other noise without saying so.
        """
        self.world.watch.restarted(self.place, changed == "sampler")
        if self.curators:
            old = self._connection
            self._connection = CuratorDealer(old._identity, old._keys, old._binding._store)
            return
        old = self.role
        if isinstance(old, Dealer):
            self.role = Dealer(old._name, old._identity, old._rules, old._ledger, old._keys)
        else:
            self.rows = self.rows or old._institution.table
            rows = self.rows
            if changed.startswith("rows"):
                rows = rows.take(np.roll(np.arange(rows.record_count), 1))
            self.role = Party(replace(old._institution, table=rows), old._ledger, old._keys)
            if changed == "rows behind its back":
                self.role._digest = old._digest
        self._serve()

    def forget_keys(self, secret):
        """A deviating role has another secret of its releases, and was not introduced to anybody."""
        if not self.curators:
            database = self.role._ledger._database
            with database:
                database.execute(
                    "UPDATE release SET secret = ?, introduction = NULL, introduced_keys = NULL "
                    "WHERE closed_at IS NULL",
                    (secret,),
                )
            self.restart()

    def call(self, method, requests, most=None):
        """The replies, also those before a refusal; the connection of an honest curator takes all of them.

        Args:
            method: name of a method.
            requests: encoded requests.
            most: number of replies that are taken; None for all.
        """
        with self.world.watch.call(self.place, method, requests) as call:
            try:
                with contextlib.closing(self._replies(method, iter(requests))) as replies:
                    call.replies.extend(itertools.islice(replies, most))
            except MosaicError as error:
                raise decode_refusal(encode_refusal(error)) from error
        return call.replies

    def _replies(self, method, requests):
        if not self.curators:
            yield from self.servicer.serve(method, requests, b"")
            return
        try:
            yield from self._connection.call(method, requests)
        except AssertionError as cause:
            raise ProtocolError("the curator asked its own dealer in another order") from cause

    def take(self, header, frames, peer):
        """What another seat delivers itself."""
        requests = [header, *frames]
        with self.world.watch.call(self.place, "Deliver", requests):
            list(self.servicer.serve_peer("Deliver", iter(requests), peer))


class Dialling(Direct):
    """Sends openings to another seat.

    Args:
        sender: the seat that sends.
        recipient: the other seat.
    """

    def __init__(self, sender, recipient):
        super().__init__(send={recipient.role.describe().name: "in this process"})
        object.__setattr__(self, "ends", (sender, recipient))

    def send_to(self, own, name, delivery, frames):
        """See `Direct.send_to`."""
        sender, recipient = self.ends
        if name not in self.send:
            raise PolicyError("the policy names no such party")
        recipient.take(streams.encode_delivery(delivery), list(frames), sender.role.describe().identity)


@dataclass
class Connection:
    """A connection of an honest curator, which notes every message in order.

    Attributes:
        seat: the role at its other end.
        noted: (place, method, requests, replies) of all calls so far.
    """

    seat: Seat
    noted: list

    def call(self, method, requests):
        requests = list(requests)
        replies = self.seat.call(method, requests)
        self.noted.append((self.seat.place, method, requests, replies))
        yield from replies


class World:
    """All roles of a release.

    Args:
        links: connections to the parties, slice by slice.
        dealers: connections to the dealers that are no parties.
        watch: sees what the roles do.
        aligned: the alignment of the parties' rows (`AlignedRelease`); None if they have none.
    """

    def __init__(self, links, dealers, watch, aligned=None):
        self.watch, self.aligned = watch, aligned
        count = itertools.count()
        self.slices = [[Seat(next(count), link, self) for link in row] for row in links]
        self.dealers = [Seat(next(count), dealer, self) for dealer in dealers]
        self.seats = [*itertools.chain(*self.slices), *self.dealers]
        watch.honest = {seat.place for seat in self.seats}

    def connected(self):
        """Connections to parties slice by slice, to dealers, and the list of messages that they fill."""
        noted = []
        slices = [[Connection(seat, noted) for seat in row] for row in self.slices]
        return slices, [Connection(seat, noted) for seat in self.dealers], noted
