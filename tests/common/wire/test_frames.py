"""Answers and deliveries as streams of frames: any division into frames gives the same words or a refusal."""

import itertools
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Delivery, DeliveryKind
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.common.wire import streams

DELIVERY = Delivery("r", DeliveryKind.OPENING, (("a", "b"), ("c",)), 2)


def frame(values=(), word_bytes=4, last=True):
    payload = np.array(values, dtype=f"<i{word_bytes or 4}").tobytes()
    return pb.AnswerFrame(payload=payload, word_bytes=word_bytes, last=last).SerializeToString()


def decoded(frames, rows, cells, block_rows=1):
    return list(streams.decode_answer(frames, rows, cells, block_rows))


def payloads(frames):
    return [len(pb.AnswerFrame.FromString(data).payload) for data in frames]


@pytest.mark.slow
@given(st.sampled_from(DeliveryKind), st.lists(st.binary(max_size=20), max_size=5))
def test_a_delivery_survives_the_trip_with_its_chunks_as_they_were_cut(kind, chunks):
    delivery = replace(DELIVERY, kind=kind)
    frames = itertools.chain([streams.encode_delivery(delivery)], streams.encode_payload(chunks))
    returned, payload = streams.decode_delivery(frames)
    assert returned == delivery
    assert list(payload) == chunks


def test_a_chunk_of_the_largest_size_passes_and_a_larger_one_is_refused():
    (frame,) = streams.encode_payload([bytes(FRAME_BYTES)])
    assert list(streams.decode_payload([frame])) == [bytes(FRAME_BYTES)]
    (frame,) = streams.encode_payload([bytes(FRAME_BYTES + 1)])
    with pytest.raises(ProtocolError, match="at most 1 MiB"):
        list(streams.decode_payload([frame]))


def test_chunks_are_yielded_before_the_last_frame_comes():
    frames = iter([streams.encode_delivery(DELIVERY), *streams.encode_payload([b"1", b"2", b"3"])])
    _, chunks = streams.decode_delivery(frames)
    assert next(chunks) == b"1"
    assert len(list(frames)) == 2


@pytest.mark.parametrize(
    "first",
    [
        pytest.param([], id="no frame at all"),
        pytest.param([b""], id="an empty frame"),
        pytest.param(list(streams.encode_payload([b"words"])), id="a frame of payload"),
        pytest.param([pb.DeliveryFrame(header=pb.Delivery()).SerializeToString()], id="no kind"),
        pytest.param([pb.DeliveryFrame(header=pb.Delivery(kind=99)).SerializeToString()], id="a kind of 99"),
        pytest.param([streams.encode_delivery(DELIVERY)[:-1]], id="a truncated frame"),
        pytest.param([b"\xff" * 20], id="no frame but noise"),
    ],
)
def test_a_delivery_without_a_header_is_refused(first):
    with pytest.raises(ProtocolError, match=r"compare versions|do not parse"):
        streams.decode_delivery(iter([*first, *streams.encode_payload([b"words"])]))


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(streams.encode_delivery(DELIVERY), id="a second header"),
        pytest.param(b"", id="an empty frame"),
        pytest.param(b"\xff" * 20, id="no frame but noise"),
    ],
)
def test_a_delivery_with_frames_other_than_payload_is_refused(later):
    _, chunks = streams.decode_delivery(iter([streams.encode_delivery(DELIVERY), later]))
    with pytest.raises(ProtocolError, match=r"compare versions|do not parse"):
        list(chunks)


@pytest.mark.slow
@given(
    rows=st.integers(1, 9),
    cells=st.integers(1, 7),
    rows_sent=st.integers(1, 9),
    rows_read=st.integers(1, 12),
    word_bytes=st.sampled_from([4, 8]),
    frame_bytes=st.integers(1, 40),
    seed=st.integers(0, 2**32),
)
def test_an_answer_survives_the_trip_however_it_is_cut(
    rows, cells, rows_sent, rows_read, word_bytes, frame_bytes, seed
):
    ends = np.iinfo(f"i{word_bytes}")
    integers = np.random.default_rng(seed).integers(ends.min, ends.max, (rows, cells), endpoint=True)
    integers.flat[0], integers.flat[-1] = ends.min, ends.max
    blocks = (integers[start : start + rows_sent] for start in range(0, rows, rows_sent))
    with mock.patch.object(streams, "FRAME_BYTES", frame_bytes):
        frames = list(streams.encode_answer(blocks, word_bytes))
        returned = decoded(frames, rows, cells, rows_read)
    assert all(size <= frame_bytes for size in payloads(frames))
    assert all(block.shape == (rows_read, cells) and block.dtype == np.int64 for block in returned[:-1])
    assert np.array_equal(np.concatenate(returned), integers)


