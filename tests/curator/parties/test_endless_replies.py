"""A party, or whoever answers in its place, replies without end: the curator refuses it after little."""

import inspect
import itertools

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Acknowledgement
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.wire import alignments, codec, statements
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.releasing.remembered import RememberedConnection
from support.messages import (
    DEAL_REQUEST,
    DELIVERY,
    INTRODUCTION,
    MULTIPLY_REQUEST,
    OPENING_REQUEST,
    QUERY,
    RELEASE,
    SCORE_QUERY,
)

MOST_BYTES = 16 * FRAME_BYTES
"""What the curator reads at most, with the limits of this test."""

FULL = bytes(FRAME_BYTES)
ENTRY = pb.Entry(query_id="q", query=bytes(32), zcdp_rho="1", signature=bytes(64), kind="marginal")
FRAMES = {
    "empty messages": b"",
    "acknowledgements": codec.encode(Acknowledgement()),
    "empty frames of an answer": pb.AnswerFrame(word_bytes=8).SerializeToString(),
    "whole frames of an answer": pb.AnswerFrame(payload=FULL, word_bytes=8).SerializeToString(),
    "empty payloads": pb.DeliveryFrame(payload=b"").SerializeToString(),
    "whole payloads": pb.DeliveryFrame(payload=FULL).SerializeToString(),
    "probes": pb.ProbeFrame(payload=FULL).SerializeToString(),
    "entries": pb.StatementFrame(entries=[ENTRY] * 1000).SerializeToString(),
}


class Endless:
    """A connection to a party that replies the same without end."""

    def __init__(self, frame):
        self.frame, self.read = frame, 0

    def call(self, method, requests):
        while True:
            self.read += max(len(self.frame), 1)
            assert self.read <= MOST_BYTES, "the curator reads on and on"
            yield self.frame


class Takes:
    """A connection to a party that takes what it is sent up to a size, as parties do."""

    def call(self, method, requests):
        for number, _ in enumerate(requests):
            if number > 4:
                raise ProtocolError("expected as many rows as the slice has, got more; ask again")
        yield codec.encode(Acknowledgement())


OTHER = PartyClient(Takes())
ASKED = {
    "describe": (),
    "probe": (2,),
    "accept": (RELEASE,),
    "review": (RELEASE,),
    "introduce": (INTRODUCTION,),
    "relay": (0, OPENING_REQUEST, OTHER),
    "relay_dealt": (0, DEAL_REQUEST, OTHER),
    "deliver": (DELIVERY, []),
    "align": ("a" * 32, 0, 2),
    "multiply": (MULTIPLY_REQUEST,),
    "charge": (QUERY,),
    "answer": (QUERY, 1, 6, 1),
    "key_points": ("a" * 32,),
    "labels": (QUERY,),
    "prepare_scores": (SCORE_QUERY,),
    "answer_scores": (SCORE_QUERY, 2),
    "certify": (Claim("a" * 32, bytes(32), 1.0),),
    "abandon": ("a" * 32,),
}
OTHERWISE = {"foresee", "foresee_accept", "by_files", "agree", "unmask"}
"""Methods that ask nothing, and two that ask as `charge` does."""


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(alignments, "_MOST_TOKENS", 1000)
    monkeypatch.setattr(statements, "_MOST_ENTRIES", 3000)
    monkeypatch.setattr(statements, "_MOST_STATEMENT_BYTES", MOST_BYTES // 2)


def test_every_method_that_asks_a_party_is_looked_at():
    public = {name for name in vars(PartyClient) if not name.startswith("_")}
    assert public == {*ASKED} | OTHERWISE


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", ASKED)
def test_replies_without_end_are_refused_after_few(method, frame):
    client = PartyClient(Endless(FRAMES[frame]))

    def ask():
        found = getattr(client, method)(*ASKED[method])
        return list(found) if inspect.isgenerator(found) else found

    with pytest.raises(ProtocolError):
        ask()


@pytest.mark.parametrize("frame", FRAMES)
def test_so_are_they_where_replies_are_remembered(frame):
    connection = RememberedConnection(Endless(FRAMES[frame]), "north", None)
    with pytest.raises(ProtocolError, match="expected one reply to Accept, got more"):
        list(itertools.islice(connection.call("Accept", [encode_terms(RELEASE)]), 2))
