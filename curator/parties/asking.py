"""Queries that cost budget, asked only once even if a process dies in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.errors import AnswerPending, DeliveriesLost, PartyUnavailable
from .journal import Answers, NoJournal, NoNotes, Notes

_K = TypeVar("_K")
_T = TypeVar("_T")
_PAUSE_S = 1.0

Forget = Callable[[DeliveriesLost], None]
"""Forgets what a participant lost, before it is delivered again."""


class Asking:
    """Recalls earlier answers, and retries a step while a party is unavailable or has restarted.

    No step costs budget twice: a party repeats its answer to the same query without a charge.

    Args:
        answers: store of earlier answers.
        away_s: seconds for which a step is retried while parties are unavailable; 0 for no retry.
        sleep: waits for a number of seconds.
        now: monotonic clock, in seconds.
        notes: store of what else a resumed release needs.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        away_s: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
        notes: Notes | None = None,
    ) -> None:
        self._answers = NoJournal() if answers is None else answers
        self._away_s = away_s
        self._sleep = sleep
        self._now = now
        self.notes: Notes = NoNotes() if notes is None else notes
        """Store of what else a resumed release needs."""

    def knows(self, query_id: str, query: bytes) -> bool:
        """Whether the query was answered before."""
        return self._answers.recall(query_id, query) is not None

    def ask(
        self,
        query_id: str,
        query: bytes,
        step: Callable[[], NDArray[np.float64]],
        forget: Forget,
    ) -> NDArray[np.float64]:
        """The answer to a query, from the journal or from the parties.

        Args:
            query_id: unique within the release.
            query: encoding of everything that the answer depends on.
            step: asks the parties.
            forget: see `persist`.
        """
        return self.ask_once(query_id, query, lambda: self.persist(step, forget))

    def ask_once(
        self, query_id: str, query: bytes, step: Callable[[], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The same by a step that waits for the parties itself; for the arguments see `ask`."""
        recalled = self._answers.recall(query_id, query)
        if recalled is not None:
            return recalled
        answered = step()
        self._answers.keep(query_id, query, answered)
        return answered

    def each(self, steps: Mapping[_K, Callable[[], _T]], spared: int) -> dict[_K, _T]:
        """What each of several parties replies; some that were unavailable for too long are left out.

        Args:
            steps: asks one party each, by its place or name; see `persist`.
            spared: how many may be left out at most.

        Raises:
            PartyUnavailable: more of them stayed unavailable; names one.
        """
        replies: dict[_K, _T] = {}
        until: float | None = None
        while True:
            failed: list[PartyUnavailable] = []
            for place in [one for one in steps if one not in replies]:
                try:
                    replies[place] = steps[place]()
                except PartyUnavailable as failure:
                    failed.append(failure)
            if not failed:
                return replies
            until = self._now() + self._away_s if until is None else until
            if self._now() >= until:
                if len(failed) > spared:
                    raise failed[0]
                return replies
            self._sleep(_PAUSE_S)

    def persist(self, step: Callable[[], _T], forget: Forget) -> _T:
        """Retries a step until it succeeds or parties were unavailable for too long.

        Args:
            step: asks the parties; must be repeatable, and goes on with what it has not done yet.
            forget: called before a retry if a party lost what was delivered to it.

        Raises:
            PartyUnavailable: a party stayed unavailable; names it.
            AnswerPending: nobody brought the answer of a party that is reached by files.
        """
        until: float | None = None
        while True:
            try:
                return step()
            except AnswerPending:
                raise
            except (PartyUnavailable, DeliveriesLost) as failure:
                until = self._now() + self._away_s if until is None else until
                if self._now() >= until:
                    raise
                if isinstance(failure, DeliveriesLost):
                    forget(failure)
            self._sleep(_PAUSE_S)
