import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.simulations.evaluation.metrics import kway_cliques, kway_errors

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2})


def table(records, seed):
    rng = np.random.default_rng(seed)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, records) for n in DOMAIN.sizes]))


def test_errors_are_averages_over_all_marginals_by_counting_records_one_by_one():
    real, synthetic = table(40, 1), table(25, 2)
    rows = [list(zip(*(t.column(n).tolist() for n in DOMAIN), strict=True)) for t in (real, synthetic)]
    for k, found in zip((1, 2, 3), kway_errors(real, synthetic), strict=True):
        distances, divergences = [], []
        for places in itertools.combinations(range(3), k):
            cells = list(itertools.product(*(range(DOMAIN.sizes[i]) for i in places)))
            p, q = (
                [sum(tuple(row[i] for i in places) == cell for row in some) for cell in cells]
                for some in rows
            )
            distances.append(sum(abs(x / 40 - y / 25) for x, y in zip(p, q, strict=True)) / 2)
            smoothed = [(y + 0.5) / (25 + len(cells) / 2) for y in q]
            divergences.append(
                sum(x / 40 * math.log(x / 40 / s) for x, s in zip(p, smoothed, strict=True) if x)
            )
        assert (found.k, found.cliques) == (k, len(distances))
        assert found.total_variation == pytest.approx(sum(distances) / len(distances))
        assert found.kl == pytest.approx(sum(divergences) / len(divergences))


def test_a_table_is_at_no_distance_from_itself():
    real = table(50, 3)
    assert [error.total_variation for error in kway_errors(real, real)] == [0, 0, 0]


def test_tables_without_a_common_value_are_at_distance_one():
    ones, zeros = (Table.from_codes(DOMAIN, np.full((9, 3), code)) for code in (1, 0))
    assert [error.total_variation for error in kway_errors(ones, zeros)] == [1, 1, 1]


def test_many_marginals_are_sampled_the_same_way_every_time_and_few_are_all_taken():
    wide = Domain.coded({f"x{i}": 2 for i in range(30)})
    assert len(kway_cliques(wide, 2)) == 300
    assert kway_cliques(wide, 3) == kway_cliques(wide, 3)
    assert len(set(kway_cliques(wide, 3))) == 300
    assert all(wide.canonical(clique) == clique for clique in kway_cliques(wide, 3))
    assert len(kway_cliques(DOMAIN, 2)) == 3


def test_marginals_of_more_attributes_than_there_are_are_left_out():
    one = Table.from_codes(Domain.coded({"a": 2}), np.array([[0], [1]]))
    assert [error.k for error in kway_errors(one, one)] == [1]
