from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common import errors
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.messages import AnswerRequest, SignedTerms
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.simulations.parties.network import InProcessConnection, policy_for, start_parties
from support.changed import changed
from support.terms import RELEASE_ID, id_of, terms_for, terms_of, terms_with

TERMS = terms_of()
POLICY = policy_for("indicator", PrivacyUnit(Adjacency.ZERO_OUT), 1.0)
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
TABLE = Table.from_codes(Domain.coded({"a": 40, "b": 3}), np.array([[7, 1], [30, 2], [7, 0]]))


class FailingServicer:
    """Fails after a number of replies."""

    def __init__(self, error, replies=0):
        self.error, self.replies = error, replies

    def serve(self, method, requests, caller=b""):
        yield from [b"frame"] * self.replies
        raise self.error


class Tap:
    """A connection that records all bytes."""

    def __init__(self, connection):
        self.connection, self.crossed = connection, []

    def call(self, method, requests):
        requests = list(requests)
        self.crossed += requests
        for reply in self.connection.call(method, requests):
            self.crossed.append(reply)
            yield reply


def one_party(seed=1):
    ((connection,),) = start_parties([[TABLE]], POLICY, RandomStream.from_seed(seed))
    return connection


def histogram(connection):
    client = PartyClient(connection)
    client.accept(terms_for(client))
    (counts,) = client.answer(QUERY, 1, 40, 1)
    return counts.tolist()


@pytest.mark.parametrize(
    "kind",
    [
        errors.DataError,
        errors.BudgetError,
        errors.PolicyError,
        errors.ProtocolError,
        errors.PartyUnavailable,
    ],
)
def test_an_error_of_a_party_keeps_its_type_and_text(kind):
    error = kind("fix the plan")
    with pytest.raises(kind, match="fix the plan") as arrived:
        list(InProcessConnection(FailingServicer(error)).call("Answer", [b""]))
    assert type(arrived.value) is kind
    assert str(arrived.value) == str(error)
    assert arrived.value is not error


def test_replies_before_an_error_arrive():
    replies = InProcessConnection(FailingServicer(errors.DataError("late"), 2)).call("Answer", [b""])
    assert [next(replies), next(replies)] == [b"frame", b"frame"]
    with pytest.raises(errors.DataError, match="late"):
        next(replies)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"granted_rho": 2.0}, "max_release_rho"),
        ({"protocol": "trusted"}, "'trusted'"),
        ({"adjacency": Adjacency.REPLACE_ONE}, "'replace-one'"),
        ({"protocol_version": NEWEST + 1}, "upgrade dpmosaic where it is older"),
    ],
)
def test_the_policy_of_a_party_refuses_through_the_connection(change, reason):
    with pytest.raises(errors.PolicyError, match=reason):
        PartyClient(one_party()).accept(terms_with(TERMS, **change))


@pytest.mark.parametrize(
    ("change", "cells", "kind", "reason"),
    [
        ({"sigma": 0.1}, 40, errors.BudgetError, "more than is left"),
        ({"clique": ("z",)}, 40, errors.ProtocolError, "attributes that can be queried"),
        ({"release_id": id_of("s")}, 40, errors.ProtocolError, "accept it first"),
        ({}, 41, errors.ProtocolError, "more or fewer integers"),
    ],
)
def test_refuses_an_invalid_query_through_the_connection(change, cells, kind, reason):
    client = PartyClient(one_party())
    client.accept(terms_for(client))
    with pytest.raises(kind, match=reason):
        list(client.answer(changed(QUERY, **change), 1, cells, 1))


def test_refuses_an_unknown_method():
    with pytest.raises(errors.ProtocolError, match="no method 'Records'"):
        list(one_party().call("Records", [codec.encode(AnswerRequest(QUERY))]))


def test_only_bytes_cross_the_connection():
    tap = Tap(one_party())
    client = PartyClient(tap)
    client.accept(terms_for(client))
    list(client.answer(QUERY, 1, 40, 1))
    list(client.answer(replace(QUERY, query_id="q2", form=AnswerForm.RECORD_WISE), 3, 40, 2))
    assert len(tap.crossed) == 8
    assert {type(message) for message in tap.crossed} == {bytes}


def test_a_connection_counts_the_bytes_of_all_requests_and_replies():
    connection = one_party()
    tap = Tap(connection)
    assert (connection.bytes_in, connection.bytes_out) == (0, 0)
    client = PartyClient(tap)
    description = client.describe()
    assert (connection.bytes_in, connection.bytes_out) == (0, len(codec.encode(description)))
    client.accept(terms_for(client))
    list(client.answer(QUERY, 1, 40, 1))
    with pytest.raises(errors.ProtocolError):
        list(client.answer(replace(QUERY, release_id=id_of("s")), 1, 40, 1))
    assert connection.bytes_in + connection.bytes_out == sum(map(len, tap.crossed))
    terms = codec.encode(SignedTerms(encode_terms(terms_for(client))))
    assert connection.bytes_in == len(terms) + 2 * len(codec.encode(AnswerRequest(QUERY)))


def test_the_servicer_reads_requests_one_by_one():
    class Reading:
        def serve(self, method, requests, caller=b""):
            for request in requests:
                yield request * 2

    connection = InProcessConnection(Reading())
    requests = iter([b"a", b"b", b"c"])
    replies = connection.call("Deliver", requests)
    assert next(replies) == b"aa"
    assert (connection.bytes_in, connection.bytes_out) == (1, 2)
    assert next(requests) == b"b"


def test_parties_of_a_simulation_allow_only_its_release():
    connection = one_party()
    histogram(connection)
    with pytest.raises(errors.PolicyError, match="lifetime_rho"):
        PartyClient(connection).accept(replace(TERMS, release_id=id_of("s")))


def test_a_seed_determines_all_answers():
    assert histogram(one_party(seed=1)) == histogram(one_party(seed=1))
    assert histogram(one_party(seed=1)) != histogram(one_party(seed=2))


def test_every_party_has_its_own_name_identity_and_noise():
    grid = start_parties([[TABLE, TABLE], [TABLE]], POLICY, RandomStream.from_seed(1))
    connections = [connection for row in grid for connection in row]
    descriptions = [PartyClient(connection).describe() for connection in connections]
    assert [description.name for description in descriptions] == ["party-1-1", "party-1-2", "party-2-1"]
    assert len({description.identity for description in descriptions}) == 3
    answers = [histogram(connection) for connection in connections]
    assert all(answers[one] != answers[two] for one, two in [(0, 1), (0, 2), (1, 2)])
