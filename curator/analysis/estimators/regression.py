"""Linear and logistic regression in the real table, from the sums that its equations need.

The coefficients theta solve sum over records of m(record; theta) = 0. The sum is estimated from the noisy
measurements at the coefficients of the synthetic table, and Newton steps with the estimated derivative lead
to the coefficients of the real table. Their covariance is that of the sums, times the inverse derivative at
both sides (a sandwich), so that it assumes no model of the residuals.

Source: van der Vaart, Asymptotic statistics (1998), section 5.7, one-step estimators; Huber (1967).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..intervals import INFERRED, MEASURED, quantile_of
from ..published import Published
from .design import Design
from .estimates import Errors, Estimates, Target
from .influence import RealTable
from .unseen import withheld

Array = NDArray[np.float64]

MOST_NOISE = 0.3
"""Largest relative error of the derivative, in units of each coefficient, at which intervals are given."""

UNSTABLE = "no interval: too few records for so much noise, or too little was measured"
SEPARATED = "no estimate: all rows of the release with it have the same response; they are left out"
COLLINEAR = "no interval: with their noise, the measurements do not determine the regression"

_FARTHEST_COEFFICIENT = 2.0
"""Largest difference between a coefficient of the release and of the real table: log odds for one standard
deviation."""

_NEWTON_STEPS = 25
_SURELY = 2.0
"""Standard errors that the records of a category with either response have to be above zero."""

_STEP_TOLERANCE = 0.1
"""In standard errors of a random sample; sums over the real table are not computed to more than that."""


class Link(NamedTuple):
    """How the mean of the response depends on the linear predictor."""

    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]


def _logistic(predictor: Array) -> Array:
    found: Array = 0.5 * (1 + np.tanh(predictor / 2))
    return found


LINEAR = Link(lambda predictor: predictor, lambda predictor: np.ones_like(predictor))
LOGISTIC = Link(_logistic, lambda predictor: _logistic(predictor) * _logistic(-predictor))


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
    z, target = quantile_of(level), Target.parse(of)
    tail = withheld(published, design.columns)
    real = RealTable(design.places, design.columns)
    scale, scaled = _standardise(design)
    released = _synthetic_coefficients(scaled, design, link)
    solved = _solve(real, scaled, design, link, released)
    before, p = scale @ released, len(released)
    if solved.derivative is None:
        errors, reach, notes = Errors.unknown(p), np.full(p, np.nan), (COLLINEAR,) * p
        after, covariance = reach, np.full((p, p), np.nan)
    else:
        after, free = scale @ solved.theta, np.flatnonzero(solved.free)
        residuals = design.response - design.used * link.mean(scaled @ solved.theta)
        inverse = np.linalg.inv(solved.derivative[np.ix_(free, free)])
        found = real.totals((scaled[:, free] * residuals[:, None]) @ inverse @ scale[:, free].T)
        errors, reach = Errors.of(found), found.reach
        covariance = found.covariance(target is Target.POPULATION)
        covariance[~solved.free] = covariance[:, ~solved.free] = np.nan
        notes = tuple(UNSTABLE if not settled else "" for settled in solved.free)
        for array in (*errors, reach):
            array[~solved.free] = np.nan
    notes = tuple(note or tail for note in notes)
    half = z * errors.total(target)
    half[[bool(note) for note in notes]] = np.nan
    notes = tuple(
        note or (INFERRED if share < MEASURED else "") for note, share in zip(notes, reach, strict=True)
    )
    more = np.full(len(design.separated), np.nan)
    estimates = Estimates(
        (*design.names, *design.separated),
        np.append(after, more),
        np.append(after - half, more),
        np.append(after + half, more),
        np.append(before, more),
        Errors(*(np.append(array, more) for array in errors)),
        np.append(reach, more),
        (*notes, *(SEPARATED for _ in more)),
        target,
        level,
    )
    return Fit(estimates, covariance)


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
    for _ in range(_NEWTON_STEPS):
        residuals = response - used * link.mean(scaled @ theta)
        derivative = _derivative(scaled, link, theta)
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


def _derivative(regressors: Array, link: Link, theta: Array) -> Array:
    found: Array = (regressors * link.slope(regressors @ theta)[:, None]).T @ regressors
    return found


class _Solved(NamedTuple):
    """The solution of the equations of the real table.

    Attributes:
        theta: coefficients, shape (p,).
        derivative: of the equations there, shape (p, p); None if it is not positive definite or no solution
            was found.
        free: coefficients that solve the equations, shape (p,); the noise is too large for the others.
    """

    theta: Array
    derivative: Array | None
    free: NDArray[np.bool_]


def _solve(real: RealTable, regressors: Array, design: Design, link: Link, start: Array) -> _Solved:
    """Newton's method, from the coefficients of the synthetic table."""
    own, share = regressors[design.places.own], real.records / real.rows
    before = share * _derivative(own, link, start)
    # By how much the real table's derivative differs is estimated once.
    correction, free = _correction(real, regressors, before, link, start)
    if link is LOGISTIC:
        free &= _responding(real, design)
    unit, moving, theta = np.sqrt(np.linalg.inv(before).diagonal()), np.ones(len(start), dtype=bool), start
    for _ in range(_NEWTON_STEPS):
        derivative = share * _derivative(own, link, theta) + correction
        if np.linalg.eigvalsh(derivative).min() <= 0:
            break
        residuals = design.response - design.used * link.mean(regressors @ theta)
        found = real.totals(regressors * residuals[:, None], covariances=False).values
        step = np.zeros(len(theta))
        step[moving] = np.linalg.solve(derivative[np.ix_(moving, moving)], found[moving])
        theta = theta + step
        if link is LINEAR or (np.abs(step) < _STEP_TOLERANCE * unit).all():
            return _Solved(theta, derivative, free)
        # Coefficients without enough records may have no finite solution; they take one step.
        free &= np.abs(theta - start) < _FARTHEST_COEFFICIENT
        theta = np.where(
            free, theta, np.clip(theta, start - _FARTHEST_COEFFICIENT, start + _FARTHEST_COEFFICIENT)
        )
        moving = free
    return _Solved(theta, None, free)


