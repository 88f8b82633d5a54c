"""The equations of a regression in the real table: their derivative, their solution, and draws of it.

With S the equations' sums at some coefficients and D their derivative there, the real table's coefficients
are a step D^-1 S away. Both are estimated. Where a pair of regressors was not measured, D may be far off, and
an error of S counts as much as D allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..totals import Totals
from .design import Design
from .draws import draw_sums
from .influence import RealTable

Array = NDArray[np.float64]

MOST_NOISE = 0.5
"""Largest relative error of what the other regressors leave of a regressor's variance, for an interval."""

FIRST_ORDER = 0.3
"""Largest relative error of the derivative, in units of each coefficient, for a test."""

_LEAST_VARIANCE = 0.1
"""Regressors of a table have at least this share of the variance, in any direction, that the release has."""

_OF_DERIVATIVE = 0.7
"""What was not measured of D, as a share of what is assumed of it: releases are off by .3 to .45 of that (ADR
164). S counts all of it, since that is meant for strong pairs; of D it matters only where S is off, too."""


FARTHEST_COEFFICIENT = 2.0
"""Largest difference between a coefficient of the release and of the real table: log odds for one standard
deviation."""

NEWTON_STEPS = 25
_SURELY = 2.0
"""Standard errors that the records of a category with either response have to be above zero."""

_STEP_TOLERANCE = 0.1
"""In standard errors of a random sample; sums over the real table are not computed to more than that."""


_LONGEST_STEP = 2.0
"""Steps are lengthened to at most so many times; where shares are all zero or one, there is no end."""

_BEND_HALVINGS = 12


class Link(NamedTuple):
    """How the mean of the response depends on the linear predictor."""

    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]


def _logistic(predictor: Array) -> Array:
    found: Array = 0.5 * (1 + np.tanh(predictor / 2))
    return found


LINEAR = Link(lambda predictor: predictor, lambda predictor: np.ones_like(predictor))
LOGISTIC = Link(_logistic, lambda predictor: _logistic(predictor) * _logistic(-predictor))


@dataclass(frozen=True, eq=False)
class Derivative:
    """By how much the derivative of a regression's equations in the real table differs from the release's.

    Attributes:
        change: shape (p, p); zero where the noise is too large.
        known: for which coefficients it is known, shape (p,).
        settled: for which it is known so well that errors may be taken to first order, shape (p,).
        sums: of products of two regressors, in coordinates in which each coefficient has a unit of variance.
        back: from these coordinates, shape (p, p).
    """

    change: Array
    known: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    sums: Totals
    back: Array

    @classmethod
    def of(cls, real: RealTable, regressors: Array, before: Array, slopes: Array) -> Derivative:
        """The estimated derivative.

        Args:
            real: the table.
            regressors: shape (places, p).
            before: the release's derivative, scaled to the real table's records, shape (p, p).
            slopes: of the link at each place, shape (places,).
        """
        inverse = np.linalg.inv(before)
        rotation = inverse / np.sqrt(inverse.diagonal())
        rotated, back = regressors @ rotation, np.linalg.inv(rotation)
        first, second = np.triu_indices(len(before))
        sums = real.totals(rotated[:, first] * rotated[:, second] * slopes[:, None], covariances=False)
        variances = np.maximum(sums.noise.diagonal() + sums.unexplained.diagonal(), 0)
        errors = _symmetric(np.sqrt(variances))
        # The others keep the derivative of the release, so that they do not spoil the rest.
        known: NDArray[np.bool_] = errors.diagonal() < MOST_NOISE
        settled: NDArray[np.bool_] = (errors * known).max(axis=1) < FIRST_ORDER
        change = back.T @ (_symmetric(sums.values - sums.released) * np.outer(known, known)) @ back
        return cls(change, known, settled, sums, back)

    def errors(self, population: bool) -> Array:
        """Draws of its error about the table, or the population; shape (draws, p, p)."""
        sampled = self.sums.covariance(population) - self.sums.unexplained
        covariance = sampled + _OF_DERIVATIVE**2 * self.sums.unexplained
        drawn = _symmetric(draw_sums(np.zeros(len(covariance)), covariance, stream=1))
        found: Array = self.back.T @ (drawn * np.outer(self.known, self.known)) @ self.back
        return found


def draw_steps(covariance: Array, derivatives: Array, before: Array) -> Array:
    """Draws of the step to the real table's coefficients; shape (draws, p).

    Args:
        covariance: of the errors of the equations' sums, shape (p, p).
        derivatives: draws of the derivative, shape (draws, p, p).
        before: the release's derivative, shape (p, p).
    """
    sums = draw_sums(np.zeros(len(before)), covariance)
    # In units of the release's derivative, a draw that no table has is raised to the least that there is.
    unit = np.linalg.inv(np.linalg.cholesky(before))
    sizes, axes = np.linalg.eigh(unit @ derivatives @ unit.T)
    along = np.einsum("dij,di->dj", axes, sums @ unit.T) / np.maximum(sizes, _LEAST_VARIANCE)
    steps: Array = np.einsum("dij,dj->di", axes, along) @ unit
    return steps


