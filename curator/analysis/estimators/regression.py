"""Linear and logistic regression in the real table, from the sums that its equations need.

The coefficients theta solve sum over records of m(record; theta) = 0. The sum is estimated from the noisy
measurements at the coefficients of the synthetic table, and Newton steps with the estimated derivative lead
to the coefficients of the real table. Their errors are those of the sums, times the inverse derivative at
both sides (a sandwich), so that they assume no model of the residuals; intervals count the derivative's, too.

Source: van der Vaart, Asymptotic statistics (1998), section 5.7, one-step estimators; Huber (1967).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..intervals import INFERRED, MEASURED, NOTHING_KNOWN, quantile_of
from ..published import Published
from .coefficients import (
    FARTHEST_COEFFICIENT,
    LINEAR,
    LOGISTIC,
    NEWTON_STEPS,
    Link,
    Solved,
    alone,
    derivative_of,
    draw_steps,
    follow_bends,
    solve,
)
from .design import Design
from .draws import ends_of
from .estimates import Errors, Estimates, Target
from .influence import RealTable
from .unseen import withheld

Array = NDArray[np.float64]

UNSTABLE = "no interval: too few records for so much noise, or too little was measured"
SEPARATED = "no estimate: all rows of the release with it have the same response; they are left out"
COLLINEAR = "no interval: with their noise, the measurements do not determine the regression"


_ROWS_OF_BENDS = 2_000
"""Rows of the release, which are in random order, that say how the equations bend."""


def linear(
    published: Published,
    y: str,
    x: Sequence[str] | None = None,
    *,
    positive: Any = ...,
    where: Where | None = None,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """Linear regression by least squares.

    Args:
        published: the release.
        y: the response: a column of numbers, of true and false or of two categories. Or a formula such as
            "log(income) ~ age + education + C(district) + since".
        x: the terms that explain it: numbers as they are, or log(x) of numbers above zero; dates as days
            since the first day of their bounds; of categories, and of C(x), each value but the most common
            one has a coefficient, named education=Bachelors.
        positive: the value of the response that counts as one, the others as zero; see `proportion`.
        where: which rows count, see `mean`. Rows in which a column is missing do not.
        of: "population" or "table", see `Target`.
        level: share of intervals that are to contain the value.

    Raises:
        DataError: an argument does not fit the release, or its rows do not determine the regression.
    """
    return fit_regression(published, Design.of(published, y, x, positive, where), LINEAR, of, level).estimates


def logistic(
    published: Published,
    y: str,
    x: Sequence[str] | None = None,
    *,
    positive: Any = ...,
    where: Where | None = None,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """Logistic regression by maximum likelihood; coefficients are of the logarithm of the odds.

    Args:
        published: the release.
        y: the response: a column of true and false, of 0 and 1, or of two categories. Or a formula.
        x: see `linear`.
        positive: the value of the response that counts as one; by default true, 1 or the second category.
        where: see `linear`.
        of: see `linear`.
        level: see `linear`.

    Raises:
        DataError: an argument does not fit the release, or its rows do not determine the regression.
    """
    design = Design.of(published, y, x, positive, where)
    return fit_regression(published, design.with_two_values(), LOGISTIC, of, level).estimates


class Fit(NamedTuple):
    """A regression in the real table.

    Attributes:
        estimates: coefficients; those of separated categories come last.
        covariance: of the errors of the others, about the target, shape (p, p); NaN where they are unknown.
    """

    estimates: Estimates
    covariance: Array


def fit_regression(published: Published, design: Design, link: Link, of: str, level: float = 0.95) -> Fit:
    """A regression, see `linear` and `logistic`."""
    target = Target.parse(of)
    quantile_of(level)
    real = RealTable(design.places, design.columns)
    scale, scaled = _standardise(design)
    released = _synthetic_coefficients(scaled, design, link)
    solved = solve(real, scaled, design, link, released)
    found = _in_the_real_table(real, scale, scaled, design, link, solved, target, level)
    notes = np.where(solved.free, found.notes, UNSTABLE)
    if tail := withheld(published, design.columns):
        notes[:] = tail
    given = np.isin(notes.astype(str), ("", INFERRED))
    more = np.full(len(design.separated), np.nan)
    estimates = Estimates(
        (*design.names, *design.separated),
        np.append(found.estimate, more),
        np.append(np.where(given, found.low, np.nan), more),
        np.append(np.where(given, found.high, np.nan), more),
        np.append(scale @ released, more),
        Errors(*(np.append(np.where(solved.free, array, np.nan), more) for array in found.errors)),
        np.append(np.where(solved.free, found.reach, np.nan), more),
        (*map(str, notes), *(SEPARATED for _ in more)),
        target,
        level,
    )
    return Fit(estimates, found.covariance)


class _Found(NamedTuple):
    """What is found of the coefficients that are not separated; each of shape (p,), NaN where unknown.

    Attributes:
        estimate: coefficients.
        low: lower ends of their intervals.
        high: upper ends.
        errors: by their causes.
        reach: see `Totals.reach`.
        notes: of the intervals.
        covariance: see `Fit`.
    """

    estimate: Array
    low: Array
    high: Array
    errors: Errors
    reach: Array
    notes: NDArray[np.object_]
    covariance: Array


def _in_the_real_table(
    real: RealTable,
    scale: Array,
    scaled: Array,
    design: Design,
    link: Link,
    solved: Solved,
    target: Target,
    level: float,
) -> _Found:
    """The coefficients, in the given units, with intervals from draws of the equations.

    Args:
        real: the table.
        scale: from the coefficients of standardised regressors to the given ones', shape (p, p).
        scaled: standardised regressors, shape (places, p).
        design: of the regression.
        link: of its response.
        solved: the solution of the equations.
        target: of the intervals.
        level: of the intervals.
    """
    p = len(solved.theta)
    unknown, notes = np.full(p, np.nan), np.full(p, COLLINEAR, object)
    if solved.derivative is None or not solved.free.any():
        estimate = unknown if solved.derivative is None else scale @ solved.theta
        covariance = np.full((p, p), np.nan)
        return _Found(estimate, unknown, unknown, Errors.unknown(p), unknown, notes, covariance)
    free = np.flatnonzero(solved.free)
    residuals = design.response - design.used * link.mean(scaled @ solved.theta)
    found = real.totals(scaled[:, free] * residuals[:, None])
    by = scale[:, free] @ np.linalg.inv(solved.derivative[np.ix_(free, free)])
    about = found.covariance(target is Target.POPULATION)
    covariance = by @ about @ by.T
    covariance[~solved.settled] = covariance[:, ~solved.settled] = np.nan
    rows = design.used & design.places.own
    straight = np.array(ends_of(_draw_steps(solved, about, target) @ scale.T, level))
    used, estimate = scaled[rows][:_ROWS_OF_BENDS], scale @ solved.theta
    along = alone(used, scale, link, solved.theta)
    low, high = estimate + follow_bends(straight, along, used @ solved.theta, link)
    # Of one regressor, a slope is at most a deviation of the response for one of x; so far away are log odds
    # of two, by the sums of a response of even shares.
    most = scale.diagonal() * (FARTHEST_COEFFICIENT if link is LOGISTIC else design.response[rows].std())
    most[0] = np.inf
    nothing = (estimate + straight[0] < -most) & (estimate + straight[1] > most)
    reach = found.reach_of(by)
    notes[:] = np.where(nothing, NOTHING_KNOWN, "")
    notes[(notes == "") & (reach < MEASURED)] = INFERRED
    return _Found(estimate, low, high, Errors.of(found, by), reach, notes, covariance)


def _draw_steps(solved: Solved, about: Array, target: Target) -> Array:
    """Draws of the step to the coefficients; zero of those that are not free. Shape (draws, p)."""
    assert solved.derivative is not None
    free, chosen = solved.free, np.ix_(solved.free, solved.free)
    derivatives = solved.derivative + solved.change.errors(target is Target.POPULATION)
    before = solved.derivative - solved.change.change
    steps = np.zeros((len(derivatives), len(free)))
    steps[:, free] = draw_steps(about, derivatives[:, free][:, :, free], before[chosen])
    return steps


def _standardise(design: Design) -> tuple[Array, Array]:
    """The standardised regressors, and before them the matrix from their coefficients to the given ones'."""
    rows = design.regressors[design.used & design.places.own]
    means, spreads = rows.mean(axis=0), rows.std(axis=0)
    means[0], spreads[0] = 0.0, 1.0
    if not (spreads > 0).all():
        raise DataError(
            f"column {design.names[int(spreads.argmin())]!r}: expected two or more values among the rows, "
            "got one; leave it out"
        )
    scaled = (design.regressors - design.used[:, None] * means) / spreads
    matrix = np.diag(1 / spreads)
    matrix[0] -= means / spreads
    return matrix, scaled


def _synthetic_coefficients(scaled: Array, design: Design, link: Link) -> Array:
    """The coefficients of the synthetic table."""
    own = design.places.own
    scaled, response, used = scaled[own], design.response[own], design.used[own]
    theta = np.zeros(scaled.shape[1])
    for _ in range(NEWTON_STEPS):
        residuals = response - used * link.mean(scaled @ theta)
        derivative = derivative_of(scaled, link, theta)
        if np.linalg.cond(derivative) > 1e10:
            break
        step = np.linalg.solve(derivative, scaled.T @ residuals)
        theta = theta + step
        if np.abs(step).max() < 1e-9:
            return theta
    raise DataError(
        "expected columns that determine the regression, got ones of which some depend on others, or that "
        "separate the two values of the response; leave out columns"
    )
