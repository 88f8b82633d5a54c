"""Pairs from which a dependency is learned, in a run of Mosaic."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.simulations.simulate import simulate

ATTRIBUTES = {
    "zip": [f"z{i}" for i in range(40)],
    "state": ["s0", "s1", "s2"],
    "x": ["0", "1"],
    "y": ["0", "1"],
}
RULE = {"determines": {"from": "zip", "to": "state"}}


def released(rules, protocol):
    """Zip codes and states are independent in this table, so no gain speaks for their pair."""
    domain = Domain.from_json({"attributes": ATTRIBUTES, "rules": rules})
    rng = np.random.default_rng(0)
    table = Table.from_codes(domain, {name: rng.integers(0, domain[name].size, 400) for name in domain})
    return simulate(table, epsilon=Budget(0.5, 1e-6), protocol=protocol, grid="1x1", seed=2).fitted


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
def test_the_pair_is_in_the_model_and_has_a_tenth_of_the_last_measurements(protocol):
    fitted = released([RULE], protocol)
    measured = [found for found in fitted.measurements if found.clique == ("zip", "state")]
    assert any({"zip", "state"} <= set(clique) for clique in fitted.model.cliques)
    steps = {step.name: float(step.share) for step in fitted.steps}
    spent = sum(float(found.zcdp_rho) for found in fitted.measurements)
    assert float(measured[-1].zcdp_rho) > 0.08 * steps["last round"] * spent


@pytest.mark.slow
def test_without_a_rule_such_a_pair_is_left_out():
    measured = [
        found.zcdp_rho for found in released([], "trusted").measurements if found.clique == ("zip", "state")
    ]
    assert len(measured) < 2