@pytest.mark.parametrize(
    ("count", "word_bytes", "sizes"),
    [
        (1, 4, [4]),
        (2**18 - 1, 4, [2**20 - 4]),
        (2**18, 4, [2**20, 0]),
        (300_000, 8, [2**20, 2**20, 2_400_000 - 2**21]),
    ],
)
def test_a_large_answer_is_cut_into_frames_of_one_mebibyte(count, word_bytes, sizes):
    integers = np.arange(count) - count // 2
    frames = list(streams.encode_answer(iter([integers]), word_bytes))
    assert payloads(frames) == sizes
    assert all(len(data) <= FRAME_BYTES + 16 for data in frames)
    assert np.array_equal(decoded(frames, 1, count)[0], [integers])


def test_a_long_answer_is_sent_while_it_is_computed():
    blocks = iter([np.zeros(2**18, dtype=np.int64), np.ones(2**18, dtype=np.int64)])
    first = next(streams.encode_answer(blocks, 4))
    assert payloads([first]) == [2**20]
    assert len(list(blocks)) == 1


def test_rows_are_yielded_before_the_last_frame_comes():
    frames = iter([frame([1, -2, 3], last=False), frame([4], last=True)])
    first = next(streams.decode_answer(frames, 2, 2, 1))
    assert first.tolist() == [[1, -2]]
    assert len(list(frames)) == 1


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([frame([1, 2, 3])], id="fewer integers"),
        pytest.param([frame([1, 2, 3, 4, 5])], id="more integers"),
        pytest.param([frame([1, 2, 3, 4], last=False), frame([5])], id="more integers in a last frame"),
        pytest.param([frame([0, 0], 8)], id="wider words than sent"),
        pytest.param([frame([0] * 8, 4)], id="narrower words than sent"),
        pytest.param([frame([1, 2, 3, 4]), frame()], id="a frame after the last"),
        pytest.param([frame([1, 2, 3, 4], last=False)], id="no last frame"),
        pytest.param([], id="no frame at all"),
        pytest.param([b""], id="an empty frame"),
        pytest.param([frame([1, 2, 3, 4], 0)], id="no width"),
        pytest.param([frame([1, 2, 3, 4], 2)], id="a width of 2"),
        pytest.param([frame([1, 2, 3, 4])[:-3]], id="a truncated frame"),
        pytest.param([b"\xff" * 20], id="no frame but noise"),
    ],
)
def test_an_answer_of_another_size_is_refused(frames):
    with pytest.raises(ProtocolError):
        decoded(frames, 2, 2)


def test_an_endless_answer_is_refused_before_it_fills_the_memory():
    frames = itertools.repeat(frame([1, 2, 3], last=False))
    with pytest.raises(ProtocolError, match="more or fewer integers"):
        decoded(frames, 2, 2)


def test_a_payload_past_the_limit_is_refused_even_if_every_integer_is_due():
    count = FRAME_BYTES // 4 + 1
    with pytest.raises(ProtocolError, match="at most 1 MiB"):
        decoded([frame(np.zeros(count))], 1, count)


@pytest.mark.slow
@given(
    st.lists(
        st.binary(max_size=12)
        | st.builds(
            lambda **fields: pb.AnswerFrame(**fields).SerializeToString(),
            payload=st.binary(max_size=24),
            word_bytes=st.sampled_from([0, 3, 4, 8, 2**32 - 1]),
            last=st.booleans(),
        ),
        max_size=4,
    )
)
def test_an_answer_from_any_frames_has_the_expected_shape_or_is_refused(frames):
    try:
        blocks = decoded(frames, 3, 2, 2)
    except ProtocolError:
        return
    assert [block.shape for block in blocks] == [(2, 2), (1, 2)]
