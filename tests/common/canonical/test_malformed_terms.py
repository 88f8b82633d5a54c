"""Inconsistent terms in canonical form are refused with the reason."""

import inspect
import struct
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.canonical.form import integer, items, octets, real, record, text
from dpmosaic.common.canonical.terms import TERMS, decode_terms
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
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


def alignment(population="everywhere", people=((7,),), rho="1/2", match_keys=1):
    """The alignment of the plan's slices, consistent or not."""
    counts = items(items(text(str(count)) for count in counts) for counts in people)
    return text("f" * 32) + text(population) + counts + text(rho) + integer(match_keys)


def choice(release_id="f" * 32, certificate="c" * 64, rho=0.5, runs=("a",), labels=("b",), delta=0.125):
    """The codes that a release chose, consistent or not."""
    bins = items(text(name) + items([integer(0), integer(1)]) for name in runs)
    texts = items(text(name) + items([text("x")]) for name in labels)
    return text(release_id) + text(certificate) + real(rho) + bins + texts + real(delta)


def partition(attributes=(A, B), roster=WHOLE, alignments=(), choices=(), parts=()):
    """Which party holds what, consistent or not."""
    named = items(text(name) + integer(size) for name, size in attributes)
    return named + items(roster) + items(alignments) + items(choices) + items(parts)


def masked(tolerated=0, ring_bits=32, evaluators=(), dealers=(), check="", sample=0):
    """What a plan of the protocol `masked` adds, consistent or not."""
    numbers = integer(tolerated) + integer(ring_bits) + items(map(integer, evaluators))
    stated = items(text(name) + octets(identity) for name, identity in dealers)
    return numbers + stated + text(check) + integer(sample)


def matching(match=(("key:exact",),), keying="hmac", duplicates="first", across_slices=""):
    """What a plan that aligns rows adds, consistent or not."""
    keys = items(items(map(text, key)) for key in match)
    return keys + text(keying) + text(duplicates) + text(across_slices)


def search(attributes=("a",), delta=0.01):
    """A search for labels, consistent or not."""
    return items(map(text, attributes)) + real(delta)


WHY = ("research", "ethics@example.org", "2026-05-01", "")
"""Why, who answers for it, when it was asked for and until when."""


def promise(
    numbers=((), (), (1.0,)), adjacency="zero-out", protocol="masked", collusions=(), check="", sample=(),
    synthetic=(), rows=1, why=WHY,
):  # fmt: skip
    """What the release promises, each number left out or given."""
    budget = b"".join(items(map(real, number)) for number in numbers)
    chosen = items(map(integer, collusions)) + text(check) + items(map(integer, sample))
    sizes = items(map(integer, synthetic)) + integer(rows)
    return budget + text(adjacency) + text(protocol) + chosen + sizes + b"".join(map(text, why))


def purpose(words=("d" * 64, "{}", "", "w" * 64), labels=(), cells=(), attributes=(), unreviewed=()):
    """What the answers are for, and the limits."""
    limits = items(map(integer, cells)) + items(map(integer, attributes)) + items(map(text, unreviewed))
    return b"".join((*map(text, words), items(labels), limits))


MADE_FOR = inspect.signature(purpose).parameters


