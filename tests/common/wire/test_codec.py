import itertools
import json
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmosaic.common.attribute import CategoricalAttribute, CodedAttribute, NumericAttribute
from dpmosaic.common.domain import Domain
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import FRAME_BYTES, AnswerForm, MarginalQuery, PartyDescription, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.values import text_of
from dpmosaic.common.wire import codec
from dpmosaic.common.wire import party_pb2 as pb

TEXTS = st.text(max_size=6)
NAMES = st.text(min_size=1, max_size=6)
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


DESCRIPTIONS = st.builds(
    PartyDescription,
    name=TEXTS,
    protocol_version=st.integers(0, 2**32 - 1),
    software_version=TEXTS,
    domain=domains(),
    record_count=st.integers(0, 2**64 - 1),
    protocols=st.lists(TEXTS, max_size=3).map(tuple),
)
TERMS = st.builds(
    ReleaseTerms, NAMES, st.integers(0, 2**32 - 1), NAMES, st.sampled_from(Adjacency), granted_rho=POSITIVE
)
QUERIES = st.builds(
    MarginalQuery,
    release_id=NAMES,
    query_id=NAMES,
    form=st.sampled_from(AnswerForm),
    clique=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    sigma=POSITIVE,
)
DESCRIPTION = PartyDescription("p", 1, "0.1", Domain.coded({"a": 2, "b": 3}), 7, ("trusted",))
RELEASE = ReleaseTerms("r", 1, "trusted", Adjacency.ZERO_OUT, 0.5)
QUERY = MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("a", "b"), 2.5)
ENCODED = [
    (codec.decode_description, codec.encode_description(DESCRIPTION)),
    (codec.decode_terms, codec.encode_terms(RELEASE)),
    (codec.decode_query, codec.encode_query(QUERY)),
]


def frame(values=(), word_bytes=4, last=True):
    payload = np.array(values, dtype=f"<i{word_bytes or 4}").tobytes()
    return pb.AnswerFrame(payload=payload, word_bytes=word_bytes, last=last).SerializeToString()


def decoded(frames, rows, cells, block_rows=1):
    return list(codec.decode_answer(frames, rows, cells, block_rows))


def payloads(frames):
    return [len(pb.AnswerFrame.FromString(data).payload) for data in frames]


@settings(deadline=None)
@given(DESCRIPTIONS)
def test_a_description_survives_the_trip_with_every_kind_of_attribute(description):
    returned = codec.decode_description(codec.encode_description(description))
    assert returned == description
    assert returned.domain.digest() == description.domain.digest()


@given(TERMS)
def test_terms_survive_the_trip_to_the_last_digit_of_their_budget(terms):
    assert codec.decode_terms(codec.encode_terms(terms)) == terms


@given(QUERIES)
def test_a_query_survives_the_trip_and_has_the_same_bytes_again(query):
    data = codec.encode_query(query)
    assert codec.decode_query(data) == query
    assert codec.encode_query(codec.decode_query(data)) == data


@given(QUERIES, QUERIES)
@example(
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("ab",), 1.0),
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("a", "b"), 1.0),
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
    ],
)
def test_every_field_of_a_query_shows_in_its_bytes(change):
    assert codec.encode_query(replace(QUERY, **change)) != codec.encode_query(QUERY)


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
    with mock.patch.object(codec, "FRAME_BYTES", frame_bytes):
        frames = list(codec.encode_answer(blocks, word_bytes))
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
    frames = list(codec.encode_answer(iter([integers]), word_bytes))
    assert payloads(frames) == sizes
    assert all(len(data) <= FRAME_BYTES + 16 for data in frames)
    assert np.array_equal(decoded(frames, 1, count)[0], [integers])


def test_a_long_answer_leaves_before_all_of_it_is_there():
    blocks = iter([np.zeros(2**18, dtype=np.int64), np.ones(2**18, dtype=np.int64)])
    first = next(codec.encode_answer(blocks, 4))
    assert payloads([first]) == [2**20]
    assert len(list(blocks)) == 1


def test_rows_are_handed_on_before_the_last_frame_came():
    frames = iter([frame([1, -2, 3], last=False), frame([4], last=True)])
    first = next(codec.decode_answer(frames, 2, 2, 1))
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
def test_an_answer_that_is_not_the_one_due_is_refused(frames):
    with pytest.raises(ProtocolError):
        decoded(frames, 2, 2)


def test_an_answer_without_end_is_refused_before_it_fills_the_memory():
    frames = itertools.repeat(frame([1, 2, 3], last=False))
    with pytest.raises(ProtocolError, match="more or fewer integers"):
        decoded(frames, 2, 2)


def test_a_payload_past_the_limit_is_refused_even_if_every_integer_is_due():
    count = FRAME_BYTES // 4 + 1
    with pytest.raises(ProtocolError, match="at most 1 MiB"):
        decoded([frame(np.zeros(count))], 1, count)


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
def test_whatever_frames_come_an_answer_has_the_shape_due_or_is_refused(frames):
    try:
        blocks = decoded(frames, 3, 2, 2)
    except ProtocolError:
        return
    assert [block.shape for block in blocks] == [(2, 2), (1, 2)]


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
    assert isinstance(message, PartyDescription | ReleaseTerms | MarginalQuery)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
NUMERIC_FORMS = st.fixed_dictionaries(
    {"type": st.just("numeric"), "min": SCALARS, "max": SCALARS, "bins": st.integers(-1, 9) | SCALARS}
)
JSON = st.recursive(
    SCALARS | NUMERIC_FORMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner)
)


@settings(deadline=None)
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
    ],
)
def test_a_query_that_does_not_hold_together_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "form": 1, "clique": ["a"], "sigma": 1.0}
    with pytest.raises(ProtocolError, match="a query does not hold together"):
        codec.decode_query(pb.MarginalQuery(**valid | fields).SerializeToString())


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(ProtocolError, match="bytes that do not parse"):
        codec.decode_terms(b"\x0a\x02\xff\xfe")
