"""The scores of the NIST challenge, against what they are by hand."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation import nist
from dpmosaic.simulations.evaluation.nist import Pay, classification_score, clustering_score, regression_score

DOMAIN = Domain(
    (
        CategoricalAttribute("sex", ("f", "m")),
        NumericAttribute("pay", 0, 90, 10, integer=False),
        CategoricalAttribute("city", ("x", "y", "z")),
    )
)
PAY = Pay("sex", "pay", "city")


def random_table(records=400, seed=0, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table.from_codes(domain, np.column_stack([rng.integers(0, n, records) for n in domain.sizes]))


def rng():
    return np.random.default_rng(7)


def all_three(real, synthetic):
    return [
        clustering_score(real, synthetic, rng()),
        classification_score(real, synthetic, rng()),
        regression_score(real, synthetic, PAY),
    ]


def test_a_copy_has_perfect_scores_in_any_order_of_its_rows():
    table = random_table()
    shuffled = table.take(np.random.default_rng(1).permutation(table.record_count))
    assert all_three(table, shuffled) == pytest.approx([1e6, 1e6, 1e6])
    assert all_three(table, Table.concatenate([table, table])) == pytest.approx([1e6, 1e6, 1e6])


def test_scores_lie_between_0_and_a_million_and_fall_with_distance():
    real = random_table()
    near = Table.concatenate([real, random_table(100, 1)])
    far = Table.from_codes(DOMAIN, np.tile([1, 9, 2], (400, 1)))
    for closer, further in zip(all_three(real, near), all_three(real, far), strict=True):
        assert 0 <= further < closer < 1e6


def test_tables_without_a_common_cell_have_no_clustering_score():
    real = Table.from_codes(DOMAIN, np.array([[0, 0, 0]] * 5))
    other = Table.from_codes(DOMAIN, np.array([[1, 1, 1]] * 5))
    assert clustering_score(real, other, rng()) == 0


def test_the_clustering_score_is_the_average_over_marginals_of_three():
    """With four attributes there are four marginals: 100 draws of them average near their mean."""
    domain = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4})
    real, synthetic = random_table(domain=domain), random_table(90, 3, domain)
    scores = []
    for clique in itertools.combinations(domain.names, 3):
        gaps = np.abs(real.marginal(clique) / 400 - synthetic.marginal(clique) / 90)
        scores.append(1e6 * (1 - gaps.sum() / 2))
    found = clustering_score(real, synthetic, rng())
    assert min(scores) < found < max(scores)
    assert found == pytest.approx(np.mean(scores), abs=4 * np.std(scores) / 10)


def test_the_classification_score_is_logarithmic_with_a_floor():
    """One attribute of one value is all that can be picked: frequencies 1 and 1, or 1 and none at all."""
    domain = Domain.coded({"a": 1})
    same = Table.from_codes(domain, np.zeros((3, 1), dtype=int))
    assert classification_score(same, same, rng()) == 1e6
    # Of two values, subsets are {0}, {1} or both; real is all 0, synthetic half and half.
    domain = Domain.coded({"a": 2})
    real = Table.from_codes(domain, np.zeros((4, 1), dtype=int))
    synthetic = Table.from_codes(domain, np.array([[0], [0], [1], [1]]))
    squares = []
    draws = rng()
    for _ in range(nist.SUBSETS):
        draws.choice(1, size=1, replace=False)
        inside = draws.random(2) < 0.5
        if not inside.any():
            inside[draws.integers(0, 2)] = True
        frequencies = max(1e-6, float(inside[0])), (inside[0] + inside[1]) / 2
        squares.append(math.log(frequencies[0] / frequencies[1]) ** 2)
    expected = 1e6 * max(0.0, 1 - math.sqrt(np.mean(squares)) / math.log(1000))
    assert classification_score(real, synthetic, rng()) == pytest.approx(expected)


def test_a_third_of_the_attributes_is_picked_and_numbers_by_ranges():
    seen = []
    domain = Domain((*DOMAIN.attributes, *Domain.coded(dict.fromkeys("uvw", 4)).attributes))
    table = random_table(50, domain=domain)
    real_frequency = nist._frequency
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nist, "_frequency", lambda t, wanted: seen.append(wanted) or real_frequency(t, wanted))
        classification_score(table, table, rng())
    assert {len(wanted) for wanted in seen} == {2}
    assert set(itertools.chain(*seen)) == set(domain.names)
    ranges = [wanted["pay"] for wanted in seen if "pay" in wanted]
    assert all(np.abs(np.diff(np.r_[False, inside, False].astype(int))).sum() == 2 for inside in ranges)
    assert any(wanted["u"].tolist() == [True, False, True, False] for wanted in seen if "u" in wanted)


def gini_by_definition(amounts):
    amounts = np.asarray(amounts, dtype=float)
    return np.abs(amounts[:, None] - amounts).mean() / (2 * amounts.mean())


def test_gini_coefficients_are_those_of_the_definition():
    generator = np.random.default_rng(2)
    counts = generator.integers(0, 5, (6, 8)).astype(float)
    amounts = generator.permutation(8) * 3.0
    for row, found in zip(counts, nist._ginis(counts, amounts), strict=True):
        people = np.repeat(amounts, row.astype(int))
        assert found == pytest.approx(gini_by_definition(people))
    assert nist._ginis(np.array([[4.0, 0.0]]), np.array([0.0, 1.0])).tolist() == [0.0]
    assert np.isnan(nist._ginis(np.zeros((1, 2)), np.array([0.0, 1.0]))[0])


def rows(*people):
    return Table.from_codes(DOMAIN, np.array(people))


def test_the_regression_score_by_hand():
    """Pay is 4.5, 13.5, ... Gaps in x, y, z: 9, 0, -9 in the one table, 0, 9, -9 in the other.

    The ranks 3, 2, 1 and 2, 3, 1 differ by 1, 1, 0: mean square 2/3 of at most 8/3. All coefficients are 0.
    """
    real = rows([0, 1, 0], [1, 0, 0], [0, 2, 1], [1, 2, 1], [0, 0, 2], [1, 1, 2])
    other = rows([0, 1, 0], [1, 1, 0], [0, 2, 1], [1, 1, 1], [0, 0, 2], [1, 1, 2])
    assert regression_score(real, other, PAY) == pytest.approx(1e6 * (1 + 3 / 4) / 2)


def test_reversed_ranks_and_missing_people_score_nothing():
    real = rows([0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1])
    reversed_gaps = rows([0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1])
    assert regression_score(real, reversed_gaps, PAY) == pytest.approx(1e6 / 2)
    nobody = rows([0, 3, 2])
    # All four coefficients are missing; both gaps are 0, ranks 1.5 and 1.5 for 2 and 1: 1/4 of at most 1.
    assert regression_score(real, nobody, PAY) == pytest.approx(1e6 * (0 + 3 / 4) / 2)


def test_inequality_counts_by_group_and_split():
    """One group. Of f two people have 4.5 and 13.5, Gini 1/4, or the same, Gini 0; m has 0 in both."""
    real = rows([0, 0, 0], [0, 1, 0], [1, 5, 0])
    other = rows([0, 0, 0], [0, 0, 0], [1, 5, 0])
    assert regression_score(real, other, PAY) == pytest.approx(1e6 * (1 - (1 / 4) ** 2 / 2 + 1) / 2)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (NumericAttribute("p", 0, 90, 3, integer=False), [15, 45, 75]),
        (NumericAttribute("p", 0, 3, 4), [0, 1, 2, 3]),
        (NumericAttribute("p", -2, 1, 2, nullable=True, integer=True), [0, 0.5, 0]),
        (CategoricalAttribute("p", ("a", "b")), [0, 1]),
    ],
)
def test_amounts_are_the_middles_of_bins_or_codes(attribute, expected):
    table = Table.from_codes(Domain((attribute,)), np.zeros((1, 1), dtype=int))
    assert nist._amounts(table, "p").tolist() == pytest.approx(expected)


def test_refuses_tables_that_cannot_be_compared():
    table = random_table(5)
    other = Table.from_codes(Domain.coded({"a": 2}), np.zeros((5, 1), dtype=int))
    with pytest.raises(DataError, match="different domains"):
        clustering_score(table, other, rng())
    with pytest.raises(DataError, match="empty"):
        classification_score(table, table.rows(0, 0), rng())
    with pytest.raises(DataError, match="three different"):
        regression_score(table, table, Pay("sex", "pay", "sex"))
    single = Table.from_codes(Domain.coded({"s": 1, "a": 2, "g": 2}), np.zeros((2, 3), dtype=int))
    with pytest.raises(DataError, match="one value"):
        regression_score(single, single, Pay("s", "a", "g"))