def _responding(real: RealTable, design: Design) -> NDArray[np.bool_]:
    """Of which coefficients both responses surely occur: without one, a category has no coefficient."""
    categories: NDArray[np.bool_] = np.asarray(np.isin(design.regressors, (0, 1)).all(axis=0))
    there = design.regressors[:, categories]
    found = real.totals(
        np.hstack([there * design.response[:, None], there * (1 - design.response)[:, None]]),
        covariances=False,
    )
    errors = np.sqrt(np.maximum((found.noise + found.unexplained).diagonal(), 0))
    both = (found.values > _SURELY * errors).reshape(2, -1).all(axis=0)
    surely: NDArray[np.bool_] = np.ones(len(categories), dtype=np.bool_)
    surely[categories] = both
    return surely


def _correction(
    real: RealTable, regressors: Array, before: Array, link: Link, theta: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """The derivative in the real table less that of the release, and for which coefficients it is known."""
    inverse = np.linalg.inv(before)
    # In these coordinates each coefficient has one unit of variance, so that errors can be compared.
    rotation = inverse / np.sqrt(inverse.diagonal())
    rotated = regressors @ rotation
    first, second = np.triu_indices(len(theta))
    slope = link.slope(regressors @ theta)
    sums = real.totals(rotated[:, first] * rotated[:, second] * slope[:, None], covariances=False)
    variances = np.maximum(sums.noise.diagonal() + sums.unexplained.diagonal(), 0)
    errors = _symmetric(np.sqrt(variances), first, second)
    # The others keep the derivative of the release, so that they do not spoil the rest.
    known: NDArray[np.bool_] = errors.diagonal() < MOST_NOISE
    change = _symmetric(sums.values - sums.released, first, second) * np.outer(known, known)
    known &= (errors * known).max(axis=1) < MOST_NOISE
    back = np.linalg.inv(rotation)
    return back.T @ change @ back, known


def _symmetric(values: Array, first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
    """The matrix of these elements of its upper triangle."""
    p = int(first.max()) + 1
    found = np.empty((p, p))
    found[first, second] = found[second, first] = values
    return found
