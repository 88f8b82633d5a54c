"""Terms in canonical form: equal terms have equal bytes, and no other bytes decode to them."""

import itertools
import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.about import About
from dpmosaic.common.canonical.terms import decode_terms, encode_terms, terms_digest
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from support.messages import (
    ALIGNED,
    ALIGNING,
    CHOSEN,
    DEALERS,
    MASKED,
    MASKED_TERMS,
    MATCHING_TERMS,
    PLAN,
    RELEASE,
    ROSTER,
    TERMS,
    UNMASKED_TERMS,
)
from support.terms import PURPOSE, id_of, terms_with

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "canonical.json").read_text())["terms"]

THREE_DEALERS = (*DEALERS, DealerEntry("e", b"e" * 32), DealerEntry("p", ROSTER[0].identity))
OTHER_SLICE = replace(ROSTER[0], name="q", slice=1, identity=b"q" * 32)
EXAMPLES = [RELEASE, MASKED, ALIGNED, ALIGNING, CHOSEN]


def stated(terms):
    """The terms as the vectors state them."""
    plan, masked, aligning = terms.plan, terms.masked_plan, terms.aligning
    purpose, spec = terms.purpose, terms.spec
    alignment = plan.alignment
    return (
        {
            "release_id": terms.release_id,
            "protocol_version": terms.protocol_version,
            "protocol": terms.spec.protocol,
            "adjacency": terms.spec.adjacency.value,
            "granted_rho": terms.granted_rho,
            "attributes": [[name, plan.domain[name].size] for name in plan.domain],
            "roster": [
                [e.name, e.slice, list(e.attributes), e.record_count, e.identity.hex()] for e in plan.roster
            ],
            "alignment": alignment
            and {
                "alignment_id": alignment.alignment_id,
                "population": alignment.population.value,
                "people": [list(counts) for counts in alignment.people],
                "zcdp_rho": str(alignment.zcdp_rho),
                "match_keys": alignment.match_keys,
            },
            "chosen": plan.chosen
            and {
                "release_id": plan.chosen.release_id,
                "certificate": plan.chosen.certificate,
                "zcdp_rho": plan.chosen.zcdp_rho,
                "runs": {name: list(firsts) for name, firsts in plan.chosen.coding.runs.items()},
                "labels": {name: list(texts) for name, texts in plan.chosen.coding.labels.items()},
                "labels_delta": plan.chosen.labels_delta,
            },
            "aligning": aligning
            and {
                "match": [list(key) for key in aligning.match],
                "keying": aligning.keying,
                "duplicates": aligning.duplicates,
                "across_slices": aligning.across_slices,
            },
            "masked": masked
            and {
                "tolerated": masked.tolerated,
                "ring_bits": masked.ring.bits,
                "evaluators": list(masked.evaluators),
                "dealers": [[dealer.name, dealer.identity.hex()] for dealer in masked.dealers],
                "check": masked.check,
            },
            "epsilon": spec.budget.epsilon,
            "delta": spec.budget.delta,
            "zcdp_rho": spec.budget.zcdp_rho,
            "domain_digest": purpose.domain_digest,
            "mechanism": purpose.mechanism,
            "workload": purpose.workload,
            "workload_digest": purpose.workload_digest,
            "rows_per_person": spec.rows_per_person,
            "collusions": spec.collusions,
            "sample": spec.sample,
            "rows": spec.rows,
            "labels": purpose.labels
            and {"attributes": list(purpose.labels.attributes), "delta": purpose.labels.delta},
        }
        | stated_reason(purpose, spec.about)
        | stated_part(plan.related)
    )


def stated_part(part):
    """What only parts of a release of related tables state."""
    if part is None:
        return {}
    columns = [
        [one.name, one.table, one.way.value, one.source, one.before, list(one.groups), list(one.starts)]
        for one in part.columns
    ]
    runs = {name: {of: list(firsts) for of, firsts in one.runs.items()} for name, one in part.codings.items()}
    return {
        "related": {
            "whole": part.whole,
            "zcdp_rho": part.zcdp_rho,
            "left_rho": part.left_rho,
            "table": part.table,
            "relations": [[one.table, one.parent, one.order, one.evened] for one in part.relations],
            "columns": columns,
            "runs": runs,
        }
    }


def stated_reason(purpose, about):
    """What only terms of the later version state."""
    limits = {"max_attributes": purpose.max_attributes, "unreviewed": list(purpose.unreviewed)}
    limits = limits if any(limits.values()) else {}
    if about == About() and purpose.max_cells is None:
        return limits
    return {"about": asdict(about), "max_cells": purpose.max_cells} | limits


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_terms_have_the_bytes_of_the_vectors(vector):
    terms = decode_terms(bytes.fromhex(vector["bytes"]))
    assert stated(terms) == vector["value"]
    assert encode_terms(terms).hex() == vector["bytes"]
    assert terms_digest(terms).hex() == vector["sha256"]


