"""The tables of docs/families.md, in Markdown: `mosaic` beside the best other mechanism, cell by cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping

from families_cell import Cell, Figures
from families_shown import OURS, Means, compared, gain, means_of, summary
from tables import VARIANTS

PROTOCOLS = {"trusted": "One party, central noise", "masked": "2 x 2 parties, `masked`"}
SUMMARY = "All cells of both tables, by epsilon"
AGAINST = "The same beside each mechanism alone, all epsilons"
SECONDS = "Processor seconds of a release, one party, epsilon 1"
GAINS = "Share of the gain of accuracy that the exact structure brings, epsilon 1"
WORST = "Narrow tables: distance of the two dependent numbers in ten releases, epsilon 1"

All = Mapping[tuple[str, str, float], Means]
Lines = list[list[str]]


def markdown(results: Iterable[tuple[Cell, Figures]]) -> str:
    """All tables of which there are cells, each under its title."""
    results = list(results)
    narrow = {cell.variant for cell, found in results if "strongest" in found}
    means = means_of((cell, found) for cell, found in results if cell.variant not in narrow)
    tables = {title: _ratios(means, protocol) for protocol, title in PROTOCOLS.items()}
    tables |= {SUMMARY: _summary(means), AGAINST: _against(means)}
    tables |= {SECONDS: _seconds(means), GAINS: _gains(means)}
    tables |= {WORST: _worst((cell, found) for cell, found in results if cell.variant in narrow)}
    return "\n\n".join(_table(title, lines) for title, lines in tables.items() if len(lines) > 1)


def _ratios(means: All, protocol: str) -> Lines:
    """A line for each variant: ratios of both distances and the difference of accuracy, at each epsilon."""
    epsilons = sorted({epsilon for _, of, epsilon in means if of == protocol})
    figures = ("pairs", "triples", "accuracy")
    lines = [["table", *(f"{figure} {epsilon:g}" for figure in figures for epsilon in epsilons)]]
    for variant in dict.fromkeys(variant for variant, of, _ in means if of == protocol):
        found = [means.get((variant, protocol, epsilon), {}) for epsilon in epsilons]
        lines.append([variant, *(_beside(one, figure) for figure in figures for one in found)])
    return lines


def _beside(found: Means, figure: str) -> str:
    beside = compared(found, figure, max if figure == "accuracy" else min)
    if beside is None:
        return ""
    if figure == "accuracy":
        return f"{beside.ours - beside.best:+.3f} {beside.name}"
    return f"{beside.ratio:.2f} {beside.name}"


def _summary(means: All) -> Lines:
    """A line for each figure of all cells, a column for each epsilon."""
    epsilons = sorted({epsilon for _, protocol, epsilon in means if protocol})
    found = [
        summary(of for (_, protocol, at), of in means.items() if protocol and at == epsilon)
        for epsilon in epsilons
    ]
    return _columns([f"{epsilon:g}" for epsilon in epsilons], found)


def _against(means: All) -> Lines:
    """A line for each figure of all cells, a column for each other mechanism."""
    cells = [of for (_, protocol, _), of in means.items() if protocol]
    others = sorted({name for of in cells for name in of} - {OURS})
    found = [
        summary({name: of[name] for name in (OURS, other) if name in of} for of in cells) for other in others
    ]
    return _columns(others, found)


def _columns(names: list[str], found: list[dict[str, str]]) -> Lines:
    lines = [["", *names]]
    for figure in dict.fromkeys(figure for one in found for figure in one):
        lines.append([figure, *(one.get(figure, "") for one in found)])
    return lines


def _seconds(means: All) -> Lines:
    """A line for each variant, a column for each mechanism."""
    groups = {variant: found for (variant, *rest), found in means.items() if rest == ["trusted", 1.0]}
    names = sorted(
        {name for found in groups.values() for name in found}, key=lambda name: (name != OURS, name)
    )
    lines = [["table", *names]]
    for variant, found in groups.items():
        seconds = [found.get(name, {}).get("cpu_seconds") for name in names]
        lines.append([variant, *("" if value is None else f"{value:.0f}" for value in seconds)])
    return lines


def _gains(means: All) -> Lines:
    """A line for each variant with a structure, a column for each protocol."""
    lines = [["table", *PROTOCOLS.values()]]
    for variant in dict.fromkeys(variant for variant, *_ in means):
        references = means.get((variant, "", 0), {})
        ours = [means.get((variant, protocol, 1.0), {}).get(OURS, {}) for protocol in PROTOCOLS]
        shares = [gain(one, references, "accuracy") for one in ours]
        if any(share is not None for share in shares):
            lines.append([variant, *("" if share is None else f"{share:.2f}" for share in shares)])
    return lines


def _worst(results: Iterable[tuple[Cell, Figures]]) -> Lines:
    """A line for each variant: the median of our releases and the worst, which no mean hides."""
    found: dict[str, list[float]] = {}
    for cell, figures in results:
        if cell.mechanism == OURS and cell.epsilon == 1 and cell.protocol == "trusted":
            found.setdefault(cell.variant, []).append(figures["strongest"])
    lines = [["table", "rows", "median", "worst", "worst / median"]]
    for variant, distances in found.items():
        middle, worst = statistics.median(distances), max(distances)
        rows = f"{VARIANTS[variant].rows:,}"
        lines.append([variant, rows, f"{middle:.3f}", f"{worst:.3f}", f"{worst / middle:.2f}"])
    return lines


def _table(title: str, lines: Lines) -> str:
    first, *others = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([f"**{title}**", "", first, f"|{' --- |' * len(lines[0])}", *others])
