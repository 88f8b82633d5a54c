"""Asks a running daemon for its health, as its own operator."""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from ...common.errors import PartyUnavailable
from ...common.wire.tls import SERVICE, TlsSide, secure_channel

_HERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "[::]": "[::1]", "*": "127.0.0.1"}
"""Where a daemon that listens on all addresses of a machine is reached on the machine itself."""

_DEADLINE_S = 10.0
"""How long an answer may take."""


def is_serving(own: TlsSide, listen: str) -> bool:
    """Whether the daemon that listens here can answer its curators.

    Args:
        own: the daemon's own side, whose certificate it accepts for this question alone.
        listen: host and port on which it listens.

    Raises:
        PartyUnavailable: it does not answer.
    """
    host, _, port = listen.rpartition(":")
    address = f"{_HERE.get(host, host)}:{port}"
    with secure_channel(address, own, own.certificate) as channel:
        request = health_pb2.HealthCheckRequest(service=SERVICE)
        try:
            answer = HealthStub(channel).Check(request, timeout=_DEADLINE_S, wait_for_ready=False)
        except grpc.RpcError as cause:
            raise PartyUnavailable(
                f"no daemon of this folder answers at {address} ({cause.code().name}); start it with serve, "
                "or name its address by --address"
            ) from cause
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
