from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.data.attribute import CategoricalAttribute, CodedAttribute, NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.values import text_of
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import (
    Acceptance,
    AnswerForm,
    Delivery,
    DeliveryKind,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    ReleaseTerms,
    ScoreQuery,
)
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.masked.plan import MaskedPlan, RosterEntry
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.wire import codec

TEXTS = st.text(max_size=6)
NAMES = st.text(min_size=1, max_size=6)
WORDS = st.integers(0, 2**32 - 1)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
CATEGORIES = st.lists(
    st.one_of(TEXTS, st.integers(-99, 99), st.floats(-9, 9), st.booleans()),
    min_size=1,
    max_size=5,
    unique_by=text_of,
)


def numeric(name, minimum, width, bins, nullable, integer):
    maximum = minimum + width
    return NumericAttribute(name, minimum, maximum, min(bins, width) if integer else bins, nullable, integer)


@st.composite
def domains(draw):
    kinds = [
        lambda name: st.builds(CodedAttribute, st.just(name), st.integers(1, 2**24)),
        lambda name: st.builds(CategoricalAttribute, st.just(name), CATEGORIES.map(tuple)),
        lambda name: st.builds(
            numeric,
            st.just(name),
            st.integers(-999, 999) | st.floats(-999, 999),
            st.integers(1, 99),
            st.integers(1, 99),
            st.booleans(),
            st.just(False),
        ),
        lambda name: st.builds(
            numeric,
            st.just(name),
            st.integers(-999, 999),
            st.integers(1, 99),
            st.integers(1, 99),
            st.booleans(),
            st.just(True),
        ),
    ]
    names = draw(st.lists(NAMES, min_size=4, max_size=6, unique=True))
    return Domain(tuple(draw(kinds[place % 4](name)) for place, name in enumerate(names)))


@st.composite
def plans(draw):
    """Plans of one to three slices, each split over its own number of parties."""
    sizes = draw(st.dictionaries(NAMES, st.integers(1, 2**24), min_size=1, max_size=4))
    domain = Domain.coded(sizes)
    roster = []
    for number in range(draw(st.integers(1, 3))):
        parties = draw(st.integers(1, len(sizes)))
        holder = {name: draw(st.integers(0, parties - 1)) for name in domain}
        records = draw(st.integers(0, 2**64 - 1))
        for place in range(parties):
            held = tuple(name for name in domain if holder[name] == place)
            name = f"{len(roster)} {draw(TEXTS)}"
            roster.append(RosterEntry(name, number, held, records, draw(st.binary(max_size=33))))
    tolerated, bits = draw(st.integers(0, len(roster) - 1)), draw(st.sampled_from([32, 64]))
    places = draw(st.permutations(range(len(roster))))
    evaluators = tuple(places[:2]) if len(roster) > 1 and tolerated <= 1 and draw(st.booleans()) else ()
    return MaskedPlan(domain, tuple(roster), tolerated, Ring(bits), evaluators)


