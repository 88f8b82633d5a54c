"""All metrics of the values of two tables, not of their codes: not for publication."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ....common.data.table import check_comparable
from .correlations import Correlation, correlations
from .number_distances import QUANTILES, NumberDistance, number_distances
from .regression import Coefficient, coefficients
from .row_checks import EqualRows, RuleBreaks, equal_rows, rule_breaks
from .values import Values

_SEED = 0


@dataclass(frozen=True)
class ValueDistances:
    """How far the values of a synthetic table are from the real ones; in each list the worst come first.

    Attributes:
        numbers: each column of numbers.
        correlations: every two columns of numbers.
        coefficients: a regression of the target; empty without a target.
        equal_rows: shares of rows that equal real ones.
        rules: shares of rows that break each rule of the domain.
    """

    numbers: tuple[NumberDistance, ...]
    correlations: tuple[Correlation, ...]
    coefficients: tuple[Coefficient, ...]
    equal_rows: EqualRows
    rules: tuple[RuleBreaks, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "quantiles": list(QUANTILES),
            "numbers": [asdict(distance) for distance in self.numbers],
            "correlations": [asdict(correlation) for correlation in self.correlations],
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "equal_rows": asdict(self.equal_rows),
            "rules": [asdict(breaks) for breaks in self.rules],
        }


def value_distances(
    real: Values,
    synthetic: Values,
    *,
    target: str | None = None,
    holdout: Values | None = None,
    seed: int = _SEED,
) -> ValueDistances:
    """Compares the values of two tables.

    Args:
        real: the table that was released.
        synthetic: of the same domain.
        target: attribute that is regressed on all others; by default none.
        holdout: real rows that the release has not used.
        seed: of samples and halves.

    Raises:
        DataError: the tables have different domains, or there is no such target.
        MissingExtraError: a target that is not a number is given, and scikit-learn is not installed.
    """
    for other in (synthetic, *([] if holdout is None else [holdout])):
        check_comparable(real.table, other.table)
    return ValueDistances(
        tuple(number_distances(real, synthetic)),
        tuple(correlations(real, synthetic)),
        () if target is None else tuple(coefficients(real, synthetic, target, seed)),
        equal_rows(real, synthetic, holdout, seed),
        tuple(rule_breaks(real, synthetic)),
    )
