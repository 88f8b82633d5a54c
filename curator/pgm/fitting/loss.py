"""The loss of a model's marginals: weighted squared distances to the measurements."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.errors import ModelError
from ....common.measurement import Measurement

Array = NDArray[np.float64]

_LEAST_CELL = 1e-250
"""Smallest value of a cell without a measurement, so that logarithms exist."""


@dataclass(frozen=True, eq=False)
class BoxSums:
    """Measured sums over boxes, or over groups of codes, of one clique's cells.

    Attributes:
        view: what was measured.
        cells: position of the clique's cells among those of all cliques.
        labels: shape (n_r,): the sum of each cell; `len(values)` outside all boxes.
        values: shape (sums,): the measured sums.
        weight: one over the variance of each sum, shape (sums,) if they differ.
    """

    view: View
    cells: slice
    labels: NDArray[np.int64]
    values: Array
    weight: Array | float

    def sums(self, cells: Array) -> Array:
        """The sum of all cliques' cells over each box."""
        return np.asarray(np.bincount(self.labels, cells[self.cells], len(self.values) + 1)[:-1], dtype=float)

    def at_cells(self, sums: Array, outside: float = 0.0) -> Array:
        """For each of the clique's cells the value of its box."""
        return np.append(sums, outside)[self.labels]


@dataclass(frozen=True, eq=False)
class QuadraticLoss:
    """The weighted squared distance between the marginals of a model and the measurements.

    Attributes:
        cliques: distinct, each measured at least once.
        shapes: of each clique.
        values: shape (n,): measured cells of all cliques, one clique after another.
        weights: shape (n,): one over the variance of each cell; 0 where only sums over boxes were measured.
        boxes: these sums, one entry for each clique and partition of it, into boxes or by groups of codes.
    """

    cliques: tuple[Clique, ...]
    shapes: tuple[tuple[int, ...], ...]
    values: Array
    weights: Array
    boxes: tuple[BoxSums, ...] = ()

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement]) -> QuadraticLoss:
        """Merge measurements of the same sums, weighted by one over the variance.

        A measurement of the empty clique only determines the total, and is ignored.

        Raises:
            DataError: a clique names an unknown attribute, boxes overlap or leave the domain, or groups do
                not fit.
            ModelError: a clique is not in domain order, or a measurement has another number of cells.
        """
        sums: dict[View, Array] = {}
        weights: dict[View, Array | float] = {}
        for measurement in measurements:
            _check(domain, measurement)
            view = measurement.view
            weight = (measurement.sigma if measurement.sigmas is None else measurement.sigmas) ** -2
            if view.clique:
                sums[view] = sums.get(view, 0.0) + weight * measurement.values
                weights[view] = weights.get(view, 0.0) + weight
        cliques = tuple(dict.fromkeys(view.clique for view in sums))
        shapes = tuple(domain.shape(clique) for clique in cliques)
        stops = np.cumsum([0, *(math.prod(shape) for shape in shapes)]).tolist()
        cells = {c: slice(a, b) for c, a, b in zip(cliques, stops, stops[1:], strict=False)}
        values, of_cells, coarse = np.zeros(stops[-1]), np.zeros(stops[-1]), []
        for view, weighted in sums.items():
            weight, at = weights[view], cells[view.clique]
            if view.is_plain:
                values[at], of_cells[at] = weighted / weight, weight
            else:
                coarse.append(BoxSums(view, at, view.labels(domain), weighted / weight, weight))
        return cls(cliques, shapes, values, of_cells, tuple(coarse))

    def of_marginals(self, marginals: Array) -> float:
        """Half the sum over all measured cells and sums of weight x (marginal - value)^2."""
        step = marginals - self.values
        loss = 0.5 * dot(step, self.weights * step)
        for coarse in self.boxes:
            over = coarse.sums(marginals) - coarse.values
            loss += 0.5 * dot(over, np.asarray(coarse.weight * over))
        return loss

    def gradient(self, marginals: Array) -> Array:
        """Its gradient with respect to the marginals, shape (n,)."""
        slope = self.weights * (marginals - self.values)
        for coarse in self.boxes:
            over = coarse.weight * (coarse.sums(marginals) - coarse.values)
            slope[coarse.cells] += coarse.at_cells(over)
        return slope

    def bend(self, marginals: Array) -> Array:
        """Row sums of its Hessian in log-marginals, shape (n,): weight x cell x (cell or its box)."""
        rows = self.weights * marginals**2
        for coarse in self.boxes:
            cells = marginals[coarse.cells]
            rows[coarse.cells] += cells * coarse.at_cells(coarse.weight * coarse.sums(marginals))
        return rows

    @property
    def largest_weight(self) -> float:
        """Largest weight of a cell or a sum."""
        return max([float(self.weights.max()), *(float(np.max(coarse.weight)) for coarse in self.boxes)])

    @property
    def count(self) -> int:
        """Number of measured cells and sums."""
        return int(np.count_nonzero(self.weights)) + sum(len(coarse.values) for coarse in self.boxes)

    def part_of(self, cliques: Collection[Clique]) -> QuadraticLoss:
        """The loss of only these cliques, of the same marginals."""
        sizes = [math.prod(shape) for shape in self.shapes]
        inside = np.repeat([clique in cliques for clique in self.cliques], sizes)
        boxes = tuple(coarse for coarse in self.boxes if coarse.view.clique in cliques)
        return replace(self, weights=np.where(inside, self.weights, 0.0), boxes=boxes)

    def without(self, excluded: NDArray[np.bool_] | None) -> QuadraticLoss:
        """The loss of the other cells.

        Args:
            excluded: shape (n,), cells that are zero in every model; None for none.
        """
        if excluded is None:
            return self
        boxes = tuple(
            replace(coarse, labels=np.where(excluded[coarse.cells], len(coarse.values), coarse.labels))
            for coarse in self.boxes
        )
        return replace(self, weights=np.where(excluded, 0.0, self.weights), boxes=boxes)

    def measured_and_modelled(self, marginals: Array, least: float) -> tuple[Array, Array]:
        """The measurements as marginals: cells as they are, sums over boxes distributed as in the model.

        Args:
            marginals: shape (n,), of a model.
            least: cells and sums are raised to this many standard deviations of their noise.

        Returns:
            the measured marginals and the model's, both raised to this minimum.
        """
        single = self.weights > 0
        floor = np.where(single, least / np.sqrt(np.where(single, self.weights, 1.0)), _LEAST_CELL)
        for coarse in self.boxes:
            sizes = np.bincount(coarse.labels, minlength=len(coarse.values) + 1)
            floors = np.broadcast_to(least / np.sqrt(coarse.weight), coarse.values.shape)
            share = coarse.at_cells(floors, _LEAST_CELL) / sizes[coarse.labels]
            floor[coarse.cells] = np.where(single[coarse.cells], floor[coarse.cells], share)
        modelled = np.maximum(marginals, floor)
        measured = np.where(single, np.maximum(self.values, floor), modelled)
        for coarse in self.boxes:
            wanted = np.maximum(coarse.values, least / np.sqrt(coarse.weight))
            ratios = wanted / np.maximum(coarse.sums(measured), _LEAST_CELL)
            ratio = np.where(single[coarse.cells], 1.0, coarse.at_cells(ratios, 1.0))
            measured[coarse.cells] *= ratio
        return measured, modelled


