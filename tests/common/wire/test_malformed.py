"""Messages that parse and yet do not hold together are refused, with what does not."""

import json
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.wire import codec
from dpmosaic.common.wire import party_pb2 as pb

NAMES = st.text(min_size=1, max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
NUMERIC_FORMS = st.fixed_dictionaries(
    {"type": st.just("numeric"), "min": SCALARS, "max": SCALARS, "bins": st.integers(-1, 9) | SCALARS}
)
JSON = st.recursive(
    SCALARS | NUMERIC_FORMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner)
)


@given((st.dictionaries(NAMES, JSON, max_size=3) | JSON).map(json.dumps) | st.text(max_size=9))
@example("[" * 100_000)
@example('{"a": ' + "9" * 5_000 + "}")
@example('{"a": {"type": "numeric", "min": 0, "max": 1' + "0" * 400 + ', "bins": 2}}')
def test_any_text_is_a_domain_or_a_protocol_error(text):
    data = pb.PartyDescription(domain_json=text).SerializeToString()
    try:
        description = codec.decode_description(data)
    except ProtocolError:
        return
    assert len(description.domain) >= 1


@pytest.mark.parametrize(
    "fields",
    [
        {"release_id": ""},
        {"protocol": ""},
        {"adjacency": "swap"},
        {"granted_rho": 0.0},
        {"granted_rho": -1.0},
        {"granted_rho": float("nan")},
        {"granted_rho": float("inf")},
    ],
)
def test_terms_that_do_not_hold_together_are_refused(fields):
    valid = {"release_id": "r", "protocol": "p", "adjacency": "zero-out", "granted_rho": 1.0}
    with pytest.raises(ProtocolError, match="the terms of a release do not hold together"):
        codec.decode_terms(pb.ReleaseTerms(**valid | fields).SerializeToString())


def entry(name="p", **fields):
    """A party of the plan below, in slice 0 with all of its attributes."""
    valid = {"slice": 0, "attributes": ["a", "b"], "record_count": 7, "identity": b"i" * 32}
    return pb.RosterEntry(name=name, **valid | fields)


A, B = pb.AttributeSize(name="a", size=2), pb.AttributeSize(name="b", size=3)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"attributes": []}, "at least one attribute"),
        ({"attributes": [A, B, A]}, "names an attribute twice"),
        ({"attributes": [A, pb.AttributeSize(name="b", size=0)]}, "'b'"),
        ({"attributes": [A, pb.AttributeSize(name="b", size=2**64 - 1)]}, "'b'"),
        ({"attributes": [A]}, "every attribute exactly once"),
        ({"roster": []}, "slice by slice"),
        ({"roster": [entry(slice=1)]}, "slice by slice"),
        ({"roster": [entry("p"), entry("q", slice=2)]}, "slice by slice"),
        ({"roster": [entry("p", slice=1), entry("q")]}, "slice by slice"),
        ({"roster": [entry(), entry(slice=1)]}, "two parties alike"),
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
        ({"ring_bits": 0}, "32 or 64 bits"),
        ({"ring_bits": 33}, "32 or 64 bits"),
        ({"evaluators": [0, 1]}, "two parties as evaluators"),
        ({"roster": [entry("p"), entry("q", slice=1)], "evaluators": [1]}, "two parties as evaluators"),
        ({"roster": [entry("p"), entry("q", slice=1)], "evaluators": [1, 1]}, "two parties as evaluators"),
        ({"roster": [entry("p"), entry("q", slice=1)], "evaluators": [0, 2]}, "two parties as evaluators"),
        ({"roster": [entry("p"), entry("q", slice=1)], "evaluators": [0, 1, 0]}, "two parties as evaluators"),
        (
            {"roster": [entry(name, slice=i) for i, name in enumerate("pqr")], "tolerated": 2}
            | {"evaluators": [0, 1]},
            "none where more than one party may collude",
        ),
    ],
)
def test_terms_whose_plan_does_not_hold_together_are_refused(fields, reason):
    valid = {"attributes": [A, B], "roster": [entry()], "tolerated": 0, "ring_bits": 32}
    terms = {"release_id": "r", "protocol": "masked", "adjacency": "zero-out", "granted_rho": 1.0}
    codec.decode_terms(pb.ReleaseTerms(**terms, masked=pb.MaskedPlan(**valid)).SerializeToString())
    message = pb.ReleaseTerms(**terms, masked=pb.MaskedPlan(**valid | fields))
    with pytest.raises(ProtocolError, match=f"the terms of a release do not hold together: .*{reason}"):
        codec.decode_terms(message.SerializeToString())