def test_a_plan_counts_people_in_parts_if_the_unit_says_so_and_the_bytes_say_it_once():
    whole = terms_with(MASKED, plan=replace(MASKED.plan, check=""))
    people = terms_with(whole, rows_per_person=ALL_ROWS, labels=None)
    assert (whole.plan.parts, people.plan.parts) == (1, WEIGHT_PARTS)
    assert decode_terms(encode_terms(people)) == people
    stated = replace(people, plan=replace(people.plan, parts=1))
    assert stated == people


@pytest.mark.parametrize("protocol", ["indicator", "of another package"])
def test_people_with_all_rows_are_counted_by_few_protocols(protocol):
    plan = Partition(MASKED.plan.domain, ROSTER)
    with pytest.raises(ValueError, match="does not count people with all rows"):
        terms_with(RELEASE, protocol=protocol, plan=plan, rows_per_person=ALL_ROWS)


@pytest.mark.slow
@given(TERMS)
def test_terms_survive_the_trip(terms):
    assert decode_terms(encode_terms(terms)) == terms


@pytest.mark.slow
@pytest.mark.parametrize("terms", EXAMPLES, ids=["unmasked", "masked", "aligned", "aligning", "chosen"])
def test_every_other_byte_at_any_place_is_refused_or_makes_other_terms(terms):
    """Any terms that decode encode to the same bytes."""
    valid = encode_terms(terms)
    for place in range(len(valid)):
        for value in (0, 1, 2, 127, 128, 255, valid[place] ^ 1):
            changed = valid[:place] + bytes([value]) + valid[place + 1 :]
            try:
                decoded = decode_terms(changed)
            except ProtocolError:
                continue
            assert encode_terms(decoded) == changed
            assert (decoded == terms) == (changed == valid)


@pytest.mark.slow
@given(st.sampled_from(EXAMPLES) | UNMASKED_TERMS | MASKED_TERMS | MATCHING_TERMS, st.data())
def test_altered_bytes_are_refused_or_make_other_terms(terms, data):
    valid = encode_terms(terms)
    start = data.draw(st.integers(0, len(valid)))
    stop = data.draw(st.integers(start, len(valid)))
    changed = valid[:start] + data.draw(st.binary(max_size=12)) + valid[stop:]
    try:
        decoded = decode_terms(changed)
    except ProtocolError:
        return
    assert encode_terms(decoded) == changed


@pytest.mark.parametrize("terms", EXAMPLES, ids=["unmasked", "masked", "aligned", "aligning", "chosen"])
def test_truncated_and_extended_terms_are_refused(terms):
    valid = encode_terms(terms)
    for size in range(len(valid)):
        with pytest.raises(ProtocolError):
            decode_terms(valid[:size])
    for more in (b"\0", valid):
        with pytest.raises(ProtocolError, match="bytes after its end"):
            decode_terms(valid + more)


@pytest.mark.slow
@given(TERMS, TERMS)
def test_only_equal_terms_have_equal_bytes(one, other):
    assert (encode_terms(one) == encode_terms(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": id_of("R")},
        {"protocol_version": 2},
        {"protocol": "trusted", "plan": Partition(PLAN.domain, ROSTER)},
        {"adjacency": Adjacency.REPLACE_ONE},
        {"granted_rho": np.nextafter(0.5, 1)},
        {"budget": Budget(epsilon=1.0, delta=1e-9)},
        {"budget": Budget(epsilon=1.0, delta=2e-9)},
        {"budget": Budget(zcdp_rho=1.0)},
        {"budget": Budget(delta=1e-9, zcdp_rho=1.0)},
        {"purpose": replace(PURPOSE, domain_digest="e" * 64)},
        {"purpose": replace(PURPOSE, mechanism='{"name": "aim"}')},
        {"purpose": replace(PURPOSE, workload="2 marginals")},
        {"purpose": replace(PURPOSE, max_cells=0)},
        {"purpose": replace(PURPOSE, max_attributes=1)},
        {"purpose": replace(PURPOSE, unreviewed=("a",))},
        {"purpose": replace(PURPOSE, unreviewed=("a", "b"))},
        {"about": About(purpose="research")},
        {"about": About(contact="research")},
        {"about": About(asked="2026-01-01")},
        {"about": About(until="2026-01-01")},
        {"purpose": replace(PURPOSE, workload_digest="x" * 64)},
        {"plan": replace(PLAN, tolerated=0)},
        {"plan": replace(PLAN, ring=Ring(64))},
        {"plan": replace(PLAN, evaluators=(0, 2, 1))},
        {"plan": replace(PLAN, evaluators=(2, 1, 0))},
        {"plan": replace(PLAN, evaluators=())},
        {"plan": replace(PLAN, check="one-hot")},
        {"plan": replace(PLAN, sample=1)},
        {"plan": replace(PLAN, dealers=(replace(DEALERS[0], name="e"),))},
        {"plan": replace(PLAN, dealers=(replace(DEALERS[0], identity=b"e" * 32),))},
        {"plan": replace(PLAN, dealers=THREE_DEALERS)},
        {"plan": replace(PLAN, roster=(ROSTER[0], OTHER_SLICE), evaluators=(), dealers=())},
        {"plan": replace(PLAN, roster=(ROSTER[0], ROSTER[2], ROSTER[1]))},
        {"plan": replace(PLAN, domain=Domain.coded({"a": 2, "b": 4}))},
        {
            "plan": MaskedPlan(
                Domain.coded({"b": 3, "a": 2}),
                (replace(ROSTER[0], attributes=("b", "a")), *ROSTER[1:]),
                1,
                Ring(32),
                dealers=DEALERS,
            )
        },
        {
            "plan": MaskedPlan(
                Domain.coded({"a": 2, "z": 3}),
                (
                    replace(ROSTER[0], attributes=("a", "z")),
                    ROSTER[1],
                    replace(ROSTER[2], attributes=("z",)),
                ),
                1,
                Ring(32),
                dealers=DEALERS,
            )
        },
    ],
)
def test_every_field_of_the_terms_changes_the_signed_bytes(change):
    assert encode_terms(terms_with(MASKED, **change)) != encode_terms(MASKED)


