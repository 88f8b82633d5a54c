"""An independent check of the cost of a release with steps that have no zCDP, from Rényi divergences.

Source: Google's dp-accounting, over all of its orders and the order of the grant (`common.privacy.renyi`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dp_accounting
from dp_accounting.rdp import RdpAccountant
from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

from ...common.privacy.budget import Accountant, Charge
from ...common.privacy.renyi import SampledGaussian, renyi_order


def composition(accountant: Accountant, epsilon: float, delta: float) -> dict[str, Any]:
    """Epsilon at delta of each single step and of all steps together, as JSON values.

    All use the same delta, which is not split: divergences are added first and converted to epsilon once.
    Therefore the epsilons of single steps add up to more than the epsilon of all steps.

    Args:
        accountant: accountant of the release.
        epsilon: epsilon of the promise.
        delta: delta of the promise.
    """
    steps: dict[str, list[Charge]] = {}
    for charge in accountant.charges:
        steps.setdefault(charge.step, []).append(charge)
    order = renyi_order(epsilon, delta).alpha
    return {
        "renyi_order": order,
        "costs": "Rényi divergences divided by this order; a rho of zCDP bounds them at every order",
        "delta": delta,
        "epsilon_of_each_step_alone": {
            name: _epsilon(charges, order, delta) for name, charges in steps.items()
        },
        "epsilon_by_dp_accounting": _epsilon(accountant.charges, order, delta),
        "assumes": "the records that each training step sampled stay secret",
    }


def _epsilon(charges: Sequence[Charge], order: int, delta: float) -> float:
    accountant = RdpAccountant([*DEFAULT_RDP_ORDERS, order])
    for charge in charges:
        accountant.compose(_event(charge))
    return float(accountant.get_epsilon(delta))


def _event(charge: Charge) -> Any:
    if not isinstance(charge.steps, SampledGaussian):
        return dp_accounting.ZCDpEvent(float(charge.zcdp_rho))
    once = dp_accounting.GaussianDpEvent(charge.steps.multiplier)
    sampled = dp_accounting.PoissonSampledDpEvent(charge.steps.rate, once)
    return dp_accounting.SelfComposedDpEvent(sampled, charge.steps.steps)
