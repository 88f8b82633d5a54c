"""Encoding of claims and statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from ..bounded import fraction_of
from ..errors import ProtocolError
from ..privacy.budget import AnswerKind
from ..promises.statement import Claim, Entry, Statement
from . import party_pb2 as pb
from .codec import decode_mark, encode_mark
from .parsing import parse_message

_ENTRIES_IN_A_FRAME = 1000


def encode_claim(claim: Claim) -> bytes:
    """Bytes of a Claim."""
    message = pb.Claim(
        release_id=claim.release_id, certificate=claim.certificate, spent_rho=claim.zcdp_rho_spent
    )
    return message.SerializeToString()


def decode_claim(data: bytes) -> Claim:
    """The Claim of these bytes."""
    message = parse_message(pb.Claim, data)
    try:
        return Claim(message.release_id, message.certificate, message.spent_rho)
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent claim: {cause}; compare versions") from None


def encode_statement(statement: Statement) -> Iterator[bytes]:
    """Frames of a Statement; the last one contains the signature."""
    for start in range(0, len(statement.entries), _ENTRIES_IN_A_FRAME):
        entries = map(_encode_entry, statement.entries[start : start + _ENTRIES_IN_A_FRAME])
        yield pb.StatementFrame(entries=entries).SerializeToString()
    last = pb.StatementFrame(signature=statement.signature, mark=encode_mark(statement.mark))
    yield last.SerializeToString()


def decode_statement(frames: Iterable[bytes]) -> Statement:
    """The Statement of these frames."""
    entries: list[Entry] = []
    last: pb.StatementFrame | None = None
    for data in frames:
        if last is not None:
            raise ProtocolError("a party's statement continues after its signature; compare versions")
        frame = parse_message(pb.StatementFrame, data)
        entries += map(_decode_entry, frame.entries)
        if frame.signature:
            last = frame
    if last is None:
        raise ProtocolError("a party's statement ended before its signature; ask again")
    return Statement(tuple(entries), last.signature, decode_mark(last.mark))


def _encode_entry(entry: Entry) -> pb.Entry:
    return pb.Entry(
        query_id=entry.query_id,
        query=entry.query,
        rho=str(entry.zcdp_rho),
        signature=entry.signature,
        kind=entry.kind.value,
        delta=str(entry.delta),
        clique=entry.clique,
        groups=entry.groups,
    )


def _decode_entry(entry: pb.Entry) -> Entry:
    rho, delta = _fraction(entry.rho), _fraction(entry.delta)
    clique, groups = tuple(entry.clique), tuple(entry.groups)
    try:
        kind = AnswerKind(entry.kind)
        return Entry(entry.query_id, entry.query, kind, clique, groups, rho, delta, entry.signature)
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent entry of a ledger: {cause}; compare versions") from None


def _fraction(text: str) -> Fraction:
    try:
        return fraction_of(text)
    except ValueError:
        raise ProtocolError("expected a cost as a fraction, got another text; compare versions") from None
