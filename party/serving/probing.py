"""Asks a daemon of one's own for its health, over its port."""

from __future__ import annotations

import contextlib

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from ...common.errors import PartyUnavailable
from ...common.wire.tls import SERVICE, TlsSide, secure_channel

_ANSWER_S = 10.0
_ANYWHERE = ("0.0.0.0", "[::]", "")


def is_serving(own: TlsSide, address: str) -> bool:
    """Whether the daemon with one's own certificate says that it is healthy.

    Args:
        own: the daemon's side.
        address: host and port; of a daemon that listens everywhere, this machine is asked.

    Raises:
        PartyUnavailable: nothing with this certificate answers there.
    """
    host, _, port = address.rpartition(":")
    asked = f"{'127.0.0.1' if host in _ANYWHERE else host}:{port}"
    with contextlib.closing(secure_channel(asked, own, own.certificate)) as channel:
        try:
            answer = HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=SERVICE), timeout=_ANSWER_S
            )
        except grpc.RpcError as error:
            raise PartyUnavailable(
                f"nothing with this party's certificate answers at {asked}; check its port, and its log"
            ) from error
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
