"""Encoded messages: round trips, and any bytes decode to a message or a ProtocolError."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.wire import codec, queries, streams
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
    MULTIPLY_REQUEST,
    MULTIPLY_REQUESTS,
    OPENING_REQUEST,
    OPENING_REQUESTS,
    QUERIES,
    QUERY,
    SCORE_QUERIES,
    SCORE_QUERY,
)
from support.terms import id_of

pytestmark = pytest.mark.slow


def decode_header(data):
    """The header of a delivery with only this frame."""
    delivery, chunks = streams.decode_delivery(iter([data]))
    assert list(chunks) == []
    return delivery


MESSAGES = {
    "description": (codec.encode_description, codec.decode_description, DESCRIPTION, DESCRIPTIONS),
    "query": (queries.encode_query, queries.decode_query, QUERY, QUERIES),
    "grouped query": (queries.encode_query, queries.decode_query, GROUPED, QUERIES),
    "grouped scores": (queries.encode_score_query, queries.decode_score_query, GROUPED_SCORES, SCORE_QUERIES),
    "score query": (queries.encode_score_query, queries.decode_score_query, SCORE_QUERY, SCORE_QUERIES),
    "acceptance": (codec.encode_acceptance, codec.decode_acceptance, ACCEPTANCE, ACCEPTANCES),
    "introduction": (codec.encode_introduction, codec.decode_introduction, INTRODUCTION, INTRODUCTIONS),
    "opening request": (
        queries.encode_opening_request,
        queries.decode_opening_request,
        OPENING_REQUEST,
        OPENING_REQUESTS,
    ),
    "multiply request": (
        queries.encode_multiply_request,
        queries.decode_multiply_request,
        MULTIPLY_REQUEST,
        MULTIPLY_REQUESTS,
    ),
    "deal request": (
        queries.encode_deal_request,
        queries.decode_deal_request,
        DEAL_REQUEST,
        DEAL_REQUESTS,
    ),
    "delivery": (streams.encode_delivery, decode_header, DELIVERY, DELIVERIES),
}
ENCODED = [
    pytest.param(decode, encode(message), id=name) for name, (encode, decode, message, _) in MESSAGES.items()
]


@given(DESCRIPTIONS)
def test_a_description_survives_the_trip_with_every_kind_of_attribute(description):
    returned = codec.decode_description(codec.encode_description(description))
    digests = [domain and domain.digest() for domain in (returned.domain, description.domain)]
    assert digests[0] == digests[1]


@given(st.binary(max_size=40), st.binary(max_size=70))
def test_signed_terms_come_as_the_bytes_that_were_signed(terms, signature):
    sent = codec.encode_signed_terms(terms, signature, MARK)
    assert codec.decode_signed_terms(sent) == (terms, signature, MARK)


@given(QUERIES, st.lists(st.binary(max_size=70), max_size=3))
def test_a_query_comes_with_the_charges_of_the_slice(query, charges):
    sent = queries.encode_answer_request(query, charges)
    assert queries.decode_answer_request(sent) == (query, tuple(charges))
    assert [queries.decode_charged(queries.encode_charged(charge)) for charge in charges] == charges


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
    with pytest.raises(ProtocolError, match="a consistent query"):
        queries.decode_query(queries.encode_score_query(score))
    with pytest.raises(ProtocolError, match="a consistent score query"):
        queries.decode_score_query(queries.encode_query(query))


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
