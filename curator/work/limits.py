"""What a release can afford in time and memory, known before the first charge.

The rules depend on the domain, the number of records and the time limit only, so they are public and a
resumed release makes the same choices. Work counts at fixed rates; the clock is not read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...common.data.domain import Clique, Domain
from ..pgm.rows.refinement import SWEEP_WORK
from ..pgm.structure.zeros import zeros_of

SECONDS = 60.0
"""Time limit of a release without one."""

MAX_CANDIDATES = 20_000
CANDIDATE_CELLS = 2**23
"""Largest number of cells of all candidates; about 100 bytes each at the peak."""

_CANDIDATES_SHARE, _QUERIES_SHARE, _LARGER_SHARE = 0.5, 0.25, 0.25
"""Shares of the time: for work that grows with candidates, for marginals of the model, and for adjusting the
rows of unfinished models, if larger interactions are looked for."""

_SCORING_SHARE, _MULTIPLYING_SHARE, _ADJUSTING_SHARE = 0.07, 0.07, 0.2
"""Shares of the time for larger interactions: for counting what a round scores, for multiplying it among
parties, and for adjusting rows to those that are selected."""

_MB_PER_S = 0.5
"""MiB of a model for each second: about a thousand iterations of at most 2 ms for each MiB."""

_DRAFTS = 6
"""Number of unfinished models of which rows are drawn."""

_ROWS = 1 << 14, 1 << 17
"""Fewest and most rows of an unfinished model."""

_S_PER_CANDIDATE = 4e-3
_S_PER_CELL = 2e-6
_S_PER_RECORD = 5e-9
_S_PER_QUERY_MB = 1.2e-3
"""Processor seconds of one core, as measured: for each candidate, for each of its cells, for each record that
it is counted in, and for each candidate and MiB of the model, over all steps of a release."""

_S_PER_SCORED_LARGER, _S_PER_RECORD_OF_LARGER, _S_PER_MULTIPLIED_WORD = 1.5e-3, 1e-8, 5e-8
"""The same for each larger interaction that is scored, for each record that is counted in it, and for each
word that parties multiply for it."""

_S_PER_ADJUSTED, _S_PER_VALUE = 2e-9, 6e-8
"""The same for each cell that a sweep over rows reads, and for each row and each attribute of a larger
interaction to which rows are adjusted, over all sweeps."""

_MOST_COUNTED = 10**7
"""Most records whose counting is part of the limit. To count more takes the parties longer, but to leave out
candidates instead would lose what so many records are good for."""


def affordable(domain: Domain, records: int, cliques: Sequence[Clique], seconds: float) -> list[Clique]:
    """The cliques that a release can afford, in the given order.

    The largest are left out, until number, cells and estimated seconds are within the limits. Of equally
    large ones, those stay whose attributes are nearer in the order of the domain. Pairs from which
    dependencies are learned come first.

    Args:
        domain: domain of the table.
        records: number of records.
        cliques: cliques that can be measured.
        seconds: time limit of the release.
    """
    needed = {*zeros_of(domain).learned}
    left, cells = _CANDIDATES_SHARE * seconds, CANDIDATE_CELLS
    kept: set[Clique] = set()
    for clique in sorted(cliques, key=lambda c: (c not in needed, *_order(domain, c)))[:MAX_CANDIDATES]:
        left -= seconds_of(domain, [clique], records)
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


def fitted_mb(seconds: float) -> float:
    """Largest size of a model that can be fitted in time, in MiB."""
    return seconds * _MB_PER_S


def model_mb(candidates: int, seconds: float) -> float:
    """Largest size of a model whose marginals of all candidates can be computed in time, in MiB."""
    return math.inf if not candidates else _QUERIES_SHARE * seconds / (candidates * _S_PER_QUERY_MB)


def affords_larger(domain: Domain, records: int, seconds: float) -> bool:
    """Whether there is time to look for interactions larger than those of the workload."""
    sizes = [size for size in domain.sizes if size > 1]
    cells_of_row = (len(sizes) - 1) * sum(sizes)
    adjusted = min(SWEEP_WORK, rows_drawn(records) * cells_of_row)
    return _DRAFTS * adjusted * _S_PER_ADJUSTED <= _LARGER_SHARE * seconds


def larger_scored(records: int, seconds: float) -> float:
    """How many larger interactions can be scored at once in time."""
    return _SCORING_SHARE * seconds / (_S_PER_SCORED_LARGER + _S_PER_RECORD_OF_LARGER * records)


def words_multiplied(seconds: float) -> float:
    """How many words parties can multiply in time for what a round scores."""
    return _MULTIPLYING_SHARE * seconds / _S_PER_MULTIPLIED_WORD


def attributes_adjusted(records: int, seconds: float) -> float:
    """To how many attributes of larger interactions, summed over these, rows can be adjusted in time."""
    return _ADJUSTING_SHARE * seconds / (_S_PER_VALUE * rows_drawn(records))


def rows_drawn(records: int) -> int:
    """Number of rows of an unfinished model: that of the records, if these are neither few nor very many."""
    fewest, most = _ROWS
    return min(most, max(fewest, records))


def _order(domain: Domain, clique: Clique) -> tuple[int, int, int]:
    places = [domain.position(name) for name in clique]
    return domain.cells(clique), places[-1] - places[0], places[0]
