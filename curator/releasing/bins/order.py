"""The order of a release that chooses the bins of another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from ....common.data.attributes.categorical import CategoricalAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.workload import Workload
from ....common.privacy.budget import Budget
from ...mechanisms.bins import Bins
from ..release import ReleaseOrder


def open_numbers(domain: Domain) -> Clique:
    """The attributes whose bins are to be chosen; labels are chosen of the other open attributes."""
    return tuple(name for name in domain.open if not isinstance(domain[name], CategoricalAttribute))


def bins_order(order: ReleaseOrder, share: float) -> ReleaseOrder:
    """The release that chooses the bins of another one, which has the rest of the budget.

    Args:
        order: a release of a domain with open attributes.
        share: share of its budget.
    """
    return counting_order(order, order.domain.open, float(Fraction(share) * order.granted))


def counting_order(order: ReleaseOrder, names: Iterable[str], zcdp_rho: float) -> ReleaseOrder:
    """The release that counts single attributes before another one.

    Args:
        order: the other one.
        names: of the attributes.
        zcdp_rho: its budget.
    """
    singles = tuple((name,) for name in names)
    return replace(
        order,
        spec=replace(order.spec, budget=Budget(delta=order.spec.budget.delta, zcdp_rho=zcdp_rho), rows=1),
        mechanism=Bins(),
        workload=Workload(singles, (1.0,) * len(singles)),
    )
