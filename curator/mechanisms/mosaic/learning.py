"""What all interactions of a table say of the size of each, and how near it is to what is foreseen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .effects import Array, Effect
from .priors import log_prior

MEANS = np.geomspace(1e-3, 2, 40)
"""Grid of values of a mean, as a share of the records."""

SHARES = (np.arange(20) + 0.5) / 20
"""Grid of values of a share."""


def believed(effects: Sequence[Effect], records: float) -> tuple[float, float]:
    """How near measured interactions are to what was foreseen of them without their own measurements.

    Args:
        effects: measured interactions of which something is foreseen; at least one.
        records: number of records.

    Returns:
        Mean distance of those that are near, as a share of the records, and the share of these; their
        posterior means, with uniform priors over the share and over the logarithm of the distance.
    """
    typical, shares = MEANS, SHARES
    found = [effect.evidence(records, typical) for effect in effects]
    ratios = np.array([ahead - without for without, ahead in found])
    odds = np.logaddexp(np.log(shares)[:, None, None] + ratios, np.log1p(-shares)[:, None, None])
    logs = odds.sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return float(weights.sum(axis=0) @ typical), float(weights.sum(axis=1) @ shares)


def learned_prior(effects: Sequence[Effect], records: float, shares: Array = SHARES) -> tuple[float, float]:
    """Posterior means of m and of the share of interactions that are none, given all that is known of them.

    The prior is uniform over the logarithm of m and over the shares.

    Args:
        effects: scored or measured interactions of one kind.
        records: number of records.
        shares: possible shares.

    Returns:
        m, as a share of the records, and the share.
    """
    known = np.array([effect.log_likelihood(records) for effect in effects])
    # The most likely value counts as 1, and no prior vanishes: no sum does.
    likely = np.exp(known - known.max(axis=1, keepdims=True))
    means = MEANS
    some = likely @ np.exp([log_prior(mean) for mean in means]).T
    none = np.exp([effect.log_prior_of_none(records) for effect in effects])
    none = (likely * none).sum(axis=1)[:, None]
    evidence = np.array([np.log((1 - share) * some + share * none).sum(axis=0) for share in shares])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    return float(weights.sum(axis=0) @ means), float(weights.sum(axis=1) @ shares)
