"""How often files have to be carried to a party without a network, and back."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms.parts.steps import Step
from ..parties.federation import Federation

_ENDS = 2
"""Round trips beside those that measure: for the terms, and at the end for the certificate."""

_OF_BINS = 3
"""Round trips of a release that chooses bins before."""


def round_trips(federation: Federation, steps: Sequence[Step], *, choosing: bool) -> dict[str, int]:
    """About how often files go to each party by files and back, by name.

    Messages to and from other parties of its slice come beside them.

    Args:
        federation: the parties.
        steps: steps of the mechanism, each of which measures in one round trip each time.
        choosing: whether a release before chooses bins.
    """
    trips = _ENDS + sum(step.times for step in steps) + (_OF_BINS if choosing else 0)
    return {member.description.name: trips for member in federation.by_files}


def trips_text(trips: int) -> str:
    """The round trips to a party in words."""
    return f"about {trips} round trips of files, more if other parties hold columns of its people"
