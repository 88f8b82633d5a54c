"""Introductions as bytes: what a party's ledger keeps, to go on from after a restart."""

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
        ProtocolError: they are no canonical bytes of one, or it does not hold together.
    """
    reader = Reader(data, KIND, VERSION)
    release_id = reader.text()
    acceptances = reader.items(lambda: Acceptance(reader.octets(), reader.octets()))
    mask_seed = reader.octets()
    reader.end()
    try:
        return Introduction(release_id, acceptances, mask_seed)
    except ValueError as cause:
        raise ProtocolError(f"an introduction does not hold together: {cause}") from None