DESCRIPTIONS = st.builds(
    PartyDescription,
    name=TEXTS,
    protocol_version=WORDS,
    software_version=TEXTS,
    domain=domains(),
    record_count=st.integers(0, 2**64 - 1),
    protocols=st.lists(TEXTS, max_size=3).map(tuple),
    identity=st.binary(max_size=33),
)
UNMASKED_TERMS = st.builds(
    ReleaseTerms,
    NAMES,
    WORDS,
    NAMES.filter(lambda name: name != "masked"),
    st.sampled_from(Adjacency),
    granted_rho=POSITIVE,
)
MASKED_TERMS = st.builds(
    ReleaseTerms,
    NAMES,
    WORDS,
    st.just("masked"),
    st.sampled_from(Adjacency),
    granted_rho=POSITIVE,
    masked=plans(),
)
TERMS = UNMASKED_TERMS | MASKED_TERMS
BOXES = st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple), max_size=3).map(tuple)
QUERIES = st.builds(
    MarginalQuery,
    release_id=NAMES,
    query_id=NAMES,
    form=st.sampled_from(AnswerForm),
    clique=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    sigma=POSITIVE,
    boxes=BOXES,
) | st.builds(
    MarginalQuery,
    release_id=NAMES,
    query_id=NAMES,
    form=st.sampled_from(AnswerForm),
    clique=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    sigma=POSITIVE,
    interaction=st.just(True),
)
CHAINS = st.lists(st.lists(TEXTS, max_size=3).map(tuple), max_size=3).map(tuple)
ACCEPTANCES = st.builds(Acceptance, st.binary(max_size=40), st.binary(max_size=70))
INTRODUCTIONS = st.builds(
    Introduction,
    TEXTS,
    st.lists(ACCEPTANCES, max_size=3).map(tuple),
    st.binary(min_size=32, max_size=32),
)
OPENING_REQUESTS = st.builds(OpeningRequest, TEXTS, CHAINS, WORDS, TEXTS, WORDS)
MULTIPLY_REQUESTS = st.builds(MultiplyRequest, TEXTS, st.lists(CHAINS, max_size=3).map(tuple))
DELIVERIES = st.builds(Delivery, TEXTS, st.sampled_from(DeliveryKind), CHAINS, WORDS, TEXTS, WORDS)
BOUNDS = st.tuples(st.integers(0, 2**62 - 1), st.integers(0, 2**62 - 1)).map(sorted)
SCORE_QUERIES = st.builds(
    lambda bounds, *fields: ScoreQuery(*fields, *bounds),
    BOUNDS,
    TEXTS,
    NAMES,
    st.lists(st.lists(TEXTS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple),
    POSITIVE,
    st.binary(max_size=33),
)

DESCRIPTION = PartyDescription("p", 1, "0.1", Domain.coded({"a": 2, "b": 3}), 7, ("trusted",), b"i" * 32)
ROSTER = (
    RosterEntry("p", 0, ("a", "b"), 7, b"i" * 32),
    RosterEntry("q", 1, ("a",), 5, b"j" * 32),
    RosterEntry("s", 1, ("b",), 5, b"k" * 32),
)
PLAN = MaskedPlan(Domain.coded({"a": 2, "b": 3}), ROSTER, 1, Ring(32), (1, 2))
RELEASE = ReleaseTerms("r", 1, "trusted", Adjacency.ZERO_OUT, 0.5)
MASKED = replace(RELEASE, protocol="masked", masked=PLAN)
QUERY = MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("a", "b"), 2.5, (((0, 1), (1, 3)), ((1, 2), (0, 1))))
ACCEPTANCE = Acceptance(b"e" * 32, b"s" * 64)
INTRODUCTION = Introduction("r", (ACCEPTANCE, Acceptance(b"f" * 32, b"t" * 64)), b"m" * 32)
CHAIN = (("a", "b"), ("c",))
OPENING_REQUEST = OpeningRequest("r", CHAIN, 2, "q", 3)
MULTIPLY_REQUEST = MultiplyRequest("r", (CHAIN, (("a",), ("b",))))
DELIVERY = Delivery("r", DeliveryKind.OPENING, CHAIN, 2, "q", 3)
SCORE_QUERY = ScoreQuery("r", "q", (("a", "b"), ("c",)), 2.5, b"h" * 32, 7, 9)


def decode_header(data):
    """What a stream of this one frame says it delivers."""
    delivery, chunks = codec.decode_delivery(iter([data]))
    assert list(chunks) == []
    return delivery


MESSAGES = {
    "description": (codec.encode_description, codec.decode_description, DESCRIPTION, DESCRIPTIONS),
    "terms": (codec.encode_terms, codec.decode_terms, RELEASE, UNMASKED_TERMS),
    "masked terms": (codec.encode_terms, codec.decode_terms, MASKED, MASKED_TERMS),
    "query": (codec.encode_query, codec.decode_query, QUERY, QUERIES),
    "score query": (codec.encode_score_query, codec.decode_score_query, SCORE_QUERY, SCORE_QUERIES),
    "acceptance": (codec.encode_acceptance, codec.decode_acceptance, ACCEPTANCE, ACCEPTANCES),
    "introduction": (codec.encode_introduction, codec.decode_introduction, INTRODUCTION, INTRODUCTIONS),
    "opening request": (
        codec.encode_opening_request,
        codec.decode_opening_request,
        OPENING_REQUEST,
        OPENING_REQUESTS,
    ),
    "multiply request": (
        codec.encode_multiply_request,
        codec.decode_multiply_request,
        MULTIPLY_REQUEST,
        MULTIPLY_REQUESTS,
    ),
    "delivery": (codec.encode_delivery, decode_header, DELIVERY, DELIVERIES),
}
ENCODED = [
    pytest.param(decode, encode(message), id=name) for name, (encode, decode, message, _) in MESSAGES.items()
]


