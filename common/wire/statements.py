"""Streams of frames of a party's statement; invalid bytes are a ProtocolError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import ProtocolError
from ..history import Mark
from ..promises.statement import Entry, Statement
from . import party_pb2 as pb
from .codec import of_message, to_message
from .parsing import parse_message
from .streams import at_most

_ENTRIES_IN_A_FRAME = 1000
_MOST_ENTRIES, _MOST_STATEMENT_BYTES = 1 << 18, 1 << 28
"""Most entries of a statement, and bytes of its frames: how many queries a party charged, it alone knows."""


def encode_statement(statement: Statement) -> Iterator[bytes]:
    """Frames of a Statement; the last one contains the signature."""
    for start in range(0, len(statement.entries), _ENTRIES_IN_A_FRAME):
        entries = map(to_message, statement.entries[start : start + _ENTRIES_IN_A_FRAME])
        yield pb.StatementFrame(entries=entries).SerializeToString()
    last = pb.StatementFrame(signature=statement.signature, mark=to_message(statement.mark))
    yield last.SerializeToString()


def decode_statement(frames: Iterable[bytes]) -> Statement:
    """The Statement of these frames."""
    entries: list[Entry] = []
    last: pb.StatementFrame | None = None
    for data in at_most(frames, _MOST_STATEMENT_BYTES):
        if last is not None:
            raise ProtocolError("a party's statement continues after its signature; compare versions")
        frame = parse_message(pb.StatementFrame, data)
        if len(entries) + len(frame.entries) > _MOST_ENTRIES:
            raise ProtocolError(
                f"expected a statement of at most {_MOST_ENTRIES:,} entries, got more; compare versions"
            )
        entries += (of_message(Entry, entry) for entry in frame.entries)
        if frame.signature:
            last = frame
    if last is None:
        raise ProtocolError("a party's statement ended before its signature; ask again")
    return Statement(tuple(entries), last.signature, of_message(Mark, last.mark))
