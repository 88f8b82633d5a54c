"""Inconsistent terms in canonical form are refused with the reason."""

import struct
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.canonical.form import integer, items, octets, real, record, text
from dpmosaic.common.canonical.terms import (
    KIND,
    LIMITED_VERSION,
    REASONED_VERSION,
    SAMPLED_VERSION,
    VERSION,
    decode_terms,
)
from dpmosaic.common.errors import ProtocolError
from support.terms import RELEASE_ID

A, B = ("a", 2), ("b", 3)


def entry(name="p", slice=0, attributes=("a", "b"), record_count=7, identity=b"i" * 32):
    """A party of the plan below, in slice 0 with all of its attributes."""
    return (
        text(name) + integer(slice) + items(map(text, attributes)) + integer(record_count) + octets(identity)
    )


WHOLE = (entry(),)
THREE = tuple(entry(name, slice=number) for number, name in enumerate("pqr"))

TWO = (entry("p", attributes=["a"]), entry("q", attributes=["b"], identity=b"j" * 32))
D, E = ("d", b"d" * 32), ("e", b"")


def alignment(population="everywhere", people=(("7",),), rho="1/2", match_keys=1):
    """The alignment of the plan's slices, consistent or not."""
    counts = items(items(map(text, slice_counts)) for slice_counts in people)
    return text("f" * 32) + text(population) + counts + text(rho) + integer(match_keys)


def choice(release_id="f" * 32, certificate="c" * 64, rho=0.5, runs=("a",), labels=("b",), delta=0.125):
    """The codes that a release chose, consistent or not."""
    bins = items(text(name) + items([integer(0), integer(1)]) for name in runs)
    texts = items(text(name) + items([text("x")]) for name in labels)
    return text(release_id) + text(certificate) + real(rho) + bins + texts + real(delta)


def partition(attributes=(A, B), roster=WHOLE, alignments=(), choices=()):
    """Which party holds what, consistent or not."""
    named = items(text(name) + integer(size) for name, size in attributes)
    return named + items(roster) + items(alignments) + items(choices)


def masked(tolerated=0, ring_bits=32, evaluators=(), dealers=(), check=""):
    """What a plan of the protocol `masked` adds, consistent or not."""
    numbers = integer(tolerated) + integer(ring_bits) + items(map(integer, evaluators))
    return numbers + items(text(name) + octets(identity) for name, identity in dealers) + text(check)


def matching(match=(("key:exact",),), keying="hmac", duplicates="first", across_slices=""):
    """What a plan that aligns rows adds, consistent or not."""
    keys = items(items(map(text, key)) for key in match)
    return keys + text(keying) + text(duplicates) + text(across_slices)


def search(attributes=("a",), delta=0.01):
    """A search for labels, consistent or not."""
    return items(map(text, attributes)) + real(delta)


def purpose(numbers=((), (), (1.0,)), words=("d" * 64, "{}", "", "w" * 64), rows=1, labels=()):
    """Epsilon, delta and rho, each left out or given, texts, the rows of a person, and what is looked for."""
    promise = (items(map(real, number)) for number in numbers)
    return b"".join((*promise, *map(text, words), integer(rows), items(labels)))


def reason(purpose="research", contact="ethics@example.org", asked="2026-05-01", until="", cells=()):
    """Why, who answers for it, when it was asked for and until when, and the largest marginals."""
    return b"".join((*map(text, (purpose, contact, asked, until)), items(map(integer, cells))))


def terms(
    plans=(), kind=KIND, version=VERSION, *, release_id=RELEASE_ID, protocol="masked", adjacency="zero-out",
    rho=None, plan=None, made_for=None, aligning=(), why=b"",
):  # fmt: skip
    """Encoded terms, consistent or not."""
    fields = (
        text(release_id),
        integer(5),
        text(protocol),
        text(adjacency),
        real(1.0) if rho is None else rho,
        partition() if plan is None else plan,
        items(plans),
        items(aligning),
        purpose() if made_for is None else made_for,
        why,
    )
    return record(kind, version, fields)