@given(DESCRIPTIONS)
def test_a_description_survives_the_trip_with_every_kind_of_attribute(description):
    returned = codec.decode_description(codec.encode_description(description))
    assert returned.domain.digest() == description.domain.digest()


@pytest.mark.parametrize("name", MESSAGES)
@given(data=st.data())
def test_every_message_survives_the_trip_and_has_the_same_bytes_again(name, data):
    encode, decode, _, messages = MESSAGES[name]
    message = data.draw(messages)
    encoded = encode(message)
    assert decode(encoded) == message
    assert encode(decode(encoded)) == encoded


@given(QUERIES, QUERIES)
@example(
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("ab",), 1.0),
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("a", "b"), 1.0),
)
@example(
    MarginalQuery("r", "q", AnswerForm.SHARE, ("a",), 1.0, (((0, 1), (2, 3)),)),
    MarginalQuery("r", "q", AnswerForm.SHARE, ("a",), 1.0, (((0, 1),), ((2, 3),))),
)
def test_only_equal_queries_have_equal_bytes(one, other):
    assert (codec.encode_query(one) == codec.encode_query(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "R"},
        {"query_id": "Q"},
        {"form": AnswerForm.RECORD_WISE},
        {"clique": ("b", "a")},
        {"sigma": np.nextafter(2.5, 3)},
        {"boxes": ()},
        {"boxes": QUERY.boxes[::-1]},
        {"boxes": (((0, 1), (1, 2)), QUERY.boxes[1])},
    ],
)
def test_every_field_of_a_query_shows_in_its_bytes(change):
    assert codec.encode_query(replace(QUERY, **change)) != codec.encode_query(QUERY)


def test_an_interaction_shows_in_the_bytes_of_a_query_by_the_field_of_its_number_alone():
    marginal = replace(QUERY, boxes=())
    assert (
        codec.encode_query(replace(marginal, interaction=True)) == codec.encode_query(marginal) + b"\x38\x01"
    )


@given(QUERIES, SCORE_QUERIES)
def test_no_score_query_has_the_bytes_of_a_marginal_query(query, score):
    assert codec.encode_query(query) != codec.encode_score_query(score)
    with pytest.raises(ProtocolError, match="a query does not hold together"):
        codec.decode_query(codec.encode_score_query(score))
    with pytest.raises(ProtocolError, match="a score query does not hold together"):
        codec.decode_score_query(codec.encode_query(query))


@given(TERMS, TERMS)
def test_only_equal_terms_have_equal_bytes(one, other):
    assert (codec.encode_terms(one) == codec.encode_terms(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "R"},
        {"protocol_version": 2},
        {"protocol": "trusted", "masked": None},
        {"adjacency": Adjacency.REPLACE_ONE},
        {"granted_rho": np.nextafter(0.5, 1)},
        {"masked": replace(PLAN, tolerated=0)},
        {"masked": replace(PLAN, ring=Ring(64))},
        {"masked": replace(PLAN, evaluators=(0, 2))},
        {"masked": replace(PLAN, evaluators=(2, 1))},
        {"masked": replace(PLAN, evaluators=())},
        {"masked": MaskedPlan(PLAN.domain, (ROSTER[0], replace(ROSTER[0], name="q", slice=1)), 1, Ring(32))},
        {"masked": replace(PLAN, roster=(ROSTER[0], ROSTER[2], ROSTER[1]))},
        {"masked": replace(PLAN, domain=Domain.coded({"a": 2, "b": 4}))},
        {
            "masked": MaskedPlan(
                Domain.coded({"b": 3, "a": 2}),
                (replace(ROSTER[0], attributes=("b", "a")), *ROSTER[1:]),
                1,
                Ring(32),
            )
        },
        {
            "masked": MaskedPlan(
                Domain.coded({"a": 2, "z": 3}),
                (
                    replace(ROSTER[0], attributes=("a", "z")),
                    ROSTER[1],
                    replace(ROSTER[2], attributes=("z",)),
                ),
                1,
                Ring(32),
            )
        },
    ],
)
def test_every_field_of_the_terms_shows_in_the_bytes_that_are_signed(change):
    assert codec.encode_terms(replace(MASKED, **change)) != codec.encode_terms(MASKED)


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
def test_every_field_of_the_roster_shows_in_the_bytes_that_are_signed(changes):
    roster = tuple(replace(entry, **changes.get(place, {})) for place, entry in enumerate(ROSTER))
    changed = replace(MASKED, masked=replace(PLAN, roster=roster))
    assert codec.encode_terms(changed) != codec.encode_terms(MASKED)


