"""Decisions on requested releases: one way for the commands and for the console."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.errors import DataError
from ...common.showing.printable import printable
from ..accounts.ledger import Ledger
from ..accounts.rows import CERTIFIED
from ..approving.approvals import Approvals, Request
from ..approving.decisions import APPROVED, DENIED, PENDING
from ..approving.logins import Login, is_login
from ..disk import told_if_full
from ..home.folder import LEDGER
from ..home.home import PartyHome
from ..policies.file import Settings
from .explanation import explain


@dataclass(frozen=True)
class Desk:
    """What an operator decides from. The party's daemon may run at the same time.

    Attributes:
        home: folder of the party.
        approvals: requested releases and decisions.
        ledger: ledger of the party.
    """

    home: PartyHome
    approvals: Approvals
    ledger: Ledger

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: Path) -> Iterator[Desk]:
        """The files of a party's folder; closed at the end.

        Raises:
            DataError: it is not such a folder, or the disk is full.
        """
        home = PartyHome.open(folder)
        with (
            told_if_full(folder),
            contextlib.closing(home.approvals()) as approvals,
            contextlib.closing(Ledger(home.folder / LEDGER)) as ledger,
        ):
            yield cls(home, approvals, ledger)

    def explain(self, release: str | None) -> dict[str, Any]:
        """All that concerns the decision on a release, as `explain` returns it.

        Args:
            release: id of a requested release, or a unique prefix of it; None for the only one that waits.

        Raises:
            DataError: no request or several requests match.
        """
        settings = Settings.load(self.home.folder)
        request = self._waiting() if release is None else self.approvals.request(release)
        return explain(request, self.home, settings, self.ledger)

    def approve(self, release: str, by: str | Login | None, reason: str) -> str:
        """Approves a release; its curator can then resume it.

        Args:
            release: id of a requested release, or a unique prefix of it.
            by: who decides: somebody who signed in, or a name that was typed; None for the user of this
                process.
            reason: why; may be empty if the curator states what the release is for.

        Returns:
            The id of the release.

        Raises:
            DataError: no request or several requests match, the release stays denied, nobody says what it is
                for, or the typed name is that of a login.
        """
        terms = self.approvals.request(release).terms
        if not (terms.spec.about.purpose or reason.strip()):
            raise DataError(
                "the curator states no purpose; ask what the release is for, and give it as the reason, "
                "which is signed with the approval, or deny the release; nothing was changed"
            )
        release_id = terms.release_id
        accepted = self._state(release_id) is not None
        self.approvals.decide(release_id, APPROVED, _name(by), printable(reason), accepted=accepted)
        return release_id

    def deny(self, release: str, by: str | Login | None, reason: str) -> tuple[str, bool]:
        """Denies a release; one that is running is stopped, and its keys are erased.

        Args:
            release: see `approve`.
            by: see `approve`.
            reason: see `approve`.

        Returns:
            The id of the release, and whether it was accepted before.

        Raises:
            DataError: no request or several requests match, or the release is certified already.
        """
        release_id = self.approvals.request(release).terms.release_id
        accepted = self._state(release_id) is not None
        if accepted:
            self.ledger.abandon(release_id)
        if self._state(release_id) == CERTIFIED:
            raise DataError(
                f"the denial comes too late: release {release_id} is certified, and nothing was changed; ask "
                "its curator not to publish it"
            )
        self.approvals.decide(release_id, DENIED, _name(by), printable(reason), accepted=accepted)
        return release_id, accepted

    def _waiting(self) -> Request:
        waiting = [request for request in self.approvals.requests() if request.state == PENDING]
        if len(waiting) != 1:
            raise DataError(
                f"expected one release that waits for a decision, found {len(waiting)}; name one of those "
                "that `dpmosaic party releases` lists"
            )
        return waiting[0]

    def _state(self, release_id: str) -> str | None:
        """State of an accepted release; None for another."""
        return next((e.state for e in self.ledger.summaries() if e.release_id == release_id), None)


def user_name() -> str:
    """The user of this process, which cannot be set by an environment variable."""
    # Only where parties run.
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _name(given: str | Login | None) -> str:
    if isinstance(given, Login):
        return printable(given.text)
    if given is not None and is_login(given):
        raise DataError(
            "expected a name, got that of a login, by which only people decide who signed in to the console "
            "on the network; nothing was changed"
        )
    return user_name() if given is None else printable(given)
