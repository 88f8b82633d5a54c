"""The experiments of the DP-Select paper: accuracy of a decision tree that learnt from the synthetic table.

Source: DP-Select, chapter 5: a tree of depth 10, trained on the synthetic table and tested on real records
that the release has not seen. Rows are split 4 : 1 : 1; the validation part, by which the paper picks the
GAN's state, is not used here. These compare with private rows: not for publication.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ..common.attribute import NumericAttribute
from ..common.privacy.budget import Budget
from ..common.table import Table
from ..common.workload import Workload
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Progress
from .simulate import simulate

DEPTH = 10
DELTA = 1e-9


EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Method:
    """What makes a synthetic table.

    Attributes:
        name: on the page.
        mechanism: of the catalogue.
        settings: of the mechanism, as for `--set`.
        variant: of the mechanism.
        label_weight: of pairs with the label in the workload, over that of other pairs.
    """

    name: str
    mechanism: str
    settings: Mapping[str, str] = field(default_factory=dict)
    variant: str = "default"
    label_weight: float = 1.0

    def having(self, name: str, **settings: str) -> Method:
        """The method with some settings changed."""
        return replace(self, name=name, settings={**self.settings, **settings})


EXPONENTIAL = Method("DP-Select, exponential", "dp-select", {"reference": "exact", "at_once": "200"})
"""Exponential mechanisms over exact marginals, as in the paper, but for many records at once."""

METHODS = (
    Method("DP-GAN", "dp-gan"),
    Method("DP-Select", "dp-select"),
    Method("DP-Select, label weighted", "dp-select", label_weight=5.0),
    EXPONENTIAL,
    Method("RandDPGen", "randdpgen"),
    Method("RandDPGen, label weighted", "randdpgen", label_weight=5.0),
    Method("AIM", "aim"),
)
"""What is compared; each has the whole budget."""


@dataclass(frozen=True)
class Cell:
    """One release.

    Attributes:
        sweep: the figure that it belongs to.
        epsilon: of the promise, at `DELTA`.
        method: what makes the table.
        seed: of the split and of the release.
    """

    sweep: str
    epsilon: float
    method: Method
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of a cell.

    Attributes:
        accuracy: of the tree on real records, in 0..1.
        majority: accuracy of the most frequent label, the floor of any classifier.
        seconds: of the release, comparing its marginals with the real ones included.
        parts: seconds up to each step that was reported, since the one before.
    """

    accuracy: float
    majority: float
    seconds: float
    parts: Mapping[str, float]


def comparison(epsilons: Sequence[float] = EPSILONS, seeds: Sequence[int] = SEEDS) -> Iterator[Cell]:
    """Figure 5.2, with two mechanisms that measure marginals."""
    for epsilon in epsilons:
        for seed in seeds:
            for method in METHODS:
                yield Cell("comparison", epsilon, method, seed)


def sweeps(epsilon: float = 2.0, seeds: Sequence[int] = SEEDS, quick: bool = False) -> Iterator[Cell]:
    """Figures 5.3 to 5.6: budget ratio, pool, distance, sections; and records of a candidate.

    Args:
        epsilon: of the promise.
        seeds: of the cells.
        quick: the least and the largest value of each alone.
    """
    values: dict[str, tuple[str, ...]] = {
        "gan": ("0.2", "0.4", "0.6", "0.7"),
        "pool": ("1", "5", "10", "20"),
        "distance": ("density", "kolmogorov", "l2"),
        "sections": ("1", "2", "5", "10"),
        "at_once": ("1", "50", "200", "500"),
    }
    for parameter, choices in values.items():
        for choice in (choices[0], choices[-1]) if quick else choices:
            method = EXPONENTIAL.having(f"{parameter}={choice}", **{parameter: choice})
            for seed in seeds:
                yield Cell(parameter, epsilon, method, seed)


QUICK: Mapping[str, str] = {"epochs": "1", "sample_rate": "0.02", "hidden": "16"}
"""Training that shows that everything runs, for `released`; its accuracies say nothing."""


def quick() -> Iterator[Cell]:
    """One seed at one epsilon, for a check of everything; with `QUICK` it takes a second a cell or so."""
    yield from comparison(epsilons=(2.0,), seeds=(1,))
    yield from sweeps(seeds=(1,), quick=True)


def released(cell: Cell, table: Table, label: str, training: Mapping[str, str] | None = None) -> Outcome:
    """Releases a table by the cell's method and trains a tree on it.

    Args:
        cell: what to release.
        table: the real one.
        label: the attribute to predict.
        training: settings of the GAN for methods that have one, as for `--set`.
    """
    order = np.random.default_rng(cell.seed).permutation(table.record_count)
    train = table.take(order[: table.record_count * 4 // 6])
    test = table.take(order[table.record_count * 5 // 6 :])
    method = cell.method
    settings = dict(method.settings)
    if training and method.mechanism in ("dp-gan", "dp-select"):
        settings |= training
    parts = _Parts()
    result = simulate(
        train,
        budget=Budget(cell.epsilon, DELTA),
        protocol="trusted",
        mechanism=mechanism_named(method.mechanism, method.variant, settings),
        workload=_pairs(train, label, method.label_weight),
        seed=cell.seed,
        report=parts,
    )
    majority = float(np.bincount(test.column(label)).max() / test.record_count)
    accuracy = tree_accuracy(result.synthetic, test, label)
    return Outcome(accuracy, majority, result.metrics["seconds"], parts.seconds)


def tree_accuracy(train: Table, test: Table, label: str) -> float:
    """Share of the test rows whose label a decision tree of depth 10 predicts, in 0..1."""
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    tree.fit(_features(train, label), train.column(label))
    return float(tree.score(_features(test, label), test.column(label)))


class _Parts:
    """A report that adds up the time before each step; steps that count something are one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        step = progress.step.partition(":")[0]
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now


def _pairs(table: Table, label: str, label_weight: float) -> Workload:
    pairs = tuple(combinations(table.domain.names, 2))
    return Workload(pairs, tuple(label_weight if label in pair else 1.0 for pair in pairs))


def _features(table: Table, label: str) -> NDArray[np.float32]:
    """Codes of numbers, which are in order, and one column for each category of all others."""
    columns: list[NDArray[Any]] = []
    for attribute, column in zip(table.domain.attributes, table.columns, strict=True):
        if attribute.name == label:
            continue
        if isinstance(attribute, NumericAttribute) or attribute.size == 2:
            columns.append(column[:, None])
        else:
            columns.append(np.eye(attribute.size, dtype=np.float32)[column])
    return np.concatenate(columns, axis=1).astype(np.float32)
