import contextlib

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.history import Mark
from dpmosaic.common.messages import SignedTerms
from dpmosaic.common.wire import bundles, codec
from dpmosaic.common.wire.bundles import (
    Bundle,
    BundledCall,
    BundledReplies,
    BundleHeader,
    decode_calls,
    decode_replies,
    encode_calls,
    encode_replies,
    seal_bundle,
)
from dpmosaic.common.wire.parsing import check_parts

CURATOR, PARTY, OTHER = (Identity.from_seed(bytes([n]) * 32) for n in (1, 2, 3))
HEADER = BundleHeader("curator", "north", "ab" * 16, 7)


def bundle_of(payload=b"calls", header=HEADER, writer=CURATOR, reader=PARTY):
    return seal_bundle(header, payload, writer, reader.public)


@pytest.mark.parametrize("size", [0, 1, FRAME_BYTES, 2 * FRAME_BYTES + 5])
def test_only_the_reader_opens_what_the_writer_sealed(size):
    payload = bytes(size)
    read = Bundle.read(bundle_of(payload).to_bytes())
    assert read.open(PARTY, CURATOR.public) == payload
    assert (read.header.sender, read.header.recipient, read.header.number) == ("curator", "north", 7)
    for reader, writer in ((OTHER, CURATOR), (CURATOR, CURATOR), (PARTY, OTHER)):
        with pytest.raises(ProtocolError, match="altered, cut, or written by or for another"):
            read.open(reader, writer.public)


def test_a_payload_that_is_sealed_twice_does_not_look_the_same():
    assert bundle_of().sealed != bundle_of().sealed


def test_a_bundle_that_was_altered_anywhere_is_refused():
    whole = bundle_of().to_bytes()
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1
        with pytest.raises(ProtocolError):
            Bundle.read(bytes(altered)).open(PARTY, CURATOR.public)


def test_a_bundle_that_was_cut_or_continued_is_refused():
    whole = bundle_of(bytes(FRAME_BYTES + 9)).to_bytes()
    ends = [*range(0, 300), len(whole) - FRAME_BYTES, len(whole) - 30, len(whole) - 1]
    for part in (*(whole[:end] for end in ends), whole + b"x", whole + whole):
        with pytest.raises(ProtocolError):
            Bundle.read(part).open(PARTY, CURATOR.public)


def test_the_frames_of_two_bundles_do_not_go_together():
    one, other = (Bundle.read(bundle_of(header=header).to_bytes()) for header in (HEADER, HEADER))
    mixed = Bundle(one.header, one.encoded, one.signature, other.sealed)
    with pytest.raises(ProtocolError):
        mixed.open(PARTY, CURATOR.public)


def test_replies_do_not_pass_for_calls():
    answer = bundle_of(header=BundleHeader("curator", "north", "ab" * 16, 7, request=b"r" * 32))
    calls = Bundle.read(bundle_of().to_bytes())
    with pytest.raises(ProtocolError):
        Bundle(answer.header, calls.encoded, answer.signature, calls.sealed).open(PARTY, CURATOR.public)


def test_calls_and_replies_come_back_as_they_were():
    calls = [BundledCall("Answer", (b"one",)), BundledCall("Deliver", (b"a", b""), silent=True)]
    assert decode_calls(encode_calls(calls)) == calls
    replies = BundledReplies({calls[0].digest: (b"noisy", b"last")})
    assert decode_replies(encode_replies(replies)) == replies
    refused = decode_replies(encode_replies(BundledReplies({}, PolicyError("not allowed"))))
    assert type(refused.refusal) is PolicyError
    assert str(refused.refusal) == "not allowed"


def test_terms_are_one_call_whatever_mark_was_seen_before():
    marks = (Mark(0, bytes(32)), Mark(3, b"m" * 32))
    same = {BundledCall("Accept", (codec.encode(SignedTerms(b"t", b"s", mark)),)).digest for mark in marks}
    assert len(same) == 1
    assert BundledCall("Accept", (codec.encode(SignedTerms(b"u", b"s")),)).digest not in same


CALL = BundledCall("Answer", (b"query", b"", bytes(200)), silent=True)
REPLIES = BundledReplies({b"c" * 32: (b"", b"reply")}, PolicyError("the policy does not allow that"))
FEW = 40


@pytest.mark.parametrize(
    ("decode", "payload"),
    [
        (decode_calls, encode_calls([CALL] * FEW)),
        (decode_calls, encode_calls([BundledCall("Deliver", (b"",) * FEW)])),
        (decode_calls, b"\x0a\x00" * FEW),
        (decode_replies, encode_replies(BundledReplies({bytes([n]): () for n in range(FEW)}))),
        (decode_replies, encode_replies(BundledReplies({b"c": (b"",) * FEW}))),
        (decode_replies, b"\x0a\x00" * FEW),
    ],
)
def test_a_bundle_of_more_parts_than_memory_holds_is_refused_before_it_is_parsed(
    decode, payload, monkeypatch
):
    decode(payload)
    monkeypatch.setattr(bundles, "_MOST_PARTS", FEW - 1)
    monkeypatch.setattr(bundles, "parse_message", None)
    with pytest.raises(ProtocolError, match="a message of fewer parts"):
        decode(payload)


@pytest.mark.parametrize("payload", [encode_calls([CALL, CALL]), encode_replies(REPLIES)])
def test_parts_are_counted_of_every_message_and_none_that_is_cut_is_taken(payload):
    assert check_parts(payload, 1, 99) == 97
    left = check_parts(payload, 2, 99)
    assert check_parts(payload, 2, 99 - left) == 0
    for end in range(1, len(payload)):
        with contextlib.suppress(ProtocolError):
            assert check_parts(payload[:end], 1, 99) == 98
            assert check_parts(payload[:end], 2, 99) > left


@pytest.mark.parametrize("payload", [b"\x0b", b"\x80" * 11, b"\x0a\x05ab", b"\x09abc", b"\x08"])
def test_what_is_no_message_has_no_parts(payload):
    with pytest.raises(ProtocolError, match="do not parse"):
        check_parts(payload, 1, 9)
