"""The terms of a release as bytes: signed by the curator and every party, and kept in ledgers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from ..about import About
from ..data.coding import Coding
from ..data.domain import Domain
from ..errors import MosaicError, ProtocolError
from ..labels import LabelSearch
from ..messages import Purpose, ReleaseTerms
from ..privacy.budget import Budget
from ..privacy.cost import Adjacency
from ..protocols.alignment.alignment import Alignment, Population
from ..protocols.alignment.plan import AlignmentPlan
from ..protocols.chosen import Chosen
from ..protocols.masked.dealers import DealerEntry
from ..protocols.masked.plan import MaskedPlan
from ..protocols.masked.ring import Ring
from ..protocols.partition import Partition, RosterEntry
from .form import Reader, integer, items, octets, real, record, text

KIND, VERSION, REASONED_VERSION, SAMPLED_VERSION, LIMITED_VERSION = "dpmosaic release terms", 6, 7, 8, 9
"""Terms that state neither a reason nor a largest marginal, those without a sample, and those without a
largest number of attributes and unreviewed attributes keep the bytes of the older versions."""

_T = TypeVar("_T")
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FRACTION = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?")


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
        items([_encoded_matching(terms.aligning)] if terms.aligning is not None else []),
        _encoded_purpose(terms.purpose),
    )
    sample = 0 if terms.masked is None else terms.masked.sample
    sampled = (*fields, _encoded_reason(terms.purpose), integer(sample))
    if _is_limited(terms.purpose):
        return record(KIND, LIMITED_VERSION, (*sampled, _encoded_limits(terms.purpose)))
    if sample:
        return record(KIND, SAMPLED_VERSION, sampled)
    if _is_reasoned(terms.purpose):
        return record(KIND, REASONED_VERSION, (*fields, _encoded_reason(terms.purpose)))
    return record(KIND, VERSION, fields)


def decode_terms(data: bytes) -> ReleaseTerms:
    """The terms of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of terms, or the terms are inconsistent.
    """
    reader = Reader(data, KIND, VERSION, REASONED_VERSION, SAMPLED_VERSION, LIMITED_VERSION)
    release_id, version, protocol = reader.text(), reader.integer(), reader.text()
    adjacency, granted = reader.text(), reader.real()
    try:
        plan = _decoded_partition(reader)
        masked = reader.items(lambda: _decoded_masked(reader, plan))
        aligning = reader.items(lambda: _decoded_matching(reader, plan))
        purpose = _decoded_purpose(reader)
        if reader.version >= REASONED_VERSION:
            purpose = _with_decoded_reason(purpose, reader)
        if reader.version >= SAMPLED_VERSION:
            masked = _with_decoded_sample(masked, reader)
        if reader.version == LIMITED_VERSION:
            purpose = _with_decoded_limits(purpose, reader)
        reader.end()
        plans = (*masked, *aligning)
        if len(plans) > 1:
            raise ProtocolError("expected at most one plan")
        return ReleaseTerms(
            release_id,
            version,
            protocol,
            Adjacency.named(adjacency),
            granted,
            plans[0] if plans else plan,
            purpose,
        )
    except (MosaicError, ValueError) as cause:
        raise ProtocolError(f"expected consistent terms of a release: {cause}") from None


def terms_digest(terms: ReleaseTerms) -> bytes:
    """SHA-256 of the terms, to which keys, sealed streams and acceptances of the release are bound."""
    return hashlib.sha256(encode_terms(terms)).digest()


def _encoded_partition(plan: Partition) -> bytes:
    attributes = items(text(name) + integer(plan.domain[name].size) for name in plan.domain)
    roster = items(_encoded_entry(entry) for entry in plan.roster)
    alignment = items([] if plan.alignment is None else [_encoded_alignment(plan.alignment)])
    return (
        attributes + roster + alignment + items([] if plan.chosen is None else [_encoded_chosen(plan.chosen)])
    )


def _decoded_partition(reader: Reader) -> Partition:
    attributes = reader.items(lambda: (reader.text(), reader.integer()))
    sizes = dict(attributes)
    if len(sizes) < len(attributes):
        raise ProtocolError("the plan names an attribute twice")
    roster = reader.items(lambda: _decoded_entry(reader))
    alignments = reader.items(lambda: _decoded_alignment(reader))
    chosen = reader.items(lambda: _decoded_chosen(reader))
    if len(alignments) > 1 or len(chosen) > 1:
        raise ProtocolError("expected at most one alignment and one choice of codes")
    return Partition(
        Domain.coded(sizes),
        roster,
        alignment=alignments[0] if alignments else None,
        chosen=chosen[0] if chosen else None,
    )


def _encoded_chosen(chosen: Chosen) -> bytes:
    coding = chosen.coding
    runs = items(text(name) + items(map(integer, coding.runs[name])) for name in sorted(coding.runs))
    labels = items(text(name) + items(map(text, coding.labels[name])) for name in sorted(coding.labels))
    release = text(chosen.release_id) + text(chosen.certificate) + real(chosen.zcdp_rho)
    return release + runs + labels + real(chosen.labels_delta)


def _decoded_chosen(reader: Reader) -> Chosen:
    release_id, certificate, rho = reader.text(), reader.text(), reader.real()
    runs = _by_name(reader.items(lambda: (reader.text(), reader.items(reader.integer))))
    labels = _by_name(reader.items(lambda: (reader.text(), reader.items(reader.text))))
    return Chosen(release_id, certificate, rho, Coding(runs, labels), reader.real())


def _by_name(entries: Sequence[tuple[str, _T]]) -> dict[str, _T]:
    """Entries in the order of their names, each once."""
    found = dict(entries)
    if [name for name, _ in entries] != sorted(found):
        raise ProtocolError("expected chosen codes in the order of their attributes' names")
    return found


def _encoded_alignment(alignment: Alignment) -> bytes:
    # Noisy numbers may be negative.
    people = items(items(text(str(count)) for count in counts) for counts in alignment.people)
    return (
        text(alignment.alignment_id)
        + text(alignment.population.value)
        + people
        + text(str(alignment.zcdp_rho))
        + integer(alignment.match_keys)
    )


def _decoded_alignment(reader: Reader) -> Alignment:
    alignment_id, population = reader.text(), Population.named(reader.text())
    people = reader.items(lambda: reader.items(lambda: _decoded_whole(reader)))
    return Alignment(alignment_id, population, people, _decoded_fraction(reader), reader.integer())


def _decoded_whole(reader: Reader) -> int:
    written = reader.text()
    if not _WHOLE.fullmatch(written) or str(int(written)) != written:
        raise ProtocolError("expected a whole number in its only form")
    return int(written)


def _decoded_fraction(reader: Reader) -> Fraction:
    written = reader.text()
    if not _FRACTION.fullmatch(written) or str(Fraction(written)) != written:
        raise ProtocolError("expected a fraction in its only form")
    return Fraction(written)


def _encoded_matching(plan: AlignmentPlan) -> bytes:
    words = (plan.keying, plan.duplicates, plan.across_slices)
    return items(items(map(text, key)) for key in plan.match) + b"".join(map(text, words))


def _decoded_matching(reader: Reader, plan: Partition) -> AlignmentPlan:
    match = reader.items(lambda: reader.items(reader.text))
    if plan.alignment is not None or plan.chosen is not None:
        raise ProtocolError("a plan that aligns rows must state neither an alignment nor chosen codes")
    return AlignmentPlan(
        plan.domain,
        plan.roster,
        match=match,
        keying=reader.text(),
        duplicates=reader.text(),
        across_slices=reader.text(),
    )


def _encoded_masked(plan: MaskedPlan) -> bytes:
    return b"".join(
        (
            integer(plan.tolerated),
            integer(plan.ring.bits),
            items(map(integer, plan.evaluators)),
            items(text(dealer.name) + octets(dealer.identity) for dealer in plan.dealers),
            text(plan.check),
        )
    )


def _decoded_masked(reader: Reader, plan: Partition) -> MaskedPlan:
    tolerated, ring_bits = reader.integer(), reader.integer()
    evaluators = reader.items(reader.integer)
    dealers = reader.items(lambda: DealerEntry(reader.text(), reader.octets()))
    check = reader.text()
    return MaskedPlan(
        plan.domain,
        plan.roster,
        tolerated,
        Ring(ring_bits),
        evaluators,
        dealers,
        check,
        alignment=plan.alignment,
        chosen=plan.chosen,
    )


def _encoded_purpose(purpose: Purpose) -> bytes:
    budget = purpose.budget
    promise = (budget.epsilon, budget.delta, budget.zcdp_rho)
    words = (purpose.domain_digest, purpose.mechanism, purpose.workload, purpose.workload_digest)
    optional = (items([] if number is None else [real(number)]) for number in promise)
    labels = items([] if purpose.labels is None else [_encoded_labels(purpose.labels)])
    return b"".join((*optional, *map(text, words), integer(purpose.rows_per_person), labels))


def _decoded_purpose(reader: Reader) -> Purpose:
    budget = Budget(_decoded_optional(reader), _decoded_optional(reader), _decoded_optional(reader))
    words = (reader.text(), reader.text(), reader.text(), reader.text())
    rows_per_person = reader.integer()
    labels = reader.items(lambda: LabelSearch(reader.items(reader.text), reader.real()))
    if len(labels) > 1:
        raise ProtocolError("expected at most one search for labels")
    return Purpose(budget, *words, rows_per_person, labels[0] if labels else None)


def _is_reasoned(purpose: Purpose) -> bool:
    return purpose.about != About() or purpose.max_cells is not None


def _encoded_reason(purpose: Purpose) -> bytes:
    about, cells = purpose.about, purpose.max_cells
    words = map(text, (about.purpose, about.contact, about.asked, about.until))
    return b"".join((*words, items([] if cells is None else [integer(cells)])))


def _with_decoded_reason(purpose: Purpose, reader: Reader) -> Purpose:
    about = About(reader.text(), reader.text(), reader.text(), reader.text())
    cells = reader.items(reader.integer)
    reasoned = replace(purpose, about=about, max_cells=cells[0] if cells else None)
    unreasoned = reader.version == REASONED_VERSION and not _is_reasoned(reasoned)
    if len(cells) > 1 or unreasoned:
        raise ProtocolError("expected a reason of the release, and at most one number of cells")
    return reasoned


def _with_decoded_sample(plans: Sequence[MaskedPlan], reader: Reader) -> tuple[MaskedPlan, ...]:
    sample = reader.integer()
    if sample == 0 and reader.version > SAMPLED_VERSION:
        return tuple(plans)
    if not plans or not sample:
        raise ProtocolError("expected a masked plan and a number of sampled rows")
    return tuple(replace(plan, sample=sample) for plan in plans)


def _is_limited(purpose: Purpose) -> bool:
    return purpose.max_attributes is not None or bool(purpose.unreviewed)


def _encoded_limits(purpose: Purpose) -> bytes:
    most = purpose.max_attributes
    return items([] if most is None else [integer(most)]) + items(map(text, purpose.unreviewed))


def _with_decoded_limits(purpose: Purpose, reader: Reader) -> Purpose:
    most, unreviewed = reader.items(reader.integer), reader.items(reader.text)
    limited = replace(purpose, max_attributes=most[0] if most else None, unreviewed=unreviewed)
    if len(most) > 1 or not _is_limited(limited):
        raise ProtocolError("expected at most one number of attributes, or unreviewed attributes")
    return limited


def _encoded_labels(search: LabelSearch) -> bytes:
    return items(map(text, search.attributes)) + real(search.delta)


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
