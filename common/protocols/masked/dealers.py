"""Who deals the masks of a release, and which parts of them each dealer knows.

A mask is a sum of components, each from a seed of its own. One dealer knows the only component. With three
dealers there are three components, and dealer d knows all but component d, so that no dealer alone knows a
mask. A product of two masks, A B = sum_xy a_x b_y, is divided between the dealers such that each of its terms
belongs to one dealer that knows both factors:

    one dealer       a_0 b_0
    dealer d of 3    a_u (b_u + b_v) + a_v b_u,      u = d + 1, v = d + 2 modulo 3.

Source: Ito, Saito, Nishizeki 1987 (replicated additive shares); Araki, Furukawa, Lindell, Nof, Ohara 2016
(products of them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import DataError

CURATOR_DEALS = "curator"
"""Name of the curator as dealer; no other participant may have it."""

REPLICATED = 3
"""Number of dealers of a slice of which no one alone knows a mask."""


@dataclass(frozen=True)
class DealerEntry:
    """One dealer of a release.

    Attributes:
        name: name in the federation; `CURATOR_DEALS` if the curator deals.
        identity: long-term Ed25519 public key, 32 bytes.
    """

    name: str
    identity: bytes


def dealers_wanted(dealers: int) -> int:
    """Number of dealers of each slice of several parties, if the release has so many."""
    return REPLICATED if dealers >= REPLICATED else 1


def check_dealers(dealers: Sequence[str], slices: Sequence[Sequence[str]]) -> None:
    """Refuses dealers that cannot deal for all slices.

    Args:
        dealers: names of the dealers of a release; none if nobody deals.
        slices: names of the parties of each slice.

    Raises:
        DataError: they are two, or one is named twice, or a slice lacks dealers that are no party of it.
    """
    if len(set(dealers)) < len(dealers) or len(dealers) == REPLICATED - 1:
        raise DataError(
            f"dealers: expected one dealer, or {REPLICATED} or more with different names, got others; "
            "fix the plan"
        )
    wanted = dealers_wanted(len(dealers))
    for number, parties in enumerate(slices, start=1):
        if len(parties) > 1 and len(set(dealers) - set(parties)) < wanted:
            raise DataError(
                f"slice {number}: expected {wanted} dealers that are no party of it, got fewer; name more "
                "dealers in the plan"
            )


def check_collusions(dealers: Sequence[str], slices: Sequence[Sequence[str]], tolerated: int) -> None:
    """Refuses to tolerate collusions of parties that together would read the records of a slice.

    These are its dealer, or two of its three dealers, and one of its own parties.

    Args:
        dealers: names of the dealers of a release, which `check_dealers` allows.
        slices: names of the parties of each slice.
        tolerated: number of parties that may collude.

    Raises:
        DataError: so many parties may collude that some could be dealers of a slice and a party of it.
    """
    wanted = dealers_wanted(len(dealers))
    reading = 1 if wanted == 1 else REPLICATED - 1
    everybody = {name for parties in slices for name in parties}
    for number, parties in enumerate(slices, start=1):
        dealing = [name for name in dealers if name not in parties][:wanted]
        if len(parties) > 1 and tolerated > reading and len(everybody.intersection(dealing)) >= reading:
            raise DataError(
                f"slice {number}: expected at most {reading} tolerated collusions, because {reading} of its "
                f"dealers and a party of it could read its records, got {tolerated}; name dealers that are "
                "no parties, or tolerate fewer"
            )


def known_components(dealers: int, position: int) -> tuple[int, ...]:
    """The components of every mask that a dealer knows, u before v.

    Args:
        dealers: number of dealers of the slice, 1 or 3.
        position: position of the dealer among them, from 0.
    """
    if dealers == 1:
        return (0,)
    return (position + 1) % REPLICATED, (position + 2) % REPLICATED


def knowing_positions(dealers: int, component: int) -> tuple[int, ...]:
    """The positions of the dealers that know a component."""
    return tuple(p for p in range(dealers) if component in known_components(dealers, p))


def dealt_terms(dealers: int, position: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """What a dealer multiplies: a component of the left mask by a sum of components of the right one."""
    known = known_components(dealers, position)
    if dealers == 1:
        return ((0, known),)
    u, v = known
    return (u, (u, v)), (v, (u,))
