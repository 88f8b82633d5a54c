"""Tests by scores: sums over the real table that are zero, up to errors, if a hypothesis is true.

Every test is a sum of functions of a record whose expectation is zero under the hypothesis. `totals`
estimates it, with the covariance of its errors: by noise, by what was not measured, and of a random
sample. The statistic is the sum's square in units of this covariance, and chi-square distributed. Without
noise, it is that of the textbook.

Source: Rao, Large sample tests of statistical hypotheses (1948); Wald (1943).
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ....common.errors import DataError
from ....common.showing.printable import printable, printable_lines
from ..totals import Totals

Array = NDArray[np.float64]

POWER_RECORDS = 20
"""Records without noise, of whose test this one would have the power, below which it is refused."""

POWERLESS = (
    "no test: with its noise, this release would find an effect as often as {records:.0f} records without "
    "noise; ask for fewer groups or columns, or make a release with a larger epsilon"
)


@dataclass(frozen=True)
class TestResult:
    """The result of a test about the population of which the real table is a random sample.

    Attributes:
        name: what was tested.
        p_value: probability of so large a statistic if there is no effect; NaN if the test is refused.
        statistic: chi-square distributed if there is no effect; NaN if the test is refused.
        degrees: degrees of freedom.
        effective_records: a test without noise would have this one's power with about so many records.
        effect: estimate of the effect that is tested, where it is one number; otherwise NaN.
        note: why the test is refused; "" if it is not.
        labels: why the result must not be published; empty if it may be.
    """

    __test__ = False

    name: str
    p_value: float
    statistic: float
    degrees: int
    effective_records: float
    effect: float = float("nan")
    note: str = ""
    labels: tuple[str, ...] = ()

    @property
    def _lines(self) -> tuple[str, ...]:
        """Labels, and the result in a sentence."""
        if self.note:
            return (*self.labels, f"{self.name}: {self.note}")
        effect = "" if np.isnan(self.effect) else f"effect {self.effect:.6g}, "
        return (
            *self.labels,
            f"{self.name}: {effect}chi-square {self.statistic:.4g}, {self.degrees} degrees of freedom, "
            f"p = {self.p_value:.4g} (power of {self.effective_records:.0f} records without noise)",
        )

    def __repr__(self) -> str:
        return "\n".join(map(printable, self._lines))

    def _repr_html_(self) -> str:
        return printable_lines("".join(f"<p>{escape(line)}</p>" for line in self._lines))


def refusal(name: str, note: str) -> TestResult:
    """A test without a result."""
    nan = float("nan")
    return TestResult(name, nan, nan, 0, nan, note=note)


def score_test(
    name: str, found: Totals, *, sampling: Array | None = None, effect: float = float("nan")
) -> TestResult:
    """The test that sums over the real table are zero.

    Args:
        name: what is tested.
        found: the sums, of q functions.
        sampling: covariance of the sums over a random sample if there is no effect, shape (q, q); by default
            the one that was estimated.
        effect: see `TestResult`.
    """
    table = found.sampling if sampling is None else sampling
    return wald_test(name, found.values, found.noise + found.unexplained, table, found.records, effect)


def wald_test(
    name: str, values: Array, errors: Array, sampling: Array, records: float, effect: float, note: str = ""
) -> TestResult:
    """The test that estimates are zero.

    Args:
        name: what is tested.
        values: estimates, shape (q,).
        errors: covariance of their errors about the real table, shape (q, q).
        sampling: covariance of a random sample, shape (q, q).
        records: number of records.
        effect: see `TestResult`.
        note: why there is no test.

    Raises:
        DataError: nothing varies.
    """
    if note:
        return refusal(name, note)
    whole = errors + sampling
    scale = np.sqrt(np.maximum(whole.diagonal(), 0))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise DataError("expected groups and values that vary among the rows of the release, got others")
    sizes, axes = np.linalg.eigh(whole / np.outer(scale, scale))
    kept = sizes > 1e-9 * sizes.max()
    axes = axes[:, kept] / np.sqrt(sizes[kept])
    unit = axes.T @ (values / scale)
    share = float(np.mean(np.einsum("ik,ij,jk->k", axes, sampling / np.outer(scale, scale), axes)))
    effective, degrees, statistic = records * min(share, 1.0), int(kept.sum()), float(unit @ unit)
    if effective < POWER_RECORDS:
        return refusal(name, POWERLESS.format(records=effective))
    return TestResult(name, float(chi2.sf(statistic, degrees)), statistic, degrees, effective, effect)
