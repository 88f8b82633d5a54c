"""Introductions in canonical form, as ledgers keep them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.canonical.form import integer, items, octets, record, text
from dpmosaic.common.canonical.introductions import (
    INTRODUCTION as KIND,
)
from dpmosaic.common.canonical.introductions import (
    decode_introduction,
    encode_introduction,
)
from dpmosaic.common.errors import ProtocolError
from support.messages import INTRODUCTION, INTRODUCTIONS

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "canonical.json").read_text())["introductions"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_introductions_have_the_bytes_of_the_vectors(vector):
    introduction, value = decode_introduction(bytes.fromhex(vector["bytes"])), vector["value"]
    signed = [
        [one.ephemeral.hex(), one.signature.hex(), one.mark.events, one.mark.head.hex()]
        for one in introduction.acceptances
    ]
    assert (introduction.release_id, signed) == (value["release_id"], value["acceptances"])
    assert encode_introduction(introduction).hex() == vector["bytes"]


@given(INTRODUCTIONS)
def test_an_introduction_survives_the_trip(introduction):
    assert decode_introduction(encode_introduction(introduction)) == introduction


@pytest.mark.slow
@given(INTRODUCTIONS, st.data())
def test_altered_bytes_are_refused_or_make_another_introduction(introduction, data):
    valid = encode_introduction(introduction)
    start = data.draw(st.integers(0, len(valid)))
    stop = data.draw(st.integers(start, len(valid)))
    changed = valid[:start] + data.draw(st.binary(max_size=12)) + valid[stop:]
    try:
        decoded = decode_introduction(changed)
    except ProtocolError:
        return
    assert encode_introduction(decoded) == changed


def test_truncated_and_extended_introductions_are_refused():
    valid = encode_introduction(INTRODUCTION)
    for size in range(len(valid)):
        with pytest.raises(ProtocolError):
            decode_introduction(valid[:size])
    with pytest.raises(ProtocolError, match="bytes after its end"):
        decode_introduction(valid + b"\0")


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "R"},
        {"acceptances": INTRODUCTION.acceptances[::-1]},
        {"acceptances": INTRODUCTION.acceptances[:1]},
    ],
)
def test_every_field_of_an_introduction_changes_its_bytes(change):
    assert encode_introduction(replace(INTRODUCTION, **change)) != encode_introduction(INTRODUCTION)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_an_introduction_with_a_mark_of_another_length_is_refused(length):
    signed = octets(b"e") + octets(b"s") + integer(1) + octets(bytes(length))
    data = record(KIND.name, KIND.version, [text("r"), items([signed])])
    with pytest.raises(ProtocolError, match="a consistent introduction"):
        decode_introduction(data)
