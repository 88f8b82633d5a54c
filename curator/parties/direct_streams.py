"""When openings go straight from party to party."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence

from ...common.errors import PolicyError
from ...common.messages import PartyDescription


class DirectStreams(enum.StrEnum):
    """When openings go straight from party to party, where the policies of both name each other."""

    NEVER = "never"
    ALLOWED = "allowed"
    """Through the curator where a policy does not, or where the parties cannot reach each other."""
    REQUIRED = "required"
    """A release over parties of a slice that do not name each other is refused."""


def reaches(one: PartyDescription, other: PartyDescription) -> bool:
    """Whether one party sends openings to another itself, by what both say of their policies."""
    return other.name in one.sends_to and one.name in other.takes_from


def check_direct(number: int, members: Sequence[PartyDescription]) -> None:
    """Refuses a slice whose parties do not all send openings to each other.

    Args:
        number: of the slice, from 1.
        members: descriptions of its parties.

    Raises:
        PolicyError: two do not; names the pairs.
    """
    cut_off = [
        f"{one.name} to {other.name}"
        for one, other in itertools.permutations(members, 2)
        if not reaches(one, other)
    ]
    if cut_off:
        raise PolicyError(
            f"slice {number}: expected parties that send openings to each other, and policies do not allow "
            f"{', '.join(cut_off)}; their owners name each other in [direct], or the plan says direct = "
            '"allowed"'
        )