def float_of(value):
    """Any float as a field, also those without a canonical form."""
    return b"\x04" + struct.pack(">d", value)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": ""},
        {"release_id": "r"},
        {"release_id": "a" * 31},
        {"release_id": "a" * 33},
        {"release_id": "A" * 32},
        {"release_id": "a" * 32 + "\n"},
        {"release_id": "x[/green]"},
        {"protocol": ""},
        {"adjacency": "swap"},
        {"rho": real(0.0)},
        {"rho": real(-1.0)},
        {"made_for": purpose(rows=0)},
    ],
)
def test_inconsistent_terms_are_refused(change):
    decode_terms(terms(protocol="p"))
    with pytest.raises(ProtocolError, match="consistent terms of a release"):
        decode_terms(terms(**{"protocol": "p"} | change))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0])
def test_a_float_without_a_canonical_form_is_refused(value):
    with pytest.raises(ProtocolError, match="a float without a canonical form"):
        decode_terms(terms(protocol="p", rho=float_of(value)))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "dpmosaic introduction"},
        {"kind": KIND + " "},
        {"version": VERSION - 1},
        {"version": LIMITED_VERSION + 1},
        {"version": 0},
    ],
)
def test_another_kind_or_version_is_refused_before_anything_else_is_read(change):
    with pytest.raises(ProtocolError, match="another kind or version"):
        decode_terms(terms(protocol="p", **change))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"attributes": []}, "at least one attribute"),
        ({"attributes": [A, B, A]}, "names an attribute twice"),
        ({"attributes": [A, ("b", 0)]}, "'b'"),
        ({"attributes": [A, ("b", 2**64 - 1)]}, "'b'"),
        ({"attributes": [A]}, "every attribute exactly once"),
        ({"roster": []}, "slice by slice"),
        ({"roster": [entry(slice=1)]}, "slice by slice"),
        ({"roster": [entry("p"), entry("q", slice=2)]}, "slice by slice"),
        ({"roster": [entry("p", slice=1), entry("q")]}, "slice by slice"),
        ({"roster": [entry(), entry(slice=1)]}, "the same name"),
        ({"roster": [entry(attributes=["a"])]}, "every attribute exactly once"),
        ({"roster": [entry(attributes=["a", "b", "c"])]}, "every attribute exactly once"),
        ({"roster": [entry(attributes=["a", "a", "b"])]}, "every attribute exactly once"),
        ({"roster": [entry("p"), entry("q", attributes=["b"])]}, "every attribute exactly once"),
        ({"roster": [entry(attributes=["b", "a"])]}, "domain order"),
        (
            {"roster": [entry("p", attributes=["a"]), entry("q", attributes=["b"], record_count=8)]},
            "different numbers of records",
        ),
        ({"tolerated": 1}, "tolerated collusions"),
        ({"dealers": [D, E]}, "expected one dealer, or 3 or more"),
        ({"dealers": [D, D]}, "with different names"),
        ({"dealers": [D, E, D]}, "with different names"),
        ({"dealers": [("p", b"x" * 32)]}, "dealers that are parties with their identities"),
        ({"roster": TWO}, "slice 1: expected 1 dealers that are no party of it"),
        ({"roster": TWO, "dealers": [("p", b"i" * 32)]}, "slice 1: expected 1 dealers"),
        ({"roster": TWO, "dealers": [D, E, ("p", b"i" * 32)]}, "slice 1: expected 3 dealers"),
        ({"check": "two-hot"}, "expected 'one-hot' or none"),
        ({"alignments": [alignment(), alignment()]}, "at most one alignment"),
        ({"choices": [choice(), choice()]}, "at most one .*choice of codes"),
        ({"choices": [choice(release_id="f" * 31)]}, "by id and certificate"),
        ({"choices": [choice(certificate="C" * 64)]}, "by id and certificate"),
        ({"choices": [choice(rho=0.0)]}, "a positive finite rho"),
        ({"choices": [choice(runs=("b", "a"))]}, "in the order of their attributes' names"),
        ({"choices": [choice(labels=("b", "b"))]}, "in the order of their attributes' names"),
        ({"choices": [choice(labels=())]}, "the delta of chosen labels"),
        ({"choices": [choice(delta=0.0)]}, "the delta of chosen labels"),
        ({"choices": [choice(delta=1.0)]}, "the delta of chosen labels"),
        ({"alignments": [alignment("nowhere")]}, "population: expected one of everywhere, anywhere"),
        ({"alignments": [alignment(people=())]}, "the number of people of every pattern"),
        ({"alignments": [alignment(people=(("7", "8"),))]}, "the number of people of every pattern"),
        ({"alignments": [alignment(people=(("7",), ("8",)))]}, "slices of other numbers of parties"),
        ({"alignments": [alignment(people=(("7", "8", "9"),))]}, "slices of other numbers of parties"),
        ({"alignments": [alignment(people=(("07",),))]}, "a whole number in its only form"),
        ({"alignments": [alignment(people=(("-0",),))]}, "a whole number in its only form"),
        ({"alignments": [alignment(people=(("9" * 20,),))]}, "a whole number in its only form"),
        ({"alignments": [alignment(rho="2/4")]}, "a fraction in its only form"),
        ({"alignments": [alignment(rho="1/0")]}, "a fraction in its only form"),
        ({"alignments": [alignment(rho="1e999999999")]}, "a fraction in its only form"),
        ({"alignments": [alignment(rho="0")]}, "a positive rho"),
        ({"alignments": [alignment(match_keys=0)]}, "at least one"),
        ({"ring_bits": 0}, "32 or 64 bits"),
        ({"ring_bits": 33}, "32 or 64 bits"),
        ({"evaluators": [1, 0, 2]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [1]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [1, 2]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [1, 2, 1]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [0, 1, 3]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [4, 1, 2]}, "three evaluators or none"),
        ({"roster": THREE, "evaluators": [0, 1, 2, 0]}, "three evaluators or none"),
        (
            {"roster": THREE, "tolerated": 2} | {"evaluators": [0, 1, 2]},
            "none if more than one party may collude",
        ),
    ],
)
def test_terms_with_an_inconsistent_plan_are_refused(fields, reason):
    decode_terms(terms([masked()]))
    shared = {
        n: value for n, value in fields.items() if n in ("attributes", "roster", "alignments", "choices")
    }
    added = {name: value for name, value in fields.items() if name not in shared}
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms([masked(**added)], plan=partition(**shared)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"numbers": ((), (), ())}, "epsilon with delta or rho"),
        ({"numbers": ((1.0,), (1e-9,), (1.0,))}, "epsilon with delta or rho"),
        ({"numbers": ((1.0,), (), ())}, "delta"),
        ({"numbers": ((0.0,), (1e-9,), ())}, "epsilon"),
        ({"numbers": ((1.0,), (1.0,), ())}, "delta"),
        ({"numbers": ((1.0, 2.0), (1e-9,), ())}, "at most one number"),
        ({"labels": [search(), search()]}, "at most one search"),
        ({"labels": [search(())]}, "names attributes"),
        ({"labels": [search(("a", "a"))]}, "names attributes"),
        ({"labels": [search(delta=0.0)]}, "delta of labels"),
        ({"labels": [search(delta=0.5)]}, "delta of labels"),
    ],
)
def test_terms_with_an_inconsistent_promise_are_refused(changed, reason):
    decode_terms(terms([masked()], made_for=purpose(((1.0,), (1e-9,), ()))))
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms([masked()], made_for=purpose(**changed)))


