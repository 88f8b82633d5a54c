"""Chooses bins from noisy one-way marginals: post-processing, which costs nothing."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.attribute import Attribute
from ...common.data.coding import Coding
from ...common.data.domain import Domain
from ...common.measurement import Measurement
from .bins_order import open_numbers
from .noisy_counts import NoisyCounts

MOST_BINS = 100
"""Largest number of bins of an attribute, about."""

LEAST_BINS = 4
"""Number of equal parts into which an attribute with bounds is divided in any case."""

_ONE_WAY_SHARE = 0.2
"""Share of a release's budget that its mechanism is taken to spend on one-way marginals."""

_RECORDS = 3.0
"""Records of a bin, in standard deviations of the noise of its count in the release that uses the bins."""

_SURE = 2.0
"""Records of a bin that is split, in standard deviations of their noisy number."""

_FEW = 0.25
"""Neighbouring bins with fewer than this share of a bin's records become one."""


def planned_bins(records: float, zcdp_rho: float, attributes: int) -> int:
    """How many bins a column can bear, from public facts.

    Args:
        records: number of records of the table.
        zcdp_rho: budget of the release that uses the bins.
        attributes: number of attributes of the table.
    """
    sigma = math.sqrt(attributes / (2 * _ONE_WAY_SHARE * zcdp_rho))
    return max(LEAST_BINS, min(MOST_BINS, int(records / (_RECORDS * sigma))))


def chosen_coding(
    domain: Domain, measurements: Sequence[Measurement], records: float, zcdp_rho: float
) -> Coding:
    """The bins of the open attributes of a domain.

    Args:
        domain: the open domain, without the value `absent`.
        measurements: what the mechanism `bins` measured.
        records: number of records of the table.
        zcdp_rho: budget of the release that uses the bins.
    """
    bins = planned_bins(records, zcdp_rho, len(domain))
    thresholds = _thresholds(domain)
    runs = {}
    for name in open_numbers(domain):
        counts = NoisyCounts.of([one for one in measurements if one.clique == (name,)], records)
        runs[name] = _Choice(domain[name], counts, thresholds.get(name, ()), records / bins).runs()
    return Coding(runs)
