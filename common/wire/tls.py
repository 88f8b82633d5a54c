"""gRPC over mutual TLS: each side shows its certificate and accepts only those that it pinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc

from ..crypto.certificates import Certificate
from ..errors import DataError

SERVICE = "dpmosaic.v1.Party"
METHODS = (
    "Describe",
    "Probe",
    "Review",
    "Accept",
    "Introduce",
    "Open",
    "Deal",
    "Push",
    "Deliver",
    "Align",
    "Multiply",
    "PrepareScores",
    "AnswerScores",
    "Charge",
    "Answer",
    "Agree",
    "Unmask",
    "Certify",
    "Abandon",
)
_PING_MS = 20_000
_PONG_MS = 20_000

WINDOW_BYTES = 4 << 20
"""Bytes of one stream that a side takes before its program reads them: 80 MiB/s over a link of 50 ms."""

OPTIONS = (
    # Heartbeats: a side that computes still replies to pings, a dead one does not.
    ("grpc.keepalive_time_ms", _PING_MS),
    ("grpc.keepalive_timeout_ms", _PONG_MS),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _PING_MS // 2),
    # Finds a restarted party within seconds.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # `RetryPolicy` repeats calls. Those that gRPC may repeat can fail without ever ending for their reader.
    ("grpc.enable_retries", 0),
    # A frame holds 1 MiB. gRPC's own limit of 4 MiB on a message stays.
    ("grpc.so_reuseport", 0),
    ("grpc.use_local_subchannel_pool", 1),
    # A slow receiver slows the sender, through a curator whose memory does not grow. Left to itself, gRPC
    # widens the window with the speed of the link.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
)
_NO_PROXY = (("grpc.enable_http_proxy", 0),)
"""Variables of the environment do not choose a way that nobody of the two sides named."""


@dataclass(frozen=True)
class TlsSide:
    """Key, certificate and pinned certificates of one side of a connection.

    Attributes:
        key: private key, PEM.
        certificate: certificate that it shows.
        pinned: certificates of peers that it accepts.
        identities: identity of each pinned curator, by the fingerprint of its certificate; a party's side.
        peers: identity of each party that may send openings here, by the fingerprint of its certificate.
    """

    key: bytes
    certificate: Certificate
    pinned: tuple[Certificate, ...]
    identities: Mapping[str, bytes] = field(default_factory=dict)
    peers: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.certificate.is_of(self.key):
            raise DataError("the certificate does not belong to the TLS key; use both of one pair")

    def accepts(self, fingerprint: str) -> bool:
        """Whether a certificate is pinned."""
        return any(certificate.fingerprint == fingerprint for certificate in self.pinned)


def certificate_configuration(side: TlsSide) -> grpc.ServerCertificateConfiguration:
    """What a listening side shows and accepts from now on, for credentials that can change."""
    pair, roots = _key_and_roots(side)
    return grpc.ssl_server_certificate_configuration([pair], roots)


def secure_channel(address: str, own: TlsSide, peer: Certificate, proxy: str | None = None) -> grpc.Channel:
    """A channel only to the holder of one certificate; also through a proxy, which sees encrypted bytes.

    Args:
        address: host and port.
        own: this side.
        peer: pinned certificate of the other side; the name in it replaces the host's.
        proxy: URL of an HTTP proxy that passes connections on by CONNECT; None for none.
    """
    way = _NO_PROXY if proxy is None else (("grpc.http_proxy", proxy),)
    credentials = grpc.ssl_channel_credentials(peer.leaf_pem, own.key, own.certificate.pem)
    named = ("grpc.ssl_target_name_override", peer.host)
    return grpc.secure_channel(address, credentials, (*OPTIONS, *way, named))


def fingerprint_of(context: grpc.ServicerContext) -> str | None:
    """The fingerprint of the caller's certificate; None if it showed none."""
    shown = context.auth_context().get("x509_pem_cert")
    return Certificate(shown[0]).fingerprint if shown else None


def _key_and_roots(side: TlsSide) -> tuple[tuple[bytes, bytes], bytes]:
    """Key and certificates that a listening side shows, and the certificates that it accepts.

    Its own certificate is accepted too, for health checks by its operator; permission is checked for every
    call.
    """
    roots = b"".join(certificate.leaf_pem for certificate in (side.certificate, *side.pinned))
    return (side.key, side.certificate.pem), roots
