"""Tests of coefficients, and of the effect of a treatment.

Source: Wald (1943) for coefficients; Lunceford and Davidian, Stratification and weighting via the propensity
    score (2004), for weights and what estimating them changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....common.errors import DataError
from ..conditions import Where
from ..estimators.coefficients import LINEAR, LOGISTIC, Link
from ..estimators.design import Design
from ..estimators.influence import RealTable
from ..estimators.regression import fit_regression
from ..estimators.selection import numbers_of
from ..published import Published
from .result import TestResult, refusal, wald_test
from .samples import SMALL_GROUP

UNKNOWN = "no test: with their noise, the measurements do not determine the regression"
EXTREME = (
    "no test: of some records it is all but certain which group they are in, so that their weights have no "
    "bound; adjust for fewer columns"
)

_EXTREME = 0.02
_MOST_EXTREME = 0.05
"""Share of records whose propensity may be within `_EXTREME` of 0 or 1; they get that weight."""


def coefficients(
    published: Published,
    y: str,
    x: Sequence[str] | None = None,
    *,
    term: str,
    logistic: bool = False,
    positive: Any = ...,
    where: Where | None = None,
) -> TestResult:
    """Whether a column has an effect in a regression: that all of its coefficients are zero.

    Args:
        published: the release.
        y: see `estimators.regression.linear`.
        x: see `linear`.
        term: the column that is tested, one of x.
        logistic: whether the regression is logistic.
        positive: see `linear`.
        where: see `linear`.

    Raises:
        DataError: an argument does not fit the release.
    """
    design, link = Design.of(published, y, x, positive, where), LINEAR
    if logistic:
        design, link = design.with_two_values(), LOGISTIC
    return _of_coefficients(
        published, design, link, term, f"{'logistic' if logistic else 'linear'}: {y}, {term}"
    )


def _of_coefficients(published: Published, design: Design, link: Link, term: str, name: str) -> TestResult:
    tested = [place for place, one in enumerate(design.names) if one == term or one.startswith(f"{term}=")]
    if not tested:
        raise DataError(f"term: expected a column of the regression that has a coefficient, got {term!r}")
    fit, table = (fit_regression(published, design, link, of) for of in ("population", "table"))
    covariance, errors = (one.covariance[np.ix_(tested, tested)] for one in (fit, table))
    if not np.isfinite(covariance).all() or any(fit.estimates.notes[place] for place in tested):
        return refusal(name, UNKNOWN)
    values = fit.estimates.estimate[tested]
    effect = float(values[0]) if len(tested) == 1 else float("nan")
    return wald_test(name, values, errors, covariance - errors, published.records, effect)


def effect(
    published: Published,
    y: str,
    *,
    between: tuple[str, Any, Any],
    adjust: Sequence[str],
    by: str = "regression",
    where: Where | None = None,
) -> TestResult:
    """Whether a treatment has an average effect, given what differs between the two groups.

    By regression: the coefficient of the treatment beside those of the other columns. By weighting: the
    difference of means in which each record has the inverse of the probability of its group as its weight,
    from a logistic regression on the other columns. An effect is causal if nothing else matters for both.

    Args:
        published: the release.
        y: a column of numbers, or of true and false.
        between: a column, its value with treatment, and that without.
        adjust: the other columns.
        by: "regression" or "weighting".
        where: which rows count, see `mean`.

    Raises:
        DataError: an argument does not fit the release.
    """
    if by not in ("regression", "weighting"):
        raise DataError(f"by: expected 'regression' or 'weighting', got {by!r}; choose one of them")
    group, treated, control = between
    name = f"effect by {by}: {y} by {group}"
    if isinstance(where, str):
        raise DataError("where: expected conditions by column, got a text; give them as {column: value}")
    both = {**(where or {}), group: [treated, control]}
    if by == "regression":
        design = Design.of(published, y, (group, *adjust), ..., both)
        sign = 1.0 if f"{group}={treated}" in design.names else -1.0
        found = _of_coefficients(published, design, LINEAR, group, name)
        return replace(found, effect=sign * found.effect)
    return _weighted(published, y, between, list(adjust), both, name)


def _weighted(
    published: Published, y: str, between: tuple[str, Any, Any], adjust: list[str], where: Where, name: str
) -> TestResult:
    design = Design.of(published, between[0], adjust, between[1], where, also=(y,))
    theta = fit_regression(published, design, LOGISTIC, "population").estimates.estimate
    values = numbers_of(design.places, y)
    known = design.used & ~np.isnan(values)
    own, values = known & design.places.own, np.where(known, np.nan_to_num(values), 0.0)
    chance = LOGISTIC.mean(design.regressors @ theta)
    if not np.isfinite(theta).all():
        return refusal(name, UNKNOWN)
    if (np.abs(chance - 0.5) > 0.5 - _EXTREME)[own].mean() > _MOST_EXTREME:
        return refusal(name, EXTREME)
    chance = np.clip(chance, _EXTREME, 1 - _EXTREME)
    treated = known * design.response / chance
    control = known * (1 - design.response) / (1 - chance)
    real = RealTable(design.places, design.columns)
    found = real.totals(
        np.column_stack([treated * values, treated, control * values, control]), covariances=False
    )
    top, records, bottom, others = found.values
    if min(records, others) <= 0:
        return refusal(name, SMALL_GROUP)
    one, other = treated * (values - top / records) / records, control * (values - bottom / others) / others
    # What estimating the weights changes.
    share, regressors = real.records / real.rows, design.regressors
    slopes = share * ((one * (1 - chance) + other * chance)[own] @ regressors[own])
    held = regressors[own] * (chance * (1 - chance))[own, None]
    scores = regressors * (known * (design.response - chance))[:, None]
    influence = one - other - scores @ np.linalg.solve(share * held.T @ regressors[own], slopes)
    errors = real.totals(influence[:, None])
    estimate = top / records - bottom / others
    return wald_test(
        name, np.array([estimate]), errors.noise + errors.unexplained, errors.sampling, real.records, estimate
    )
