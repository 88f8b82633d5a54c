"""How the paper of Tab-PE measures: prediction of a label, and Wasserstein distances of k attributes.

Source: Tran and others, Differentially Private Synthetic Data via APIs 4: Tabular Data (arXiv 2606.08259),
appendix C.2 and C.3; `compute_wsd.py` of their code, for what the paper leaves open.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.table import Table, decode_table
from dpmosaic.simulations.evaluation.features import Features
from dpmosaic.simulations.evaluation.values.values import Values

LABELS = {"adult": "income"}
TRAIN, TEST = 0.7, 0.15
"""Shares of the rows; the paper chooses settings on the rest."""

SAMPLE = 1000
"""Rows of either table between which distances are computed, as in their example for Adult."""

MOST = 3
"""Largest k."""


def measured_as_tab_pe(
    real: Table, release: Callable[[Table], Table], seed: int, label: str = "income"
) -> dict[str, float]:
    """The figures of synthetic rows, and under "real ..." those of the real rows that the release used.

    Args:
        real: all rows.
        release: training rows -> synthetic rows.
        seed: of the split and of samples.
        label: attribute to predict.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(real.record_count)
    trained, tested = (round(share * len(order)) for share in (TRAIN, TEST))
    train, test = real.take(order[:trained]), real.take(order[trained : trained + tested])
    synthetic = release(train)
    figures = {}
    for name, rows in (("", synthetic), ("real ", train)):
        figures |= {f"{name}{metric}": value for metric, value in predicted(rows, test, label).items()}
        for k in range(1, MOST + 1):
            figures[f"{name}{k}-WD"] = mean_wasserstein(train, rows, k, rng)
    return figures


def predicted(train: Table, test: Table, label: str) -> dict[str, float]:
    """Accuracy and macro F1 of gradient boosting, in 0..1."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import accuracy_score, f1_score

    rows = {name: values_of(table) for name, table in (("train", train), ("test", test))}
    features = Features.of(rows["train"], label)
    model = HistGradientBoostingClassifier(categorical_features=features.are_categories, random_state=0)
    model.fit(features.columns(rows["train"]), train.column(label))
    found, known = model.predict(features.columns(rows["test"])), test.column(label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        macro = f1_score(known, found, average="macro")
    return {"accuracy": float(accuracy_score(known, found)), "macro F1": float(macro)}


def values_of(table: Table) -> Values:
    """The rows with numbers drawn from their bins."""
    columns = decode_table(table, np.random.default_rng(0))
    return Values.of(table.domain, [columns[name] for name in table.domain])


def mean_wasserstein(real: Table, other: Table, k: int, rng: np.random.Generator) -> float:
    """The Wasserstein distance of samples of two tables, mean over all sets of k attributes.

    Attributes are scaled to 0..1 by the sample of the real rows; a category is its place in the alphabet. The
    distance of two rows is Euclidean.
    """
    rows = min(SAMPLE, real.record_count, other.record_count)
    samples = [table.take(rng.choice(table.record_count, rows, replace=False)) for table in (real, other)]
    scaled = _scaled(*samples)
    places = combinations(range(len(real.domain)), k)
    return float(np.mean([wasserstein(*(side[:, list(chosen)] for side in scaled)) for chosen in places]))


def wasserstein(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """The distance between two sets of as many points, shape (N, k): the mean over their best pairing."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    if left.shape[1] == 1:
        return float(np.abs(np.sort(left[:, 0]) - np.sort(right[:, 0])).mean())
    distances = cdist(left, right)
    return float(distances[linear_sum_assignment(distances)].mean())


def _scaled(real: Table, other: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    decoded = [decode_table(table, np.random.default_rng(0)) for table in (real, other)]
    columns = [
        _on_one_scale(*(side[attribute.name] for side in decoded), isinstance(attribute, NumericAttribute))
        for attribute in real.domain.attributes
    ]
    left, right = (np.column_stack(side) for side in zip(*columns, strict=True))
    return left, right


def _on_one_scale(real: Any, other: Any, number: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if number:
        left, right = (np.asarray(side, dtype=np.float64) for side in (real, other))
    else:
        both = np.unique(np.concatenate([real, other]).astype(str), return_inverse=True)[1].astype(np.float64)
        left, right = both[: len(real)], both[len(real) :]
    low, wide = left.min(), np.ptp(left) or 1.0
    return (left - low) / wide, (right - low) / wide
