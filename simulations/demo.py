"""Demo: two insurers and two clinics release one table, with each protocol, for comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.protocols.registry import INDICATOR, MASKED, TRUSTED
from ..curator.mechanisms.parts.fitted import Report, ignore
from ..curator.report.comparison import ByProtocol
from ..curator.report.page import evaluation_report
from .datasets import randhie
from .evaluation.evaluation import evaluate
from .evaluation.tables import comparison
from .parties.partition import Grid
from .simulate import Simulation, simulate

EPSILON = 1.0
DELTA = 1e-9
TARGET = "hlthg"
"""Attribute that classifiers predict: whether a person's health is good."""


@dataclass(frozen=True)
class Line(ByProtocol):
    """One line of the demo's table.

    Attributes:
        seconds: run time of the whole release.
        result: result of the release.
    """

    seconds: float
    result: Simulation

    def to_json(self) -> dict[str, Any]:
        """The line as JSON values, without the result."""
        return {key: value for key, value in vars(self).items() if key != "result"}


_RUNS = (
    (TRUSTED, "independent", "the baseline: all attributes are independent"),
    (TRUSTED, "mosaic", "one trusted place sees all rows: the accuracy of a central curator"),
    (MASKED, "mosaic", "no party sees rows of another, the curator sees only noisy sums"),
    (
        INDICATOR,
        "mosaic",
        "no role is trusted: pairs within one party are preserved, noise dominates pairs across two",
    ),
)


def run(seed: int | None = None, report: Report = ignore) -> Iterator[Line]:
    """Releases the demo's table once per line, over 2 x 2 parties.

    Args:
        seed: seed for tests.
        report: called after every step of every release.
    """
    table = randhie.load()
    grid = Grid.by_attributes(table.domain, table.record_count, 2, [randhie.INSURER, randhie.CLINIC])
    for protocol, mechanism, meaning in _RUNS:
        result = simulate(
            table,
            epsilon=EPSILON,
            delta=DELTA,
            grid=grid,
            protocol=protocol,
            mechanism=mechanism,
            seed=seed,
            report=report,
        )
        pairs = next(error for error in result.metrics["kway"] if error["k"] == 2)
        yield Line(
            protocol.name, mechanism, meaning, pairs["total_variation"], result.metrics["seconds"], result
        )


def page(lines: Sequence[Line]) -> str:
    """All protocols, and the masked release beside the real table, which is public, as HTML."""
    table = randhie.load()
    result = next(line.result for line in lines if line.protocol == MASKED.name)
    found = evaluate(table, result.rows, target=TARGET)
    compared = replace(comparison(found, table), protocols=tuple(lines))
    return evaluation_report(result.rows, compared, result.certificate)
