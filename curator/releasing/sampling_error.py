"""The error of a sample of rows, added to the bounds of the marginals that it answered for."""

from __future__ import annotations

from dataclasses import replace

from ...common.data.domain import Clique
from ...common.protocols.masked.sampling import FAILURE
from ..measurers.measurer import Measurer
from ..mechanisms.parts.fitted import FittedModel


def with_sampling_error(fitted: FittedModel, measurer: Measurer) -> FittedModel:
    """The result of a mechanism with bounds on the distance from the whole table, not from its sample.

    Bounds of a mechanism are for the counts that it measured. A marginal of the sample is scaled to all rows
    and differs from the table's by at most `Sampling.l1_bound`; a bound may also come from a sampled marginal
    that contains its clique.

    Args:
        fitted: result of a run with this measurer.
        measurer: the measurer.
    """
    sampling = measurer.sampling
    if sampling is None:
        return fitted
    sampled = [frozenset(one.clique) for one in fitted.measurements if one.sampled]

    def is_affected(clique: Clique) -> bool:
        return measurer.is_sampled(clique) or any(held.issuperset(clique) for held in sampled)

    records, domain, found = sum(sampling.records), fitted.model.domain, []
    for bound in fitted.bounds:
        if is_affected(bound.clique):
            l1 = bound.l1 + sampling.l1_bound(domain.cells(bound.clique))
            share = min(1.0, l1 / (2 * records))
            bound = replace(bound, l1=l1, total_variation=share, confidence=bound.confidence - FAILURE)
        found.append(bound)
    return replace(fitted, bounds=tuple(found))
