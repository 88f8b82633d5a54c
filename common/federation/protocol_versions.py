"""Versions of the protocol: each works with the one before, so institutions are upgraded one by one.

Every participant states which versions it speaks. A release is made with the newest that all of them speak,
and its signed terms say which; who is upgraded before it ends goes on with that one.

| version | came with | has, besides |
|---|---|---|
| 1 | 0.1.0 | |
| 2 | 0.2.0 | parties that may drop out (`DropoutPlan`); rows of people that weigh by length (`ByLength`) |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import PolicyError

OLDEST, NEWEST = 1, 2
"""Versions that this software speaks. The newest grows with every change that others would misread."""

DROPOUTS = LENGTHS = 2
"""Version since which parties may drop out, and since which rows of people weigh by length."""


@dataclass(frozen=True)
class Versions:
    """Versions that a participant speaks, of which none is missing in between.

    Attributes:
        oldest: the first.
        newest: the last.
    """

    oldest: int
    newest: int

    def __contains__(self, version: int) -> bool:
        return self.oldest <= version <= self.newest

    def __str__(self) -> str:
        return str(self.newest) if self.oldest == self.newest else f"{self.oldest} to {self.newest}"

    def shares_with(self, other: Versions) -> bool:
        """Whether there is a version that both speak."""
        return max(self.oldest, other.oldest) <= min(self.newest, other.newest)


SPOKEN = Versions(OLDEST, NEWEST)
"""What this software speaks."""


def refusals_of_version(role: str, version: int) -> Iterator[PolicyError]:
    """Why a participant takes no part in a release by a version of the protocol; nothing if it speaks it.

    Args:
        role: of the participant, in words.
        version: of the terms.
    """
    if version not in SPOKEN:
        yield PolicyError(
            f"this {role} speaks protocol version {SPOKEN}, the terms are of version {version}; upgrade "
            "dpmosaic where it is older"
        )
