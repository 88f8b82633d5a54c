"""Gaps between rows of one parent that add up to what lies between the first of them and the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]
    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]

_SHARES_SHRUNK = (1.5, 1.2, 1.0)
"""How much more than a span gaps may add up to for all to be shrunk; of more, the longest are cut first."""

_EVIDENT = 4.0
"""Another way than the first one is taken where each gap is more likely by so much, as a logarithm."""


def summed_gaps(
    edges: Numbers,
    codes: Codes,
    starts: Places,
    spans: tuple[Numbers, Numbers],
    room: Numbers,
    rng: np.random.Generator,
) -> Numbers:
    """What lies between the first row of its parent and each row, in whole units, shape (N,).

    Gaps are drawn from their bins. Those of a parent that do not add up to its span are shrunk or stretched
    by one factor; where they are far too much, the longest are cut first: noise in a few long ones would make
    most of the others zero. Where most gaps are alike, as where rows come monthly, this would make many of
    them unlike all others. Then they stay in their bins, or the longest alone are cut, or one gets what is
    lacking, whichever leaves the likeliest gaps; where none leaves likely ones, the span gives way.

    Args:
        edges: of the bins of gaps, in units.
        codes: the bin of each gap, -1 of a first row, shape (N,).
        starts: the place of the first row of each parent, shape (parents,).
        spans: the least and the most that may lie between the first row of a parent and the last, in whole
            units, shape (parents,).
        room: the most that may lie between them at all, shape (parents,).
        rng: draws gaps.
    """
    first, later = codes < 0, np.maximum(codes, 0)
    low = np.where(first, 0.0, edges[:-1][later])
    high = np.where(first, 0.0, low + np.maximum(np.round(np.diff(edges)), 1)[later] - 1)
    steps = low + np.floor(rng.random(len(codes)) * (high - low + 1))
    steps[first] = 0.0
    lengths = np.diff(np.append(starts, len(codes)))
    total = np.add.reduceat(steps, starts)
    apart = (lengths > 1) & ((total < spans[0]) | (total > spans[1]))
    if apart.any():
        rows = np.repeat(apart, lengths)
        counts = np.bincount(later[~first], minlength=len(edges) - 1) + 0.5
        likely = np.log(counts / np.maximum(np.diff(edges), 1.0))
        least, most = (one[apart] for one in spans)
        ways = _ways(steps[rows], (low[rows], high[rows]), lengths[apart], (least, most), room[apart], rng)
        steps[rows] = _likeliest(ways, lengths[apart], edges, likely)
    return np.round(_sums_within(steps, starts, lengths))


def _ways(
    steps: Numbers,
    bins: tuple[Numbers, Numbers],
    lengths: Places,
    spans: tuple[Numbers, Numbers],
    room: Numbers,
    rng: np.random.Generator,
) -> list[Numbers]:
    """Gaps that add up to spans, in several ways, each of shape (N,); last those that fit the most alone.

    A way that is none for a parent is the first one again.

    Args:
        steps: gaps that do not add up, 0 of first rows, shape (N,).
        bins: the least and the most that each may be.
        lengths: number of rows of each parent, 2 at least, shape (parents,).
        spans: see `summed_gaps`.
        room: see there.
        rng: draws spans, and chooses a gap.
    """
    starts = np.cumsum(lengths) - lengths
    span = _between(*spans, rng)
    total, low, high = (np.add.reduceat(one, starts) for one in (steps, *bins))
    cut = (cut_to(steps, starts, lengths, share * span) for share in _SHARES_SHRUNK)
    found = [gaps * np.repeat(span / np.maximum(np.add.reduceat(gaps, starts), 1.0), lengths) for gaps in cut]
    nothing, plain = np.repeat(total <= 0, lengths), found[0]
    one = starts + 1 + np.floor(rng.random(len(starts)) * (lengths - 1)).astype(np.int64)
    longer = steps.copy()
    longer[one] += np.maximum(span - total, 0.0)
    found[0] = np.where(nothing, longer, plain)
    found.append(np.where(np.repeat(total < span, lengths), longer, found[0]))
    # Within their bins, each goes the same part of the way to the end.
    least, most = np.maximum(low, spans[0]), np.minimum(high, spans[1])
    wanted = _between(least, np.maximum(most, least), rng)
    up = np.repeat(np.clip((wanted - total) / np.maximum(high - total, 1.0), 0, 1), lengths)
    down = np.repeat(np.clip((total - wanted) / np.maximum(total - low, 1.0), 0, 1), lengths)
    inside = steps + up * (bins[1] - steps) - down * (steps - bins[0])
    found.append(np.where(np.repeat(least <= most, lengths), inside, found[0]))
    found.append(np.where(np.repeat(total <= room, lengths), steps, found[0]))
    return found


def _likeliest(ways: list[Numbers], lengths: Places, edges: Numbers, likely: Numbers) -> Numbers:
    """For each parent, its gaps in the first way, or in another one in which they are evidently likelier.

    Args:
        ways: gaps, 0 of first rows, each of shape (N,).
        lengths: number of rows of each parent, 2 at least, shape (parents,).
        edges: of the bins of gaps.
        likely: the logarithm of the density of gaps in each bin.
    """
    starts = np.cumsum(lengths) - lengths
    scores = []
    for way in ways:
        found = likely[np.searchsorted(edges[1:-1], np.round(way) + 1e-9, "right")]
        found[starts] = 0.0
        scores.append(np.add.reduceat(found, starts) / (lengths - 1))
    best, score = ways[0], scores[0]
    for those, theirs in (([*ways[1:-1]], scores[1:-1]), (ways[-1:], scores[-1:])):
        evident = score + _EVIDENT
        for way, its_score in zip(those, theirs, strict=True):
            better = (its_score > evident) & (its_score > score)
            best = np.where(np.repeat(better, lengths), way, best)
            score = np.where(better, its_score, score)
    return best


def _between(low: Numbers, high: Numbers, rng: np.random.Generator) -> Numbers:
    """Whole numbers between others, evenly, these among them."""
    found: Numbers = low + np.floor(rng.random(len(low)) * (high - low + 1))
    return found


def cut_to(steps: Numbers, starts: Places, lengths: Places, most: Numbers) -> Numbers:
    """Gaps of which the longest of each parent are cut to one length.

    Args:
        steps: the gaps before rows, 0 of first ones, shape (N,).
        starts: places of first rows, shape (parents,).
        lengths: numbers of rows, shape (parents,).
        most: what the gaps of each parent add up to at most, shape (parents,).
    """
    parent = np.repeat(np.arange(len(starts)), lengths)
    rising = steps[np.lexsort((steps, parent))]
    shorter = _sums_within(rising, starts, lengths) - rising
    # From here on, gaps of this parent would be cut; none of a parent whose gaps add up to less.
    others = np.repeat(starts + lengths, lengths) - np.arange(len(steps))
    kept = np.add.reduceat(shorter + others * rising <= np.repeat(most, lengths), starts, dtype=np.int64)
    at = np.minimum(starts + kept, len(steps) - 1)
    cut = np.where(kept < lengths, (most - shorter[at]) / np.maximum(lengths - kept, 1), np.inf)
    found: Numbers = np.minimum(steps, np.repeat(cut, lengths))
    return found


def _sums_within(values: Numbers, starts: Places, lengths: Places) -> Numbers:
    """Sums from the first row of each parent on, shape (N,)."""
    summed: Numbers = np.cumsum(values)
    return summed - np.repeat(summed[starts] - values[starts], lengths)
