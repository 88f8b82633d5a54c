"""Introductions as bytes: kept in a party's ledger, so that a release can resume after a restart."""

from __future__ import annotations

from ..errors import ProtocolError
from ..history import Mark
from ..messages import Acceptance, Introduction
from .form import Reader, integer, items, octets, record, text

KIND, VERSION = "dpmosaic introduction", 3


def encode_introduction(introduction: Introduction) -> bytes:
    """The canonical bytes of an introduction."""
    fields = (text(introduction.release_id), items(map(_encoded, introduction.acceptances)))
    return record(KIND, VERSION, fields)


def decode_introduction(data: bytes) -> Introduction:
    """The introduction of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of one, or it is inconsistent.
    """
    reader = Reader(data, KIND, VERSION)
    release_id = reader.text()
    try:
        acceptances = reader.items(lambda: _decoded(reader))
        reader.end()
        return Introduction(release_id, acceptances)
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent introduction: {cause}; compare versions") from None


def _encoded(accepted: Acceptance) -> bytes:
    mark = integer(accepted.mark.events) + octets(accepted.mark.head)
    return octets(accepted.ephemeral) + octets(accepted.signature) + mark


def _decoded(reader: Reader) -> Acceptance:
    return Acceptance(reader.octets(), reader.octets(), Mark(reader.integer(), reader.octets()))
