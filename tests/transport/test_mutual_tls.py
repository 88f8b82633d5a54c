"""Connections that a party and a curator accept or refuse, with real sockets and certificates."""

import contextlib
import socket
import threading
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from dpmosaic.common.crypto.certificates import Certificate, self_signed
from dpmosaic.common.errors import DataError, PartyUnavailable, PolicyError, ProtocolError
from dpmosaic.common.wire.tls import SERVICE, TlsSide, secure_channel
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import RetryPolicy


def describe(connection):
    return PartyClient(connection).describe().name


def refused_by(channel):
    """The error of a party for a caller with another channel than a curator's."""
    ask = channel.stream_stream(f"/{SERVICE}/Describe")
    with contextlib.closing(channel), pytest.raises(grpc.RpcError) as refused:
        list(ask(iter([b""]), timeout=60))
    return refused.value.code()


def test_two_sides_that_pinned_each_other_connect(loopback):
    assert describe(loopback().dial()) == "north"


def test_a_curator_whose_certificate_is_not_pinned_gets_no_answer(loopback):
    with pytest.raises((PartyUnavailable, ProtocolError), match="north"):
        describe(loopback().dial(curator=loopback.pair("curator")))


def test_another_curator_of_the_same_key_and_name_is_not_the_pinned_one(loopback):
    party = loopback()
    key, _ = party.curator
    again = self_signed("curator", key, datetime.now(UTC), 3)
    with pytest.raises((PartyUnavailable, PolicyError, ProtocolError)):
        describe(party.dial(curator=(key, again)))


def test_an_expired_certificate_of_the_curator_gets_no_answer(loopback):
    expired = loopback.pair("curator", now=datetime.now(UTC) - timedelta(days=9), days=8)
    with pytest.raises((PartyUnavailable, ProtocolError)):
        describe(loopback(curator=expired).dial())


def test_an_expired_certificate_of_the_party_is_refused_by_the_curator(loopback):
    expired = loopback.pair("north", now=datetime.now(UTC) - timedelta(days=9), days=8)
    with pytest.raises(ProtocolError, match="certificate that the other pinned"):
        describe(loopback(party=expired).dial())


def test_a_party_with_another_certificate_than_the_pinned_one_is_refused_by_the_curator(loopback):
    _, other = loopback.pair("north")
    with pytest.raises(ProtocolError, match="certificate that the other pinned"):
        describe(loopback().dial(certificate=other))


def test_a_pin_that_is_revoked_ends_the_calls_of_a_connection_that_is_open(loopback):
    party = loopback()
    connection = party.dial()
    assert describe(connection) == "north"
    party.pinned.clear()
    with pytest.raises(PolicyError, match="not pinned"):
        describe(connection)


def test_a_pin_that_is_revoked_opens_no_new_connection(loopback):
    party = loopback()
    party.pinned.clear()
    party.wait_for_reload()
    own = TlsSide(*party.curator, (party.party[1],))
    code = refused_by(secure_channel(party.address, own, party.party[1]))
    assert code is grpc.StatusCode.UNAVAILABLE


def test_a_new_pin_needs_no_restart(loopback):
    party = loopback()
    newcomer = loopback.pair("curator")
    party.pinned.append(newcomer[1])
    party.wait_for_reload()
    assert describe(party.dial(curator=newcomer)) == "north"


def test_a_new_certificate_of_the_party_needs_no_restart(loopback):
    party = loopback()
    party.party = loopback.pair("north")
    party.wait_for_reload()
    assert describe(party.dial()) == "north"


def test_a_caller_without_a_certificate_gets_no_answer(loopback):
    party = loopback()
    credentials = grpc.ssl_channel_credentials(party.party[1].pem)
    options = [("grpc.ssl_target_name_override", party.party[1].host)]
    code = refused_by(grpc.secure_channel(party.address, credentials, options))
    assert code is grpc.StatusCode.UNAVAILABLE


def test_plaintext_gets_no_answer(loopback):
    assert refused_by(grpc.insecure_channel(loopback().address)) is grpc.StatusCode.UNAVAILABLE


def test_a_party_that_speaks_no_tls_is_refused_by_the_curator(loopback):
    party = loopback()
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer():
            link, _ = plain.accept()
            link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            link.close()

        thread = threading.Thread(target=answer)
        thread.start()
        retry_policy = RetryPolicy(call_s=60, tries=1)
        connection = party.dial(address=f"127.0.0.1:{plain.getsockname()[1]}", retry_policy=retry_policy)
        with pytest.raises((PartyUnavailable, ProtocolError)):
            describe(connection)
        thread.join()


def test_a_party_that_is_killed_during_the_handshake_is_unavailable_and_not_untrusted(loopback):
    """A curator waits for it; a certificate that does not match would end the release."""
    party = loopback()
    with socket.create_server(("127.0.0.1", 0)) as dying:

        def cut_off():
            link, _ = dying.accept()
            link.recv(4096)
            link.close()

        thread = threading.Thread(target=cut_off)
        thread.start()
        retry_policy = RetryPolicy(call_s=60, tries=1)
        connection = party.dial(address=f"127.0.0.1:{dying.getsockname()[1]}", retry_policy=retry_policy)
        with pytest.raises(PartyUnavailable, match="does not answer"):
            describe(connection)
        thread.join()


def test_the_partys_own_certificate_is_accepted_only_for_health_checks(loopback):
    party = loopback()
    own = TlsSide(*party.party, (party.party[1],))
    channel = secure_channel(party.address, own, party.party[1])
    asked = HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=60)
    assert asked.status == health_pb2.HealthCheckResponse.SERVING
    assert refused_by(channel) is grpc.StatusCode.PERMISSION_DENIED


def test_a_certificate_of_another_key_than_the_tls_key_is_refused(loopback):
    key, _ = loopback.pair("curator")
    _, other = loopback.pair("curator")
    with pytest.raises(DataError, match="does not belong to the TLS key"):
        TlsSide(key, other, ())


def test_bytes_that_are_not_a_certificate_are_refused():
    with pytest.raises(DataError, match="certificate in PEM"):
        Certificate(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")


class Names:
    """A servicer that answers with the identity of its caller."""

    def serve(self, method, requests, caller):
        yield b"called by " + caller


def test_the_servicer_is_told_which_pinned_curator_calls(loopback):
    other = loopback.pair("other")
    party = loopback(Names())
    party.pinned.append(other[1])
    party.identities = {party.curator[1].fingerprint: b"first", other[1].fingerprint: b"second"}
    party.wait_for_reload()
    assert list(party.dial().call("Describe", [b""])) == [b"called by first"]
    assert list(party.dial(curator=other).call("Describe", [b""])) == [b"called by second"]


def test_a_pinned_certificate_without_an_identity_calls_as_nobody(loopback):
    assert list(loopback(Names()).dial().call("Describe", [b""])) == [b"called by "]


def test_an_attached_party_is_called_by_the_curator_that_it_dialled(arrival):
    assert list(arrival(Names()).dial().call("Describe", [b""])) == [b"called by " + arrival.dialled]