def terms(
    added=None, kind=TERMS.name, version=TERMS.version, *, release_id=RELEASE_ID, protocol="masked",
    rho=None, plan=None, matching=None, place=None, **stated,
):  # fmt: skip
    """Encoded terms, consistent or not."""
    made_for = {name: stated.pop(name) for name in MADE_FOR if name in stated}
    fields = (
        text(release_id),
        integer(5),
        promise(**{"collusions": () if added is None else (0,), "protocol": protocol, **stated}),
        real(1.0) if rho is None else rho,
        integer((added is not None) + 2 * (matching is not None) if place is None else place),
        partition() if plan is None else plan,
        added or matching or b"",
        purpose(**made_for),
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
        {"rows": 0},
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
        {"kind": TERMS.name + " "},
        {"version": TERMS.version + 1},
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
        ({"alignments": [alignment(), alignment()]}, "several values"),
        ({"choices": [choice(), choice()]}, "several values"),
        ({"choices": [choice(release_id="f" * 31)]}, "by id and certificate"),
        ({"choices": [choice(certificate="C" * 64)]}, "by id and certificate"),
        ({"choices": [choice(rho=0.0)]}, "a positive finite rho"),
        ({"choices": [choice(runs=("b", "a"))]}, "another form"),
        ({"choices": [choice(labels=("b", "b"))]}, "two values of one name"),
        ({"choices": [choice(labels=())]}, "the delta of chosen labels"),
        ({"choices": [choice(delta=0.0)]}, "the delta of chosen labels"),
        ({"choices": [choice(delta=1.0)]}, "the delta of chosen labels"),
        ({"alignments": [alignment("nowhere")]}, "'nowhere'"),
        ({"alignments": [alignment(people=())]}, "the number of people of every pattern"),
        ({"alignments": [alignment(people=((7, 8),))]}, "the number of people of every pattern"),
        ({"alignments": [alignment(people=((7,), (8,)))]}, "slices of other numbers of parties"),
        ({"alignments": [alignment(people=((7, 8, 9),))]}, "slices of other numbers of parties"),
        ({"alignments": [alignment(people=(("07",),))]}, "another form"),
        ({"alignments": [alignment(people=(("-0",),))]}, "another form"),
        ({"alignments": [alignment(people=(("9" * 20,),))]}, "a number in another form"),
        ({"alignments": [alignment(rho="2/4")]}, "another form"),
        ({"alignments": [alignment(rho="1/0")]}, "a number in another form"),
        ({"alignments": [alignment(rho="1e999999999")]}, "a number in another form"),
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
    decode_terms(terms(masked()))
    shared = {
        n: value for n, value in fields.items() if n in ("attributes", "roster", "alignments", "choices")
    }
    added = {name: value for name, value in fields.items() if name not in shared}
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms(masked(**added), plan=partition(**shared)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"numbers": ((), (), ())}, "epsilon with delta or rho"),
        ({"numbers": ((1.0,), (1e-9,), (1.0,))}, "epsilon with delta or rho"),
        ({"numbers": ((1.0,), (), ())}, "delta"),
        ({"numbers": ((0.0,), (1e-9,), ())}, "epsilon"),
        ({"numbers": ((1.0,), (1.0,), ())}, "delta"),
        ({"numbers": ((1.0, 2.0), (1e-9,), ())}, "several values"),
        ({"collusions": (1,)}, "has the collusions, the check and the sample of its plan"),
        ({"collusions": ()}, "has the collusions, the check and the sample of its plan"),
        ({"check": "one-hot"}, "has the collusions, the check and the sample of its plan"),
        ({"sample": (3,)}, "has the collusions, the check and the sample of its plan"),
        ({"synthetic": (0,)}, "rows: expected at least 1"),
        ({"labels": [search(), search()]}, "several values"),
        ({"labels": [search(())]}, "names attributes"),
        ({"labels": [search(("a", "a"))]}, "names attributes"),
        ({"labels": [search(delta=0.0)]}, "delta of labels"),
        ({"labels": [search(delta=0.5)]}, "delta of labels"),
    ],
)
def test_terms_with_an_inconsistent_promise_are_refused(changed, reason):
    decode_terms(terms(masked(), numbers=((1.0,), (1e-9,), ())))
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms(masked(), **changed))


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


@pytest.mark.slow
@given(PARTITIONS, ADDED)
@example(partition([A], [entry(attributes=["a"])]), masked(ring_bits=64))
def test_any_decoded_plan_covers_every_slice_once_or_is_refused(shared, added):
    try:
        decoded = decode_terms(terms(added, plan=shared)).plan
    except ProtocolError:
        return
    for number in range(decoded.slice_count):
        held = [name for i in decoded.members(number) for name in decoded.roster[i].attributes]
        assert sorted(held) == sorted(decoded.domain)


@pytest.mark.parametrize(
    "data",
    [terms(), terms(masked(), protocol="trusted")],
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
    decode_terms(terms(protocol="alignment", plan=UNCOUNTED, matching=matching()))
    with pytest.raises(ProtocolError, match=f"consistent terms of a release: .*{reason}"):
        decode_terms(terms(protocol="alignment", plan=plan, matching=matching(**changed)))


@pytest.mark.parametrize(
    "data",
    [
        terms(protocol="alignment", plan=UNCOUNTED),
        terms(protocol="trusted", plan=UNCOUNTED, matching=matching()),
    ],
    ids=["alignment without match keys", "match keys without alignment"],
)
def test_match_keys_come_with_the_protocol_alignment_and_with_no_other(data):
    with pytest.raises(ProtocolError, match=r"consistent terms .*needs match keys"):
        decode_terms(data)


def test_a_plan_of_an_unknown_kind_is_refused():
    for place in (4, 2**62):
        with pytest.raises(ProtocolError, match="a value of an unknown kind"):
            decode_terms(terms(masked(), place=place))


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
        peak_of_refusing(terms(masked(), plan=partition(roster=[entry(slice=2**17)])), "slice by slice")
        < 2**20
    )


@pytest.mark.parametrize("length", [2**24, 2**32 - 1])
@pytest.mark.parametrize("tag", [b"\x01", b"\x06"], ids=["text", "items"])
def test_a_length_past_the_end_is_refused_without_memory_for_it(tag, length):
    whole = terms(protocol="p")
    at = whole.index(text(RELEASE_ID)) if tag == b"\x01" else whole.index(items([]))
    stated = whole[:at] + tag + length.to_bytes(4, "big") + whole[at + 5 :]
    assert peak_of_refusing(stated, "a length beyond its end") < 2**20


