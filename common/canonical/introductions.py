"""Introductions as bytes: kept in a party's ledger, so that a release can resume after a restart."""

from __future__ import annotations

from ..errors import ProtocolError
from ..messages import Acceptance, Introduction
from .form import Reader, items, octets, record, text

KIND, VERSION = "dpmosaic introduction", 1


def encode_introduction(introduction: Introduction) -> bytes:
    """The canonical bytes of an introduction."""
    fields = (
        text(introduction.release_id),
        items(octets(one.ephemeral) + octets(one.signature) for one in introduction.acceptances),
        octets(introduction.mask_seed),
    )
    return record(KIND, VERSION, fields)


def decode_introduction(data: bytes) -> Introduction:
    """The introduction of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of one, or it is inconsistent.
    """
    reader = Reader(data, KIND, VERSION)
    release_id = reader.text()
    acceptances = reader.items(lambda: Acceptance(reader.octets(), reader.octets()))
    mask_seed = reader.octets()
    reader.end()
    try:
        return Introduction(release_id, acceptances, mask_seed)
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent introduction: {cause}; compare versions") from None
