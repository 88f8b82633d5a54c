"""The terms of a release as bytes: signed by the curator and every party, and kept in ledgers."""

from __future__ import annotations

import hashlib

from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..messages import Purpose, ReleaseTerms
from ..privacy.budget import Budget
from ..privacy.cost import Adjacency
from ..protocols.masked.plan import MaskedPlan
from ..protocols.masked.ring import Ring
from ..protocols.partition import Partition, RosterEntry
from .form import Reader, integer, items, octets, real, record, text

KIND, VERSION = "dpmosaic release terms", 3


def encode_terms(terms: ReleaseTerms) -> bytes:
    """The canonical bytes of a release's terms."""
    fields = (
        text(terms.release_id),
        integer(terms.protocol_version),
        text(terms.protocol),
        text(terms.adjacency.value),
        real(terms.granted_rho),
        _encoded_partition(terms.plan),
        items([_encoded_masked(terms.masked)] if terms.masked is not None else []),
        _encoded_purpose(terms.purpose),
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
        plan = _decoded_partition(reader)
        masked = reader.items(lambda: _decoded_masked(reader, plan))
        purpose = _decoded_purpose(reader)
        reader.end()
        if len(masked) > 1:
            raise ProtocolError("expected at most one plan")
        return ReleaseTerms(
            release_id,
            version,
            protocol,
            Adjacency.named(adjacency),
            granted,
            masked[0] if masked else plan,
            purpose,
        )
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"expected consistent terms of a release: {cause}") from None


def terms_digest(terms: ReleaseTerms) -> bytes:
    """SHA-256 of the terms, to which keys, sealed streams and acceptances of the release are bound."""
    return hashlib.sha256(encode_terms(terms)).digest()


def _encoded_partition(plan: Partition) -> bytes:
    attributes = items(text(name) + integer(plan.domain[name].size) for name in plan.domain)
    return attributes + items(_encoded_entry(entry) for entry in plan.roster)


def _decoded_partition(reader: Reader) -> Partition:
    attributes = reader.items(lambda: (reader.text(), reader.integer()))
    sizes = dict(attributes)
    if len(sizes) < len(attributes):
        raise ProtocolError("the plan names an attribute twice")
    return Partition(Domain.coded(sizes), reader.items(lambda: _decoded_entry(reader)))


def _encoded_masked(plan: MaskedPlan) -> bytes:
    return b"".join(
        (
            integer(plan.tolerated),
            integer(plan.ring.bits),
            items(map(integer, plan.evaluators)),
            text(plan.dealer),
            text(plan.check),
        )
    )


def _decoded_masked(reader: Reader, plan: Partition) -> MaskedPlan:
    tolerated, ring_bits = reader.integer(), reader.integer()
    evaluators, dealer, check = reader.items(reader.integer), reader.text(), reader.text()
    return MaskedPlan(plan.domain, plan.roster, tolerated, Ring(ring_bits), evaluators, dealer, check)


def _encoded_purpose(purpose: Purpose) -> bytes:
    budget = purpose.budget
    promise = (budget.epsilon, budget.delta, budget.zcdp_rho)
    words = (purpose.domain_digest, purpose.mechanism, purpose.workload, purpose.workload_digest)
    optional = (items([] if number is None else [real(number)]) for number in promise)
    return b"".join((*optional, *map(text, words), integer(purpose.rows_per_person)))


def _decoded_purpose(reader: Reader) -> Purpose:
    budget = Budget(_decoded_optional(reader), _decoded_optional(reader), _decoded_optional(reader))
    return Purpose(budget, reader.text(), reader.text(), reader.text(), reader.text(), reader.integer())


def _decoded_optional(reader: Reader) -> float | None:
    numbers = reader.items(reader.real)
    if len(numbers) > 1:
        raise ProtocolError("expected at most one number")
    return numbers[0] if numbers else None


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
