"""Charts of curves of survival: the real one and the synthetic one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH

_CURVE_STEPS = 160
"""Steps of a curve that are drawn, at most."""

Steps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times, increasing, and the share that is left after each."""


@dataclass(frozen=True)
class CurveChart:
    """The chart of two curves.

    Attributes:
        name: of what.
        note: a line below it.
        real: the real curve as an SVG path.
        synthetic: the synthetic one.
        low: label at the left end.
        high: label at the right end.
        least: label of the lower end.
    """

    name: str
    note: str
    real: str
    synthetic: str
    low: str
    high: str
    least: str


def curve_chart(name: str, note: str, real: Steps, synthetic: Steps) -> CurveChart | None:
    """The chart of two curves that begin at 1; None if one of them has no step."""
    if not len(real[0]) or not len(synthetic[0]):
        return None
    times = np.concatenate([real[0], synthetic[0]])
    low, high = float(times.min()), float(times.max())
    least = float(min(real[1].min(), synthetic[1].min()))

    def path(steps: Steps) -> str:
        at, left = steps
        shown = np.unique(np.linspace(0, len(at) - 1, min(len(at), _CURVE_STEPS)).astype(int))
        across = (at[shown] - low) / max(high - low, 1e-300) * COLUMNS_WIDTH
        down = (1 - left[shown]) / max(1 - least, 1e-300) * COLUMNS_HEIGHT
        moves = [f"H{x:.2f}V{y:.2f}" for x, y in zip(across.tolist(), down.tolist(), strict=True)]
        return f"M0 0{''.join(moves)}H{COLUMNS_WIDTH:.2f}"

    return CurveChart(name, note, path(real), path(synthetic), f"{low:g}", f"{high:g}", f"{least:.0%}")
