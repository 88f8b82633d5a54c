"""What each part of the mechanism `mosaic` contributes: its error with one part at a time switched off.

Reference: `mosaic` with all its parts, in the same run. Each line has the mean total variation distance of
the marginals of the rows, and its ratio to the reference. docs/mosaic.md has the table.

Run: python benchmarks/mosaic.py FOLDER... [--epsilon 0.1 1 10] [--seeds 3] [--k 2] [--measured 3]
    [--part PART...]

A FOLDER holds NAME.csv.gz (or .csv, .parquet) and domain.json, NAME being the folder's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from mechanisms import DELTA, load

import dpmosaic
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.mechanisms.mosaic import grouped_rounds, knowledge, mosaic, released
from dpmosaic.curator.mechanisms.mosaic.budget_split import SplitProblem, Splitting
from dpmosaic.curator.mechanisms.mosaic.effects import Effect
from dpmosaic.curator.mechanisms.mosaic.knowledge import Knowledge
from dpmosaic.curator.mechanisms.mosaic.learning import learned_prior
from dpmosaic.curator.mechanisms.mosaic.one_way import onto_simplex
from dpmosaic.curator.mechanisms.mosaic.run import Run
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS
from dpmosaic.curator.pgm import model

REFERENCE = "all parts"


def _projected(noisy: Any, total: float) -> Any:
    return [(onto_simplex(values, total, variances), variances) for values, variances in noisy]


def _unshrunk(effect: Effect, records: float) -> Any:
    assert effect.observed is not None
    away = interaction(effect.observed.values - effect.reference, effect.shape)
    values = effect.reference + away
    return values, np.full(values.size, math.sqrt(effect.observed.variance))


def _by_cells(problem: SplitProblem, total: float, split: Callable[..., Any] = SplitProblem.split) -> Any:
    sizes = (problem.cells.sum(axis=1) * problem.price) ** (2 / 3)
    return total * sizes / sizes.sum(), split(problem, total)[1]


def _last_score(effect: Effect, reference: Any, distance: float, deviation: float, error: float) -> Effect:
    scored = replace(effect, distance=distance, deviation=deviation, reference_error=error)
    return replace(scored, reference=reference, compared=None)


def _without_forest(run: Run, start: Any, tolerance: float) -> Any:
    return released.supplement_model(run._fit(start, tolerance), run._known, run._workload)


def _any_part(
    splitting: Splitting, cliques: Any, total: float, of: Callable[..., Any] = Splitting.parts_and_gains
) -> Any:
    parts, gains = of(splitting, cliques, total)
    return np.maximum(parts, 2 * SETTINGS.least_part * total), gains


def _unraked(cells: Any, shape: Any, margins: Any) -> Any:
    return cells


def _without_axes(beside: bool, of: Callable[..., Any] = Knowledge._learn_axes) -> list[Any]:
    def learn(known: Knowledge, beside_: bool) -> Any:
        return [] if beside_ == beside else of(known, beside_)

    return [patch.object(Knowledge, "_learn_axes", learn)]


def _set(**settings: Any) -> list[Any]:
    return [patch.dict(vars(SETTINGS), settings)]


PARTS: dict[str, list[Any]] = {
    REFERENCE: [],
    "whole marginals are measured": [
        patch.object(FederationMeasurer, "_interaction", lambda self, query: ())
    ],
    "one-way marginals are only projected": [patch.object(knowledge, "denoise", _projected)],
    "references are not raked": [patch.object(of, "rake", _unraked) for of in (knowledge, released)],
    "pairs are estimated beside earlier models": [patch.object(Run, "_fit_with_supplement", _without_forest)],
    "interactions are not shrunk": [patch.object(Effect, "estimate", _unshrunk)],
    "cells are modelled as independent": _without_axes(beside=False),
    "coefficients are not coupled": [
        patch.object(knowledge, "learned_coupling", lambda pairs, records, before: None)
    ],
    "pairs are not predicted from others": _set(predicted_from=math.inf),
    "small pairs are scored": _set(poor_score=math.inf),
    "no typical size is learned": [
        patch.object(knowledge, "learned_prior", lambda effects, records: (math.inf, 0.0))
    ],
    "no interaction is expected to be none": [
        patch.object(knowledge, "learned_prior", partial(learned_prior, shares=np.zeros(1)))
    ],
    "cells of groups are modelled as independent": _without_axes(beside=True),
    "the budget is split by numbers of cells": [patch.object(SplitProblem, "split", _by_cells)],
    "only the last score is used": [patch.object(Effect, "scored_again", _last_score)],
    "the reference error is ignored": _set(reference_error=0.0),
    "one round of scores": _set(rounds=1),
    "rounds spend their share in any case": [
        patch.object(Splitting, "parts_and_gains", _any_part),
        patch.object(Run, "_budget_of", lambda run, new: run._measuring.budget("round")),
    ],
    "pairs outside the model are not measured": [
        patch.object(of, "pairs_outside", lambda known: []) for of in (grouped_rounds, released)
    ],
    "no larger interactions are looked for": [patch.object(mosaic, "_larger", lambda facts, seconds: ())],
    "rows are not adjusted to triples": [patch.object(model, "worthwhile", lambda *_: [])],
    "rows are adjusted to pairs only": [
        patch.object(released, "larger_marginals", lambda known, workload, pairs: ())
    ],
}


def main() -> None:
    """Prints a line for each table, epsilon and part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--k", type=int, default=2, help="attributes of the workload's marginals")
    parser.add_argument("--measured", type=int, help="attributes of compared marginals, if not as many")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS), help="and all parts")
    asked = parser.parse_args()
    for folder in asked.folders:
        table = load(folder)
        for epsilon in asked.epsilon:
            errors = {}
            for part in dict.fromkeys([REFERENCE, *asked.part]):
                with _without(part):
                    errors[part] = [
                        _error(table, epsilon, seed, asked.k, asked.measured)
                        for seed in range(1, asked.seeds + 1)
                    ]
                mean, reference = np.mean(errors[part]), np.mean(errors[REFERENCE])
                print(
                    f"{folder.name:12} {epsilon:5g}  {mean:.5f}  {mean / reference:5.2f}  {part}", flush=True
                )


@contextmanager
def _without(part: str) -> Any:
    with ExitStack() as stack:
        for switch in PARTS[part]:
            stack.enter_context(switch)
        yield


def _error(table: Table, epsilon: float, seed: int, k: int, measured: int | None) -> float:
    granted = dpmosaic.Budget(epsilon=epsilon, delta=DELTA).granted(gaussian_only=True)
    # In rho, because the independent check of epsilon takes longer than the release.
    promise = dpmosaic.Budget(zcdp_rho=float(granted))
    made = dpmosaic.simulate(
        table, epsilon=promise, protocol="trusted", mechanism="mosaic", workload=f"{k}way", seed=seed
    )
    distances = [
        np.abs(made.rows.marginal(clique) - table.marginal(clique)).sum()
        for clique in combinations(table.domain.names, measured or k)
    ]
    return float(np.mean(distances)) / (2 * table.record_count)


if __name__ == "__main__":
    main()
