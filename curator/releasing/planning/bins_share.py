"""The share of a budget by which a release chooses the bins of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....common.errors import DataError

if TYPE_CHECKING:
    from ....common.data.domain import Domain

DEFAULT_SHARE = 0.1
"""Share of a budget by which bins are chosen."""


def check_coded(domain: Domain) -> None:
    """Refuses a domain with open attributes.

    Raises:
        DataError: a release would have to choose codes first.
    """
    if domain.open:
        raise DataError(
            f"the domain leaves the bins of {', '.join(domain.open)} open; declare them, or add [bins] to "
            "the plan, so that a part of the budget chooses them"
        )


def check_share(share: float) -> float:
    """The share of a budget that chooses bins.

    Raises:
        DataError: nothing would be left for one of the two releases.
    """
    if not 0 < share < 1:
        raise DataError(f"bins: expected a share of the budget between 0 and 1, got {share}; 0.1 is usual")
    return share
