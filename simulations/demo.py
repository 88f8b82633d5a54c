"""Two insurers and two clinics publish one table: the same release under each protocol, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..common.privacy.budget import Budget
from ..curator.mechanisms.mechanism import Report, ignore
from . import randhie
from .partition import Grid
from .simulate import simulate

EPSILON = 1.0
DELTA = 1e-9


@dataclass(frozen=True)
class Line:
    """One line of the demo's table.

    Attributes:
        protocol: how marginals were measured.
        mechanism: how they were selected.
        total_variation: average distance of the two-way marginals, in 0..1.
        seconds: of the whole release.
        meaning: in plain words.
    """

    protocol: str
    mechanism: str
    total_variation: float
    seconds: float
    meaning: str


_RUNS = (
    ("trusted", "independent", "the floor: no attribute knows of another"),
    ("trusted", "randdpgen", "one trusted place sees all rows: what a central curator reaches"),
    ("masked", "randdpgen", "nobody sees another's rows, the curator sees noisy sums alone"),
    ("indicator", "randdpgen", "nobody is trusted: pairs inside one party survive, pairs across two drown"),
)


def run(seed: int | None = None, report: Report = ignore) -> Iterator[Line]:
    """Releases the demo's table once for each line, over 2 x 2 parties.

    Args:
        seed: for tests.
        report: called after every step of every release.
    """
    table = randhie.load()
    grid = Grid.by_attributes(table.domain, table.record_count, 2, [randhie.INSURER, randhie.CLINIC])
    for protocol, mechanism, meaning in _RUNS:
        result = simulate(
            table,
            budget=Budget(EPSILON, DELTA),
            grid=grid,
            protocol=protocol,
            mechanism=mechanism,
            seed=seed,
            report=report,
        )
        pairs = next(error for error in result.metrics["kway"] if error["k"] == 2)
        yield Line(protocol, mechanism, pairs["total_variation"], result.metrics["seconds"], meaning)
