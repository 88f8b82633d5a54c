"""The section [serve] of the policies of parties and dealers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...common.errors import DataError
from ...common.forms.tables import Key, Table
from ...common.forms.values import Text, whole
from ..named_secrets import secret_of

_LISTEN = "127.0.0.1:7443"
_PROXY = Text(r"http://[^@/\s]+:[0-9]{1,5}", "http://HOST:PORT, without a password, which proxy_login names")
_LOGIN = Text(r"(env|file):\S+", "env:NAME or file:PATH, where USER:PASSWORD is")

SERVE = Table(
    {
        "listen": Key(Text(), "host:port; the curator's machine must reach it."),
        "metrics": Key(Text(), "host:port for Prometheus."),
        "proxy": Key(_PROXY, "The HTTP proxy through which the daemon dials a curator."),
        "proxy_login": Key(_LOGIN, "Where USER:PASSWORD for the proxy is."),
        "authorities": Key(Text(), "PEM file of the authorities of a mailbox, or of a proxy that inspects."),
        "keep_log_days": Key(whole(1), "Days for which lines of the logs in the folder are kept."),
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
        proxy_login: where user and password for it are; None if it asks for none.
        authorities: PEM file of the authorities that may issue the certificate of a mailbox, or of a proxy
            that inspects what passes; None for those of the machine.
        keep_log_days: days for which lines of the logs in the folder are kept; None for ever.
    """

    listen: str
    metrics: str | None
    proxy: str | None
    proxy_login: str | None = None
    authorities: str | None = None
    keep_log_days: int | None = None

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Serve:
        """The section of a policy's file, from its sections, which are checked."""
        section = content.get("serve", {})
        return cls(
            section.get("listen", _LISTEN),
            section.get("metrics"),
            section.get("proxy"),
            section.get("proxy_login"),
            section.get("authorities"),
            section.get("keep_log_days"),
        )

    def authorities_file(self, folder: Path) -> Path | None:
        """The file of authorities, whose path counts from the policy's folder; None for none."""
        return None if self.authorities is None else folder / self.authorities

    def proxy_url(self, folder: Path) -> str | None:
        """The proxy's URL, a secret with user and password in it if the policy names them; None for none.

        Args:
            folder: of the policy.

        Raises:
            DataError: a login without a proxy, or one that is not there or not of this form.
        """
        if self.proxy_login is None:
            return self.proxy
        if self.proxy is None:
            raise DataError("policy.toml: proxy_login in [serve] goes with proxy; name it, or take this out")
        login = secret_of(self.proxy_login, "proxy_login in [serve]", folder)
        user, colon, password = login.partition(":")
        if not user or not colon:
            raise DataError(
                "policy.toml: proxy_login in [serve]: expected USER:PASSWORD there, got another text"
            )
        scheme, _, at = self.proxy.partition("://")
        return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{at}"