LETTERS = st.text("abc", max_size=1)
ENTRIES = st.builds(
    entry,
    LETTERS,
    st.integers(0, 3),
    st.lists(LETTERS, max_size=3),
    st.integers(0, 2) | st.integers(0, 2**64 - 1),
    st.binary(max_size=2),
)
PARTITIONS = st.builds(
    partition,
    st.lists(st.tuples(LETTERS, st.integers(0, 3) | st.integers(0, 2**64 - 1)), max_size=3),
    st.lists(ENTRIES, max_size=4),
)
ADDED = st.builds(
    masked,
    st.integers(0, 3) | st.integers(0, 2**32 - 1),
    st.sampled_from([0, 16, 32, 64, 2**32 - 1]),
)


@given(PARTITIONS, ADDED)
@example(partition([A], [entry(attributes=["a"])]), masked(ring_bits=64))
def test_any_decoded_plan_covers_every_slice_once_or_is_refused(shared, added):
    try:
        decoded = decode_terms(terms([added], plan=shared)).plan
    except ProtocolError:
        return
    for number in range(decoded.slice_count):
        held = [name for i in decoded.members(number) for name in decoded.roster[i].attributes]
        assert sorted(held) == sorted(decoded.domain)


@pytest.mark.parametrize(
    "data",
    [terms(), terms([masked()], protocol="trusted")],
    ids=["masked without a plan", "a plan without masked"],
)
def test_a_plan_comes_with_the_protocol_masked_and_with_no_other(data):
    with pytest.raises(ProtocolError, match=r"consistent terms .*needs a masked plan"):
        decode_terms(data)


