"""A party or dealer behind encoded messages, independent of the transport."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import PartyUnavailable, PolicyError, ProtocolError
from ...common.formats import is_of_disk
from ...common.frames import MESSAGE_BYTES
from ...common.messages import (
    Acknowledgement,
    Agreed,
    Charged,
    Delivery,
    PartyDescription,
    PushRequest,
    SignedTerms,
    Verdict,
)
from ...common.wire import codec, probes, statements, streams
from ...common.wire.tls import TlsSide
from ..disk import FULL
from ..institution.role import Role
from ..policies.direct import NO_DIRECT, Direct
from .health import failures
from .turns import Turns


class PartyServicer:
    """Decodes requests, calls the party or dealer and encodes its replies; thread-safe.

    Args:
        party: the party or dealer.
        clock: returns seconds since 1970 in UTC.
        checks: name -> check of the daemon, which raises if it cannot answer; part of every review.
        direct: openings from party to party without the curator.
        side: current TLS side, with which it dials other parties; None if it dials none.
    """

    def __init__(
        self,
        party: Role[Any],
        clock: Callable[[], float] = time.time,
        checks: Mapping[str, Callable[[], None]] | None = None,
        direct: Direct = NO_DIRECT,
        side: Callable[[], TlsSide] | None = None,
    ) -> None:
        self._party = party
        self._direct = direct
        self._side = side
        self._checks = {} if checks is None else checks
        self._clock = clock
        self._turns = Turns(party.count_time)

    def serve(self, method: str, requests: Iterator[bytes], caller: bytes) -> Iterator[bytes]:
        """The encoded replies to an encoded request or a stream of requests.

        Args:
            method: name of a method of the service Party.
            requests: encoded requests.
            caller: identity of the curator that calls, as the transport knows it; empty if it knows none.

        Raises:
            MosaicError: the party refuses, or its disk is full; the text contains no private data.
        """
        with _full_is_unavailable():
            yield from self._replies(method, requests, caller)

    def serve_peer(self, method: str, requests: Iterator[bytes], peer: bytes) -> Iterator[bytes]:
        """The reply to another party, which may do nothing but deliver an opening that it made.

        Args:
            method: name of a method of the service Party.
            requests: encoded requests.
            peer: identity of the other party, as the transport knows it.

        Raises:
            PolicyError: it asks for anything else.
            MosaicError: see `serve`.
        """
        if method != "Deliver":
            raise PolicyError("another party may only deliver openings here; ask through the curator")
        with _full_is_unavailable():
            yield from self._deliver(
                _check_sizes(requests), lambda delivery: self._party.check_peer(delivery, peer)
            )

    def _replies(self, method: str, requests: Iterator[bytes], caller: bytes) -> Iterator[bytes]:
        party, requests = self._party, _check_sizes(requests)
        match method:
            case "Describe":
                yield codec.encode(self._describe())
            case "Probe":
                wanted = probes.decode_asked(requests)
                yield from probes.encode_replies(self._clock(), wanted)
            case "Review":
                signed = codec.decode_request(method, _only(requests))
                yield from self._turns.of("").replies(lambda: _one(self._review(signed, caller)))
            case "Accept":
                signed = codec.decode_request(method, _only(requests))

                # The party decodes terms only after their signature is verified, so all share one turn.
                yield from self._turns.of("").replies(
                    lambda: _one(party.accept(signed.terms, signed.curator_signature, caller, signed.seen))
                )
            case "Push":
                yield from self._push(codec.decode_request(method, _only(requests)), caller)
            case "Deliver":
                yield from self._deliver(
                    requests, lambda delivery: party.check_caller(delivery.release_id, caller)
                )
            case _ if method in _OF_A_RELEASE:
                asked = codec.decode_request(method, _only(requests))
                yield from self._stream(asked.release_id, caller, lambda: _OF_A_RELEASE[method](party, asked))
            case _:
                raise ProtocolError(f"a party has no method {method!r}; compare versions")

    def _review(self, signed: SignedTerms, caller: bytes) -> Verdict:
        verdict = self._party.review(signed.terms, signed.curator_signature, caller, signed.seen)
        return replace(verdict, refusals=(*verdict.refusals, *failures(self._checks)))

    def _describe(self) -> PartyDescription:
        sends = self._direct.send if self._side is not None else ()
        return replace(
            self._party.describe(), sends_to=tuple(sorted(sends)), takes_from=tuple(sorted(self._direct.take))
        )

    def _push(self, pushed: PushRequest, caller: bytes) -> Iterator[bytes]:
        """Sends an opening to another party; it is computed in turns, and sent outside."""
        if self._side is None:
            raise PolicyError("this party dials no other party; relay the opening through the curator")
        opening = pushed.opening
        frames = self._stream(
            opening.release_id, caller, lambda: streams.encode_payload(self._party.open(opening))
        )
        self._direct.send_to(self._side(), pushed.recipient, opening.delivery(pushed.sender), frames)
        yield codec.encode(Acknowledgement())

    def _deliver(self, requests: Iterator[bytes], check: Callable[[Delivery], None]) -> Iterator[bytes]:
        header = next(requests, b"")
        delivery, _ = streams.decode_delivery(iter([header]))
        turn = self._turns.of(delivery.release_id)

        def deliver_payload() -> Iterator[bytes]:
            check(delivery)
            self._party.deliver(delivery, streams.decode_payload(turn.outside(requests)))
            yield codec.encode(Acknowledgement())

        return turn.replies(deliver_payload)

    def _stream(
        self, release_id: str, caller: bytes, begin: Callable[[], Iterator[bytes]]
    ) -> Iterator[bytes]:
        """The replies of a call of a release, if its curator calls."""

        def begin_if_allowed() -> Iterator[bytes]:
            self._party.check_caller(release_id, caller)
            return begin()

        return self._turns.of(release_id).replies(begin_if_allowed)


def _done(step: Callable[[Role[Any], Any], None]) -> Callable[[Role[Any], Any], Iterator[bytes]]:
    """A step that is acknowledged when it is done."""

    def acknowledge(party: Role[Any], asked: Any) -> Iterator[bytes]:
        step(party, asked)
        return _one(Acknowledgement())

    return acknowledge


def _one(reply: Any) -> Iterator[bytes]:
    return iter([codec.encode(reply)])


_OF_A_RELEASE: Mapping[str, Callable[[Role[Any], Any], Iterator[bytes]]] = {
    "Introduce": _done(lambda party, asked: party.introduce(asked)),
    "Open": lambda party, asked: streams.encode_payload(party.open(asked)),
    "Deal": lambda party, asked: streams.encode_payload(party.deal(asked)),
    "Multiply": _done(lambda party, asked: party.multiply(asked)),
    "PrepareScores": _done(lambda party, asked: party.prepare_scores(asked)),
    "Align": lambda party, asked: party.align(asked.release_id, asked.owner),
    "AnswerScores": lambda party, asked: party.answer_scores(asked),
    "Charge": lambda party, asked: _one(Charged(party.charge(asked))),
    "Answer": lambda party, asked: party.answer(asked.query, asked.charges, asked.before),
    "Agree": lambda party, asked: _one(Agreed(party.agree(asked))),
    "Unmask": lambda party, asked: _one(party.unmask(asked)),
    "Certify": lambda party, asked: statements.encode_statement(party.certify(asked)),
    "Abandon": _done(lambda party, asked: party.abandon(asked.release_id)),
}
"""The replies to a request about one release, by the method that takes it."""


@contextlib.contextmanager
def _full_is_unavailable() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if is_of_disk(error):
            raise PartyUnavailable(FULL) from error
        raise


def _check_sizes(requests: Iterator[bytes]) -> Iterator[bytes]:
    """The requests, each checked for its size before it is decoded."""
    for request in requests:
        if len(request) > MESSAGE_BYTES:
            raise ProtocolError(
                f"expected messages of at most {MESSAGE_BYTES} bytes, got a larger one; ask for less at once"
            )
        yield request


def _only(requests: Iterator[bytes]) -> bytes:
    """The only request of a call."""
    taken = list(itertools.islice(requests, 2))
    if len(taken) != 1:
        raise ProtocolError("expected one request, got none or several; compare versions")
    return taken[0]
