"""Tables of many attributes or codes: a release ends, with what it can afford by a public rule."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic
from dpmosaic.simulations.simulate import simulate

BUDGET = Budget(zcdp_rho=0.02)


@pytest.mark.slow
def test_a_pair_of_90000_and_100000_codes_is_left_out():
    domain = Domain.coded({"a": 90_000, "b": 100_000})
    codes = np.random.default_rng(0).integers(0, 90_000, (1000, 2))
    made = simulate(Table.from_codes(domain, codes), epsilon=BUDGET, protocol="trusted", seed=1)
    assert {measurement.clique for measurement in made.fitted.measurements} == {("a",), ("b",)}
    assert made.rows.record_count == 1000
    assert [error["k"] for error in made.metrics["kway"]] == [1, 2]
    assert 0 < made.metrics["workload_error"] <= 2


@pytest.mark.slow
def test_a_table_of_120_attributes_is_released_with_the_pairs_that_its_time_allows():
    rng = np.random.default_rng(0)
    sizes = {f"a{place}": 2 + place % 6 for place in range(120)}
    # Neighbours of the same kind agree in four records of five.
    first = rng.integers(0, list(sizes.values()), (2000, 120))
    same = rng.random((2000, 120)) < 0.8
    codes = np.where(same, first[:, [place % 6 for place in range(120)]], first)
    table = Table.from_codes(Domain.coded(sizes), codes)
    made = simulate(table, epsilon=BUDGET, protocol="trusted", mechanism=Mosaic(time_limit=1.0), seed=1)
    scored = {bound.clique for bound in made.fitted.bounds if len(bound.clique) == 2}
    # Half of the time, of which each candidate takes at least 4 ms.
    assert 50 < len(scored) <= 125
    assert max(map(table.domain.cells, scored)) <= 9
    assert made.fitted.model.size_mb <= 16
    assert made.rows.domain == table.domain
