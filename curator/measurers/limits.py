"""Marginals that a release cannot measure, since its terms exclude their size."""

from __future__ import annotations

import math

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups, grouped_shape
from ...common.messages import ReleaseTerms


def is_too_large(terms: ReleaseTerms, domain: Domain, clique: Clique, groups: Groups) -> bool:
    """Whether the terms exclude a marginal; mechanisms see it as one of infinite noise and leave it out.

    Args:
        terms: terms of the release.
        domain: domain of the whole table.
        clique: attributes of the marginal.
        groups: groups of codes that are counted; empty for single codes.
    """
    return not terms.purpose.measures(clique, math.prod(grouped_shape(domain.shape(clique), groups)))