def test_the_slice_of_a_party_that_holds_nothing_shows_in_the_bytes_that_are_signed():
    whole, nothing = ROSTER[0], RosterEntry("n", 0, (), 7, b"n" * 32)
    encoded = {
        codec.encode_terms(replace(MASKED, masked=replace(PLAN, roster=(whole, middle, last))))
        for last in [replace(whole, name="q", slice=1)]
        for middle in [nothing, replace(nothing, slice=1)]
    }
    assert len(encoded) == 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("description", {"identity": b"x" * 32}),
        ("acceptance", {"ephemeral": b"x" * 32}),
        ("acceptance", {"signature": b"x" * 64}),
        ("introduction", {"release_id": "R"}),
        ("introduction", {"acceptances": INTRODUCTION.acceptances[::-1]}),
        ("introduction", {"acceptances": INTRODUCTION.acceptances[:1]}),
        ("introduction", {"mask_seed": b"x" * 32}),
        ("opening request", {"release_id": "R"}),
        ("opening request", {"chain": (("a",), ("b",), ("c",))}),
        ("opening request", {"recipient": 1}),
        ("opening request", {"query_id": ""}),
        ("opening request", {"step": 0}),
        ("multiply request", {"release_id": "R"}),
        ("multiply request", {"chains": MULTIPLY_REQUEST.chains[::-1]}),
        ("delivery", {"release_id": "R"}),
        ("delivery", {"kind": DeliveryKind.DEALT_ROWS}),
        ("delivery", {"kind": DeliveryKind.DEALT_PRODUCT}),
        ("delivery", {"chain": CHAIN[::-1]}),
        ("delivery", {"sender": 0}),
        ("delivery", {"query_id": ""}),
        ("delivery", {"step": 0}),
        ("score query", {"release_id": "R"}),
        ("score query", {"query_id": "Q"}),
        ("score query", {"cliques": (("a",), ("b",), ("c",))}),
        ("score query", {"cliques": (("c",), ("a", "b"))}),
        ("score query", {"sigma": np.nextafter(2.5, 3)}),
        ("score query", {"references": b"H" * 32}),
        ("score query", {"largest_reference": 8}),
        ("score query", {"largest_total": 8}),
    ],
)
def test_every_field_of_a_message_shows_in_its_bytes(name, change):
    encode, _, message, _ = MESSAGES[name]
    assert encode(replace(message, **change)) != encode(message)


@pytest.mark.parametrize(("decode", "valid"), ENCODED)
def test_truncated_messages_are_refused_or_are_another_message(decode, valid):
    whole = decode(valid)
    for size in range(len(valid)):
        try:
            assert decode(valid[:size]) != whole
        except ProtocolError:
            continue


@pytest.mark.parametrize(("decode", "valid"), ENCODED)
@given(data=st.data())
def test_any_bytes_are_a_message_or_a_protocol_error(decode, valid, data):
    start = data.draw(st.integers(0, len(valid)))
    stop = data.draw(st.integers(start, len(valid)))
    changed = valid[:start] + data.draw(st.binary(max_size=8)) + valid[stop:]
    try:
        message = decode(changed)
    except ProtocolError:
        return
    assert type(message) is type(decode(valid))
