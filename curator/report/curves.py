"""Charts of curves of survival: the real one, the synthetic one, and the band that the release has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH

_CURVE_STEPS = 160
"""Steps of a curve that are drawn, at most."""

Steps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times, increasing, and the share that is left after each."""

Ends = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Times, increasing, and the least and the largest share that may be left at each."""


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
        band: the band, as a closed SVG path; empty without one.
    """

    name: str
    note: str
    real: str
    synthetic: str
    low: str
    high: str
    least: str
    band: str = ""


def curve_chart(
    name: str, note: str, real: Steps, synthetic: Steps, band: Ends | None = None
) -> CurveChart | None:
    """The chart of two curves that begin at 1; None if one of them has no step.

    Args:
        name: of what.
        note: a line below it.
        real: the real curve.
        synthetic: the synthetic one.
        band: where the real one is, if that is known. Between two times it is at most what may be left at
            the first, and at least what is left at the second.
    """
    if not len(real[0]) or not len(synthetic[0]):
        return None
    times = np.concatenate([real[0], synthetic[0]])
    low, high = float(times.min()), float(times.max())
    least = float(min(real[1].min(), synthetic[1].min()))

    def across(at: NDArray[np.float64]) -> list[float]:
        return list(map(float, np.clip((at - low) / max(high - low, 1e-300), 0, 1) * COLUMNS_WIDTH))

    def down(left: NDArray[np.float64]) -> list[float]:
        return list(map(float, np.clip((1 - left) / max(1 - least, 1e-300), 0, 1) * COLUMNS_HEIGHT))

    def path(steps: Steps) -> str:
        at, left = steps
        shown = np.unique(np.linspace(0, len(at) - 1, min(len(at), _CURVE_STEPS)).astype(int))
        moves = [f"H{x:.2f}V{y:.2f}" for x, y in zip(across(at[shown]), down(left[shown]), strict=True)]
        return f"M0 0{''.join(moves)}H{COLUMNS_WIDTH:.2f}"

    def around(ends: Ends) -> str:
        at, least_left, most_left = ends
        top = zip(across(at), down(most_left), strict=True)
        bottom = list(zip(across(np.append(low, at[:-1])), down(least_left), strict=True))
        above = "".join(f"H{x:.2f}V{y:.2f}" for x, y in top)
        below = "".join(f"V{y:.2f}H{x:.2f}" for x, y in reversed(bottom))
        return f"M0 0{above}{below}Z"

    return CurveChart(
        name,
        note,
        path(real),
        path(synthetic),
        f"{low:g}",
        f"{high:g}",
        f"{least:.0%}",
        "" if band is None else around(band),
    )
