"""Encoding of descriptions, terms, acceptances and introductions; invalid bytes are a ProtocolError."""

from __future__ import annotations

import json

from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..messages import Acceptance, Introduction, PartyDescription
from . import party_pb2 as pb
from .parsing import parsed


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
    message = parsed(pb.PartyDescription, data)
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


def encode_signed_terms(terms: bytes, signature: bytes) -> bytes:
    """Bytes of terms with the curator's signature.

    Args:
        terms: canonical bytes, as signed.
        signature: the curator's signature over them.
    """
    return pb.SignedTerms(terms=terms, curator_signature=signature).SerializeToString()


def decode_signed_terms(data: bytes) -> tuple[bytes, bytes]:
    """The canonical terms and the curator's signature over them, which is not verified here."""
    message = parsed(pb.SignedTerms, data)
    return message.terms, message.curator_signature


def encode_acceptance(acceptance: Acceptance) -> bytes:
    """Bytes of an Acceptance."""
    return _encoded_acceptance(acceptance).SerializeToString()


def decode_acceptance(data: bytes) -> Acceptance:
    """The Acceptance of these bytes."""
    return _decoded_acceptance(parsed(pb.Acceptance, data))


def encode_acknowledgement() -> bytes:
    """Bytes of an Acknowledgement."""
    return pb.Acknowledgement().SerializeToString()


def encode_introduction(introduction: Introduction) -> bytes:
    """Bytes of an Introduction."""
    message = pb.Introduction(
        release_id=introduction.release_id,
        acceptances=[_encoded_acceptance(acceptance) for acceptance in introduction.acceptances],
        mask_seed=introduction.mask_seed,
    )
    return message.SerializeToString()


def decode_introduction(data: bytes) -> Introduction:
    """The Introduction of these bytes."""
    message = parsed(pb.Introduction, data)
    try:
        return Introduction(
            message.release_id,
            tuple(_decoded_acceptance(acceptance) for acceptance in message.acceptances),
            message.mask_seed,
        )
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent introduction: {cause}; compare versions") from None


def _encoded_acceptance(acceptance: Acceptance) -> pb.Acceptance:
    return pb.Acceptance(ephemeral=acceptance.ephemeral, signature=acceptance.signature)


def _decoded_acceptance(message: pb.Acceptance) -> Acceptance:
    return Acceptance(message.ephemeral, message.signature)
