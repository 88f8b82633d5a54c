"""Equal rows and broken rules, against sets of tuples."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.evaluation.values.row_checks import equal_rows, rule_breaks
from dpmosaic.simulations.evaluation.values.values import Values

DOMAIN = Domain.from_json(
    {
        "attributes": {
            "kind": ["a", "b"],
            "x": {"type": "numeric", "min": 0, "max": 9, "bins": 1, "integer": False, "nullable": True},
        },
        "rules": [
            {"impossible": {"kind": ["a"], "x": [None]}},
            {"impossible": {"kind": ["b"], "x": [None]}},
        ],
    }
)


def rows(seed, records, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 30, records) / 4
    return Values.of(DOMAIN, [rng.choice(["a", "b"], records), np.where(x > 7, np.nan, x)])


def tuples(values):
    gaps = np.nan_to_num(values.numbers["x"], nan=-1)
    return list(zip(values.table.column("kind").tolist(), gaps.tolist(), strict=True))


def share(some, reference):
    return np.mean([row in set(reference) for row in some])


def test_rows_equal_a_holdout_and_all_real_rows_as_sets_of_tuples_say():
    real, synthetic, holdout = rows(0, 40), rows(1, 90), rows(2, 30)
    found = equal_rows(real, synthetic, holdout)
    assert found.synthetic == found.all_real == pytest.approx(share(tuples(synthetic), tuples(real)))
    assert found.expected == pytest.approx(share(tuples(holdout), tuples(real)))


def test_without_a_holdout_one_half_of_the_real_rows_is_compared_with_the_other():
    real = rows(3, 60)
    found = equal_rows(real, real, seed=4)
    order = np.random.default_rng(4).permutation(60)
    halves = [[tuples(real)[place] for place in some] for some in (order[30:], order[:30])]
    assert found.expected == pytest.approx(share(halves[1], halves[0]))
    assert found.synthetic == pytest.approx(share(tuples(real), halves[0]))
    assert found.all_real == 1.0


def test_values_of_one_bin_are_different_rows():
    near, other = (Values.of(DOMAIN, [["b"] * 2, numbers]) for numbers in ([1.0, 2.0], [1.5, 2.5]))
    assert (near.table.column("x") == other.table.column("x")).all()
    assert equal_rows(near, other, near).all_real == 0.0


def test_each_rule_has_the_shares_of_rows_that_break_it_the_most_broken_first():
    real = Values.of(DOMAIN, [["b", "b", "a", "a"], [None, 1, 2, 3]])
    synthetic = Values.of(DOMAIN, [["b", "a", "a", "a"], [None, None, None, 3]])
    found = rule_breaks(real, synthetic)
    assert found[0].rule == "impossible: kind, x"
    assert [(one.real, one.synthetic) for one in found] == [(0.0, 0.5), (0.25, 0.25)]
