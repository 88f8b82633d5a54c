"""The section [serve] of the policies of parties and dealers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.forms.tables import Key, Table
from ...common.forms.values import Text

_LISTEN = "127.0.0.1:7443"
_PROXY = Text(r"http://[^@/\s]+:[0-9]{1,5}", "http://HOST:PORT, without a password")

SERVE = Table(
    {
        "listen": Key(Text(), "host:port; the curator's machine must reach it."),
        "metrics": Key(Text(), "host:port for Prometheus."),
        "proxy": Key(_PROXY, "The HTTP proxy through which the daemon dials a curator."),
    }
)
"""The section [serve]."""


@dataclass(frozen=True)
class Serve:
    """The section [serve] of a policy.

    Attributes:
        listen: host and port.
        metrics: host and port for Prometheus; None for no metrics.
        proxy: URL of the HTTP proxy through which the daemon dials a curator; None for none.
    """

    listen: str
    metrics: str | None
    proxy: str | None

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Serve:
        """The section of a policy's file, from its sections, which are checked."""
        section = content.get("serve", {})
        return cls(section.get("listen", _LISTEN), section.get("metrics"), section.get("proxy"))
