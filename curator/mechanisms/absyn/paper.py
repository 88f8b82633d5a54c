"""ABSyn by the text of its paper: private, but it spends more than necessary.

Source: Jia et al., "ABSyn: An Accurate Differentially Private Data Synthesis Scheme With Adaptive Selection
and Batch Processes", Algorithm 2; the differences from the default are listed in `absyn.py`.
"""

from __future__ import annotations

import math
from functools import partial

from ....common.data.view import View
from ....common.measurement import Measurement
from ...measurers.measurer import Query, Scores
from ...pgm.fitting.estimator import Estimator
from ...pgm.fitting.parallel import estimate_in_parallel
from .run import BatchRun

PAPERS_SENSITIVITY = 4
"""Sensitivity of an R-score against the product of exact one-way marginals (section VI.B)."""


class PaperRun(BatchRun):
    """One run of the paper's variant; arguments as for `BatchRun`."""

    difference = True

    def _one_way(self) -> list[Measurement]:
        """Line 6: the same budget for every attribute."""
        part = self._budget("one-way") / len(self._domain)
        return self._measurer.measure([Query(View((name,)), part, "one-way") for name in self._domain])

    def _with_paper_noise(self, scores: Scores) -> Scores:
        """Adds noise to scores of sensitivity 1 until it has the scale for the paper's sensitivity."""
        more = scores.sigma * math.sqrt(PAPERS_SENSITIVITY**2 - 1)
        values = scores.values + more * self._stream.generator().standard_normal(len(scores.values))
        return Scores(values, scores.sigma * PAPERS_SENSITIVITY)

    @property
    def _fit_in_parallel(self) -> Estimator:
        """An estimator that fits each maximal clique separately."""
        return partial(estimate_in_parallel, max_block_mb=0)
