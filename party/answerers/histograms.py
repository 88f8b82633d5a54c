"""Noisy histograms of a party's own rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...common.messages import AnswerForm, MarginalQuery
from ...common.privacy.cost import grid_of
from ...common.privacy.noise import TAIL_SIGMAS
from ...common.protocols.indicator import noisy_histogram
from ...common.wire.streams import encode_answer
from .answerer import Answerer


class HistogramAnswerer(Answerer):
    """Answers with noisy counts of cells or boxes, or with differences of noisy counts."""

    forms = frozenset({AnswerForm.HISTOGRAM})

    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of the histogram with noise; see `Answerer.answer`."""
        table, interaction = self.institution.table, self.interaction_shape(query)
        stream = self.account.charge(query, interaction)
        counts = noisy_histogram(table, query.clique, query.sigma, stream, query.boxes, query.interaction)
        # A difference counts a record once, and sums the noise of 2^k cells.
        words = word_bytes(table.record_count, query.sigma, cells=1 << len(interaction))
        return encode_answer([self.account.answered(query, counts)], words)


def word_bytes(largest_count: int, sigma: float, cells: int = 1) -> int:
    """Bytes that hold any count plus the noise of so many cells, which is cut at a fixed number of sigmas."""
    largest = grid_of(sigma) * (largest_count + cells * (TAIL_SIGMAS + 1) * sigma)
    return 4 if largest < np.iinfo(np.int32).max else 8
