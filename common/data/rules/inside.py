"""Numbers and dates drawn from those of their bin that have what follows from them; see `Follows`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...later import np
from ..attributes.attribute import even_places
from ..attributes.dates import DateAttribute, GapAttribute, bins_of
from ..attributes.numeric import NumericAttribute
from .follows import Follows
from .pieces import Pieces, pieces_of
from .rule import Rule, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Domain
    from .rule import Codes

_PIECES_AT_ONCE = 2**22
"""At most so many rows times pieces of a bin are compared at once."""


def draw_inside(
    domain: Domain,
    rules: Sequence[Follows],
    codes: Mapping[str, Codes],
    counts: NDArray[np.integer[Any]],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Values of a column, each of those of its bin from which the columns follow that the row has.

    They are distributed as all values of the bin, given that. If the bin has none, as many of the rules hold
    as can, the first ones above all.

    Args:
        domain: of the codes.
        rules: what follows from the column.
        codes: of the column and of those that follow, shape (N,).
        counts: records of each code of the column, by which numbers are spread within bins.
        rng: draws values.
    """
    attribute = domain[rules[0].of]
    bins = bins_of(attribute)
    assert isinstance(attribute, NumericAttribute | DateAttribute)
    assert bins is not None
    pieces, spread = pieces_of(attribute, tuple(rules)), bins.spread
    counts = counts[: spread.size]
    own = codes[attribute.name].astype(np.int64)
    rows = np.flatnonzero(own < spread.size)
    ranks, cells = _ranks(pieces, bins, counts), own[rows]
    wanted = np.stack([codes[rule.column][rows].astype(np.int64) for rule in rules])
    masses, known = np.diff(ranks, axis=1)[:, 0], _codes(domain, rules, pieces)
    chosen = _choose_pieces(pieces, masses, cells, wanted, known, rng.random(len(rows)))
    low, high = ranks[chosen].T
    at = low + rng.random(len(rows)) * (high - low)
    found = spread.shorten(spread.at(cells, counts, at), cells, counts, rng)
    numbers = np.zeros(len(own))
    numbers[rows] = np.clip(found, *pieces.reach[chosen].T)
    return attribute.of_codes(own, numbers)


def rules_by_source(domain: Domain, rules: Iterable[Rule]) -> dict[str, list[Follows]]:
    """The columns from whose drawn values others follow, and these rules, the first ones above all."""
    rules = [*rules]
    setting = in_order(rules)
    computed = {rule.result for rule in setting}
    found: dict[str, list[Follows]] = {}
    # Where not all can hold, what another column sets comes first: the others are set from this one.
    for rule in sorted(rules, key=setting.__contains__):
        if isinstance(rule, Follows) and rule.of not in computed and bins_of(domain[rule.of]) is not None:
            if not isinstance(domain[rule.of], GapAttribute):
                found.setdefault(rule.of, []).append(rule)
    return found


def agreeing(
    domain: Domain, rules: Iterable[Rule], codes: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Codes of rows in which all that follows from one number or date can be true together.

    Where a bin has no number or date from which all follows that a row has, as many of the rules hold as can,
    the first ones above all, and the other columns get what follows.

    Args:
        domain: of the codes.
        rules: of the domain.
        codes: of each column, shape (N,).
    """
    found = dict(codes)
    for of, several in rules_by_source(domain, rules).items():
        if len(several) == 1:
            continue
        pieces = pieces_of(domain[of], tuple(several))
        own = found[of].astype(np.int64)
        rows = np.flatnonzero(own <= pieces.cells[-1])
        wanted = np.stack([found[rule.column][rows].astype(np.int64) for rule in several])
        known, widths = _codes(domain, several, pieces), pieces.reach[:, 1] - pieces.reach[:, 0] + 1
        places = even_places(0, len(rows))
        chosen = known[:, _choose_pieces(pieces, widths, own[rows], wanted, known, places)]
        for rule, held, new in zip(several, wanted, chosen, strict=True):
            changed = (new >= 0) & (new != held) & ~rule.targets(domain).silent[held]
            column = found[rule.column].copy()
            column[rows[changed]] = new[changed]
            found[rule.column] = column
    return found


def _ranks(pieces: Pieces, bins: NumericAttribute, counts: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Where each piece begins and ends among the values of its cell, from 0 to 1; shape (p, 2)."""
    begun = np.append(True, pieces.cells[1:] != pieces.cells[:-1])
    low = np.zeros(len(begun))
    half = 0.0 if bins.lattice is None else bins.lattice.unit / 2
    inner = ~begun
    numbers = pieces.reach[inner, 0] - half
    low[inner] = np.clip(bins.spread.shares_below(pieces.cells[inner], counts, numbers), 0.0, 1.0)
    high = np.where(np.append(begun[1:], True), 1.0, np.append(low[1:], 1.0))
    return np.stack([low, np.maximum(low, high)], axis=1)


def _codes(domain: Domain, rules: Sequence[Follows], pieces: Pieces) -> NDArray[np.int64]:
    """The code of each rule's column that follows in each piece; negative where none does, (rules, p)."""
    found = np.empty(pieces.classes.shape, dtype=np.int64)
    for place, (rule, classes) in enumerate(zip(rules, pieces.classes, strict=True)):
        known, position = np.unique(classes, return_inverse=True)
        held = rule.targets(domain)
        found[place] = np.array([held.code_of(rule.value(one)) for one in known.tolist()])[position]
    return found


def _choose_pieces(
    pieces: Pieces,
    masses: NDArray[np.float64],
    cells: NDArray[np.int64],
    wanted: NDArray[np.int64],
    codes: NDArray[np.int64],
    places: NDArray[np.float64],
) -> NDArray[np.int64]:
    """A piece for each row, shape (N,).

    Args:
        pieces: of all cells.
        masses: the share of its cell that each has, shape (p,).
        cells: of the rows, shape (N,).
        wanted: codes of the columns that follow, shape (rules, N).
        codes: those that follow in each piece, shape (rules, p).
        places: of each row among the pieces that fit, from 0 to 1, shape (N,).
    """
    found = np.zeros(len(cells), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(pieces.cells[-1] + 2))
    firsts = np.searchsorted(pieces.cells, np.arange(pieces.cells[-1] + 2))
    widths = pieces.reach[:, 1] - pieces.reach[:, 0]
    for cell in np.flatnonzero(np.diff(starts)).tolist():
        first, beyond = int(firsts[cell]), int(firsts[cell + 1])
        here = slice(first, beyond)
        step = max(1, _PIECES_AT_ONCE // (beyond - first))
        for begun in range(int(starts[cell]), int(starts[cell + 1]), step):
            rows = order[begun : min(begun + step, int(starts[cell + 1]))]
            alike, position = np.unique(wanted[:, rows], axis=1, return_inverse=True)
            score = np.zeros((alike.shape[1], beyond - first), dtype=np.int64)
            for own, of in zip(alike, codes[:, here], strict=True):
                score = 2 * score + (own[:, None] == of)
            best = score == score.max(axis=1, keepdims=True)
            weights = np.where(best, masses[here], 0.0)
            # Where all that fits is left out by the rhythm, it is as likely as it is long.
            none = weights.sum(axis=1) <= 0
            weights[none] = np.where(best[none], widths[here] + 1.0, 0.0)
            below = np.cumsum(weights, axis=1)
            reached = places[rows] * below[position, -1]
            place = (below[position] <= reached[:, None]).sum(axis=1)
            found[rows] = first + np.minimum(place, beyond - first - 1)
    return found
