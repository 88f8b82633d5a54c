"""Answers under the protocol `indicator`: histograms, and indicator vectors record by record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...common.errors import ProtocolError
from ...common.messages import AnswerForm, MarginalQuery
from ...common.protocols.indicator import noisy_indicators
from ...common.wire.streams import encode_answer
from .histograms import HistogramAnswerer, word_bytes


class IndicatorAnswerer(HistogramAnswerer):
    """Answers with noisy histograms, or for a part of a clique with one noisy vector per record."""

    forms = frozenset({AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE})

    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of a histogram or of indicator vectors, with noise; see `Answerer.answer`."""
        if query.form is AnswerForm.HISTOGRAM:
            return super().answer(query)
        if query.boxes or query.interaction:
            raise ProtocolError("indicator vectors have neither boxes nor interactions; query single cells")

        def blocks() -> Iterator[NDArray[np.int64]]:
            stream = self.account.charge(query)
            return noisy_indicators(self.institution.table, query.clique, query.sigma, stream)

        return encode_answer(self.account.answered_in_blocks(query, blocks), word_bytes(1, query.sigma))