def follow_bends(steps: Array, along: Array, predictor: Array, link: Link) -> Array:
    """Steps of coefficients to where the sums are as far as each step says, if the equations were straight.

    The equations of a logistic regression bend: shares near zero and one hardly change any more. They are
    taken to bend as much as in the release, while the other coefficients follow.

    Args:
        steps: from each coefficient, shape (k, p).
        along: by how much the linear predictor of some rows changes with each of them, shape (rows, p).
        predictor: of these rows, at the coefficients, shape (rows,).
        link: of the response.

    Returns:
        Shape (k, p); at most `_LONGEST_STEP` times as long as the given ones.
    """
    if link is LINEAR:
        return steps
    before, moved = link.mean(predictor)[:, None], steps[:, None, :] * along
    straight = np.einsum("krp,r->kp", moved**2, link.slope(predictor))
    least, most = np.zeros(steps.shape), np.full(steps.shape, _LONGEST_STEP)
    for _ in range(_BEND_HALVINGS):
        times = (least + most) / 2
        changed = link.mean(predictor[:, None] + times[:, None, :] * moved) - before
        short = np.einsum("krp,krp->kp", moved, changed) < straight
        least, most = np.where(short, times, least), np.where(short, most, times)
    found: Array = steps * (least + most) / 2
    return found


def alone(regressors: Array, scale: Array, link: Link, theta: Array) -> Array:
    """By how much linear predictors change with a unit of each coefficient, while the others follow it.

    Args:
        regressors: shape (rows, p).
        scale: from their coefficients to the ones that change, shape (p, p).
        link: of the response.
        theta: coefficients of the regressors, shape (p,).

    Returns:
        Shape (rows, p).
    """
    moved = np.linalg.solve(derivative_of(regressors, link, theta), scale.T)
    found: Array = regressors @ (moved / np.einsum("jp,pj->j", scale, moved))
    return found


def derivative_of(regressors: Array, link: Link, theta: Array) -> Array:
    """The derivative of the equations, by rows of regressors; shapes (rows, p) and (p,) to (p, p)."""
    found: Array = (regressors * link.slope(regressors @ theta)[:, None]).T @ regressors
    return found


class Solved(NamedTuple):
    """The solution of the equations of the real table.

    Attributes:
        theta: coefficients, shape (p,).
        derivative: of the equations there, shape (p, p); None if it is not positive definite or no solution
            was found.
        free: coefficients that solve the equations, shape (p,); the noise is too large for the others.
        settled: free ones for which the derivative is known so well that errors may be taken to first order.
        change: of the derivative, from the release's.
    """

    theta: Array
    derivative: Array | None
    free: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    change: Derivative


def solve(real: RealTable, regressors: Array, design: Design, link: Link, start: Array) -> Solved:
    """Newton's method, from the coefficients of the synthetic table."""
    own, share = regressors[design.places.own], real.records / real.rows
    before = share * derivative_of(own, link, start)
    # By how much the real table's derivative differs is estimated once.
    change = Derivative.of(real, regressors, before, link.slope(regressors @ start))
    free = change.known & _responding(real, design) if link is LOGISTIC else change.known
    unit, moving, theta = np.sqrt(np.linalg.inv(before).diagonal()), np.ones(len(start), dtype=bool), start
    for _ in range(NEWTON_STEPS):
        derivative = share * derivative_of(own, link, theta) + change.change
        if np.linalg.eigvalsh(derivative).min() <= 0:
            break
        residuals = design.response - design.used * link.mean(regressors @ theta)
        found = real.totals(regressors * residuals[:, None], covariances=False).values
        step = np.zeros(len(theta))
        step[moving] = np.linalg.solve(derivative[np.ix_(moving, moving)], found[moving])
        theta = theta + step
        if link is LINEAR or (np.abs(step) < _STEP_TOLERANCE * unit).all():
            return Solved(theta, derivative, free, free & change.settled, change)
        # Coefficients without enough records may have no finite solution; they take one step.
        free = free & (np.abs(theta - start) < FARTHEST_COEFFICIENT)
        # Without the intercept, the odds that others are compared with are not known.
        free = free & free[0]
        theta = np.where(
            free, theta, np.clip(theta, start - FARTHEST_COEFFICIENT, start + FARTHEST_COEFFICIENT)
        )
        moving = free
    return Solved(theta, None, free, free & change.settled, change)


def _responding(real: RealTable, design: Design) -> NDArray[np.bool_]:
    """Of which coefficients both responses surely occur: without one, a category has no coefficient.

    In all categories of a term, its most common one too, which the others are compared with.
    """
    categories = np.flatnonzero(np.isin(design.regressors, (0, 1)).all(axis=0))
    terms = np.array(design.terms)
    named = [*dict.fromkeys(terms[categories[1:]])]
    commonest = [design.used - design.regressors[:, terms == term].sum(axis=1) for term in named]
    there = np.column_stack([design.regressors[:, categories], *commonest])
    found = real.totals(
        np.hstack([there * design.response[:, None], there * (1 - design.response)[:, None]]),
        covariances=False,
    )
    errors = np.sqrt(np.maximum((found.noise + found.unexplained).diagonal(), 0))
    both: NDArray[np.bool_] = np.all((found.values > _SURELY * errors).reshape(2, -1), axis=0)
    surely: NDArray[np.bool_] = np.ones(len(terms), dtype=np.bool_)
    surely[categories] = both[: len(categories)]
    compared = both[len(categories) :]
    return surely & ~np.isin(terms, [term for term, sure in zip(named, compared, strict=True) if not sure])


def _symmetric(values: Array) -> Array:
    """Matrices of the elements of their upper triangles, which are along the last axis."""
    p = round((np.sqrt(8 * values.shape[-1] + 1) - 1) / 2)
    first, second = np.triu_indices(p)
    found = np.empty((*values.shape[:-1], p, p))
    found[..., first, second] = found[..., second, first] = values
    return found
