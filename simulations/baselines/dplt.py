"""DPLT: vertical parties summarise groups of their attributes by latent attributes, joined by a tree.

Source: Tang et al., "Differentially private publication of vertically partitioned data" (2019), after its
published description: latent attributes derived from each local table, a tree over them, and noise that
parties add jointly, as one trusted place would.

All parties hold the same records, so their costs add up: 30 % for pairs within parties, 40 % for the groups'
tables, 30 % for pairs of latent attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.categorical import CodedAttribute
from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from ...common.data.view import View
from ...common.privacy.budget import Budget
from ...curator.measurers.measurer import Query
from ...curator.people.drawing.conditional import mutual_information
from ..parties.partition import Grid
from .baseline import Array, Baseline, FloatMeasurer, vertical_parties

PAIRS_SHARE, GROUPS_SHARE, LATENT_SHARE = Fraction(3, 10), Fraction(2, 5), Fraction(3, 10)
LATENT_CLASSES = 4
"""Number of values of a latent attribute."""
_LARGEST_GROUP = 4
_MOST_CELLS = 256
_CLASS_STEPS = 100


@dataclass(frozen=True, eq=False)
class _Group:
    """Attributes of one party with their latent attribute.

    Attributes:
        clique: the attributes.
        counts: noisy and not negative, shape (cells,).
        classes: the value of the latent attribute in each cell, shape (cells,).
    """

    clique: Clique
    counts: Array
    classes: NDArray[np.int64]


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """Rows drawn from the tree; parties measure as this module says, `protocol` is ignored.

    Raises:
        DataError: there is more than one slice.
    """
    parties = vertical_parties("dplt", table, grid)
    granted = budget.granted(gaussian_only=True)
    share = granted / len(parties)
    groups: list[_Group] = []
    for number, columns in enumerate(parties):
        rng = stream.child("party", str(number)).generator()
        groups += _groups(
            columns, FloatMeasurer(columns, share * (PAIRS_SHARE + GROUPS_SHARE), rng), share, rng
        )
    rng = stream.child("latent").generator()
    latent = _latent_table(table, groups)
    pairs = list(combinations(latent.domain.names, 2))
    joints: dict[tuple[str, str], Array] = {}
    if pairs:
        measurer = FloatMeasurer(latent, granted * LATENT_SHARE, rng)
        part = granted * LATENT_SHARE / len(pairs)
        found = measurer.measure([Query(View(pair), part, "latent pairs") for pair in pairs])
        for pair, measured in zip(pairs, found, strict=True):
            joints[pair] = np.maximum(measured.values, 0.0).reshape(latent.domain.shape(pair))
    return _rows(table.domain, groups, joints, table.record_count, stream.child("rows").generator())


def _groups(
    columns: Table, measurer: FloatMeasurer, share: Fraction, rng: np.random.Generator
) -> list[_Group]:
    """A party's attributes in groups of correlated ones, with their latent attributes."""
    domain = columns.domain
    cliques = _group_by_information(domain, measurer, share * PAIRS_SHARE)
    part = share * GROUPS_SHARE / len(cliques)
    measured = measurer.measure([Query(View(clique), part, "groups") for clique in cliques])
    groups = []
    for clique, found in zip(cliques, measured, strict=True):
        counts = np.maximum(found.values, 0.0)
        if counts.sum() <= 0:
            counts = np.ones_like(counts)
        groups.append(_Group(clique, counts, _classes(counts.reshape(domain.shape(clique)), rng)))
    return groups


def _group_by_information(domain: Domain, measurer: FloatMeasurer, rho: Fraction) -> list[Clique]:
    """Attributes grouped by noisy mutual information, largest first, while the groups' tables are small."""
    pairs = list(combinations(domain.names, 2))
    if not pairs:
        return [domain.names]
    part = rho / len(pairs)
    found = measurer.measure([Query(View(pair), part, "pairs") for pair in pairs])
    close = {
        pair: mutual_information(measured.values.reshape(domain.shape(pair)))
        for pair, measured in zip(pairs, found, strict=True)
    }
    groups = {name: frozenset((name,)) for name in domain.names}
    for first, second in sorted(pairs, key=lambda pair: -close[pair]):
        joined = groups[first] | groups[second]
        if len(joined) <= _LARGEST_GROUP and domain.cells(joined) <= _MOST_CELLS:
            groups |= dict.fromkeys(joined, joined)
    return [domain.canonical(group) for group in dict.fromkeys(groups.values())]


