"""The one party of a release by the protocol `trusted`: histograms, and scores of its own table."""

from __future__ import annotations

from ...common.messages import ScoreQuery
from .histograms import HistogramAnswerer
from .scores import LocalScores, ScoreRun


class TrustedAnswerer(HistogramAnswerer):
    """Answers from all rows."""

    def score_run(self, query: ScoreQuery) -> ScoreRun:
        """Scores computed here alone."""
        return LocalScores(self.institution.table, query)
