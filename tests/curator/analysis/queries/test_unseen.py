import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.analysis.estimators.means import mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.analysis.queries.answering import answer
from dpmosaic.curator.certificates.unseen import Unseen
from dpmosaic.synthesis.synthesize import synthesize

ROWS = 4_000


def released(scale="linear"):
    """A release with next to no noise, of a table whose bounds are 0 and 10."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"x": rng.integers(0, 11, ROWS), "g": rng.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])}
    )
    bins = {"type": "numeric", "min": 0, "max": 10, "bins": 11, "integer": True, "scale": scale}
    domain = Domain.from_json({"x": bins if scale == "linear" else bins | {"bins": 5}, "g": ["a", "b", "c"]})
    return synthesize(frame, epsilon=1_000.0, domain=domain, seed=1, progress=False).published


@pytest.fixture(scope="module")
def plain():
    return released()


def hiding(published: Published, *unseen: Unseen) -> Published:
    assert published.evidence is not None
    return replace(published, evidence=replace(published.evidence, unseen={one.name: one for one in unseen}))


def interval(published, query):
    return answer(published, f"SELECT {query} FROM release").rows[0].estimates[0]


TAIL = Unseen("x", usual=0, moved=0.0, below=0.0, above=100.0)


def test_a_mean_reaches_as_far_up_as_records_beyond_the_upper_bound_may_move_it(plain):
    before, after = interval(plain, "AVG(x)"), interval(hiding(plain, TAIL), "AVG(x)")
    deviation = math.sqrt(10)
    assert after.low == pytest.approx(before.low)
    assert after.high - before.high == pytest.approx(100 * deviation / plain.records, rel=0.05)


def test_a_group_may_have_the_root_of_its_share_of_them(plain):
    ask = "SELECT g, AVG(x) FROM release GROUP BY g"
    before, after = answer(plain, ask), answer(hiding(plain, TAIL), ask)
    more = [b.estimates[0].high - a.estimates[0].high for a, b in zip(before.rows, after.rows, strict=True)]
    assert more[2] / more[0] == pytest.approx(math.sqrt(0.5 / 0.2), rel=0.1)


def test_a_variance_reaches_up_by_the_squares_that_records_beyond_the_bound_may_add(plain):
    before, after = interval(plain, "VARIANCE(x)"), interval(hiding(plain, TAIL), "VARIANCE(x)")
    deviation = math.sqrt(10)
    more = (5 + deviation) ** 2 - 5**2
    assert after.low == pytest.approx(before.low)
    assert after.high - before.high == pytest.approx(100 * more / plain.records, rel=0.05)
    deviations = interval(hiding(plain, TAIL), "STDDEV(x)")
    assert deviations.high == pytest.approx(math.sqrt(after.high))


def test_values_that_were_not_listed_leave_no_interval_of_how_many_there_are(plain):
    hidden = hiding(plain, Unseen("g", usual=0, moved=60.0))
    assert interval(plain, "COUNT(DISTINCT g)").low == interval(plain, "COUNT(DISTINCT g)").high == 3
    assert math.isnan(interval(hidden, "COUNT(DISTINCT g)").low)


def test_a_count_widens_only_where_its_condition_reaches_beyond_the_bound(plain):
    hidden = hiding(plain, TAIL)
    assert interval(hidden, "COUNT_IF(x > 5)") == interval(plain, "COUNT_IF(x > 5)")
    assert interval(hidden, "COUNT_IF(x = 10)").low < interval(plain, "COUNT_IF(x = 10)").low - 99
    assert math.isnan(interval(hidden, "COUNT_IF(x > 12)").high)
    assert interval(hidden, "SHARE(x > 12)").high >= 100 / plain.records * (1 - 1e-9)


def test_records_without_a_value_are_taken_from_the_value_as_which_they_count(plain):
    hidden = hiding(plain, Unseen("g", usual=0, moved=60.0))
    before, after = (interval(one, "COUNT_IF(g = 'a')") for one in (plain, hidden))
    assert (before.low - after.low, after.high) == pytest.approx((60, before.high))
    assert interval(hidden, "COUNT(g)").low == pytest.approx(interval(plain, "COUNT(g)").low - 60)
    assert interval(hidden, "COUNT(*)") == interval(plain, "COUNT(*)")


def test_a_quantile_among_hidden_records_has_no_interval_and_says_why(plain):
    hidden = hiding(plain, TAIL)
    assert interval(hidden, "MEDIAN(x)") == interval(plain, "MEDIAN(x)")
    found = interval(hidden, "QUANTILE(x, 0.99)")
    assert math.isnan(found.low)
    assert "beyond 0 to 10" in found.note


@pytest.mark.slow
def test_a_long_tail_has_no_interval_and_says_how_many_records_lie_beyond():
    hidden = hiding(released("symlog"), TAIL)
    for query in ("AVG(x)", "SUM(x)"):
        found = interval(hidden, query)
        assert math.isnan(found.low)
        assert "up to 100 records may lie beyond 0 to 10" in found.note
    for found in (mean(hidden, "x"), linear(hidden, "x ~ g")):
        assert np.isnan(found.low).all()
        assert "up to 100 records" in found.notes[0]


def test_estimates_of_means_and_shares_widen_as_queries_do(plain):
    hidden = hiding(plain, TAIL, Unseen("g", usual=0, moved=60.0))
    assert mean(hidden, "x").high > mean(plain, "x").high
    assert mean(hidden, "x").low == pytest.approx(mean(plain, "x").low)
    wider = proportion(hidden, "g", "a").high - proportion(plain, "g", "a").high
    assert wider == pytest.approx(60 / plain.records)


def test_what_is_hidden_is_in_the_saved_evidence(plain, tmp_path):
    evidence = hiding(plain, TAIL).evidence
    evidence.save(tmp_path / "evidence.npz")
    assert type(evidence).load(tmp_path / "evidence.npz").unseen == {"x": TAIL}


@pytest.mark.parametrize("limits", [{"moved": -1.0}, {"moved": 0.0, "above": math.inf}])
def test_refuses_limits_that_are_no_numbers_of_records(limits):
    with pytest.raises(ValueError, match="numbers of records"):
        Unseen("x", 0, **limits)