def _classes(counts: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """The most likely class of each cell, by a latent class model fitted by expectation maximisation."""
    classes = min(LATENT_CLASSES, counts.size)
    weights = counts.ravel() / counts.sum()
    codes = np.indices(counts.shape).reshape(counts.ndim, -1)
    prior = np.full(classes, 1 / classes)
    given = [rng.dirichlet(np.ones(size), classes) for size in counts.shape]
    for _ in range(_CLASS_STEPS):
        posterior = _posterior(prior, given, codes)
        weighted = posterior * weights
        prior = weighted.sum(axis=1)
        given = [
            np.array([np.bincount(code, each, minlength=size) for each in weighted]) + 1e-9
            for code, size in zip(codes, counts.shape, strict=True)
        ]
        given = [table / table.sum(axis=1, keepdims=True) for table in given]
    return np.asarray(np.argmax(_posterior(prior, given, codes), axis=0), dtype=np.int64)


def _posterior(prior: Array, given: Sequence[Array], codes: NDArray[np.int64]) -> Array:
    """P(class | cell), shape (classes, cells)."""
    joint = np.repeat(prior[:, None], codes.shape[1], axis=1)
    for table, code in zip(given, codes, strict=True):
        joint = joint * table[:, code]
    total = joint.sum(axis=0)
    return np.asarray(np.divide(joint, total, out=np.full_like(joint, 1 / len(prior)), where=total > 0))


def _latent_table(table: Table, groups: Sequence[_Group]) -> Table:
    """Every record's latent attributes, `latent0`, `latent1`, ..."""
    domain = Domain(tuple(CodedAttribute(f"latent{number}", LATENT_CLASSES) for number in range(len(groups))))
    columns = [
        group.classes[table.cell_codes(group.clique, 0, table.record_count)].astype(np.uint8)
        for group in groups
    ]
    return Table(domain, tuple(columns))


def _rows(
    domain: Domain,
    groups: Sequence[_Group],
    joints: dict[tuple[str, str], Array],
    count: int,
    rng: np.random.Generator,
) -> Table:
    """Rows: the latent attributes along the tree, then each group's cell given its latent attribute."""
    columns: dict[str, NDArray[np.int64]] = {}
    drawn: dict[int, NDArray[np.int64]] = {}
    for place, parent in _tree(len(groups), joints):
        group = groups[place]
        own: Array = np.bincount(group.classes, weights=group.counts, minlength=LATENT_CLASSES).astype(
            np.float64
        )
        if parent is None:
            drawn[place] = rng.choice(LATENT_CLASSES, size=count, p=own / own.sum())
        else:
            drawn[place] = _draw_given(_joint(joints, parent, place), own, drawn[parent], rng)
        by_class = np.zeros((LATENT_CLASSES, len(group.counts)))
        by_class[group.classes, np.arange(len(group.counts))] = group.counts
        cells = _draw_given(by_class, group.counts, drawn[place], rng)
        columns |= dict(zip(group.clique, np.unravel_index(cells, domain.shape(group.clique)), strict=True))
    return Table.from_codes(domain, np.column_stack([columns[name] for name in domain.names]))


def _tree(groups: int, joints: dict[tuple[str, str], Array]) -> list[tuple[int, int | None]]:
    """A maximum spanning tree by mutual information: (place, parent), parents first."""
    order: list[tuple[int, int | None]] = [(0, None)]
    best = {place: (mutual_information(_joint(joints, 0, place)), 0) for place in range(1, groups)}
    while best:
        place = max(best, key=lambda other: best[other][0])
        order.append((place, best.pop(place)[1]))
        for other, (known, _) in best.items():
            found = mutual_information(_joint(joints, place, other))
            if found > known:
                best[other] = (found, place)
    return order


def _joint(joints: dict[tuple[str, str], Array], first: int, second: int) -> Array:
    """The measured table of two latent attributes, the first along the rows."""
    if first < second:
        return joints[f"latent{first}", f"latent{second}"]
    return joints[f"latent{second}", f"latent{first}"].T


def _draw_given(
    joint: Array, overall: Array, given: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """One draw for each entry of `given`, from its row of the table, or from `overall` if it is empty."""
    rows = np.where(joint.sum(axis=1, keepdims=True) > 0, joint, overall)
    levels = np.cumsum(rows, axis=1)
    levels /= levels[:, -1:]
    drawn = np.empty(len(given), dtype=np.int64)
    for value in range(len(rows)):
        wanted = given == value
        drawn[wanted] = np.searchsorted(levels[value], rng.random(int(wanted.sum())), side="right")
    chosen: NDArray[np.int64] = np.minimum(drawn, rows.shape[1] - 1)
    return chosen


DPLT = Baseline(
    "DPLT",
    "Parties that hold the same records summarise groups of their attributes by latent attributes, joined by "
    "a tree.",
    (
        "The budget is split 30 : 40 : 30 over pairs within parties, tables of groups, and pairs of latent "
        "attributes, by zero-concentrated accounting; parties share the first two evenly.",
        "Groups have at most four attributes and 256 cells, and are formed by noisy mutual information.",
        "A latent attribute has four classes, from a latent class model of a group's noisy table; it is a "
        "function of the group's cell, while the authors draw it.",
        "All pairs of latent attributes are measured; the authors measure fewer, by an index over the tree.",
        "Noise is that of one trusted place; the noise that the authors' parties draw jointly is the same.",
    ),
    release,
)