def minimum_variance_total(measurements: Sequence[Measurement]) -> float:
    """The minimum variance estimate of the number of records from the sums of measurements; at least 1.

    A sum of n cells has variance n sigma^2; sums are weighted by one over it. Without measurements it is 1.
    Sums over boxes are ignored, since boxes may leave cells out; so are interactions, which sum to zero.
    """
    measurements = [found for found in measurements if not (found.view.boxes or found.view.interaction)]
    if not measurements:
        return 1.0
    weights = [1.0 / (len(measurement.values) * measurement.sigma**2) for measurement in measurements]
    sums = [float(measurement.values.sum()) for measurement in measurements]
    return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))


def split(vector: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Views of a vector as arrays of these shapes, one after another."""
    views, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        views.append(vector[start:stop].reshape(shape))
        start = stop
    return views


def dot(left: Array, right: Array) -> float:
    """The inner product of two vectors, without BLAS: its threads take milliseconds if cores are busy."""
    return float(np.sum(left * right))


def _check(domain: Domain, measurement: Measurement) -> None:
    view = measurement.view
    clique = view.clique
    if domain.canonical(clique) != clique:
        raise ModelError(
            f"expected the clique {domain.canonical(clique)} in domain order, found {clique}; "
            "measure it in that order"
        )
    if view.interaction:
        raise ModelError(f"the interaction of {clique} is no marginal; add it to one")
    view.check(domain)
    expected = view.size(domain)
    if len(measurement.values) != expected:
        of_what = "sums over boxes" if view.boxes else "cells of groups" if view.groups else "cells"
        raise ModelError(
            f"expected {expected} {of_what} for {clique}, found {len(measurement.values)}; "
            "measure it on the model's domain"
        )
