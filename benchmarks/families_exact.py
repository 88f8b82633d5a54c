"""Rows of a model of exact marginals: what marginals of an order can give at most."""

from __future__ import annotations

import itertools

import numpy as np

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.rows.refinement import LARGEST_ADJUSTED
from dpmosaic.curator.pgm.structure.junction_tree import TreeGrowth
from dpmosaic.curator.pgm.supplemented import SupplementedModel

_LIMIT_MB = 8.0


def exact_rows(table: Table, structure: Clique, rng: np.random.Generator) -> Table:
    """As many rows as the table's, of a model of its exact pairs and one larger exact marginal. Not private.

    Pairs enter the model in the order of their distance from independence, while it has at most 8 MiB. Rows
    are adjusted to the others.

    Args:
        table: the real rows.
        structure: attributes of the larger marginal; empty for pairs alone.
        rng: source of randomness.
    """
    domain, records = table.domain, table.record_count
    pairs = {pair: table.marginal(pair).astype(np.float64) for pair in itertools.combinations(domain, 2)}
    ones = {name: table.marginal((name,)) / records for name in domain}

    def dependence(pair: Clique) -> float:
        return float(np.abs(pairs[pair] / records - np.kron(ones[pair[0]], ones[pair[1]])).sum())

    start: list[Clique] = [(name,) for name in domain] + ([structure] if structure else [])
    held = _within_limit(domain, start, sorted(pairs, key=dependence, reverse=True))
    known = {clique: table.marginal(clique).astype(np.float64) for clique in start}
    known |= {pair: pairs[pair] for pair in held}
    measured = [
        Measurement(View(clique), values, sigma=1.0, zcdp_rho=0.0) for clique, values in known.items()
    ]
    model = estimate(domain, measured, total=float(records), tolerance=1e-6)
    larger = (structure,) if structure and domain.cells(structure) <= LARGEST_ADJUSTED else ()
    inside = {*held, *itertools.combinations(structure, 2)}
    outside = {pair: values for pair, values in pairs.items() if pair not in inside}
    return SupplementedModel(model, outside, larger).generate(records, rng)


def _within_limit(domain: Domain, start: list[Clique], candidates: list[Clique]) -> list[Clique]:
    """The candidates, in their order, that leave the model within its limit."""
    chosen: list[Clique] = []
    while True:
        place = TreeGrowth(domain, [*start, *chosen]).first_within(candidates, _LIMIT_MB)
        if place is None:
            return chosen
        chosen.append(candidates[place])
        candidates = candidates[place + 1 :]
