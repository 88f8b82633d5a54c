import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.evaluation.values.correlations import correlations
from dpmosaic.simulations.evaluation.values.values import Values

DOMAIN = Domain(
    tuple(NumericAttribute(name, -50, 50, 10, nullable=True, integer=False) for name in ("x", "y", "z"))
)


def correlated(strength, seed, records=400):
    rng = np.random.default_rng(seed)
    x, noise, z = rng.normal(size=(3, records))
    return Values.of(DOMAIN, [x, strength * x + noise, np.exp(z)])


def test_correlations_are_those_of_numpy_and_scipy_and_the_furthest_pair_comes_first():
    real, synthetic = correlated(3, 0), correlated(0, 1)
    found = correlations(real, synthetic)
    assert found[0].pair == ("x", "y")
    assert {one.pair for one in found} == {("x", "y"), ("x", "z"), ("y", "z")}
    for one in found:
        for place, values in enumerate((real, synthetic)):
            left, right = (values.numbers[name] for name in one.pair)
            assert one.pearson[place] == pytest.approx(np.corrcoef(left, right)[0, 1])
            assert one.spearman[place] == pytest.approx(stats.spearmanr(left, right).statistic)


def test_a_record_with_one_missing_value_takes_no_part():
    x, y = [1.0, 2.0, 3.0, 9.0, np.nan], [2.0, 4.0, 6.0, np.nan, 7.0]
    values = Values.of(DOMAIN, [x, y, [0.0, 1.0, 0.0, 1.0, 0.0]])
    (found,) = (one for one in correlations(values, values) if one.pair == ("x", "y"))
    assert found.pearson == pytest.approx((1, 1))
    assert found.error == 0


def test_a_constant_column_has_no_correlation():
    constant = Values.of(DOMAIN, [[1.0] * 4, [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 4.0, 3.0]])
    found = {one.pair: one for one in correlations(constant, constant)}
    assert found["x", "y"].pearson == found["x", "y"].spearman == (None, None)
    assert found["y", "z"].pearson[0] is not None
