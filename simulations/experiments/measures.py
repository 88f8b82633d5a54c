"""Runs a cell: releases a table and measures its errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.privacy.budget import Budget
from ...curator.mechanisms.catalogue import CATALOGUE, mechanism_named
from ..baselines.catalogue import BASELINES
from ..evaluation.metrics import kway_errors
from ..evaluation.nist import Pay, classification_score, clustering_score, regression_score
from ..evaluation.prediction import misclassification_rate, predictions
from ..evaluation.range_queries import range_errors
from ..parties.partition import Grid
from ..simulate import simulate
from .cell import DELTA, Cell
from .tables import DataFolder

FOLDS = 5
_MEASURED_SEED = 0

Values = dict[str, float]


def run_cell(cell: Cell, data: DataFolder) -> Values:
    """The measured values of a cell, by name.

    Raises:
        DataError: a table, a mechanism, a baseline or a measure does not exist.
        MosaicError: the release was refused.
    """
    unknown = [name for name in cell.measures if name not in MEASURES]
    if unknown:
        raise DataError(f"measures: expected some of {', '.join(MEASURES)}, got {', '.join(unknown)}")
    table = data.load(cell.table, cell.binary)
    folds = _ON_FOLDS.keys() & set(cell.measures)
    released, held_out = _folds(table, cell.seed) if folds else (table, table)
    synthetic, values = _release(cell, released)
    for name in cell.measures:
        values |= MEASURES[name](cell, held_out if name in folds else released, synthetic)
    return values


def _release(cell: Cell, table: Table) -> tuple[Table, Values]:
    """The synthetic table and the cost of its release."""
    budget = Budget(epsilon=cell.epsilon, delta=DELTA)
    if cell.method in BASELINES:
        if cell.variant != "default" or cell.settings:
            raise DataError(f"the baseline {cell.method!r} has no variants or settings; leave them out")
        grid = Grid.parse(cell.grid, table.domain, table.record_count)
        started = time.perf_counter()
        stream = RandomStream.from_seed(cell.seed)
        made = BASELINES[cell.method].release(table, grid, budget, cell.protocol, cell.label, stream)
        return made, {"seconds": time.perf_counter() - started}
    if cell.method not in CATALOGUE:
        expected = ", ".join([*CATALOGUE, *BASELINES])
        raise DataError(f"method: expected one of {expected}; got {cell.method!r}")
    result = simulate(
        table,
        budget,
        grid=cell.grid,
        protocol=cell.protocol,
        mechanism=mechanism_named(cell.method, cell.variant, dict(cell.settings)),
        workload=_weight_by_label(Workload.parse(table.domain, cell.workload), cell),
        seed=cell.seed,
    )
    return result.rows, {
        "seconds": float(result.metrics["seconds"]),
        "rounds": float(len(result.fitted.rounds)),
        "model_mb": float(result.fitted.model.size_mb),
    }


def _weight_by_label(workload: Workload, cell: Cell) -> Workload:
    """The workload with `label_weight` applied to marginals that contain the label."""
    weights = zip(workload.cliques, workload.weights, strict=True)
    return replace(
        workload,
        weights=tuple(w * (cell.label_weight if cell.label in clique else 1) for clique, w in weights),
    )


def _folds(table: Table, seed: int) -> tuple[Table, Table]:
    """The rows outside a fold and those of the fold; seeds 1 to 5 leave out each row once."""
    order = np.random.default_rng(_MEASURED_SEED).permutation(table.record_count)
    parts = np.array_split(order, FOLDS)
    left_out = parts.pop((seed - 1) % FOLDS)
    return table.take(np.concatenate(parts)), table.take(left_out)


def _kway(cell: Cell, real: Table, synthetic: Table) -> Values:
    values: Values = {}
    for error in kway_errors(real, synthetic, (2, 3)):
        values |= {f"tv_{error.k}way": error.total_variation, f"kl_{error.k}way": error.kl}
    return values


def _kway4(cell: Cell, real: Table, synthetic: Table) -> Values:
    return {f"tv_{error.k}way": error.total_variation for error in kway_errors(real, synthetic, (4,))}


def _svm(cell: Cell, real: Table, synthetic: Table) -> Values:
    """Excludes other binary digits of the label's attribute from the features: they would reveal it."""
    label = _label(cell)
    stem = label.rpartition(".bit")[0] if cell.binary else label
    kept = [name for name in real.domain if name == label or name.rpartition(".bit")[0] != stem]
    (found,) = predictions(real.project(kept), synthetic.project(kept), label, classifiers=("svm",))
    return {
        "misclassification_variance": found.misclassification_variance,
        "misclassification": found.synthetic,
        "misclassification_of_real": found.real,
    }


def _fold_svm(cell: Cell, held_out: Table, synthetic: Table) -> Values:
    return {"misclassification": misclassification_rate(synthetic, held_out, _label(cell))}


def _fold_tree(cell: Cell, held_out: Table, synthetic: Table) -> Values:
    return {"misclassification": misclassification_rate(synthetic, held_out, _label(cell), "tree")}


def _trees(cell: Cell, real: Table, synthetic: Table) -> Values:
    """The average over all attributes as labels, each predicted from all others by a decision tree."""
    found = [
        predictions(real, synthetic, name, classifiers=("tree",))[0]
        for name in real.domain
        if real.domain[name].size > 1
    ]
    return {
        "misclassification": float(np.mean([each.synthetic for each in found])),
        "misclassification_of_real": float(np.mean([each.real for each in found])),
    }


def _workload(cell: Cell, real: Table, synthetic: Table) -> Values:
    return {"workload_error": Workload.parse(real.domain, cell.workload).error(real, synthetic)}


def _ranges(cell: Cell, real: Table, synthetic: Table) -> Values:
    return {f"range_{error.dimensions}d": error.mean_squared for error in range_errors(real, synthetic)}


def _nist(cell: Cell, real: Table, synthetic: Table) -> Values:
    rng = np.random.default_rng(_MEASURED_SEED)
    values = {
        "clustering": clustering_score(real, synthetic, rng),
        "classification": classification_score(real, synthetic, rng),
    }
    if cell.label is not None:
        values["regression"] = regression_score(real, synthetic, Pay(*cell.label.split(",")))
    return values


def _label(cell: Cell) -> str:
    if cell.label is None:
        raise DataError("expected the label that a classifier predicts, got none; give the cell a label")
    return cell.label


_ON_FOLDS: Mapping[str, Callable[[Cell, Table, Table], Values]] = {
    "fold_svm": _fold_svm,
    "fold_tree": _fold_tree,
}
"""Measures on rows that were left out of the release."""

MEASURES: Mapping[str, Callable[[Cell, Table, Table], Values]] = {
    "kway": _kway,
    "kway4": _kway4,
    "svm": _svm,
    "trees": _trees,
    "workload": _workload,
    "ranges": _ranges,
    "nist": _nist,
    **_ON_FOLDS,
}
