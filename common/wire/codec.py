"""Frozen values to bytes and back; what does not parse is a ProtocolError."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from ..domain import Domain
from ..errors import MosaicError, ProtocolError
from ..messages import FRAME_BYTES, AnswerForm, MarginalQuery, PartyDescription, ReleaseTerms
from ..privacy.cost import Adjacency
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
    )


def encode_terms(terms: ReleaseTerms) -> bytes:
    """Bytes of a ReleaseTerms."""
    message = pb.ReleaseTerms(
        release_id=terms.release_id,
        protocol_version=terms.protocol_version,
        protocol=terms.protocol,
        adjacency=terms.adjacency.value,
        granted_rho=terms.granted_rho,
    )
    return message.SerializeToString()


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
        )
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"the terms of a release do not hold together: {cause}") from None


def encode_acceptance() -> bytes:
    """Bytes of an Acceptance."""
    return pb.Acceptance().SerializeToString()


def encode_query(query: MarginalQuery) -> bytes:
    """Bytes of a MarginalQuery; equal queries have equal bytes."""
    message = pb.MarginalQuery(
        release_id=query.release_id,
        query_id=query.query_id,
        form=pb.AnswerForm.Name(query.form.value),
        clique=query.clique,
        sigma=query.sigma,
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
        )
    except ValueError as cause:
        raise ProtocolError(f"a query does not hold together: {cause}") from None


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
    pending = bytearray()
    word_bytes, ended, left = 0, False, rows
    for data in frames:
        frame = _parsed(pb.AnswerFrame, data)
        if ended or len(frame.payload) > FRAME_BYTES:
            raise ProtocolError(
                "expected frames of at most 1 MiB up to the last one, got more; compare versions"
            )
        word_bytes = word_bytes or frame.word_bytes
        if word_bytes not in (4, 8):
            raise ProtocolError("expected integers of 4 or 8 bytes, got another width; compare versions")
        pending += frame.payload
        ended = frame.last
        while left and len(pending) >= (size := min(block_rows, left) * cells * word_bytes):
            block = np.frombuffer(bytes(pending[:size]), dtype=f"<i{word_bytes}")
            del pending[:size]
            yield block.astype(np.int64).reshape(-1, cells)
            left -= block.size // cells
        if pending and not left:
            break
    if not ended or left or pending:
        raise ProtocolError("an answer has more or fewer integers than its query calls for; ask again")


def _parsed(kind: type[_M], data: bytes) -> _M:
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise ProtocolError(f"expected a {kind.__name__} message, got bytes that do not parse") from None
    return message
