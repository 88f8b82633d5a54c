"""Regressions of a target on all other attributes, fitted to both tables: not for publication."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....common.extras import require_extra
from ..prediction import TRAINING_ROWS
from .values import Array, Values

MOST_REGRESSED_CODES = 20
"""Attributes of more codes that are not numbers are left out."""

_PENALTY = 1.0
_SEED = 0


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a regression of the target on all other attributes.

    Attributes:
        outcome: the target, or the code of the target whose logarithmic odds are regressed.
        feature: an attribute of numbers, or a category: "attribute=category".
        real: fitted to the real table.
        synthetic: fitted to the synthetic table.
    """

    outcome: str
    feature: str
    real: float
    synthetic: float

    @property
    def error(self) -> float:
        """The difference of the two."""
        return abs(self.real - self.synthetic)


def coefficients(real: Values, synthetic: Values, target: str, seed: int = _SEED) -> list[Coefficient]:
    """The coefficients of a regression of the target, the largest difference first.

    A target of numbers is regressed linearly; of another, the logarithmic odds of each code but the most
    common against all others. Features are numbers, in standard deviations of the real ones from their mean,
    a missing one being the mean; and categories, compared with the most common one. Attributes of more than
    20 codes are left out, and a target of more has no regression. Both fits have a penalty of half the sum of
    squared coefficients.

    Args:
        real: the real table; of more than `TRAINING_ROWS` rows a random sample is used.
        synthetic: of the same domain, likewise.
        target: attribute to regress.
        seed: of the samples.

    Raises:
        DataError: no such attribute.
        MissingExtraError: scikit-learn is not installed.
    """
    if target not in real.numbers and real.table.domain[target].size > MOST_REGRESSED_CODES:
        return []
    real, synthetic = (_sample(values, seed) for values in (real, synthetic))
    names, columns = _features(real, synthetic, target)
    if not names:
        return []
    found = []
    for outcome, labels in _outcomes(real, synthetic, target):
        fits = map(_linear if target in real.numbers else _logistic, columns, labels)
        found += [
            Coefficient(outcome, feature, float(one), float(other))
            for feature, one, other in zip(names, *fits, strict=True)
        ]
    return sorted(found, key=lambda coefficient: -coefficient.error)


def _outcomes(real: Values, synthetic: Values, target: str) -> list[tuple[str, tuple[Array, Array]]]:
    """What is regressed: a name, and its column in both tables."""
    if target in real.numbers:
        return [(target, _standardise(real, synthetic, target))]
    return [
        (_category(real, target, code), _indicators(real, synthetic, target, code))
        for code in _codes_to_compare(real, target)
    ]


def _features(real: Values, synthetic: Values, target: str) -> tuple[list[str], tuple[Array, Array]]:
    """Names of the features, and their columns in both tables, each of shape (N, features)."""
    names: list[str] = []
    columns: tuple[list[Array], list[Array]] = ([], [])
    for attribute in real.table.domain.attributes:
        name = attribute.name
        if name == target:
            continue
        if name in real.numbers:
            names.append(name)
            for held, column in zip(columns, _standardise(real, synthetic, name), strict=True):
                held.append(column)
        elif attribute.size <= MOST_REGRESSED_CODES:
            for code in _codes_to_compare(real, name):
                names.append(_category(real, name, code))
                for held, column in zip(columns, _indicators(real, synthetic, name, code), strict=True):
                    held.append(column)
    if not names:
        return [], (np.empty((0, 0)), np.empty((0, 0)))
    return names, (np.column_stack(columns[0]), np.column_stack(columns[1]))


def _codes_to_compare(real: Values, name: str) -> list[int]:
    """The codes of an attribute, but not the most common real one."""
    counts = real.table.marginal((name,))
    return [code for code in range(len(counts)) if code != np.argmax(counts)]


def _standardise(real: Values, synthetic: Values, name: str) -> tuple[Array, Array]:
    numbers = real.numbers[name]
    held = numbers[~np.isnan(numbers)]
    mean, deviation = (held.mean(), held.std()) if len(held) else (0.0, 1.0)
    one, other = (
        np.nan_to_num((values.numbers[name] - mean) / (deviation or 1.0)) for values in (real, synthetic)
    )
    return one, other


def _indicators(real: Values, synthetic: Values, name: str, code: int) -> tuple[Array, Array]:
    one, other = ((values.table.column(name) == code).astype(np.float64) for values in (real, synthetic))
    return one, other


def _category(real: Values, name: str, code: int) -> str:
    """A category as "attribute=category"."""
    decoded = real.table.domain[name].decode(np.array([code]), np.random.default_rng(_SEED))
    return f"{name}={decoded[0]}"


def _linear(features: Array, target: Array) -> Array:
    centred = features - features.mean(axis=0)
    squares = centred.T @ centred + _PENALTY * np.eye(features.shape[1])
    fitted: Array = np.linalg.solve(squares, centred.T @ (target - target.mean()))
    return fitted


def _logistic(features: Array, target: Array) -> Array:
    require_extra("eval")
    from sklearn.linear_model import LogisticRegression

    if (target == target[0]).all():
        return np.zeros(features.shape[1])
    model = LogisticRegression(C=1 / _PENALTY, max_iter=1000).fit(features, target)
    fitted: Array = model.coef_[0]
    return fitted


def _sample(values: Values, seed: int) -> Values:
    if values.table.record_count <= TRAINING_ROWS:
        return values
    rng = np.random.default_rng(seed)
    return values.take(rng.choice(values.table.record_count, TRAINING_ROWS, replace=False))
