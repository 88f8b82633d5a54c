"""Encoded messages: round trips, and any bytes decode to a message or a ProtocolError."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, PolicyError, ProtocolError
from dpmosaic.common.messages import (
    AbandonRequest,
    Acceptance,
    AlignRequest,
    AnswerRequest,
    Charged,
    DealRequest,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    PushRequest,
    SignedTerms,
    Verdict,
)
from dpmosaic.common.privacy.budget import AnswerKind
from dpmosaic.common.promises.statement import Claim, Entry
from dpmosaic.common.queries import MarginalQuery, ScoreQuery
from dpmosaic.common.wire import codec, streams
from support.messages import (
    ACCEPTANCE,
    ACCEPTANCES,
    CHAIN,
    DEAL_REQUEST,
    DEAL_REQUESTS,
    DELIVERIES,
    DELIVERY,
    DESCRIPTION,
    DESCRIPTIONS,
    GROUPED,
    GROUPED_SCORES,
    INTRODUCTION,
    INTRODUCTIONS,
    MARK,
    MARKS,
    MULTIPLY_REQUEST,
    MULTIPLY_REQUESTS,
    NAMES,
    OPENING_REQUEST,
    OPENING_REQUESTS,
    QUERIES,
    QUERY,
    SCORE_QUERIES,
    SCORE_QUERY,
    TEXTS,
    WORDS,
)
from support.terms import id_of

pytestmark = pytest.mark.slow


SIGNED_TERMS = st.builds(SignedTerms, st.binary(max_size=40), st.binary(max_size=70), MARKS)
PUSH_REQUESTS = st.builds(PushRequest, OPENING_REQUESTS, TEXTS, WORDS)
ANSWER_REQUESTS = st.builds(AnswerRequest, QUERIES, st.lists(st.binary(max_size=70), max_size=3).map(tuple))
RHO = st.fractions(min_value=0, max_denominator=2**64)
CLAIMS = st.builds(Claim, NAMES, st.binary(min_size=32, max_size=32), st.floats(0))
ENTRY = Entry("q", b"h" * 32, AnswerKind.MARGINAL, ("a", "b"), (0, 3), Fraction(3, 64), Fraction(0), b"s")
ENTRIES = st.builds(
    Entry,
    TEXTS,
    st.binary(max_size=33),
    st.sampled_from([kind for kind in AnswerKind if kind not in (AnswerKind.OTHER, AnswerKind.LABELS)]),
    st.lists(TEXTS, max_size=3).map(tuple),
    st.lists(st.integers(0, 2**64 - 1), max_size=3).map(tuple),
    RHO,
    st.just(Fraction(0)),
    st.binary(max_size=70),
)
NUMBERS = {
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_ENUM: st.integers(0, 20),
}


@st.composite
def any_fields(draw, descriptor):
    """A message of this kind, each field of which is missing or has any value of its type."""
    message = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if field.message_type is not None:
            value = any_fields(field.message_type)
        elif field.type == FieldDescriptor.TYPE_STRING:
            value = TEXTS | st.sampled_from(["1/3", "marginal", "labels", "0"])
        elif field.type == FieldDescriptor.TYPE_BYTES:
            value = st.binary(max_size=3) | st.just(bytes(32))
        else:
            value = NUMBERS[field.cpp_type]
        found = draw(st.lists(value, max_size=3) if field.is_repeated else st.none() | value)
        if found is not None:
            message.MergeFrom(type(message)(**{field.name: found}))
    return message


def decode_header(data):
    """The header of a delivery with only this frame."""
    delivery, chunks = streams.decode_delivery(iter([data]))
    assert list(chunks) == []
    return delivery


def header_of(delivery):
    """The frame of a delivery's header."""
    return streams.encode_delivery(delivery)


def pair(kind, example, examples):
    """How a kind of message is encoded and decoded, with an example and all examples."""
    return codec.encode, partial(codec.decode, kind), example, examples


MESSAGES = {
    "description": pair(PartyDescription, DESCRIPTION, DESCRIPTIONS),
    "query": pair(MarginalQuery, QUERY, QUERIES),
    "grouped query": pair(MarginalQuery, GROUPED, QUERIES),
    "score query": pair(ScoreQuery, SCORE_QUERY, SCORE_QUERIES),
    "grouped scores": pair(ScoreQuery, GROUPED_SCORES, SCORE_QUERIES),
    "signed terms": pair(SignedTerms, SignedTerms(b"t", b"s", MARK), SIGNED_TERMS),
    "acceptance": pair(Acceptance, ACCEPTANCE, ACCEPTANCES),
    "introduction": pair(Introduction, INTRODUCTION, INTRODUCTIONS),
    "opening request": pair(OpeningRequest, OPENING_REQUEST, OPENING_REQUESTS),
    "push request": pair(PushRequest, PushRequest(OPENING_REQUEST, "p", 2), PUSH_REQUESTS),
    "multiply request": pair(MultiplyRequest, MULTIPLY_REQUEST, MULTIPLY_REQUESTS),
    "deal request": pair(DealRequest, DEAL_REQUEST, DEAL_REQUESTS),
    "align request": pair(AlignRequest, AlignRequest("r", 3), st.builds(AlignRequest, TEXTS, WORDS)),
    "answer request": pair(AnswerRequest, AnswerRequest(QUERY, (b"c", b"d")), ANSWER_REQUESTS),
    "charged": pair(Charged, Charged(b"s"), st.builds(Charged, st.binary())),
    "abandon request": pair(AbandonRequest, AbandonRequest("r"), st.builds(AbandonRequest, TEXTS)),
    "claim": pair(Claim, Claim("r", bytes(32), 0.5), CLAIMS),
    "entry": pair(Entry, ENTRY, ENTRIES),
    "verdict": pair(Verdict, Verdict((PolicyError("no"),), by_hand=True), st.builds(Verdict)),
    "delivery": (header_of, decode_header, DELIVERY, DELIVERIES),
}
ENCODED = [
    pytest.param(decode, encode(message), id=name) for name, (encode, decode, message, _) in MESSAGES.items()
]


