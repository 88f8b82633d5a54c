"""Frozen values to bytes and back; what does not parse is a ProtocolError."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..messages import (
    FRAME_BYTES,
    Acceptance,
    AnswerForm,
    Delivery,
    DeliveryKind,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    ReleaseTerms,
    ScoreQuery,
)
from ..privacy.cost import Adjacency
from ..protocols.masked.plan import Chain, MaskedPlan, RosterEntry
from ..protocols.masked.ring import Ring
from . import party_pb2 as pb

_M = TypeVar("_M", bound=Message)


def encode_description(description: PartyDescription) -> bytes:
    """Bytes of a PartyDescription."""
    message = pb.PartyDescription(
        name=description.name,
        protocol_version=description.protocol_version,
        software_version=description.software_version,
        domain_json=json.dumps(description.domain.to_json()),
        record_count=description.record_count,
        protocols=description.protocols,
        identity=description.identity,
    )
    return message.SerializeToString()


def decode_description(data: bytes) -> PartyDescription:
    """The PartyDescription of these bytes."""
    message = _parsed(pb.PartyDescription, data)
    try:
        domain = Domain.from_json(json.loads(message.domain_json))
    except (MosaicError, ValueError, OverflowError, RecursionError):
        raise ProtocolError(
            "expected a party's domain as JSON, got something else; compare versions"
        ) from None
    return PartyDescription(
        name=message.name,
        protocol_version=message.protocol_version,
        software_version=message.software_version,
        domain=domain,
        record_count=message.record_count,
        protocols=tuple(message.protocols),
        identity=message.identity,
    )


def encode_terms(terms: ReleaseTerms) -> bytes:
    """Bytes of a ReleaseTerms; equal terms have equal bytes, which is what parties sign."""
    message = pb.ReleaseTerms(
        release_id=terms.release_id,
        protocol_version=terms.protocol_version,
        protocol=terms.protocol,
        adjacency=terms.adjacency.value,
        granted_rho=terms.granted_rho,
        masked=_encoded_plan(terms.masked) if terms.masked else None,
    )
    return message.SerializeToString(deterministic=True)


def decode_terms(data: bytes) -> ReleaseTerms:
    """The ReleaseTerms of these bytes."""
    message = _parsed(pb.ReleaseTerms, data)
    try:
        return ReleaseTerms(
            release_id=message.release_id,
            protocol_version=message.protocol_version,
            protocol=message.protocol,
            adjacency=Adjacency.named(message.adjacency),
            granted_rho=message.granted_rho,
            masked=_decoded_plan(message.masked) if message.HasField("masked") else None,
        )
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"the terms of a release do not hold together: {cause}") from None


def encode_acceptance(acceptance: Acceptance) -> bytes:
    """Bytes of an Acceptance."""
    return _encoded_acceptance(acceptance).SerializeToString()


def decode_acceptance(data: bytes) -> Acceptance:
    """The Acceptance of these bytes."""
    return _decoded_acceptance(_parsed(pb.Acceptance, data))


def encode_acknowledgement() -> bytes:
    """Bytes of an Acknowledgement."""
    return pb.Acknowledgement().SerializeToString()


def encode_introduction(introduction: Introduction) -> bytes:
    """Bytes of an Introduction; equal ones have equal bytes."""
    message = pb.Introduction(
        release_id=introduction.release_id,
        acceptances=[_encoded_acceptance(acceptance) for acceptance in introduction.acceptances],
        mask_seed=introduction.mask_seed,
    )
    return message.SerializeToString(deterministic=True)


def decode_introduction(data: bytes) -> Introduction:
    """The Introduction of these bytes."""
    message = _parsed(pb.Introduction, data)
    try:
        return Introduction(
            message.release_id,
            tuple(_decoded_acceptance(acceptance) for acceptance in message.acceptances),
            message.mask_seed,
        )
    except ValueError as cause:
        raise ProtocolError(f"an introduction does not hold together: {cause}") from None


def encode_opening_request(request: OpeningRequest) -> bytes:
    """Bytes of an OpeningRequest."""
    message = pb.OpeningRequest(
        release_id=request.release_id,
        chain=_encoded_chain(request.chain),
        recipient=request.recipient,
        query_id=request.query_id,
        step=request.step,
    )
    return message.SerializeToString()


def decode_opening_request(data: bytes) -> OpeningRequest:
    """The OpeningRequest of these bytes."""
    message = _parsed(pb.OpeningRequest, data)
    return OpeningRequest(
        message.release_id,
        _decoded_chain(message.chain),
        message.recipient,
        message.query_id,
        message.step,
    )


def encode_multiply_request(request: MultiplyRequest) -> bytes:
    """Bytes of a MultiplyRequest."""
    message = pb.MultiplyRequest(
        release_id=request.release_id,
        chains=[pb.Chain(parts=_encoded_chain(chain)) for chain in request.chains],
    )
    return message.SerializeToString()


def decode_multiply_request(data: bytes) -> MultiplyRequest:
    """The MultiplyRequest of these bytes."""
    message = _parsed(pb.MultiplyRequest, data)
    return MultiplyRequest(message.release_id, tuple(_decoded_chain(chain.parts) for chain in message.chains))


def encode_delivery(delivery: Delivery) -> bytes:
    """Bytes of the frame that says what is delivered."""
    header = pb.Delivery(
        release_id=delivery.release_id,
        kind=pb.DeliveryKind.Name(delivery.kind.value),
        chain=_encoded_chain(delivery.chain),
        sender=delivery.sender,
        query_id=delivery.query_id,
        step=delivery.step,
    )
    return pb.DeliveryFrame(header=header).SerializeToString()


def encode_payload(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Frames that carry these chunks, each of at most `FRAME_BYTES`."""
    for chunk in chunks:
        yield pb.DeliveryFrame(payload=chunk).SerializeToString()


