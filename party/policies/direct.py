"""Openings that go from party to party without the curator, where the policies of both name each other."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import grpc

from ...common.errors import PolicyError
from ...common.federation.card import Card
from ...common.messages import Delivery
from ...common.wire import streams
from ...common.wire.sending import Sending
from ...common.wire.status import error_of
from ...common.wire.tls import SERVICE, TlsSide, secure_channel

_CALL_S = 3600.0
"""Deadline of one stream."""


def _no_cards() -> Mapping[str, Card]:
    return {}


@dataclass(frozen=True)
class Direct:
    """The section [direct] of a policy, and the cards of the parties that it names.

    Attributes:
        send: name and address of each party that this one sends openings to.
        take: names of the parties from which it takes them.
        cards: current pinned cards of parties, by name.
    """

    send: Mapping[str, str] = field(default_factory=dict)
    take: frozenset[str] = frozenset()
    cards: Callable[[], Mapping[str, Card]] = _no_cards

    def side(self, own: TlsSide) -> TlsSide:
        """The TLS side of a daemon that also takes openings from peers.

        Args:
            own: its side for curators alone.
        """
        cards = [card for name, card in self.cards().items() if name in self.take]
        peers = {card.certificate.fingerprint: card.identity for card in cards}
        return replace(own, pinned=(*own.pinned, *(card.certificate for card in cards)), peers=peers)

    def send_to(self, own: TlsSide, name: str, delivery: Delivery, frames: Iterator[bytes]) -> None:
        """Sends sealed frames to a party's daemon, and waits until it has taken them.

        Args:
            own: the sender's side.
            name: name of the recipient.
            delivery: header of the message.
            frames: encoded frames.

        Raises:
            PolicyError: the policy names no address of it, or it is not pinned.
            PartyUnavailable: it cannot be reached, or does not finish before the deadline.
            MosaicError: what it raised.
        """
        card = self.cards().get(name)
        if name not in self.send or card is None:
            raise PolicyError(
                f"the policy sends nothing to {name!r} directly; name its address under send in [direct], "
                "and pin its card"
            )
        with contextlib.closing(secure_channel(self.send[name], own, card.certificate)) as channel:
            sending = Sending(itertools.chain([streams.encode_delivery(delivery)], frames))
            call = channel.stream_stream(f"/{SERVICE}/Deliver")(sending.frames(), timeout=_CALL_S)
            sending.begin(call)
            try:
                for _ in call:
                    pass
            except grpc.RpcError as failed:
                if sending.failure is not None:
                    raise sending.failure from None
                raise error_of(failed, name) from failed
            finally:
                call.cancel()


NO_DIRECT = Direct()
"""Everything passes the curator."""
