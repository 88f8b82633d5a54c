"""Answers of the only party under the protocol `trusted`: histograms, and scores of its table."""

from __future__ import annotations

from ...common.messages import ScoreQuery
from .histograms import HistogramAnswerer
from .scores import LocalScores, ScoreRun


class TrustedAnswerer(HistogramAnswerer):
    """Answers queries from the whole table."""

    def score_run(self, query: ScoreQuery) -> ScoreRun:
        """Scores that this party computes without others."""
        return LocalScores(self.institution.table, query)
