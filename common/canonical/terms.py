"""The terms of a release as bytes: signed by the curator and every party, and kept in ledgers."""

from __future__ import annotations

import hashlib

from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..messages import ReleaseTerms
from ..privacy.cost import Adjacency
from ..protocols.masked.plan import MaskedPlan, RosterEntry
from ..protocols.masked.ring import Ring
from .form import Reader, integer, items, octets, real, record, text

KIND, VERSION = "dpmosaic release terms", 1


def encode_terms(terms: ReleaseTerms) -> bytes:
    """The canonical bytes of a release's terms."""
    fields = (
        text(terms.release_id),
        integer(terms.protocol_version),
        text(terms.protocol),
        text(terms.adjacency.value),
        real(terms.granted_rho),
        items([_encoded_plan(terms.masked)] if terms.masked is not None else []),
    )
    return record(KIND, VERSION, fields)


def decode_terms(data: bytes) -> ReleaseTerms:
    """The terms of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of terms, or the terms are inconsistent.
    """
    reader = Reader(data, KIND, VERSION)
    release_id, version, protocol = reader.text(), reader.integer(), reader.text()
    adjacency, granted = reader.text(), reader.real()
    try:
        plans = reader.items(lambda: _decoded_plan(reader))
        reader.end()
        if len(plans) > 1:
            raise ProtocolError("expected at most one plan")
        return ReleaseTerms(
            release_id, version, protocol, Adjacency.named(adjacency), granted, plans[0] if plans else None
        )
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"expected consistent terms of a release: {cause}") from None


def terms_digest(terms: ReleaseTerms) -> bytes:
    """SHA-256 of the terms, to which keys, sealed streams and acceptances of the release are bound."""
    return hashlib.sha256(encode_terms(terms)).digest()


def _encoded_plan(plan: MaskedPlan) -> bytes:
    return b"".join(
        (
            items(text(name) + integer(plan.domain[name].size) for name in plan.domain),
            items(_encoded_entry(entry) for entry in plan.roster),
            integer(plan.tolerated),
            integer(plan.ring.bits),
            items(map(integer, plan.evaluators)),
        )
    )


def _decoded_plan(reader: Reader) -> MaskedPlan:
    attributes = reader.items(lambda: (reader.text(), reader.integer()))
    sizes = dict(attributes)
    if len(sizes) < len(attributes):
        raise ProtocolError("the plan names an attribute twice")
    roster = reader.items(lambda: _decoded_entry(reader))
    tolerated, ring_bits = reader.integer(), reader.integer()
    evaluators = reader.items(reader.integer)
    return MaskedPlan(Domain.coded(sizes), roster, tolerated, Ring(ring_bits), evaluators)


def _encoded_entry(entry: RosterEntry) -> bytes:
    return b"".join(
        (
            text(entry.name),
            integer(entry.slice),
            items(map(text, entry.attributes)),
            integer(entry.record_count),
            octets(entry.identity),
        )
    )


def _decoded_entry(reader: Reader) -> RosterEntry:
    return RosterEntry(
        reader.text(), reader.integer(), reader.items(reader.text), reader.integer(), reader.octets()
    )
