"""Where entries of the audit trail go: a file, a syslog server, or a collector of OpenTelemetry."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ...common.errors import DataError
from ...common.processes.notices import is_safe
from ...common.processes.webhook import post
from .trail import DECIDED, REQUESTED, Entry

_DELIVERY_S = 10.0
_AUDIT = 13
"""The facility "log audit" of RFC 5424."""

_NOTICE, _WARNING = (5, 9), (4, 13)
"""Severity to syslog, and to OpenTelemetry."""

_GOOD = ("OK", "SERVING", "asked", "approved", "accepted", "charged", "certified", "signed in", "signed out")
_SYSLOG_PORTS = {"syslog+udp": 514, "syslog+tcp": 601, "syslog+tls": 6514}


class Receiver(ABC):
    """Takes entries in order."""

    @abstractmethod
    def take(self, entries: Sequence[Entry]) -> None:
        """Takes some entries.

        Raises:
            OSError: not all of them arrived; they may come again.
        """


def receiver_of(target: str, party: str) -> Receiver:
    """The receiver at an address.

    Args:
        target: path of a file; syslog:/dev/log, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT or
            syslog+tls://HOST:PORT; or otlp+https://HOST/v1/logs.
        party: name of the sender.

    Raises:
        DataError: it is none of these.
    """
    parts = urlsplit(target)
    if parts.scheme == "":
        return FileReceiver(Path(target))
    if parts.scheme == "syslog" and parts.path:
        return SyslogReceiver(parts, party)
    if parts.scheme in _SYSLOG_PORTS and parts.hostname:
        return SyslogReceiver(parts, party)
    if parts.scheme.startswith("otlp+") and is_safe(url := target.removeprefix("otlp+")):
        return OtlpReceiver(url, party)
    raise DataError(
        "expected a file, syslog:/dev/log, syslog+udp://HOST, syslog+tcp://HOST, syslog+tls://HOST or "
        "otlp+https://HOST/v1/logs as the receiver of the audit trail, got another address; fix it"
    )


def entry_values(entry: Entry, party: str = "") -> dict[str, str]:
    """An entry as JSON values: who, what, when, outcome."""
    return {"id": entry.event_id, **({"party": party} if party else {}), **asdict(entry)}


@dataclass(frozen=True)
class FileReceiver(Receiver):
    """JSON lines at the end of a file that its owner alone can read."""

    path: Path

    def take(self, entries: Sequence[Entry]) -> None:
        """See `Receiver`."""
        text = "".join(json.dumps(entry_values(entry)) + "\n" for entry in entries)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


@dataclass(frozen=True)
class SyslogReceiver(Receiver):
    """A server of RFC 5424: the socket of this machine, UDP, TCP with counted octets (RFC 6587), or TLS.

    Over a socket or UDP an entry may get lost on the way, and nobody is told.
    """

    place: SplitResult
    party: str

    def take(self, entries: Sequence[Entry]) -> None:
        """See `Receiver`."""
        with contextlib.closing(self._connect()) as connection:
            for entry in entries:
                message = self._message(entry)
                if self.place.scheme in ("syslog", "syslog+udp"):
                    connection.send(message)
                else:
                    connection.sendall(b"%d %s" % (len(message), message))

    def _connect(self) -> socket.socket:
        if self.place.scheme == "syslog":
            local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            local.settimeout(_DELIVERY_S)
            local.connect(self.place.path)
            return local
        address = (self.place.hostname or "", self.place.port or _SYSLOG_PORTS[self.place.scheme])
        if self.place.scheme == "syslog+udp":
            family, kind, number, _, resolved = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
            sender = socket.socket(family, kind, number)
            sender.connect(resolved)
            return sender
        connection = socket.create_connection(address, _DELIVERY_S)
        if self.place.scheme == "syslog+tcp":
            return connection
        return ssl.create_default_context().wrap_socket(connection, server_hostname=address[0])

    def _message(self, entry: Entry) -> bytes:
        priority = 8 * _AUDIT + _severity(entry)[0]
        head = f"<{priority}>1 {entry.at or '-'} {socket.gethostname()} dpmosaic {os.getpid()} {entry.kind} -"
        return f"{head} {json.dumps(entry_values(entry, self.party))}".encode()


@dataclass(frozen=True)
class OtlpReceiver(Receiver):
    """A collector of OpenTelemetry, by OTLP over HTTPS in JSON."""

    url: str
    party: str

    def take(self, entries: Sequence[Entry]) -> None:
        """See `Receiver`."""
        resource = _attributes({"service.name": "dpmosaic", "service.instance.id": self.party})
        scope = {
            "scope": {"name": "dpmosaic.party.trail"},
            "logRecords": [_log_record(one) for one in entries],
        }
        content = {"resourceLogs": [{"resource": {"attributes": resource}, "scopeLogs": [scope]}]}
        post(self.url, json.dumps(content).encode(), _DELIVERY_S)


def _log_record(entry: Entry) -> dict[str, Any]:
    moment = int(datetime.fromisoformat(entry.at).timestamp()) * 10**9 if entry.at else 0
    values = {f"dpmosaic.{name}": value for name, value in entry_values(entry).items()}
    return {
        "timeUnixNano": str(moment),
        "severityNumber": _severity(entry)[1],
        "body": {"stringValue": entry.what},
        "attributes": _attributes(values),
    }


def _attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def _severity(entry: Entry) -> tuple[int, int]:
    """A notice; a warning where somebody was refused, or a release ended without a certificate."""
    return _NOTICE if entry.kind in (REQUESTED, DECIDED) or entry.outcome in _GOOD else _WARNING
