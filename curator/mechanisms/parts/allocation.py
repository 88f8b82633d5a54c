"""How a budget is split over marginals, and which marginals are worth measuring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.errors import ModelError
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.structure.junction_tree import size_mb
from .steps import PublicFacts, Step

EXPECTED_L1 = math.sqrt(2 / math.pi)
"""Expected absolute value of a standard normal variable."""


def check_smallest(domain: Domain, cliques: Sequence[Clique], max_model_mb: float) -> None:
    """Refuses candidates if even the smallest makes a model beyond the limit.

    Raises:
        ModelError: the limit is too low.
    """
    needed = size_mb(domain, [min(cliques, key=domain.cells, default=())])
    if needed > max_model_mb:
        raise ModelError(
            f"the smallest model takes {needed:.1f} MB, max_model_mb is {max_model_mb}; "
            "raise it or use fewer bins"
        )


def allocate(total: Fraction, sizes: Sequence[float]) -> list[Fraction]:
    """Splits a budget in proportion to size^(2/3), which minimises the sum of expected L1 errors.

    Source: RandDPGen, section 4.3 and Algorithm 2, line 4; ABSyn, Equation 11. The expected L1 error of a
    marginal of n cells at cost rho is n / sqrt(pi rho).

    Args:
        total: budget to split, zCDP.
        sizes: one positive number for each query: cells, or attributes as in the text of RandDPGen.

    Returns:
        One part for each query; their exact sum is at most the total.
    """
    shares = [Fraction(size ** (2 / 3)) for size in sizes]
    whole = sum(shares, Fraction(0))
    # Parts are rounded down to short fractions, so that sums of many are cheap and exact.
    return [Fraction(int(total * share / whole * 2**80), 2**80) for share in shares]


def measure_split(
    measurer: Measurer, cliques: Sequence[Clique], sizes: Sequence[float], budget: Fraction, step: str
) -> list[Measurement]:
    """Measures the cliques; `allocate` splits the budget."""
    parts = allocate(budget, sizes)
    return measurer.measure([Query(View(c), rho, step) for c, rho in zip(cliques, parts, strict=True)])


def measure_step(measurer: Measurer, step: Step) -> list[Measurement]:
    """Runs a step that measures all its marginals at once."""
    sizes = step.sizes_in(measurer.domain)
    return measure_split(measurer, step.cliques, sizes, step.budget(measurer.granted), step.name)


def measurable(facts: PublicFacts, cliques: Sequence[Clique], budget: Fraction) -> list[int]:
    """Which cliques are worth measuring when `allocate` splits the budget, from public facts only.

    A marginal whose noise has an expected L1 norm above N records, half of the largest distance between two
    tables of N records, is nearly useless. The noisiest ones are dropped, a twentieth of the rest at a time,
    and their budget goes to the others, until no marginal is that noisy.

    Args:
        facts: public facts of the release.
        cliques: cliques to choose from.
        budget: budget to split, zCDP.

    Returns:
        Indices into `cliques`, ascending.
    """
    places = list(range(len(cliques)))
    while places:
        cells = [facts.domain.cells(cliques[i]) for i in places]
        sigmas = [
            facts.expected_sigma(View(cliques[i]), rho)
            for i, rho in zip(places, allocate(budget, cells), strict=True)
        ]
        noise = EXPECTED_L1 * np.array(sigmas) * cells
        noisiest = np.argsort(-noise)[: max(1, len(places) // 20)]
        dropped = {int(k) for k in noisiest if noise[k] > facts.record_count}
        if not dropped:
            break
        places = [i for k, i in enumerate(places) if k not in dropped]
    return places
