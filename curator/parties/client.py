"""The curator's client of a party: typed methods over a connection for encoded messages."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.terms import encode_terms
from ...common.data.attributes.texts import LONGEST_LABEL, MOST_LABELS
from ...common.errors import DeliveriesLost, PartyUnavailable
from ...common.frames import MESSAGE_BYTES, in_frames
from ...common.history import START, Mark
from ...common.labels import decode_labels
from ...common.messages import (
    AbandonRequest,
    Acceptance,
    Agreed,
    AlignRequest,
    AnswerRequest,
    Charged,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    PushRequest,
    Remaining,
    SignedTerms,
    Unmasked,
    Unmasking,
    Verdict,
)
from ...common.promises.statement import Claim, Statement
from ...common.queries import Asked, MarginalQuery
from ...common.terms import ReleaseTerms
from ...common.wire import alignments, codec, probes, statements, streams
from .direct_streams import DirectStreams, reaches


class Connection(Protocol):
    """The transport interface: carries encoded requests to a party and its encoded replies back."""

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to a request.

        Args:
            method: name of a method of the service Party.
            requests: the encoded request, or a stream of requests.

        Raises:
            MosaicError: the error that the party raised, or PartyUnavailable.
        """
        ...


@runtime_checkable
class SlowConnection(Connection, Protocol):
    """A connection whose round trips take so long that it is told of calls ahead: to a party by files."""

    def foresee(self, method: str, requests: Iterable[bytes]) -> None:
        """Announces a call, so that it may go out with others.

        Args:
            method: name of a method of the service Party.
            requests: as of the call that follows.
        """
        ...


@dataclass(frozen=True)
class ProbeResult:
    """The result of a probe.

    Attributes:
        offset_s: the party's clock minus this one, assuming the same latency both ways.
        upload_s: seconds from the first byte sent to the first reply.
        download_s: seconds from the first to the last reply.
    """

    offset_s: float
    upload_s: float
    download_s: float


