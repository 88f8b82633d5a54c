"""Releases of the same people that share one promise: each continues the one before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ..certificates.json_values import OPTIONAL

EARLIER = "earlier"
"""The folder of the certificates of the releases before, in that of a release that continues them."""


@dataclass(frozen=True)
class Lifetime:
    """Which one of several releases that share a promise this one is.

    Attributes:
        releases: how many releases share the promise.
        number: which one it is, from 1.
        release_id: its id.
        until: up to which value of the order it has rows.
        settings: SHA-256 of key, order and domain, which are the same in all of them.
        earlier: SHA-256 of the certificate of the release that it continues; empty for the first.
        zcdp_rho_earlier: what all before it cost together.
        table: name of the file of the table; that of the release before is its beginning, byte for byte.
        table_bytes: size of that beginning.
    """

    releases: int
    number: int
    release_id: str
    until: str
    settings: str
    table: str
    earlier: str = field(default="", metadata=OPTIONAL)
    zcdp_rho_earlier: Fraction = field(default=Fraction(0), metadata=OPTIONAL)
    table_bytes: int = field(default=0, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.releases:
            raise ValueError("a release is one of those that share its promise")
        if (self.number > 1) != bool(self.earlier):
            raise ValueError("each release but the first continues another")


def earlier_name(number: int) -> str:
    """The file of the certificate of an earlier release.

    Args:
        number: which one it is, from 1.
    """
    return f"{EARLIER}/{number}.json"
