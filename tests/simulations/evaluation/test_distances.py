import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import entropy

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.distances import attribute_distances, marginal_distance, pair_distances

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})


def table(records, seed, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table.from_codes(domain, np.column_stack([rng.integers(0, n, records) for n in domain.sizes]))


def test_a_distance_is_that_of_the_shares_of_all_cells():
    real, synthetic = table(40, 1), table(25, 2)
    found = marginal_distance(real, synthetic, ("a", "c"))
    p, q = real.marginal(("a", "c")), synthetic.marginal(("a", "c"))
    assert found.total_variation == pytest.approx(np.abs(p / 40 - q / 25).sum() / 2)
    assert found.kl == pytest.approx(entropy(p, q + 0.5))


def test_every_attribute_and_every_pair_has_its_distance_in_domain_order():
    real, synthetic = table(40, 1), table(25, 2)
    assert [found.clique for found in attribute_distances(real, synthetic)] == [("a",), ("b",), ("c",)]
    pairs = pair_distances(real, synthetic)
    assert [found.clique for found in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs[1] == marginal_distance(real, synthetic, ("a", "c"))


@pytest.mark.parametrize("sizes", [(20, 30), (50, 60), (2**24, 2**24, 2**24), (2**24, 3, 2**24, 2**24)])
def test_marginals_of_more_cells_than_records_are_compared_in_occupied_cells(sizes):
    domain = Domain.coded({f"x{place}": size for place, size in enumerate(sizes)})
    rng = np.random.default_rng(0)
    # Few values, far apart, so that some cells are shared and codes run up to the last.
    real, synthetic = (
        Table.from_codes(domain, np.column_stack([(n - 1) * rng.integers(0, 2, rows) for n in sizes]))
        for rows in (30, 20)
    )
    found = marginal_distance(real, synthetic, domain.names)
    p, q = (Counter(zip(*(c.tolist() for c in t.columns), strict=True)) for t in (real, synthetic))
    cells = math.prod(sizes)
    assert found.total_variation == pytest.approx(sum(abs(p[x] / 30 - q[x] / 20) for x in p | q) / 2)
    smoothed = {x: (q[x] + 0.5) / (20 + cells / 2) for x in p}
    assert found.kl == pytest.approx(sum(n / 30 * math.log(n / 30 / smoothed[x]) for x, n in p.items()))


def test_refuses_tables_that_cannot_be_compared():
    real = table(5, 0)
    with pytest.raises(DataError, match="different domains"):
        attribute_distances(real, table(5, 0, Domain.coded({"a": 3})))
    with pytest.raises(DataError, match="empty"):
        pair_distances(real, real.rows(0, 0))