@given(DESCRIPTIONS)
def test_a_description_survives_the_trip_with_every_kind_of_attribute(description):
    returned = codec.decode(PartyDescription, codec.encode(description))
    digests = [domain and domain.digest() for domain in (returned.domain, description.domain)]
    assert digests[0] == digests[1]


@pytest.mark.parametrize("name", MESSAGES)
@given(data=st.data())
def test_every_message_survives_the_trip_and_has_the_same_bytes_again(name, data):
    encode, decode, _, messages = MESSAGES[name]
    message = data.draw(messages)
    encoded = encode(message)
    assert decode(encoded) == message
    assert encode(decode(encoded)) == encoded


@given(QUERIES, SCORE_QUERIES)
def test_neither_kind_of_query_decodes_as_the_other(query, score):
    with pytest.raises(ProtocolError, match="a consistent MarginalQuery"):
        codec.decode(MarginalQuery, codec.encode(score))
    with pytest.raises(ProtocolError, match="a consistent ScoreQuery"):
        codec.decode(ScoreQuery, codec.encode(query))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("description", {"identity": b"x" * 32}),
        ("acceptance", {"ephemeral": b"x" * 32}),
        ("acceptance", {"signature": b"x" * 64}),
        ("introduction", {"release_id": id_of("R")}),
        ("introduction", {"acceptances": INTRODUCTION.acceptances[::-1]}),
        ("introduction", {"acceptances": INTRODUCTION.acceptances[:1]}),
        ("opening request", {"release_id": id_of("R")}),
        ("opening request", {"chain": (("a",), ("b",), ("c",))}),
        ("opening request", {"recipient": 1}),
        ("opening request", {"kind": DeliveryKind.RECORD_ORDER}),
        ("opening request", {"kind": DeliveryKind.OPENING}),
        ("opening request", {"query_id": ""}),
        ("opening request", {"step": 0}),
        ("deal request", {"release_id": id_of("R")}),
        ("deal request", {"kind": DeliveryKind.MASK_SEEDS}),
        ("deal request", {"recipient": 1}),
        ("deal request", {"chains": DEAL_REQUEST.chains[::-1]}),
        ("deal request", {"chains": DEAL_REQUEST.chains[:1]}),
        ("deal request", {"owner": 0}),
        ("multiply request", {"release_id": id_of("R")}),
        ("multiply request", {"chains": MULTIPLY_REQUEST.chains[::-1]}),
        ("delivery", {"release_id": id_of("R")}),
        ("delivery", {"kind": DeliveryKind.DEALT_ROWS}),
        ("delivery", {"kind": DeliveryKind.DEALT_PRODUCTS}),
        ("delivery", {"chain": CHAIN[::-1]}),
        ("delivery", {"chains": DELIVERY.chains[::-1]}),
        ("delivery", {"chains": ()}),
        ("delivery", {"owner": 0}),
        ("delivery", {"sender": 0}),
        ("delivery", {"query_id": ""}),
        ("delivery", {"step": 0}),
        ("score query", {"release_id": id_of("R")}),
        ("score query", {"query_id": "Q"}),
        ("score query", {"views": (View(("a",)), View(("b",)), View(("c",)))}),
        ("score query", {"views": SCORE_QUERY.views[::-1]}),
        ("score query", {"sigma": np.nextafter(2.5, 3)}),
        ("score query", {"references": b"H" * 32}),
        ("score query", {"largest_reference": 8}),
        ("score query", {"largest_total": 8}),
    ],
)
def test_every_field_of_a_message_changes_its_bytes(name, change):
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


@pytest.mark.parametrize("name", [name for name in MESSAGES if name != "delivery"])
@given(data=st.data())
def test_any_fields_are_a_message_or_a_protocol_error(name, data):
    _, decode, message, _ = MESSAGES[name]
    changed = data.draw(any_fields(codec.to_message(message).DESCRIPTOR))
    try:
        value = decode(changed.SerializeToString())
    except ProtocolError:
        return
    assert type(value) is type(message)
    assert decode(codec.encode(value)) == value or name in ("description", "verdict")


def test_a_verdict_brings_errors_of_the_same_kinds_and_texts():
    sent = Verdict((PolicyError("no"), BudgetError("spent")), by_hand=True)
    found = codec.decode(Verdict, codec.encode(sent))
    assert found.by_hand
    assert [(type(one), str(one)) for one in found.refusals] == [(PolicyError, "no"), (BudgetError, "spent")]