def decode_delivery(frames: Iterator[bytes]) -> tuple[Delivery, Iterator[bytes]]:
    """What is delivered, and its chunks."""
    frame = _parsed(pb.DeliveryFrame, next(frames, b""))
    header = frame.header
    try:
        kind = DeliveryKind(header.kind)
    except ValueError:
        raise ProtocolError(
            "expected a frame that says what is delivered, got another; compare versions"
        ) from None
    delivery = Delivery(
        header.release_id, kind, _decoded_chain(header.chain), header.sender, header.query_id, header.step
    )
    return delivery, decode_payload(frames)


def decode_payload(frames: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that these frames carry."""
    for data in frames:
        frame = _parsed(pb.DeliveryFrame, data)
        if frame.WhichOneof("content") != "payload" or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError("expected frames of at most 1 MiB of payload, got another; compare versions")
        yield frame.payload


def encode_query(query: MarginalQuery) -> bytes:
    """Bytes of a MarginalQuery; equal queries have equal bytes."""
    message = pb.MarginalQuery(
        release_id=query.release_id,
        query_id=query.query_id,
        form=pb.AnswerForm.Name(query.form.value),
        clique=query.clique,
        sigma=query.sigma,
        boxes=[pb.Box(starts=[a for a, _ in box], stops=[b for _, b in box]) for box in query.boxes],
        interaction=query.interaction,
    )
    return message.SerializeToString(deterministic=True)


def decode_query(data: bytes) -> MarginalQuery:
    """The MarginalQuery of these bytes."""
    message = _parsed(pb.MarginalQuery, data)
    try:
        return MarginalQuery(
            release_id=message.release_id,
            query_id=message.query_id,
            form=AnswerForm(message.form),
            clique=tuple(message.clique),
            sigma=message.sigma,
            boxes=tuple(tuple(zip(box.starts, box.stops, strict=True)) for box in message.boxes),
            interaction=message.interaction,
        )
    except ValueError as cause:
        raise ProtocolError(f"a query does not hold together: {cause}") from None


def encode_score_query(query: ScoreQuery) -> bytes:
    """Bytes of a ScoreQuery; equal queries have equal bytes, and no marginal query has them."""
    message = pb.ScoreQuery(
        release_id=query.release_id,
        query_id=query.query_id,
        cliques=_encoded_chain(query.cliques),
        sigma=query.sigma,
        references=query.references,
        largest_reference=query.largest_reference,
        largest_total=query.largest_total,
    )
    return message.SerializeToString(deterministic=True)


def decode_score_query(data: bytes) -> ScoreQuery:
    """The ScoreQuery of these bytes."""
    message = _parsed(pb.ScoreQuery, data)
    try:
        return ScoreQuery(
            message.release_id,
            message.query_id,
            _decoded_chain(message.cliques),
            message.sigma,
            message.references,
            message.largest_reference,
            message.largest_total,
        )
    except ValueError as cause:
        raise ProtocolError(f"a score query does not hold together: {cause}") from None


def encode_asked(query: MarginalQuery | ScoreQuery) -> bytes:
    """Bytes of a query of either kind; only equal queries have equal bytes."""
    return encode_query(query) if isinstance(query, MarginalQuery) else encode_score_query(query)


def query_digest(query: MarginalQuery | ScoreQuery) -> str:
    """SHA-256 (hex) of a whole query, to which masks and dealt randomness are bound."""
    return hashlib.sha256(encode_asked(query)).hexdigest()


def encode_answer(blocks: Iterable[NDArray[np.int64]], word_bytes: int) -> Iterator[bytes]:
    """Frames of at most `FRAME_BYTES` of payload.

    Args:
        blocks: arrays of integers, sent in their order, each row-major.
        word_bytes: 4 or 8; the caller knows that every integer fits.

    Yields:
        Bytes of one AnswerFrame each; the last one says so and may be empty.
    """
    pending = bytearray()
    first = True
    for block in blocks:
        pending += block.astype(f"<i{word_bytes}", casting="unsafe").tobytes()
        sent = 0
        while len(pending) - sent >= FRAME_BYTES:
            frame = pb.AnswerFrame(
                payload=bytes(pending[sent : sent + FRAME_BYTES]), word_bytes=word_bytes if first else 0
            )
            yield frame.SerializeToString()
            sent += FRAME_BYTES
            first = False
        del pending[:sent]
    last = pb.AnswerFrame(payload=bytes(pending), word_bytes=word_bytes if first else 0, last=True)
    yield last.SerializeToString()


def decode_answer(
    frames: Iterable[bytes], rows: int, cells: int, block_rows: int
) -> Iterator[NDArray[np.int64]]:
    """The integers of an answer, in blocks of rows.

    Args:
        frames: what `encode_answer` gave.
        rows: how many rows are due.
        cells: integers in one row.
        block_rows: rows of every block but the last.

    Yields:
        Shape (block_rows, cells), int64; the last block may have fewer rows.

    Raises:
        ProtocolError: more or fewer integers came than are due.
    """
    parsed = (_parsed(pb.AnswerFrame, data) for data in frames)
    first = next(parsed, pb.AnswerFrame())
    if first.word_bytes not in (4, 8):
        raise ProtocolError("expected integers of 4 or 8 bytes, got another width; compare versions")
    payloads = _payloads(itertools.chain([first], parsed))
    for block in row_blocks(payloads, np.dtype(f"<i{first.word_bytes}"), rows, cells, block_rows):
        yield block.astype(np.int64)


def row_blocks(
    chunks: Iterable[bytes], dtype: np.dtype[Any], rows: int, cells: int, block_rows: int
) -> Iterator[NDArray[Any]]:
    """The rows of a matrix that came in chunks, which were cut without regard to the rows' borders.

    Args:
        chunks: little-endian words, row-major.
        dtype: of a word.
        rows: how many rows are due.
        cells: words in one row.
        block_rows: rows of every block but the last.

    Yields:
        Shape (block_rows, cells); the last block may have fewer rows.

    Raises:
        ProtocolError: more or fewer words came than are due.
    """
    pending = bytearray()
    left = rows
    for chunk in chunks:
        pending += chunk
        while left and len(pending) >= (size := min(block_rows, left) * cells * dtype.itemsize):
            block = np.frombuffer(bytes(pending[:size]), dtype=dtype)
            del pending[:size]
            yield block.reshape(-1, cells)
            left -= block.size // cells
        if pending and not left:
            break
    if left or pending:
        raise ProtocolError("a message has more or fewer integers than are due; ask again")


def _payloads(frames: Iterable[pb.AnswerFrame]) -> Iterator[bytes]:
    ended = False
    for frame in frames:
        if ended or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError(
                "expected frames of at most 1 MiB up to the last one, got more; compare versions"
            )
        yield frame.payload
        ended = frame.last
    if not ended:
        raise ProtocolError("an answer ended before its last frame; ask again")


def _encoded_plan(plan: MaskedPlan) -> pb.MaskedPlan:
    return pb.MaskedPlan(
        attributes=[pb.AttributeSize(name=name, size=plan.domain[name].size) for name in plan.domain],
        roster=[
            pb.RosterEntry(
                name=entry.name,
                slice=entry.slice,
                attributes=entry.attributes,
                record_count=entry.record_count,
                identity=entry.identity,
            )
            for entry in plan.roster
        ],
        tolerated=plan.tolerated,
        ring_bits=plan.ring.bits,
        evaluators=plan.evaluators,
    )


def _decoded_plan(message: pb.MaskedPlan) -> MaskedPlan:
    sizes = {attribute.name: attribute.size for attribute in message.attributes}
    if len(sizes) < len(message.attributes):
        raise ProtocolError("a plan names an attribute twice")
    roster = tuple(
        RosterEntry(entry.name, entry.slice, tuple(entry.attributes), entry.record_count, entry.identity)
        for entry in message.roster
    )
    return MaskedPlan(
        Domain.coded(sizes), roster, message.tolerated, Ring(message.ring_bits), tuple(message.evaluators)
    )


def _encoded_acceptance(acceptance: Acceptance) -> pb.Acceptance:
    return pb.Acceptance(ephemeral=acceptance.ephemeral, signature=acceptance.signature)


def _decoded_acceptance(message: pb.Acceptance) -> Acceptance:
    return Acceptance(message.ephemeral, message.signature)


def _encoded_chain(chain: Chain) -> list[pb.Part]:
    return [pb.Part(attributes=part) for part in chain]


def _decoded_chain(parts: Iterable[pb.Part]) -> Chain:
    return tuple(tuple(part.attributes) for part in parts)


def _parsed(kind: type[_M], data: bytes) -> _M:
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise ProtocolError(f"expected a {kind.__name__} message, got bytes that do not parse") from None
    return message