LETTERS = st.text("abc", max_size=1)
PLAN_MESSAGES = st.builds(
    lambda **fields: pb.MaskedPlan(**fields),
    attributes=st.lists(
        st.builds(
            lambda name, size: pb.AttributeSize(name=name, size=size),
            LETTERS,
            st.integers(0, 3) | st.integers(0, 2**64 - 1),
        ),
        max_size=3,
    ),
    roster=st.lists(
        st.builds(
            lambda **fields: pb.RosterEntry(**fields),
            name=LETTERS,
            slice=st.integers(0, 3),
            attributes=st.lists(LETTERS, max_size=3),
            record_count=st.integers(0, 2) | st.integers(0, 2**64 - 1),
            identity=st.binary(max_size=2),
        ),
        max_size=4,
    ),
    tolerated=st.integers(0, 3) | st.integers(0, 2**32 - 1),
    ring_bits=st.sampled_from([0, 16, 32, 64, 2**32 - 1]),
)


@given(PLAN_MESSAGES)
@example(pb.MaskedPlan(attributes=[A], roster=[pb.RosterEntry(name="p", attributes=["a"])], ring_bits=64))
def test_whatever_plan_comes_it_covers_every_slice_once_or_is_refused(plan):
    message = pb.ReleaseTerms(release_id="r", protocol="masked", adjacency="zero-out", granted_rho=1.0)
    message.masked.CopyFrom(plan)
    try:
        decoded = codec.decode_terms(message.SerializeToString()).masked
    except ProtocolError:
        return
    for number in range(decoded.slice_count):
        held = [name for i in decoded.members(number) for name in decoded.roster[i].attributes]
        assert sorted(held) == sorted(decoded.domain)


@pytest.mark.parametrize(
    "terms",
    [
        pb.ReleaseTerms(release_id="r", protocol="masked", adjacency="zero-out", granted_rho=1.0),
        pb.ReleaseTerms(
            release_id="r",
            protocol="trusted",
            adjacency="zero-out",
            granted_rho=1.0,
            masked=pb.MaskedPlan(attributes=[A, B], roster=[entry()], ring_bits=32),
        ),
    ],
    ids=["masked without a plan", "a plan without masked"],
)
def test_a_plan_comes_with_the_protocol_masked_and_with_no_other(terms):
    with pytest.raises(ProtocolError, match=r"do not hold together: .*has a masked plan, any other has none"):
        codec.decode_terms(terms.SerializeToString())


def test_a_plan_of_a_distant_slice_is_refused_without_counting_up_to_it():
    """A few bytes name slice 2^17; a set of all slices up to it takes several MiB, up to 2^32 all memory."""
    plan = pb.MaskedPlan(attributes=[A, B], roster=[entry(slice=2**17)], ring_bits=32)
    terms = {"release_id": "r", "protocol": "masked", "adjacency": "zero-out", "granted_rho": 1.0}
    data = pb.ReleaseTerms(**terms, masked=plan).SerializeToString()
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="slice by slice"):
            codec.decode_terms(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [0, 31, 33])
def test_an_introduction_with_a_seed_of_another_length_is_refused(length):
    message = pb.Introduction(release_id="r", mask_seed=bytes(length))
    with pytest.raises(ProtocolError, match=r"an introduction does not hold together: .*32 bytes"):
        codec.decode_introduction(message.SerializeToString())


@pytest.mark.parametrize(
    "fields",
    [
        {"query_id": ""},
        {"clique": []},
        {"form": 0},
        {"form": 7},
        {"sigma": 0.0},
        {"sigma": -2.0},
        {"sigma": float("nan")},
        {"sigma": float("inf")},
        {"boxes": [pb.Box(starts=[0], stops=[])]},
        {"boxes": [pb.Box(starts=[0], stops=[1]), pb.Box(starts=[1], stops=[2, 3])]},
        {"boxes": [pb.Box(starts=[0], stops=[1])], "interaction": True},
    ],
)
def test_a_query_that_does_not_hold_together_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "form": 1, "clique": ["a"], "sigma": 1.0}
    with pytest.raises(ProtocolError, match="a query does not hold together"):
        codec.decode_query(pb.MarginalQuery(**valid | fields).SerializeToString())


@pytest.mark.parametrize(
    "fields",
    [
        {"query_id": ""},
        {"cliques": []},
        {"cliques": [pb.Part(attributes=["a"]), pb.Part()]},
        {"sigma": 0.0},
        {"sigma": -2.0},
        {"sigma": float("nan")},
        {"sigma": float("inf")},
        {"largest_reference": 3},
        {"largest_total": 2**62},
        {"largest_reference": 2**64 - 1, "largest_total": 2**64 - 1},
    ],
)
def test_a_score_query_that_does_not_hold_together_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "cliques": [pb.Part(attributes=["a"])], "sigma": 1.0}
    valid |= {"references": bytes(32), "largest_reference": 2, "largest_total": 2}
    codec.decode_score_query(pb.ScoreQuery(**valid).SerializeToString())
    with pytest.raises(ProtocolError, match="a score query does not hold together"):
        codec.decode_score_query(pb.ScoreQuery(**valid | fields).SerializeToString())


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(ProtocolError, match="bytes that do not parse"):
        codec.decode_terms(b"\x0a\x02\xff\xfe")
