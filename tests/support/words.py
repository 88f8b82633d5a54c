"""Statistical tests of words in a role's view; each function returns a p-value.

Tests reject at p < `ALPHA`. For every mask, a run without it must be rejected; otherwise the test would prove
nothing about runs with it.
"""

import numpy as np
from scipy import stats

ALPHA = 1e-6


def uniformity(words):
    """p-value of uniform words: of their size, of all digits to base 16, of the last and the first ones."""
    words = np.ascontiguousarray(words).ravel()
    bits = 8 * words.itemsize
    digits = np.stack(
        [(words >> words.dtype.type(shift)) & words.dtype.type(15) for shift in range(0, bits, 4)]
    )
    odds = [
        stats.kstest(words / 2.0**bits, "uniform", method="asymp").pvalue,
        stats.chisquare(np.bincount(digits.ravel().astype(int), minlength=16)).pvalue,
        stats.chisquare(np.bincount(digits[0].astype(int), minlength=16)).pvalue,
        stats.chisquare(np.bincount(digits[-1].astype(int), minlength=16)).pvalue,
    ]
    return min(1.0, len(odds) * min(odds))


def likeness(one, other):
    """p-value that both have one distribution, column by column."""
    odds = [
        stats.ks_2samp(left.astype(float), right.astype(float), method="asymp").pvalue
        for left, right in zip(one.reshape(len(one), -1).T, other.reshape(len(other), -1).T, strict=True)
    ]
    return min(1.0, len(odds) * min(odds))


def likely_noise(errors, sigma):
    """Two-sided p-value of the squares of independent Gaussian noise of this deviation."""
    below = stats.chi2.cdf(np.sum(np.square(errors)) / sigma**2, errors.size)
    return 2 * min(below, 1 - below)


def rejected(views):
    """Names of the views in which some words are not uniform."""
    return {name for name, seen in views.items() if any(uniformity(words) < ALPHA for words in seen.values())}
