"""What a release can afford in time and memory, known before the first charge.

The rule depends on the domain, the number of records, the budget and the time limit only, so it is public and
a resumed release makes the same choices. Of the candidates it leaves out

1. those whose noise is useless: even with the whole budget, its expected L1 norm is more than four times
   the largest distance between two tables;
2. of the others, the largest, until number, cells and estimated seconds are within the limits. Of equally
   large ones, those stay whose attributes are nearer in the order of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ...pgm.refinement import WORK
from ...pgm.zeros import zeros_of
from ..parts.allocation import EXPECTED_L1
from ..parts.steps import PublicFacts, measurable_as_interaction
from .growth import rows_drawn

SECONDS = 60.0
"""Time limit of a release without one."""

MAX_CANDIDATES = 20_000
MAX_CELLS = 2**23
"""Largest number of cells of all candidates; about 100 bytes each at the peak."""

_USELESS = 8.0
"""Noise of so many times the number of records; the largest distance of two tables is twice that number."""

_CANDIDATES = 0.5
"""Share of the time for work that grows with candidates."""

_QUERIES = 0.25
"""Share of the time for marginals of the model."""

_LARGER = 0.25
"""Share of the time for adjusting the rows of unfinished models, if larger interactions are looked for."""

_DRAFTS = 6
"""Number of unfinished models of which rows are drawn."""

_S_PER_CANDIDATE = 4e-3
_S_PER_CELL = 2e-6
_S_PER_RECORD = 5e-9
_S_PER_QUERY_MB = 1.2e-3
_S_PER_ADJUSTED = 2e-9
"""Processor seconds of one core, as measured: for each candidate, for each of its cells, for each record that
it is counted in, and for each candidate and MiB of the model, over all steps of a release; and for each cell
that a sweep over rows reads."""

_MOST_COUNTED = 10**7
"""Most records whose counting is part of the limit. To count more takes the parties longer, but to leave out
candidates instead would lose what so many records are good for."""


def useful(facts: PublicFacts, candidates: Sequence[Clique]) -> list[Clique]:
    """The candidates whose noise is not useless: rule 1."""
    return [clique for clique in candidates if _noise(facts, clique) <= _USELESS * facts.record_count]


def affordable(facts: PublicFacts, cliques: Sequence[Clique], seconds: float) -> list[Clique]:
    """The cliques that a release can afford, in the given order: rule 2.

    Pairs from which dependencies are learned come first.

    Args:
        facts: public facts of the release.
        cliques: cliques that can be measured.
        seconds: time limit of the release.
    """
    domain = facts.domain
    needed = {*zeros_of(domain).learned}
    left, cells = _CANDIDATES * seconds, MAX_CELLS
    kept: set[Clique] = set()
    for clique in sorted(cliques, key=lambda c: (c not in needed, *_order(domain, c)))[:MAX_CANDIDATES]:
        left -= seconds_of(domain, [clique], facts.record_count)
        cells -= domain.cells(clique)
        if left < 0 or cells < 0:
            break
        kept.add(clique)
    return [clique for clique in cliques if clique in kept]


def seconds_of(domain: Domain, candidates: Sequence[Clique], records: int) -> float:
    """Estimated processor seconds of the work that grows with candidates."""
    cells = sum(map(domain.cells, candidates))
    each = _S_PER_CANDIDATE + _S_PER_RECORD * min(records, _MOST_COUNTED)
    return len(candidates) * each + cells * _S_PER_CELL


def model_mb(candidates: int, seconds: float) -> float:
    """Largest size of a model whose marginals of all candidates can be computed in time, in MiB."""
    return math.inf if not candidates else _QUERIES * seconds / (candidates * _S_PER_QUERY_MB)


def affords_larger(facts: PublicFacts, seconds: float) -> bool:
    """Whether there is time to look for interactions larger than those of the workload."""
    sizes = [size for size in facts.domain.sizes if size > 1]
    cells_of_row = (len(sizes) - 1) * sum(sizes)
    adjusted = min(WORK, rows_drawn(facts.record_count) * cells_of_row)
    return _DRAFTS * adjusted * _S_PER_ADJUSTED <= _LARGER * seconds


def _noise(facts: PublicFacts, clique: Clique) -> float:
    """Expected L1 norm of its noise if the whole budget measures it, in records."""
    interaction = measurable_as_interaction(facts.domain.shape(clique))
    sigma = facts.expected_sigma(View(clique, interaction=interaction), facts.granted)
    return EXPECTED_L1 * sigma * facts.domain.cells(clique)


def _order(domain: Domain, clique: Clique) -> tuple[int, int, int]:
    places = [domain.position(name) for name in clique]
    return domain.cells(clique), places[-1] - places[0], places[0]
