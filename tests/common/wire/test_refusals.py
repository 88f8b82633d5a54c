import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common import errors
from dpmosaic.common.showing.printable import printable
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.common.wire.refusals import decode_refusal, encode_refusal

KINDS = [
    errors.DataError,
    errors.BudgetError,
    errors.PolicyError,
    errors.ProtocolError,
    errors.PartyUnavailable,
]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=40))
def test_an_error_of_ours_survives_the_trip_with_its_text_made_printable(kind, text):
    returned = decode_refusal(encode_refusal(kind(text)))
    assert type(returned) is kind
    assert str(returned) == printable(text)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret 42"),
        KeyError("secret 42"),
        MemoryError("secret 42"),
        sqlite3.IntegrityError("secret 42"),
        errors.MosaicError("secret 42"),
    ],
)
def test_the_text_of_an_internal_error_is_never_sent(error):
    data = encode_refusal(error)
    assert b"42" not in data
    assert b"secret" not in data
    assert type(error).__name__.encode() not in data
    returned = decode_refusal(data)
    assert type(returned) is errors.PartyUnavailable
    assert "in the party's log" in str(returned)


def test_the_cause_of_an_error_is_not_sent():
    error = errors.DataError("fix the table")
    error.__cause__ = ValueError("secret 42")
    error.add_note("secret 42")
    assert b"secret" not in encode_refusal(error)


@given(st.binary(max_size=30))
def test_any_bytes_give_an_error_to_raise(data):
    assert isinstance(decode_refusal(data), errors.MosaicError)


@pytest.mark.parametrize("garbage", [b"\xff" * 9, b"\x0a\x05bud", b"\x0a\x01\xff"])
def test_bytes_that_are_no_refusal_are_a_protocol_error(garbage):
    returned = decode_refusal(garbage)
    assert type(returned) is errors.ProtocolError
    assert "do not parse" in str(returned)


@pytest.mark.parametrize("code", ["", "Budget", "ValueError", "model"])
def test_a_kind_of_error_that_this_side_does_not_know_is_a_protocol_error(code):
    returned = decode_refusal(pb.Refusal(code=code, message="ask the owner").SerializeToString())
    assert type(returned) is errors.ProtocolError
    assert str(returned) == "ask the owner"
