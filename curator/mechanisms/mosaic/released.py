"""What is released beside the model: marginals outside it to which rows are adjusted, and unbiased estimates.

Rows are adjusted to measured pairs that do not fit into the model, and to the workload's larger marginals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ....common.data.domain import Clique
from ....common.data.grouping import group_labels, group_sums
from ....common.data.interactions import freedom
from ....common.data.table import Table
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...pgm.model import MarkovRandomField
from ...pgm.rows.refinement import LARGEST_ADJUSTED, MAX_LARGER_CELLS
from ...pgm.supplemented import GroupedMarginal, SupplementedModel
from ..parts.bounds import WeightedAverage
from ..parts.consistency import rake
from .components import Array
from .few_groups import are_few, spread_smoothly
from .knowledge import Knowledge, parts_of
from .settings import SETTINGS

_LARGER_ADJUSTED = 4096
"""Most marginals of three and more attributes that rows are adjusted to; each takes the model a few ms."""


def pairs_outside(known: Knowledge) -> list[Clique]:
    """The pairs that are not in the model and that rows can be adjusted to."""
    inside = {*known.chosen}
    return [
        clique
        for clique in known.in_codes()
        if clique not in inside and len(clique) == 2 and known.domain.cells(clique) <= LARGEST_ADJUSTED
    ]


def pairs_beside(known: Knowledge) -> list[Clique]:
    """The selected pairs beside the model, which are counted in groups."""
    return [clique for clique in known.beside if len(clique) == 2]


def references(views: Sequence[View], rows: Table, records: int) -> list[Array]:
    """The marginals of rows of the model, scaled to the number of records."""
    counts = rows.marginals([view.clique for view in views], [view.groups for view in views])
    return [found.astype(float) * (records / rows.record_count) for found in counts]


def marginals_beside(known: Knowledge, cliques: Sequence[Clique], rows: Table) -> tuple[GroupedMarginal, ...]:
    """The marginals of rows plus the posterior means of these interactions beside the model."""
    views = [known.view(clique) for clique in cliques]
    found = []
    for view, reference in zip(views, references(views, rows, known.records), strict=True):
        effect = replace(known.effects[view], reference=np.maximum(reference, SETTINGS.least_cell))
        counts = np.maximum(effect.estimate(known.records)[0], 0.0)
        scaled = counts * (known.records / counts.sum())
        found.append(GroupedMarginal(view.clique, view.groups, scaled))
    return tuple(found)


def pair_in_groups(
    known: Knowledge, clique: Clique, cells: Array, margins: Sequence[Array]
) -> tuple[Array, GroupedMarginal]:
    """A measured pair: within groups as the model's, or smooth if they are few, with these one-way marginals.

    Args:
        known: what is known of the table.
        clique: a selected pair beside the model.
        cells: its marginal in the model, shape (n_r,).
        margins: the positive one-way marginals of its attributes.
    """
    shape, view = known.domain.shape(clique), known.view(clique)
    reference = np.maximum(group_sums(cells, shape, view.groups), SETTINGS.least_cell)
    effect = replace(known.effects[view], reference=reference)
    ratios = np.maximum(effect.estimate(known.records)[0], SETTINGS.least_cell) / reference
    if are_few(known.domain, view):
        wanted = ratios * reference
        cells = spread_smoothly(cells, view.groups, wanted, margins)
        ratios = wanted / np.maximum(group_sums(cells, shape, view.groups), SETTINGS.least_cell)
    scaled = cells * ratios[group_labels(shape, view.groups)]
    found = rake(scaled, shape, [((axis,), margin) for axis, margin in enumerate(margins)])
    found = np.where(cells > 0, found, 0.0)
    found *= known.records / found.sum()
    return found, GroupedMarginal(clique, view.groups, group_sums(found, shape, view.groups))


def expect_others(model: MarkovRandomField, known: Knowledge, workload: Workload) -> None:
    """Adds the workload's pairs of which nothing is known but what an earlier table leads to expect."""
    named = {pair for clique in workload.cliques for pair in itertools.combinations(clique, 2)}
    pairs = [
        pair
        for pair in sorted(named, key=lambda pair: [known.domain.position(name) for name in pair])
        if View(pair) not in known.effects
        and min(known.domain.shape(pair)) > 1
        and known.domain.cells(pair) <= LARGEST_ADJUSTED
    ]
    for pair, cells in zip(pairs, model.marginals_within_limits(pairs), strict=True):
        if cells is not None:
            known.refer(pair, cells)
    known.learn_sizes()