@pytest.mark.parametrize(
    "changed",
    [
        {"why": ("", "", "2026-02-30", "")},
        {"why": ("", "", "1 May 2026", "")},
        {"why": ("", "", "", "2026-5-1")},
        {"why": ("x" * 2001, "", "", "")},
        {"why": WHY[:-1]},
        {"why": WHY * 2},
        {"collusions": (1,)},
        {"check": "one-hot"},
        {"sample": (1,)},
        {"cells": (1, 2)},
        {"attributes": (1, 2)},
        {"attributes": (0,)},
        {"unreviewed": ("b", "a")},
        {"unreviewed": ("b", "b")},
        {"unreviewed": ("c",)},
    ],
)
def test_a_malformed_reason_or_limit_is_refused(changed):
    with pytest.raises(ProtocolError):
        decode_terms(terms(protocol="p", **changed))


def test_reason_and_limits_are_read():
    found = decode_terms(terms(protocol="p", cells=(7,), attributes=(2,), unreviewed=("b",)))
    about, read = found.spec.about, found.purpose
    assert (about.contact, about.until) == ("ethics@example.org", "")
    assert (read.max_cells, read.max_attributes, read.unreviewed) == (7, 2, ("b",))


def test_a_sample_is_of_fewer_rows_than_the_largest_slice():
    two = partition(roster=TWO)
    assert decode_terms(terms(masked(dealers=[D], sample=6), plan=two, sample=(6,))).masked_plan.sample == 6
    with pytest.raises(ProtocolError):
        decode_terms(terms(masked(dealers=[D], sample=7), plan=two, sample=(7,)))


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
    decode_terms(terms(masked(dealers=[D, ("e", b"e" * 32), ("f", b"f" * 32)]), plan=partition(roster=TWO)))
    with pytest.raises(ProtocolError, match=f"{named} have the same"):
        decode_terms(terms(masked(dealers=dealers), plan=partition(roster=TWO)))


RELATED = RelatedPart(
    "a" * 32,
    2.0,
    1.0,
    "stays",
    (Relation("people", "", ""), Relation("stays", "people", "day")),
    (KnownColumn("a", "stays", Way.STEP, ""), KnownColumn("b", "people", Way.NUMBER, "stays", starts=(0, 1))),
)


@pytest.mark.parametrize(
    "change",
    [
        {"whole": "a"},
        {"left_rho": 0.0},
        {"left_rho": 3.0},
        {"table": "others"},
        {"relations": (Relation("stays", "people", ""),)},
        {
            "relations": (
                Relation("people", "", ""),
                Relation("people", "", ""),
                Relation("stays", "people", ""),
            )
        },
        {"table": "people"},
        {"columns": (KnownColumn("a", "people", Way.CODE, "x", before=True),)},
        {"columns": (KnownColumn("a", "people", Way.NUMBER, "others", starts=(0, 1)),)},
        # Of its own rows a table has no numbers: those of parents would stand at rows of other people.
        {"columns": (KnownColumn("a", "stays", Way.NUMBER, "stays", starts=(0, 1)),)},
        {"columns": (KnownColumn("a", "stays", Way.FIRST, "stays"),)},
        {"columns": (KnownColumn("a", "stays", Way.SPAN, "stays"),)},
        {"columns": (KnownColumn("a", "people", Way.NUMBER, "people", starts=(0, 1)),)},
        # People belong to nobody, and the rows of stays are not those of people.
        {"columns": (KnownColumn("a", "people", Way.ANY, "sex"),)},
        {"columns": (KnownColumn("a", "stays", Way.LAST_ROW, "ward", before=True),)},
        {"columns": (KnownColumn("a", "others", Way.COUNT, "ward", starts=(0, 1)),)},
        {"columns": (KnownColumn("a", "people", Way.SERIES, "sex", before=True),)},
        {"columns": tuple(KnownColumn(one, "stays", Way.SERIES, one, before=True) for one in "ab")},
    ],
)
def test_an_inconsistent_part_of_related_tables_is_refused(change):
    with pytest.raises(DataError):
        replace(RELATED, **change)


@pytest.mark.parametrize("starts", [(), (1, 2), (0, 2, 2)])
@pytest.mark.parametrize("way", [Way.NUMBER, Way.COUNT, Way.TIME])
def test_numbers_of_rows_have_increasing_starts(way, starts):
    with pytest.raises(DataError, match="increasing starts"):
        KnownColumn("b", "people", way, "stays", starts=starts)


@pytest.mark.parametrize("way", [Way.CODE, Way.ANY, Way.FIRST_ROW, Way.SPAN])
def test_others_have_no_starts(way):
    with pytest.raises(DataError, match="increasing starts"):
        KnownColumn("b", "people", way, "stays", starts=(0, 1))


def test_a_series_is_that_of_the_row_before():
    with pytest.raises(DataError, match="a series of the row before"):
        KnownColumn("a", "stays", Way.SERIES, "ward")


@pytest.mark.parametrize("groups", [(0, 2), (1,), (0, 1 << 63)])
def test_groups_are_all_of_some_code(groups):
    with pytest.raises(DataError, match="groups that are all"):
        KnownColumn("a", "stays", Way.STEP, "", groups=groups)