class PartyClient:
    """Client of one party.

    Args:
        connection: connection to the party.
        direct: when it sends openings to other parties itself.
    """

    def __init__(self, connection: Connection, direct: DirectStreams = DirectStreams.NEVER) -> None:
        self._connection = connection
        self._direct = direct
        self._described: PartyDescription | None = None

    @property
    def by_files(self) -> bool:
        """Whether people carry the calls, so that each round trip takes long."""
        return isinstance(self._connection, SlowConnection)

    def foresee(self, method: str, request: object) -> None:
        """Announces a call that follows, if the party is reached by files.

        Args:
            method: name of a method of the service Party.
            request: its only request.
        """
        if isinstance(self._connection, SlowConnection):
            self._connection.foresee(method, [codec.encode(request)])

    def describe(self) -> PartyDescription:
        """The public description of the party."""
        self._described = codec.decode(PartyDescription, self._single("Describe", [b""]))
        return self._described

    def probe(self, frames: int, now: Callable[[], float] = time.time) -> ProbeResult:
        """Sends the party frames of 1 MiB and receives as many back.

        Args:
            frames: number of frames each way; 0 to measure only clock offset and latency.
            now: seconds since 1970 in UTC.
        """
        began = time.monotonic()
        sent_at = now()
        replies = self._connection.call("Probe", probes.encode_asked(frames))
        clock = probes.decode_clock(next(replies, b""))
        replied_at = now()
        first = time.monotonic()
        probes.check_replies(replies, frames)
        return ProbeResult(clock - (sent_at + replied_at) / 2, first - began, time.monotonic() - first)

    def accept(self, terms: ReleaseTerms, signature: bytes = b"", seen: Mark = START) -> Acceptance:
        """Asks the party to reserve the release's budget and to sign the terms, which the curator signed.

        Args:
            terms: terms of the release.
            signature: the curator's signature of them.
            seen: mark of the party's ledger that the curator has seen last.
        """
        signed = codec.encode(SignedTerms(encode_terms(terms), signature, seen))
        return codec.decode(Acceptance, self._single("Accept", [signed]))

    def foresee_accept(self, terms: ReleaseTerms, signature: bytes, seen: Mark) -> None:
        """Announces `accept`; see `foresee`."""
        self.foresee("Accept", SignedTerms(encode_terms(terms), signature, seen))

    def review(self, terms: ReleaseTerms, signature: bytes = b"", seen: Mark = START) -> Verdict:
        """Asks the party what it would say to these terms; nothing is reserved; arguments as of `accept`."""
        signed = codec.encode(SignedTerms(encode_terms(terms), signature, seen))
        return codec.decode(Verdict, self._single("Review", [signed]))

    def introduce(self, introduction: Introduction) -> None:
        """Introduces the other participants to the party."""
        self._single("Introduce", [codec.encode(introduction)])

    def relay(self, sender: int, request: OpeningRequest, recipient: PartyClient) -> None:
        """Takes a sealed message from this participant to another, frame by frame.

        An opening goes straight from party to party where the policies of both name each other, unless
        `direct` is `NEVER`; else, and if that fails and `direct` is `ALLOWED`, through this curator.

        Args:
            sender: place of this participant in the plan.
            request: message that it sends.
            recipient: client of the other participant.
        """
        if request.kind is DeliveryKind.OPENING and self._try_to_push(sender, request, recipient):
            return
        sealed = self._call("Open", [codec.encode(request)])
        header = streams.encode_delivery(request.delivery(sender))
        recipient._single("Deliver", itertools.chain([header], sealed))

    def _try_to_push(self, sender: int, request: OpeningRequest, recipient: PartyClient) -> bool:
        """Has the party send an opening itself; whether it did."""
        one, other = self._described, recipient._described
        if self._direct is DirectStreams.NEVER or one is None or other is None or not reaches(one, other):
            return False
        pushed = PushRequest(request, other.name, sender)
        try:
            self._push(pushed)
        except DeliveriesLost as lost:
            # Either of the two may have lost something.
            lost.at = None
            raise
        except PartyUnavailable:
            if self._direct is DirectStreams.REQUIRED:
                raise
            return False
        return True

    def _push(self, request: PushRequest) -> None:
        self._single("Push", [codec.encode(request)])

    def relay_dealt(self, sender: int, request: DealRequest, recipient: PartyClient) -> None:
        """Relays what this dealer deals to a party, frame by frame.

        Args:
            sender: place of this dealer in the plan.
            request: message that it deals.
            recipient: client of the party.
        """
        sealed = self._call("Deal", [codec.encode(request)])
        chain, chains = (
            ((), request.chains)
            if request.kind is DeliveryKind.DEALT_PRODUCTS
            else (request.chains[0] if request.chains else (), ())
        )
        delivery = Delivery(
            request.release_id,
            request.kind,
            chain,
            sender,
            chains=chains,
            owner=request.owner,
        )
        recipient._single("Deliver", itertools.chain([streams.encode_delivery(delivery)], sealed))

    def deliver(self, delivery: Delivery, blocks: Iterable[NDArray[Any]]) -> None:
        """Sends the party public references or the positions of its rows, in blocks."""
        frames = streams.encode_payload(_pieces(blocks))
        self._single("Deliver", itertools.chain([streams.encode_delivery(delivery)], frames))

    def align(self, release_id: str, owner: int, levels: int) -> NDArray[np.uint64]:
        """The tokens of a party, to align its rows, shape (tokens, levels, 2).

        Args:
            release_id: id of an accepted release that aligns rows.
            owner: index in the roster of the party whose rows they are of.
            levels: number of its match keys.
        """
        frames = self._call("Align", [codec.encode(AlignRequest(release_id, owner))])
        return alignments.decode_tokens(frames, levels)

    def multiply(self, request: MultiplyRequest) -> None:
        """Asks the party to compute its shares of products."""
        self._single("Multiply", [codec.encode(request)])

    def charge(self, query: MarginalQuery) -> bytes:
        """Asks the party to charge a query for all parties of its slice; its signature of the charge."""
        return codec.decode(Charged, self._single("Charge", [codec.encode(query)])).signature

    def answer(
        self,
        query: MarginalQuery,
        rows: int,
        cells: int,
        block_rows: int,
        charges: Sequence[bytes] = (),
        before: Sequence[int] = (),
    ) -> Iterator[NDArray[np.int64]]:
        """The party's noisy integers, in blocks of rows.

        Args:
            query: query to answer.
            rows: expected rows: 1 for a histogram, the slice's records for indicator vectors.
            cells: integers per row.
            block_rows: rows per block, except for the last block.
            charges: what `charge` returned at each party of the slice; empty if the party charges alone.
            before: places of the parties that have dropped out, where they may.

        Yields:
            Shape (block_rows, cells), int64, in units of 1/grid of the query's sigma.
        """
        frames = self._call("Answer", [codec.encode(AnswerRequest(query, tuple(charges), tuple(before)))])
        return streams.decode_answer(frames, rows, cells, block_rows)

    def key_points(self, release_id: str) -> bytes:
        """What the party publishes of the keys of its masks, where parties may drop out."""
        asked = OpeningRequest(release_id, (), 0, DeliveryKind.KEY_POINTS)
        frames = streams.at_most(self._call("Open", [codec.encode(asked)]), MESSAGE_BYTES)
        return b"".join(streams.decode_payload(frames))

    def agree(self, remaining: Remaining) -> bytes:
        """Asks the party to sign who is in an answer; its signature."""
        return codec.decode(Agreed, self._single("Agree", [codec.encode(remaining)])).signature

    def unmask(self, asked: Unmasking) -> Unmasked:
        """Asks the party for its part of the masks that hide a sum."""
        return codec.decode(Unmasked, self._single("Unmask", [codec.encode(asked)]))

    def labels(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> list[str]:
        """The labels that the party states of an open category; for `charges` see `answer`."""
        frames = self._call("Answer", [codec.encode(AnswerRequest(query, tuple(charges)))])
        return decode_labels(streams.decode_words(frames, MOST_LABELS * (LONGEST_LABEL + 1)))

    def prepare_scores(self, query: Asked) -> None:
        """Asks the party to charge a score query."""
        self._single("PrepareScores", [codec.encode(query)])

    def answer_scores(self, query: Asked, views: int) -> NDArray[np.int64]:
        """The party's noisy scores or its masked share of them, shape (views,), in units of 1/grid.

        Args:
            query: the score query, prepared before.
            views: number of marginals that it compares.
        """
        frames = self._call("AnswerScores", [codec.encode(query)])
        (answer,) = streams.decode_answer(frames, 1, views, 1)
        return answer.ravel()

    def certify(self, claim: Claim) -> Statement:
        """Asks the party to sign a certificate and its ledger's entries of the release."""
        return statements.decode_statement(self._connection.call("Certify", [codec.encode(claim)]))

    def abandon(self, release_id: str) -> None:
        """Asks the party to end a release without a certificate; has no effect if it is not open there."""
        self._single("Abandon", [codec.encode(AbandonRequest(release_id))])

    def _call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies of the party; what is raised if deliveries are lost says at whom."""
        return self._noting(self._connection.call(method, requests))

    def _noting(self, replies: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from replies
        except DeliveriesLost as lost:
            lost.at = lost.at or self
            raise

    def _single(self, method: str, requests: Iterable[bytes]) -> bytes:
        return streams.only_reply(method, self._call(method, requests))


def _pieces(blocks: Iterable[NDArray[Any]]) -> Iterator[bytes]:
    """The bytes of each block, in frames."""
    for block in blocks:
        yield from map(bytes, in_frames(np.ascontiguousarray(block).data.cast("B")))