UNCOUNTED = partition(roster=[entry(record_count=0)])


@pytest.mark.parametrize(
    ("changed", "plan", "reason"),
    [
        ({}, partition(), "must not state numbers of records"),
        ({}, partition(roster=[entry(record_count=0)], alignments=[alignment()]), "neither an align"),
        ({}, partition(roster=[entry(record_count=0)], choices=[choice()]), "nor chosen codes"),
        ({"match": ()}, UNCOUNTED, "match: expected 1 to"),
        ({"match": ((),)}, UNCOUNTED, "match: expected 1 to"),
        ({"match": (("key",),)}, UNCOUNTED, "match: expected fields such as"),
        ({"keying": "none"}, UNCOUNTED, "keying: expected one of"),
        ({"duplicates": "last"}, UNCOUNTED, "duplicates: expected one of"),
        ({"across_slices": "last"}, UNCOUNTED, "across_slices: expected one of"),
    ],
)
def test_terms_with_an_inconsistent_plan_to_align_rows_are_refused(changed, plan, reason):
    decode_terms(terms(protocol="alignment", plan=UNCOUNTED, aligning=[matching()]))
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms(protocol="alignment", plan=plan, aligning=[matching(**changed)]))


@pytest.mark.parametrize(
    "data",
    [
        terms(protocol="alignment", plan=UNCOUNTED),
        terms(protocol="trusted", plan=UNCOUNTED, aligning=[matching()]),
    ],
    ids=["alignment without match keys", "match keys without alignment"],
)
def test_match_keys_come_with_the_protocol_alignment_and_with_no_other(data):
    with pytest.raises(ProtocolError, match=r"consistent terms .*needs match keys"):
        decode_terms(data)


def test_a_masked_plan_and_match_keys_together_are_refused():
    with pytest.raises(ProtocolError, match="at most one plan"):
        decode_terms(terms([masked()], plan=UNCOUNTED, aligning=[matching()]))


def test_two_plans_are_refused():
    with pytest.raises(ProtocolError, match="at most one plan"):
        decode_terms(terms([masked(), masked()]))


