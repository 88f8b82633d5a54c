"""What learners lose by a release: all mechanisms, `target`, and a workload of the label's pairs alone.

For each table and way of releasing it, means over seeds of

- pairs, label pairs: mean total variation distance of all pairs, and of those with the label;
- linear, trees: share of other real rows whose label is predicted wrongly by a linear support vector machine
  and by gradient boosting that learn from synthetic rows;
- correlations: how much of the linear dependence of codes of pairs without the label is left, the slope of a
  regression through zero of synthetic correlations on real ones.

"label pairs alone" spends the budget on the label's pairs: how near they can be. "real" are the real rows.

Run: python benchmarks/predicted.py [TABLE...] [--epsilon 1] [--seeds 3] [--way NAME...]

A TABLE is one of `label_tables.py`, or a variant of `tables.py` with a label. Seeds are even.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from families_cell import DELTA, accuracy, cliques_of
from label_tables import TABLES, labelled
from tables import VARIANTS, Generated, generate

import dpmosaic
from dpmosaic.common.data.domain import Clique
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.simulations.evaluation.distances import marginal_distance
from dpmosaic.simulations.evaluation.prediction import misclassification_rate

ALONE, TARGET = "label pairs alone", "mosaic, target"
WAYS = ("real", "mosaic", TARGET, ALONE, "aim", "mst", "privbayes", "randdpgen")
FIGURES = ("pairs", "label pairs", "linear", "trees", "correlations")


def main() -> None:
    """Prints a line for each way of releasing each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--way", nargs="+", choices=WAYS, default=WAYS)
    asked = parser.parse_args()
    known = [*TABLES, *(name for name in VARIANTS if VARIANTS[name].family != "narrow")]
    if unknown := [name for name in asked.tables if name not in known]:
        parser.error(f"expected some of {', '.join(known)}; got {', '.join(unknown)}")
    print(f"{'table':10} {'way':18} " + " ".join(f"{name:>12}" for name in FIGURES))
    for table, way in itertools.product(asked.tables or TABLES, asked.way):
        made = [
            _figures(_generated(table, 2 * seed), way, asked.epsilon, 2 * seed)
            for seed in range(1, asked.seeds + 1)
        ]
        print(
            f"{table:10} {way:18} " + " ".join(f"{value:12.4f}" for value in np.mean(made, axis=0)),
            flush=True,
        )


def _generated(table: str, seed: int) -> Generated:
    return labelled(table, seed) if table in TABLES else generate(table, seed)


def _figures(given: Generated, way: str, epsilon: float, seed: int) -> list[float]:
    real, label = given.table, given.label
    assert label is not None
    rows = real if way == "real" else _released(given, way, epsilon, seed)
    pairs = cliques_of(real.domain, 2)
    distances = {pair: marginal_distance(real, rows, pair).total_variation for pair in pairs}
    return [
        float(np.mean([*distances.values()])),
        float(np.mean([distance for pair, distance in distances.items() if label in pair])),
        misclassification_rate(rows, given.holdout, label),
        1 - accuracy(rows, given.holdout, label),
        _correlations_left(real, rows, [name for name in real.domain if name != label]),
    ]


def _released(given: Generated, way: str, epsilon: float, seed: int) -> Table:
    mechanism = "mosaic" if way in (ALONE, TARGET) else way
    workload = _pairs_of(given) if way == ALONE else None
    target = given.label if way == TARGET else None
    budget = dpmosaic.Budget(epsilon=epsilon, delta=DELTA)
    return dpmosaic.simulate(
        given.table,
        budget,
        protocol="trusted",
        mechanism=mechanism,
        workload=workload,
        target=target,
        seed=seed,
    ).rows


def _pairs_of(given: Generated) -> Workload:
    """The pairs with the label."""
    pairs: list[Clique] = [pair for pair in cliques_of(given.table.domain, 2) if given.label in pair]
    return Workload(tuple(pairs), (1.0,) * len(pairs))


def _correlations_left(real: Table, rows: Table, names: list[str]) -> float:
    """The slope of correlations in these rows on those of the real ones."""
    above = np.triu_indices(len(names), 1)
    known, found = (
        np.corrcoef([table.column(name).astype(float) for name in names])[above] for table in (real, rows)
    )
    return float(known @ found / (known @ known))


if __name__ == "__main__":
    main()
