"""Encoding of descriptions, terms, acceptances and introductions; invalid bytes are a ProtocolError."""

from __future__ import annotations

import json

from ..bounded import json_of
from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..history import START, Mark
from ..messages import Acceptance, Introduction, PartyDescription
from . import party_pb2 as pb
from .parsing import parse_message


def encode_description(description: PartyDescription) -> bytes:
    """Bytes of a PartyDescription."""
    message = pb.PartyDescription(
        name=description.name,
        protocol_version=description.protocol_version,
        software_version=description.software_version,
        domain_json="" if description.domain is None else json.dumps(description.domain.to_json()),
        record_count=description.record_count,
        protocols=description.protocols,
        identity=description.identity,
        alignments=description.alignments,
        identifiers=description.identifiers,
        max_cells=description.max_cells,
        sends_to=description.sends_to,
        takes_from=description.takes_from,
    )
    return message.SerializeToString()


def decode_description(data: bytes) -> PartyDescription:
    """The PartyDescription of these bytes."""
    message = parse_message(pb.PartyDescription, data)
    try:
        form = message.domain_json
        domain = Domain.part_from_json(json_of(form)) if form else None
    except (MosaicError, ValueError, OverflowError):
        raise ProtocolError(
            "expected a party's domain as JSON, got something else; compare versions"
        ) from None
    return PartyDescription(
        name=message.name,
        protocol_version=message.protocol_version,
        software_version=message.software_version,
        domain=domain,
        record_count=message.record_count if message.HasField("record_count") else None,
        protocols=tuple(message.protocols),
        identity=message.identity,
        alignments=tuple(message.alignments),
        identifiers=tuple(message.identifiers),
        max_cells=message.max_cells if message.HasField("max_cells") else None,
        sends_to=tuple(message.sends_to),
        takes_from=tuple(message.takes_from),
    )


def encode_signed_terms(terms: bytes, signature: bytes, seen: Mark = START) -> bytes:
    """Bytes of terms with the curator's signature.

    Args:
        terms: canonical bytes, as signed.
        signature: the curator's signature over them.
        seen: the party's mark that the curator has seen last.
    """
    message = pb.SignedTerms(terms=terms, curator_signature=signature, seen=encode_mark(seen))
    return message.SerializeToString()


def decode_signed_terms(data: bytes) -> tuple[bytes, bytes, Mark]:
    """The canonical terms, the curator's signature over them, which is not verified here, and the mark."""
    message = parse_message(pb.SignedTerms, data)
    return message.terms, message.curator_signature, decode_mark(message.seen)


def encode_acceptance(acceptance: Acceptance) -> bytes:
    """Bytes of an Acceptance."""
    return _encoded_acceptance(acceptance).SerializeToString()


def decode_acceptance(data: bytes) -> Acceptance:
    """The Acceptance of these bytes."""
    return _decoded_acceptance(parse_message(pb.Acceptance, data))


def encode_abandon_request(release_id: str) -> bytes:
    """Bytes of an AbandonRequest."""
    return pb.AbandonRequest(release_id=release_id).SerializeToString()


def decode_abandon_request(data: bytes) -> str:
    """The release id of an AbandonRequest's bytes."""
    release_id: str = parse_message(pb.AbandonRequest, data).release_id
    return release_id


def encode_mark(mark: Mark) -> pb.Mark:
    """The Mark as a part of another message."""
    return pb.Mark(events=mark.events, head=mark.head)


def decode_mark(message: pb.Mark) -> Mark:
    """The Mark in another message.

    Raises:
        ProtocolError: it is missing or malformed.
    """
    try:
        return Mark(message.events, message.head)
    except ValueError as cause:
        raise ProtocolError(f"expected the mark of a ledger: {cause}; compare versions") from None


def encode_acknowledgement() -> bytes:
    """Bytes of an Acknowledgement."""
    return pb.Acknowledgement().SerializeToString()


def encode_introduction(introduction: Introduction) -> bytes:
    """Bytes of an Introduction."""
    message = pb.Introduction(
        release_id=introduction.release_id,
        acceptances=[_encoded_acceptance(acceptance) for acceptance in introduction.acceptances],
    )
    return message.SerializeToString()


def decode_introduction(data: bytes) -> Introduction:
    """The Introduction of these bytes."""
    message = parse_message(pb.Introduction, data)
    return Introduction(message.release_id, tuple(map(_decoded_acceptance, message.acceptances)))


def _encoded_acceptance(acceptance: Acceptance) -> pb.Acceptance:
    return pb.Acceptance(
        ephemeral=acceptance.ephemeral, signature=acceptance.signature, mark=encode_mark(acceptance.mark)
    )


def _decoded_acceptance(message: pb.Acceptance) -> Acceptance:
    return Acceptance(message.ephemeral, message.signature, decode_mark(message.mark))