def test_the_order_of_dealers_changes_the_signed_bytes():
    """The first ones that are no party of a slice deal for it."""
    encoded = {
        encode_terms(terms_with(MASKED, plan=replace(PLAN, dealers=order)))
        for order in itertools.permutations(THREE_DEALERS)
    }
    assert len(encoded) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"alignment_id": "e" * 32},
        {"population": Population.EVERYWHERE},
        {"people": ((7,), (-1, 2, 3))},
        {"people": ((6,), (1, 2, 3))},
        {"zcdp_rho": Fraction(3, 2**8)},
    ],
)
def test_every_field_of_the_alignment_changes_the_signed_bytes(change):
    alignment = replace(ALIGNED.plan.alignment, **change)
    changed = replace(ALIGNED, plan=replace(ALIGNED.plan, alignment=alignment))
    assert encode_terms(changed) != encode_terms(ALIGNED) != encode_terms(MASKED)


@pytest.mark.parametrize(
    "change",
    [
        {"match": (("id:exact",),)},
        {"match": (("id:exact", "name:text"), ("born:date",))},
        {"keying": "ddh"},
        {"duplicates": "refuse"},
        {"across_slices": ""},
    ],
)
def test_every_field_of_how_rows_are_matched_changes_the_signed_bytes(change):
    changed = replace(ALIGNING, plan=replace(ALIGNING.plan, **change))
    assert encode_terms(changed) != encode_terms(ALIGNING)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "e" * 32},
        {"certificate": "e" * 64},
        {"zcdp_rho": np.nextafter(0.25, 1)},
        {"coding": Coding({"a": (0, 2)}, {"b": ("x",)})},
        {"coding": Coding({"a": (0, 1)}, {"b": ("y",)})},
        {"coding": Coding({"a": (0, 1)}), "labels_delta": 0.0},
        {"labels_delta": 0.25},
        {"coding": Coding({"b": (0, 1)}, {"a": ("x",)})},
    ],
)
def test_every_field_of_the_chosen_codes_changes_the_signed_bytes(change):
    chosen = replace(CHOSEN.plan.chosen, **change)
    changed = replace(CHOSEN, plan=replace(CHOSEN.plan, chosen=chosen))
    assert encode_terms(changed) != encode_terms(CHOSEN) != encode_terms(MASKED)


@pytest.mark.parametrize(
    "changes",
    [
        {0: {"name": "P"}},
        {0: {"record_count": 8}},
        {0: {"identity": b"x" * 32}},
        {1: {"attributes": ("b",)}, 2: {"attributes": ("a",)}},
        {1: {"attributes": ("a", "b")}, 2: {"attributes": ()}},
        {1: {"record_count": 6}, 2: {"record_count": 6}},
        {1: {"attributes": ("a", "b")}, 2: {"attributes": ("a", "b"), "slice": 2}},
    ],
)
def test_every_field_of_the_roster_changes_the_signed_bytes(changes):
    roster = tuple(replace(entry, **changes.get(place, {})) for place, entry in enumerate(ROSTER))
    changed = terms_with(MASKED, plan=replace(PLAN, roster=roster))
    assert encode_terms(changed) != encode_terms(MASKED)


def test_the_slice_of_a_party_without_attributes_changes_the_signed_bytes():
    whole, nothing = ROSTER[0], RosterEntry("n", 0, (), 7, b"n" * 32)
    encoded = {
        encode_terms(terms_with(MASKED, plan=replace(PLAN, roster=(whole, middle, last))))
        for last in [OTHER_SLICE]
        for middle in [nothing, replace(nothing, slice=1)]
    }
    assert len(encoded) == 2
