"""Inconsistent messages that parse are refused with the reason."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.wire import codec, queries, streams
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
    assert description.domain is None if not text else len(description.domain) >= 1


@pytest.mark.parametrize(
    ("message", "decode"),
    [
        (pb.OpeningRequest, queries.decode_opening_request),
        (pb.DealRequest, queries.decode_deal_request),
        (pb.Delivery, lambda data: streams.decode_delivery(iter([data]))),
    ],
    ids=["opening request", "deal request", "delivery"],
)
@pytest.mark.parametrize("kind", [0, 99])
def test_a_message_of_an_unknown_kind_is_refused(message, decode, kind):
    encoded = message(release_id="r", kind=kind)
    if message is pb.Delivery:
        encoded = pb.DeliveryFrame(header=encoded)
    with pytest.raises(ProtocolError, match=r"expected (a consistent|the header)"):
        decode(encoded.SerializeToString())


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
        {"form": 2, "other_sigmas": [0.0]},
        {"form": 2, "other_sigmas": [1.0, float("nan")]},
        {"other_sigmas": [1.0]},
        {"boxes": [pb.Box(starts=[0], stops=[])]},
        {"boxes": [pb.Box(starts=[0], stops=[1]), pb.Box(starts=[1], stops=[2, 3])]},
        {"boxes": [pb.Box(starts=[0], stops=[1])], "interaction": True},
        {"boxes": [pb.Box(starts=[0], stops=[1])], "groups": [pb.Grouping(labels=[0, 1])]},
        {"form": 4, "groups": [pb.Grouping(labels=[0, 1])]},
    ],
)
def test_an_inconsistent_query_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "form": 1, "clique": ["a"], "sigma": 1.0}
    with pytest.raises(ProtocolError, match="a consistent query"):
        queries.decode_query(pb.MarginalQuery(**valid | fields).SerializeToString())


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
        {"groups": [pb.Groups(), pb.Groups()]},
        {"largest_reference": 2**64 - 1, "largest_total": 2**64 - 1},
    ],
)
def test_an_inconsistent_score_query_is_refused(fields):
    valid = {"release_id": "r", "query_id": "q", "cliques": [pb.Part(attributes=["a"])], "sigma": 1.0}
    valid |= {"references": bytes(32), "largest_reference": 2, "largest_total": 2}
    queries.decode_score_query(pb.ScoreQuery(**valid).SerializeToString())
    with pytest.raises(ProtocolError, match="a consistent score query"):
        queries.decode_score_query(pb.ScoreQuery(**valid | fields).SerializeToString())


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(ProtocolError, match="bytes that do not parse"):
        codec.decode_introduction(b"\x0a\x02\xff\xfe")
