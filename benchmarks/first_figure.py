"""The figure of the README: the public table of its first commands beside a release of it.

The release is that of the README's first screen, with epsilon 1 and no domain, but with a seed, so that it is
the same each time.

Run: python benchmarks/first_figure.py [--out docs/first.svg]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import dpmosaic

HERE = Path(__file__).parent
REAL, SYNTHETIC = "#c2410c", "#2a93a6"
VISITS, SCORE = np.arange(13), np.arange(0, 36, 3)
COINSURANCE = {0.0: "0 %", 3.258096: "25 %", 3.931826: "50 %", 4.564348: "95 %", 4.61512: "100 %"}
"""Logarithm of one more than the share that a person pays -> the share."""

Tables = dict[str, pd.DataFrame]


def beside(axes: Axes, shares: dict[str, np.ndarray], ticks: list[str], title: str) -> None:
    """Shares of both tables as bars beside each other."""
    places = np.arange(len(ticks))
    for shift, (name, values) in zip((-0.2, 0.2), shares.items(), strict=True):
        axes.bar(places + shift, 100 * values, 0.4, label=name, color=REAL if name == "real" else SYNTHETIC)
    axes.set_xticks(places, ticks)
    axes.set_title(title, fontsize="medium", loc="left")
    axes.set_ylabel("% of the rows")


def grid_of(rows: pd.DataFrame) -> np.ndarray:
    """Rows by visits and score, as shares; values beyond the last step count in it."""
    visits = rows["mdvis"].clip(upper=VISITS[-1])
    score = rows["disea"].clip(upper=SCORE[-1] - 1)
    counts, _, _ = np.histogram2d(score, visits, [SCORE, np.append(VISITS, VISITS[-1] + 1)])
    return counts / len(rows)


def drawn(tables: Tables) -> plt.Figure:
    """Three columns, a pair, and how all pairs are correlated."""
    figure, (above, below) = plt.subplots(2, 3, figsize=(10.5, 6), layout="constrained")
    visits = [f"{one}" for one in VISITS[:-1]] + [f"{VISITS[-1]}+"]
    shares = {
        name: np.bincount(rows["mdvis"].clip(upper=VISITS[-1]).astype(int)) / len(rows)
        for name, rows in tables.items()
    }
    beside(
        above[0],
        shares,
        [one if place % 2 == 0 else "" for place, one in enumerate(visits)],
        "Visits to a physician in a year",
    )
    above[0].legend(frameon=False)
    shares = {name: np.histogram(rows["disea"], SCORE)[0] / len(rows) for name, rows in tables.items()}
    beside(above[1], shares, [f"{one}" for one in SCORE[:-1]], "Score of chronic diseases, from")
    shares = {
        name: np.array([np.isclose(rows["lncoins"], one).mean() for one in COINSURANCE])
        for name, rows in tables.items()
    }
    beside(above[2], shares, list(COINSURANCE.values()), "Share that the patient pays")
    for axes, (name, rows) in zip(below[:2], tables.items(), strict=True):
        mesh = axes.pcolormesh(100 * grid_of(rows), cmap="YlGnBu", vmin=0, vmax=5, edgecolors="face")
        axes.set_title(f"Visits and score: {name}", fontsize="medium", loc="left")
        axes.set(xlabel="visits", xticks=VISITS[::3] + 0.5, xticklabels=visits[::3])
        axes.set(ylabel="score, from", yticks=range(0, 11, 2), yticklabels=SCORE[:-1:2])
    figure.colorbar(mesh, ax=below[1], label="% of the rows", extend="max")
    correlations = [rows.corr().to_numpy()[np.triu_indices(rows.shape[1], 1)] for rows in tables.values()]
    below[2].axline((0, 0), slope=1, color="#868e96", linewidth=0.8)
    below[2].scatter(*correlations, s=16, color=SYNTHETIC)
    below[2].set_title("Correlations of all pairs of columns", fontsize="medium", loc="left")
    below[2].set(xlabel="real", ylabel="synthetic")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize="small")
    return figure


def main() -> None:
    """Draws the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "first.svg")
    asked = parser.parse_args()
    real, _ = dpmosaic.load_dataset("randhie")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpmosaic.synthesize(real, epsilon=1.0, seed=1)
    # The same bytes for the same figures.
    matplotlib.rcParams["svg.hashsalt"] = "first"
    figure = drawn({"real": real, "synthetic, epsilon 1": release.table})
    figure.savefig(asked.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
