"""Average errors over k-way marginals. They are computed from private rows: not for publication."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from .distances import marginal_distances

PRIVATE = "computed from real rows without noise; the privacy promise does not cover it: not for publication"
"""Said wherever metrics are written or shown."""

_SAMPLED_CLIQUES = 300
_SAMPLE_SEED = 0


@dataclass(frozen=True)
class KwayError:
    """Errors over k-way marginals.

    Attributes:
        k: attributes of each marginal.
        cliques: number of marginals that were compared.
        total_variation: average total variation distance, in 0..1.
        kl: average Kullback-Leibler divergence KL(real || synthetic), in nats.
    """

    k: int
    cliques: int
    total_variation: float
    kl: float


def kway_errors(real: Table, synthetic: Table, ks: Sequence[int] = (1, 2, 3)) -> list[KwayError]:
    """Errors over all k-way marginals, or over a seeded sample of 300 where there are more.

    Source: RandDPGen, section 3.1; see `marginal_distance`.
    """
    return [_kway_error(real, synthetic, k) for k in ks if k <= len(real.domain)]


def kway_cliques(domain: Domain, k: int) -> list[Clique]:
    """All cliques of k attributes, or a seeded sample of 300 of them."""
    count = math.comb(len(domain), k)
    if count <= _SAMPLED_CLIQUES:
        return list(itertools.combinations(domain.names, k))
    rng = np.random.default_rng(_SAMPLE_SEED)
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < _SAMPLED_CLIQUES:
        chosen.add(tuple(sorted(rng.choice(len(domain), size=k, replace=False).tolist())))
    return [tuple(domain.names[i] for i in places) for places in sorted(chosen)]


def _kway_error(real: Table, synthetic: Table, k: int) -> KwayError:
    found = marginal_distances(real, synthetic, kway_cliques(real.domain, k))
    return KwayError(
        k,
        len(found),
        float(np.mean([distance.total_variation for distance in found])),
        float(np.mean([distance.kl for distance in found])),
    )
