"""How a curator asks for what costs budget: once, whatever dies on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...common.errors import DeliveriesLost, PartyUnavailable
from .journal import Answers, Forgetful

_T = TypeVar("_T")
_PAUSE_S = 1.0


class Asking:
    """Recalls what was answered, and takes a step again while a party is away or was started anew.

    No step costs budget twice: a party gives the same query the same answer, uncharged.

    Args:
        answers: what was answered before.
        away_s: how long a step is taken again while parties are away; 0 for not at all.
        sleep: waits so many seconds.
        now: seconds that pass.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        away_s: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._answers = Forgetful() if answers is None else answers
        self._away_s = away_s
        self._sleep = sleep
        self._now = now

    def knows(self, query_id: str, query: bytes) -> bool:
        """Whether a query was answered before."""
        return self._answers.recall(query_id, query) is not None

    def ask(
        self,
        query_id: str,
        query: bytes,
        step: Callable[[], NDArray[np.float64]],
        forget: Callable[[], None],
    ) -> NDArray[np.float64]:
        """The answer to a query, from the journal or from the parties.

        Args:
            query_id: unique within the release.
            query: all that the answer depends on.
            step: asks the parties.
            forget: see `persist`.
        """
        recalled = self._answers.recall(query_id, query)
        if recalled is not None:
            return recalled
        answered = self.persist(step, forget)
        self._answers.keep(query_id, query, answered)
        return answered

    def persist(self, step: Callable[[], _T], forget: Callable[[], None]) -> _T:
        """Takes a step until it succeeds or parties were away for too long.

        Args:
            step: asks parties; may be taken any number of times.
            forget: called before another try: whatever was delivered to parties may be gone.

        Raises:
            PartyUnavailable: a party stayed away; names it.
        """
        until = self._now() + self._away_s
        while True:
            try:
                return step()
            except (PartyUnavailable, DeliveriesLost):
                if self._now() >= until:
                    raise
            forget()
            self._sleep(_PAUSE_S)