def peak_of_refusing(data, reason):
    """Peak of allocated bytes while terms are refused."""
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=reason):
            decode_terms(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_plan_of_a_distant_slice_is_refused_without_a_loop_over_slices():
    """A few bytes name slice 2^17; a set of all slices up to it takes several MiB, up to 2^32 all memory."""
    assert (
        peak_of_refusing(terms([masked()], plan=partition(roster=[entry(slice=2**17)])), "slice by slice")
        < 2**20
    )


@pytest.mark.parametrize("length", [2**24, 2**32 - 1])
@pytest.mark.parametrize("tag", [b"\x01", b"\x06"], ids=["text", "items"])
def test_a_length_past_the_end_is_refused_without_memory_for_it(tag, length):
    whole = terms(protocol="p")
    at = whole.index(text(RELEASE_ID)) if tag == b"\x01" else whole.index(items([]))
    stated = whole[:at] + tag + length.to_bytes(4, "big") + whole[at + 5 :]
    assert peak_of_refusing(stated, "a length beyond its end") < 2**20


REASONS = [
    reason("", "", ""),
    reason(cells=(1, 2)),
    reason(asked="2026-02-30"),
    reason(asked="1 May 2026"),
    reason(until="2026-5-1"),
    reason("x" * 2001),
    reason()[:-1],
    reason() + reason(),
]


@pytest.mark.parametrize("why", REASONS)
def test_a_malformed_or_empty_reason_is_refused(why):
    with pytest.raises(ProtocolError):
        decode_terms(terms(protocol="p", version=REASONED_VERSION, why=why))


def test_a_reason_goes_with_its_version_only():
    with pytest.raises(ProtocolError):
        decode_terms(terms(protocol="p", why=reason()))
    with pytest.raises(ProtocolError):
        decode_terms(terms(protocol="p", version=REASONED_VERSION))
    read = decode_terms(terms(protocol="p", version=REASONED_VERSION, why=reason(cells=(7,)))).purpose
    assert (read.about.contact, read.about.until, read.max_cells) == ("ethics@example.org", "", 7)


def test_a_sample_goes_with_a_masked_plan_of_more_rows_and_is_not_empty():
    plans = [masked(dealers=[D])]
    two = partition(roster=TWO)
    read = decode_terms(terms(plans, version=SAMPLED_VERSION, plan=two, why=reason(cells=(7,)) + integer(6)))
    assert (read.masked.sample, read.purpose.max_cells) == (6, 7)
    without_reason = reason("", "", "", "") + integer(1)
    assert (
        decode_terms(terms(plans, version=SAMPLED_VERSION, plan=two, why=without_reason)).masked.sample == 1
    )
    for kept, rows in ((plans, 0), (plans, 7), ([], 6)):
        with pytest.raises(ProtocolError):
            decode_terms(terms(kept, version=SAMPLED_VERSION, plan=two, why=reason() + integer(rows)))


def limited(attributes=(2,), unreviewed=("b",), sample=0):
    return reason() + integer(sample) + items(map(integer, attributes)) + items(map(text, unreviewed))


def test_limits_go_with_their_version_only_and_are_not_empty():
    read = decode_terms(terms(protocol="p", version=LIMITED_VERSION, why=limited())).purpose
    assert (read.max_attributes, read.unreviewed, read.max_cells) == (2, ("b",), None)
    plans, two = [masked(dealers=[D])], partition(roster=TWO)
    read = decode_terms(terms(plans, version=LIMITED_VERSION, plan=two, why=limited(sample=6)))
    assert read.masked.sample == 6
    wrong = [
        limited((), ()),
        limited((1, 2)),
        limited((0,)),
        limited(unreviewed=("b", "a")),
        limited(unreviewed=("b", "b")),
        limited(unreviewed=("c",)),
        limited(sample=6),
        limited()[:-1],
        reason(),
    ]
    for why in wrong:
        with pytest.raises(ProtocolError):
            decode_terms(terms(protocol="p", version=LIMITED_VERSION, why=why))


@pytest.mark.parametrize(
    "plan",
    [
        {"roster": (entry("p", attributes=["a"]), entry("q", attributes=["b"]))},
        {"roster": (entry("p"), entry("q", slice=1))},
    ],
)
def test_one_identity_under_two_names_is_refused(plan):
    with pytest.raises(ProtocolError, match="'p' and 'q' have the same"):
        decode_terms(terms(protocol="p", plan=partition(**plan)))


@pytest.mark.parametrize(
    ("dealers", "named"),
    [
        ([D, ("e", b"d" * 32), ("f", b"f" * 32)], "'d' and 'e'"),
        ([("p-deals", b"i" * 32), ("e", b"e" * 32), ("f", b"f" * 32)], "'p' and 'p-deals'"),
    ],
    ids=["two dealers", "a party of the slice as a dealer"],
)
def test_one_identity_in_two_roles_under_two_names_is_refused(dealers, named):
    decode_terms(terms([masked(dealers=[D, ("e", b"e" * 32), ("f", b"f" * 32)])], plan=partition(roster=TWO)))
    with pytest.raises(ProtocolError, match=f"{named} have the same"):
        decode_terms(terms([masked(dealers=dealers)], plan=partition(roster=TWO)))
