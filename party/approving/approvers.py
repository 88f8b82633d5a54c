"""Who may approve releases, and how many of them have to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...common.errors import DataError
from ..names import POLICY
from .decisions import APPROVED, DENIED, PENDING, Decision


@dataclass(frozen=True)
class Approvers:
    """Who may approve releases, and how many of them have to. Anybody at the party's folder may deny one.

    A name is what its owner says: whoever works with the account of the operator can give any that is listed.

    Attributes:
        names: who may; empty for anybody.
        needed: so many different people have to.
    """

    names: tuple[str, ...] = ()
    needed: int = 1

    def state(self, decisions: Sequence[Decision]) -> str:
        """What the decisions on a release amount to: `PENDING`, `APPROVED` or `DENIED`."""
        if decisions and decisions[-1].verdict == DENIED:
            return DENIED
        return APPROVED if len(self.approving(decisions)) >= self.needed else PENDING

    def approving(self, decisions: Sequence[Decision]) -> dict[str, int]:
        """Who approved since the last denial, and the number of the decision."""
        denied = max((n for n, one in enumerate(decisions) if one.verdict == DENIED), default=-1)
        return {one.by: n for n, one in enumerate(decisions) if n > denied and one.verdict == APPROVED}

    def check(self, by: str, decisions: Sequence[Decision]) -> None:
        """Returns if somebody may approve a release.

        Args:
            by: the name.
            decisions: earlier ones on it.

        Raises:
            DataError: the policy does not name them, or they have approved already and another has to.
        """
        if self.names and by not in self.names:
            raise DataError(
                f"expected one of the approvers of {POLICY} ({', '.join(self.names)}), got another name; "
                "nothing was changed"
            )
        if by in self.approving(decisions):
            raise DataError(
                f"expected another approver: {self.needed} different people have to approve, and this one "
                "has; nothing was changed"
            )


ANYBODY = Approvers()
"""One person, whoever it is."""
