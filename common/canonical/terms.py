"""The terms of a release as bytes: signed by the curator and every party, and kept in ledgers."""

from __future__ import annotations

import hashlib

from ..data.domain import Domain
from ..errors import ProtocolError
from ..terms import ReleaseTerms
from .derived import Kind, stated_as


def _sizes(domain: Domain) -> tuple[tuple[str, int], ...]:
    return tuple((attribute.name, attribute.size) for attribute in domain.attributes)


def _of_sizes(sizes: tuple[tuple[str, int], ...]) -> Domain:
    if len(dict(sizes)) < len(sizes):
        raise ProtocolError("the plan names an attribute twice")
    return Domain.coded(dict(sizes))


# Terms say of an attribute how many codes it has, not what they mean: `domain_digest` binds the meaning.
stated_as(Domain, tuple[tuple[str, int], ...], _sizes, _of_sizes)

TERMS = Kind("dpmosaic release terms", 1, ReleaseTerms, "consistent terms of a release")


def encode_terms(terms: ReleaseTerms) -> bytes:
    """The canonical bytes of a release's terms."""
    return TERMS.encode(terms)


def decode_terms(data: bytes) -> ReleaseTerms:
    """The terms of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of terms, or the terms are inconsistent.
    """
    found: ReleaseTerms = TERMS.decode(data)
    return found


def terms_digest(terms: ReleaseTerms) -> bytes:
    """SHA-256 of the terms, to which keys, sealed streams and acceptances of the release are bound."""
    return hashlib.sha256(encode_terms(terms)).digest()
