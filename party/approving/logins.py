"""Names of people who signed in, and of people who say a name: one cannot be typed in place of the other."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.console.visitors import BY_CERTIFICATE, BY_PROVIDER


@dataclass(frozen=True)
class Login:
    """Who signed in.

    Attributes:
        text: issuer and subject; see `Person.login`.
    """

    text: str


def is_login(name: str) -> bool:
    """Whether a name is that of a login."""
    return name.startswith((BY_PROVIDER, BY_CERTIFICATE))
