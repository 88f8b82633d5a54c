"""Score queries at a party: the runs of a release, and scores that a single party computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.people import adding_up
from ...common.data.rows import Rows
from ...common.errors import DeliveriesLost, ProtocolError
from ...common.messages import Delivery, DeliveryKind
from ...common.privacy.noise import noisy_counts
from ...common.protocols.scores.query import check_references, exact_scores
from ...common.queries import Asked, ScoreQuery
from ...common.wire.streams import encode_answer, row_blocks
from ..accounts.account import Account

MAX_RUNS = 8
"""Largest number of score queries of a release that are kept; older ones are prepared again if needed."""

_CLIQUE_BYTES = 80
_NAME_BYTES = 88
_LABEL_BYTES = 8


class ScoreRun(Protocol):
    """One score query at one party."""

    @property
    def query(self) -> ScoreQuery:
        """The score query."""
        ...

    @property
    def word_bytes(self) -> int:
        """Bytes of one integer of the answer."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Upper bound of the memory that the run takes from now on, apart from deliveries on their way."""
        ...

    @property
    def delivery_bytes(self) -> int:
        """Upper bound of the memory that one delivery takes while it is received."""
        ...

    def begin(self) -> None:
        """Computes the exact values, binds what pads will hide; called after the charge, before the rest."""
        ...

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """Sealed frames of a step for another party."""
        ...

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores a delivery for this party."""
        ...

    def answer(self, stream: RandomStream) -> NDArray[np.int64]:
        """The noisy scores or a masked share of them, in units of 1/grid; shape (cliques,)."""
        ...


class ScoreRuns:
    """The latest score queries of one release that were prepared since the party was started.

    Args:
        account: account of the release.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._memory = account.allowance.memory
        self._runs: dict[str, ScoreRun] = {}

    def prepare(self, run: ScoreRun) -> None:
        """Charges the query of a run before anything for it is computed; a repeated query costs nothing.

        Raises:
            PolicyError: there is no memory for it; nothing is charged or allocated.
        """
        query = run.query
        if query.query_id not in self._runs:
            for oldest in list(self._runs)[: 1 - MAX_RUNS]:
                del self._runs[oldest]
                self._memory.free([oldest])
            self._memory.reserve({query.query_id: run.memory_bytes + _query_bytes(query)})
        try:
            self._account.charge(query)
            if query.query_id not in self._runs:
                run.begin()
                self._runs[query.query_id] = run
        finally:
            if query.query_id not in self._runs:
                self._memory.free([query.query_id])

    def open(self, query_id: str, step: int, recipient: int) -> Iterator[bytes]:
        """The sealed frames of a step for another party.

        Raises:
            DeliveriesLost: see `run_of`.
        """
        return self.run_of(query_id).open(step, recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Receives a delivery for a run.

        Raises:
            DeliveriesLost: see `run_of`.
            PolicyError: there is no memory for it.
        """
        run = self.run_of(delivery.query_id)
        with self._memory.during(run.delivery_bytes):
            run.deliver(delivery, chunks)

    def answer(self, query: Asked) -> Iterator[bytes]:
        """The frames of the scores, after all deliveries."""
        run = self.run_of(query.query_id)
        stream = self._account.charge(query)
        self._memory.reserve({query.query_id: run.memory_bytes + _query_bytes(run.query)})
        return encode_answer([self._account.bind_answer(query, run.answer(stream))], run.word_bytes)

    def run_of(self, query_id: str) -> ScoreRun:
        """The run of a query.

        Raises:
            DeliveriesLost: it was not prepared since the party was started.
        """
        if query_id not in self._runs:
            raise DeliveriesLost("the score query was not prepared at this party; prepare it first")
        return self._runs[query_id]


def _query_bytes(query: ScoreQuery) -> int:
    """Upper bound of the memory of a query itself."""
    names = sum(_NAME_BYTES + 4 * len(name) for view in query.views for name in view.clique)
    labels = sum(len(labels) for view in query.views for labels in view.groups)
    return names + _CLIQUE_BYTES * len(query.views) + _LABEL_BYTES * labels


class LocalScores:
    """Scores of a party that holds the whole table.

    Args:
        rows: records of the party.
        query: the score query.
        parts: parts of one in which the rows are counted (`PrivacyUnit.parts`).
    """

    def __init__(self, rows: Rows, query: ScoreQuery, parts: int = 1) -> None:
        self._rows = rows
        self._parts = parts
        self.query = query
        self._cells = query.cells(rows.domain)
        self._references: NDArray[np.int64] | None = None

    @property
    def word_bytes(self) -> int:
        """8, which suffices for any score."""
        return 8

    @property
    def memory_bytes(self) -> int:
        """See `ScoreRun`: references, and the counts while they are compared."""
        return 4 * 8 * sum(self._cells)

    @property
    def delivery_bytes(self) -> int:
        """See `ScoreRun`."""
        return 4 * 8 * sum(self._cells)

    def begin(self) -> None:
        """Nothing: the counts are computed when they are compared."""

    def open(self, step: int, recipient: int) -> Iterator[bytes]:
        """Refuses: there is no other party."""
        raise ProtocolError("a single party opens nothing; request its answer")

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores the references."""
        if delivery.kind is not DeliveryKind.SCORE_REFERENCES:
            raise ProtocolError("a single party needs only the references; compare versions")
        self._references = read_references(self.query, self._cells, chunks)

    def answer(self, stream: RandomStream) -> NDArray[np.int64]:
        """The exact scores plus noise."""
        if self._references is None:
            raise DeliveriesLost("the scores need references, which were not delivered; deliver them first")
        views = self.query.views
        rows = adding_up(self._rows)
        counts = rows.marginals([view.clique for view in views], [view.groups for view in views])
        scores = exact_scores(counts, self._parts * self._references)
        return noisy_counts(scores, self.query.sigma, stream, self._parts)


def read_references(query: ScoreQuery, cells: Sequence[int], chunks: Iterable[bytes]) -> NDArray[np.int64]:
    """The references of a query, checked against it.

    Args:
        query: the score query.
        cells: number of cells of each clique.
        chunks: little-endian int64, one clique after the other.

    Returns:
        Shape (cells of all cliques,).

    Raises:
        ProtocolError: they do not match the query.
    """
    (references,) = row_blocks(chunks, np.dtype("<i8"), 1, sum(cells), 1)
    flat: NDArray[np.int64] = references[0].astype(np.int64)
    check_references(flat, cells, query.references, query.largest_reference, query.largest_total)
    return flat