def supplement_model(model: MarkovRandomField, known: Knowledge, workload: Workload) -> SupplementedModel:
    """The model, supplemented by the measured pairs that are not in it."""
    if known.earlier is not None:
        expect_others(model, known, workload)
    measured = [clique for clique in pairs_outside(known) if known.is_estimated(clique)]
    one_way = zip(known.ones, model.marginals(known.ones), strict=True)
    margins = {clique: np.maximum(marginal, SETTINGS.least_cell) for clique, marginal in one_way}
    pairs = {}
    for clique, cells in zip(measured, model.marginals_within_limits(measured), strict=True):
        if cells is not None:
            effect = replace(known.effects[View(clique)], reference=np.maximum(cells, SETTINGS.least_cell))
            values, _ = effect.estimate(known.records)
            ones = [((axis,), margins[(name,)]) for axis, name in enumerate(clique)]
            found = rake(
                np.where(cells > 0, np.maximum(values, SETTINGS.least_cell), 0.0), effect.shape, ones
            )
            found = np.where(cells > 0, found, 0.0)
            # The lower bounds of cells can sum to more than the number of records.
            pairs[clique] = found * (model.total / found.sum())
    in_groups = []
    beside = [clique for clique in pairs_beside(known) if known.effect(clique).observed is not None]
    for clique, cells in zip(beside, model.marginals_within_limits(beside), strict=True):
        if cells is not None:
            own = [margins[(name,)] for name in clique]
            pairs[clique], grouped = pair_in_groups(known, clique, cells, own)
            in_groups.append(grouped)
    larger = larger_marginals(known, workload, pairs)
    return SupplementedModel(model, pairs, larger, tuple(in_groups))


def larger_marginals(known: Knowledge, workload: Workload, pairs: Collection[Clique]) -> tuple[Clique, ...]:
    """The workload's marginals of three and more attributes to which rows are adjusted, small ones first.

    Those that were measured in groups are others than the model's.
    """
    in_groups = {*known.beside}
    larger = [clique for clique in workload.cliques if len(clique) > 2 and clique not in in_groups]
    sizes = {clique: known.domain.cells(clique) for clique in larger}
    wanted = [
        clique
        for clique in sorted(sizes, key=sizes.__getitem__)
        if sizes[clique] <= LARGEST_ADJUSTED
        and not any(pair in pairs for pair in itertools.combinations(clique, 2))
    ]
    held = itertools.accumulate(len(clique) * sizes[clique] for clique in wanted[:_LARGER_ADJUSTED])
    return tuple(itertools.compress(wanted, (cells <= MAX_LARGER_CELLS for cells in held)))


def unbiased_averages(
    known: Knowledge, cliques: Iterable[Clique], measurements: Sequence[Measurement]
) -> dict[Clique, WeightedAverage]:
    """Unbiased estimates of those marginals whose interactions are all measured.

    Interactions are orthogonal, so the largest variance of their summed noise in any direction is that of the
    noisiest interaction, spread over the cells. This gives the sigma that bounds the L1 norm of the noise.

    Args:
        known: averages of all measurements.
        cliques: cliques of the marginals.
        measurements: all measurements.
    """
    averages = {}
    domain = known.domain
    gaussian = all(measurement.gaussian for measurement in measurements)
    for clique in cliques:
        parts = [part for part in parts_of(clique) if min(domain.shape(part)) > 1]
        shape = domain.shape(clique)
        measured = {part: observed for part in parts if (observed := known.average_of(part)) is not None}
        if len(measured) < len(parts):
            continue
        values, variance = np.full(shape, known.records / math.prod(shape)), 0.0
        for part, observed in measured.items():
            size = domain.cells(part)
            spread = [n if name in part else 1 for name, n in zip(clique, shape, strict=True)]
            share = size / math.prod(shape)
            values = values + observed.values.reshape(spread) * share
            noise = observed.variance / freedom(domain.shape(part))
            variance = max(variance, noise * share)
        if variance > 0:
            averages[clique] = WeightedAverage(values.ravel(), math.sqrt(variance), gaussian)
    return averages
