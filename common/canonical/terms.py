"""The terms of a release as bytes: signed by the curator and every party, and kept in ledgers."""

from __future__ import annotations

import hashlib
from functools import lru_cache

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


_SHORT_BYTES = 1 << 14
"""Longer terms are decoded anew, so that what a hostile curator sends fills no memory."""


def encode_terms(terms: ReleaseTerms) -> bytes:
    """The canonical bytes of a release's terms."""
    return TERMS.encode(terms)


def decode_terms(data: bytes) -> ReleaseTerms:
    """The terms of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of terms, or the terms are inconsistent.
    """
    if len(data) > _SHORT_BYTES:
        return _decode(data)
    return _decode_once(data)


def _decode(data: bytes) -> ReleaseTerms:
    found: ReleaseTerms = TERMS.decode(data)
    return found


_decode_once = lru_cache(maxsize=32)(_decode)
"""Every delivery of a release asks for the same terms, as does every party in one process."""


def terms_digest(terms: ReleaseTerms) -> bytes:
    """SHA-256 of the terms, to which keys, sealed streams and acceptances of the release are bound."""
    return hashlib.sha256(encode_terms(terms)).digest()
