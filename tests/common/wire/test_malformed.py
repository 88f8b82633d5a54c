"""Inconsistent messages that parse are refused with the reason."""

import json
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import DealRequest, Introduction, OpeningRequest, PartyDescription
from dpmosaic.common.promises.statement import Entry
from dpmosaic.common.queries import MarginalQuery, ScoreQuery
from dpmosaic.common.wire import codec, streams
from dpmosaic.common.wire import party_pb2 as pb

NAMES = st.text(min_size=1, max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
NUMERIC_FORMS = st.fixed_dictionaries(
    {"type": st.just("numeric"), "min": SCALARS, "max": SCALARS, "bins": st.integers(-1, 9) | SCALARS}
)
JSON = st.recursive(
    SCALARS | NUMERIC_FORMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner)
)


@pytest.mark.slow
@given((st.dictionaries(NAMES, JSON, max_size=3) | JSON).map(json.dumps) | st.text(max_size=9))
@example("[" * 100_000)
@example('{"a": ' + "9" * 5_000 + "}")
@example('{"a": {"type": "numeric", "min": 0, "max": 1' + "0" * 400 + ', "bins": 2}}')
def test_any_text_is_a_domain_or_a_protocol_error(text):
    data = pb.PartyDescription(domain=text).SerializeToString()
    try:
        description = codec.decode(PartyDescription, data)
    except ProtocolError:
        return
    assert len(description.domain) >= 1


@pytest.mark.parametrize(
    ("message", "decode"),
    [
        (pb.OpeningRequest, partial(codec.decode, OpeningRequest)),
        (pb.DealRequest, partial(codec.decode, DealRequest)),
        (pb.Delivery, lambda data: streams.decode_delivery(iter([data]))),
    ],
    ids=["opening request", "deal request", "delivery"],
)
@pytest.mark.parametrize("kind", [0, 99])
def test_a_message_of_an_unknown_kind_is_refused(message, decode, kind):
    encoded = message(release_id="r", kind=kind)
    if message is pb.Delivery:
        encoded = pb.DeliveryFrame(header=encoded)
    with pytest.raises(ProtocolError, match=r"expected a consistent .*: it has an unknown DeliveryKind"):
        decode(encoded.SerializeToString())


RANGE = pb.Range(start=0, stop=1)
ONE_BOX = [pb.Box(ranges=[RANGE])]
VIEW = pb.View(clique=["a"])


@pytest.mark.parametrize(
    "fields",
    [
        {"query_id": ""},
        {"view": None},
        {"view": pb.View()},
        {"form": 0},
        {"form": 7},
        {"sigma": 0.0},
        {"sigma": -2.0},
        {"sigma": float("nan")},
        {"sigma": float("inf")},
        {"form": 2, "other_sigmas": [0.0]},
        {"form": 2, "other_sigmas": [1.0, float("nan")]},
        {"other_sigmas": [1.0]},
        {"view": pb.View(clique=["a"], boxes=ONE_BOX, interaction=True)},
        {"view": pb.View(clique=["a"], boxes=ONE_BOX, groups=[pb.Grouping(labels=[0, 1])])},
        {"form": 4, "view": pb.View(clique=["a"], groups=[pb.Grouping(labels=[0, 1])])},
    ],
)
def test_an_inconsistent_query_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "form": 1, "view": VIEW, "sigma": 1.0}
    codec.decode(MarginalQuery, pb.MarginalQuery(**valid).SerializeToString())
    with pytest.raises(ProtocolError, match="a consistent MarginalQuery"):
        codec.decode(MarginalQuery, pb.MarginalQuery(**valid | fields).SerializeToString())


@pytest.mark.parametrize(
    "fields",
    [
        {"query_id": ""},
        {"views": []},
        {"views": [VIEW, pb.View()]},
        {"views": [pb.View(clique=["a"], interaction=True)]},
        {"views": [pb.View(clique=["a"], boxes=ONE_BOX)]},
        {"sigma": 0.0},
        {"sigma": -2.0},
        {"sigma": float("nan")},
        {"sigma": float("inf")},
        {"largest_reference": 3},
        {"largest_total": 2**62},
        {"largest_reference": 2**64 - 1, "largest_total": 2**64 - 1},
    ],
)
def test_an_inconsistent_score_query_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "views": [VIEW], "sigma": 1.0}
    valid |= {"references": bytes(32), "largest_reference": 2, "largest_total": 2}
    codec.decode(ScoreQuery, pb.ScoreQuery(**valid).SerializeToString())
    with pytest.raises(ProtocolError, match="a consistent ScoreQuery"):
        codec.decode(ScoreQuery, pb.ScoreQuery(**valid | fields).SerializeToString())


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(ProtocolError, match="bytes that do not parse"):
        codec.decode(Introduction, b"\x0a\x02\xff\xfe")


def test_a_refusal_repeats_nothing_of_the_message():
    entry = pb.Entry(query_id="q", kind="<secret>", zcdp_rho="1", delta="0")
    with pytest.raises(ProtocolError, match="an unknown AnswerKind") as refused:
        codec.of_message(Entry, entry)
    assert "secret" not in str(refused.value)


@dataclass(frozen=True)
class Mark:
    """Has the name of a message."""

    events: int
    head: bytes
    added: int = 0


@dataclass(frozen=True)
class Charged:
    """Has the name and the fields of a message, but another type."""

    signature: str


@pytest.mark.parametrize("value", [Mark(1, b""), Charged("s")], ids=["other field", "other type"])
def test_a_dataclass_that_its_message_does_not_describe_is_a_mistake_of_the_program(value):
    with pytest.raises(TypeError):
        codec.encode(value)
