"""The tables that `families.py` prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from families_cell import REFERENCES, Cell, Figures

OURS = "mosaic"
WANTED = 0.95
"""Wanted ratio of an error to the best other mechanism's."""

ALLOWED = 0.01
"""Allowed loss of accuracy."""

Means = Mapping[str, Figures]


@dataclass(frozen=True)
class Compared:
    """A figure of `mosaic` beside the best other mechanism's, for one table, protocol and epsilon.

    Attributes:
        ours: mean over seeds.
        best: of the best other mechanism.
        name: of that mechanism.
    """

    ours: float
    best: float
    name: str

    @property
    def ratio(self) -> float:
        """Ours divided by the best."""
        return self.ours / self.best if self.best else 1.0 if self.ours == self.best else float("inf")


def show(results: Iterable[tuple[Cell, Figures]]) -> None:
    """Prints each mechanism's means, then `mosaic` beside the best other one, its gains and the summary."""
    means = means_of(results)
    for group, found in means.items():
        print("\n" + " ".join([group[0], group[1], f"epsilon {group[2]:g}" if group[1] else "references"]))
        for name, of in found.items():
            print(f"  {name:16} {_figures(of)}")
        references = means[group[0], "", 0]
        if OURS in found and group[1]:
            _show_ours(found, references)
    _show_summary([found for group, found in means.items() if group[1]])


def means_of(results: Iterable[tuple[Cell, Figures]]) -> dict[tuple[str, str, float], Means]:
    """For each variant, protocol and epsilon the means of each mechanism over seeds."""
    groups: dict[tuple[str, str, float], dict[str, list[Figures]]] = defaultdict(lambda: defaultdict(list))
    for cell, found in results:
        groups[cell.variant, cell.protocol, cell.epsilon][cell.mechanism].append(found)
    return {group: {name: mean(of) for name, of in found.items()} for group, found in groups.items()}


def mean(found: list[Figures]) -> Figures:
    """The mean of each figure over seeds; failed if one of them is."""
    failed = [one["failed"] for one in found if "failed" in one]
    if failed:
        return {"failed": failed[0]}
    return {
        name: None if found[0][name] is None else float(np.mean([one[name] for one in found]))
        for name in found[0]
    }


def compared(found: Means, figure: str, better: Callable[..., float] = min) -> Compared | None:
    """`mosaic` beside the best other mechanism by one figure; None if one of the two has none.

    Args:
        found: the figures of each mechanism.
        figure: its name.
        better: `min` for distances, `max` for accuracy.
    """
    known = {name: of[figure] for name, of in found.items() if of.get(figure) is not None}
    ours = known.pop(OURS, None)
    if ours is None or not known:
        return None
    best = better(known.values())
    return Compared(ours, best, next(name for name, value in known.items() if value == best))


def gain(ours: Figures, references: Means, figure: str) -> float | None:
    """The share of the gain of the exact structure over exact pairs that a mechanism has by one figure.

    None if it has no such figure, or the exact structure gains nothing.
    """
    known = [of.get(figure) for of in (ours, *(references.get(name, {}) for name in REFERENCES[1:]))]
    if None in known:
        return None
    value, pairs, structure = (float(one) for one in known if one is not None)
    return (value - pairs) / (structure - pairs) if structure != pairs else None


def _show_ours(found: Means, references: Means) -> None:
    for figure in ("pairs", "triples"):
        if beside := compared(found, figure):
            print(f"  ratio of {figure:10} {beside.ratio:.3f} of {beside.name}")
    if beside := compared(found, "accuracy", max):
        print(f"  accuracy          {beside.ours - beside.best:+.4f} beside {beside.name}")
    gains = {figure: gain(found[OURS], references, figure) for figure in ("accuracy", "triples", "structure")}
    shown = [f"{figure} {value:.2f}" for figure, value in gains.items() if value is not None]
    if shown:
        print(f"  gain              {', '.join(shown)}")


def summary(groups: Iterable[Means]) -> dict[str, str]:
    """`mosaic` beside the best other mechanism in several cells: what each figure is called -> the figure."""
    groups, lines = list(groups), {}
    for figure in ("pairs", "triples"):
        ratios = np.array([beside.ratio for found in groups if (beside := compared(found, figure))])
        if ratios.size:
            lines[f"{figure}, geometric mean"] = f"{np.exp(np.mean(np.log(ratios))):.2f}"
            lines[f"{figure}, at most {WANTED}"] = f"{np.mean(ratios <= WANTED):.0%}"
            lines[f"{figure}, largest"] = f"{ratios.max():.2f}"
    accuracy = [beside for found in groups if (beside := compared(found, "accuracy", max))]
    losses = np.array([beside.best - beside.ours for beside in accuracy])
    if losses.size:
        lines[f"accuracy at least the best less {ALLOWED}"] = f"{np.mean(losses <= ALLOWED):.0%}"
        lines["accuracy, largest loss"] = f"{losses.max():.3f}"
    return lines


def _show_summary(groups: list[Means]) -> None:
    print()
    for name, line in summary(groups).items():
        print(f"{name}: {line}")
    failed = sum("failed" in found.get(OURS, {}) for found in groups)
    print(f"{OURS} without figures: {failed} of {len(groups)} cells")


def _figures(of: Figures) -> str:
    if "failed" in of:
        return str(of["failed"])
    parts = [
        f"{name} {of[name]:.5f}"
        for name in ("pairs", "triples", "structure", "accuracy", "strongest")
        if of.get(name) is not None
    ]
    if "seconds" in of:
        parts.append(f"{of['seconds']:.1f} s  {of['cpu_seconds']:.1f} CPU s  {of['peak_mib']:.0f} MiB")
    return "  ".join(parts)
