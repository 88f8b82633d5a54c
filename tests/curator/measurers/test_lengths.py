"""How much rows of people count where they weigh by length, as far as noisy sums say it."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.people import ByLength, PeopleRows
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.curator.measurers.lengths import Lengths

DOMAIN = Domain.coded({"sex": 2, "kind": 5, "value": 40, "place": 6})
OWN = frozenset({"kind", "value", "place"})
PEOPLE = 4_000


def rows_of(alike, evened=3, seed=1):
    """People whose rows agree with another row of the person so often by more than chance."""
    rng = np.random.default_rng(seed)
    numbers = rng.geometric(0.08, PEOPLE)
    person = np.repeat(np.arange(PEOPLE), numbers)
    columns = {"sex": rng.integers(0, 2, PEOPLE)[person]}
    for name in ("kind", "value", "place"):
        size = DOMAIN[name].size
        shares = rng.dirichlet(np.full(size, 2.0))
        own = rng.choice(size, PEOPLE, p=shares)[person]
        same = rng.random(len(person)) < np.sqrt(alike[name])
        columns[name] = np.where(same, own, rng.choice(size, len(person), p=shares))
    table = Table.from_codes(DOMAIN, columns)
    return PeopleRows.weighing_evenly(table, person, PEOPLE, WEIGHT_PARTS, evened, OWN), numbers


def true_factor(rows, view):
    return view.counted(rows.adding_up).sum() / view.counted(rows).sum()


def learned(rows, numbers, sigma, seed=2):
    """What is learned from noisy marginals of all columns."""
    rng, found = np.random.default_rng(seed), Lengths(rows.by_length, numbers)
    records = view_sum(rows) / WEIGHT_PARTS
    for name in sorted(OWN):
        view = View((name,))
        counts = view.counted(rows) / WEIGHT_PARTS
        assert found.needs(view, 1.0)
        found.learn(view, counts + rng.normal(0, sigma, counts.size), sigma, records, DOMAIN)
        assert not found.needs(view, 1.0)
    return found


def view_sum(rows):
    return View(("sex",)).counted(rows.adding_up).sum()


VIEWS = (
    View(("kind",)),
    View(("value",)),
    View(("sex", "kind")),
    View(("sex", "value"), ((), tuple(np.arange(40) // 8))),
    View(("kind", "value")),
    View(("value", "place"), interaction=True),
    View(("kind", "place")),
)


@pytest.mark.parametrize(
    "alike",
    [
        {"kind": 0.0, "value": 0.0, "place": 0.0},
        {"kind": 0.7, "value": 0.1, "place": 0.4},
        {"kind": 0.1, "value": 0.05, "place": 1.0},
    ],
)
def test_the_factor_of_a_view_is_near_that_of_the_rows(alike):
    """Of two columns, also where one says nothing of the other, which is not supposed."""
    rows, numbers = rows_of(alike)
    found = learned(rows, numbers, 5.0)
    for view in VIEWS:
        away = 0.1 if len(OWN.intersection(view.clique)) == 1 else 0.2
        assert found.factor(view, DOMAIN) == pytest.approx(true_factor(rows, view), rel=away)


def test_columns_of_a_table_help_each_other_where_noise_hides_each_of_their_sums():
    rows, numbers = rows_of({"kind": 0.1, "value": 0.1, "place": 0.1})
    view, away, alone = View(("kind",)), [], []
    exact = true_factor(rows, view)
    for seed in range(20):
        away.append(learned(rows, numbers, 400.0, seed).factor(view, DOMAIN) - exact)
        one = Lengths(rows.by_length, numbers)
        counts = view.counted(rows) / WEIGHT_PARTS
        noisy = counts + np.random.default_rng(seed).normal(0, 400.0, counts.size)
        one.learn(view, noisy, 400.0, view_sum(rows) / WEIGHT_PARTS, DOMAIN)
        alone.append(one.factor(view, DOMAIN) - exact)
    assert np.hypot.reduce(away) <= np.hypot.reduce(alone)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_first_row_of_a_person_is_alone_in_a_code_that_no_other_row_has(grouped):
    """People of few rows agree less often than by chance in a column with such a code."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(1, 4, PEOPLE)
    person = np.repeat(np.arange(PEOPLE), numbers)
    first = np.append(True, person[1:] != person[:-1])
    domain = Domain.coded({"before": 6, "kind": 5})
    kind = rng.choice(5, len(person), p=[0.6, 0.1, 0.1, 0.1, 0.1])
    before = np.where(first, 5, rng.choice(5, len(person), p=[0.4, 0.3, 0.1, 0.1, 0.1]))
    table = Table.from_codes(domain, {"before": before, "kind": kind})
    varying = frozenset(domain.names)
    rows = PeopleRows.weighing_evenly(table, person, PEOPLE, WEIGHT_PARTS, 1, varying)
    known, guessed = (Lengths(rows.by_length, numbers, codes) for codes in ({"before": 5}, None))
    records = float(rows.weights.sum()) / WEIGHT_PARTS
    for one in (known, guessed):
        for name in domain.names:
            counts = View((name,)).counted(rows) / WEIGHT_PARTS
            one.learn(View((name,)), counts, 0.5, records, domain)
    groups = ((0, 0, 1, 1, 2, 2),) if grouped else ()
    for view in (View(("before",), groups), View(("before", "kind"), (*groups, ()) if groups else ())):
        exact = true_factor(rows, view)
        away, otherwise = (abs(one.factor(view, domain) / exact - 1) for one in (known, guessed))
        assert away < 0.03
        assert away < otherwise or grouped


def test_what_rows_of_a_person_agree_in_and_what_adds_up_counts_as_it_is():
    rows, numbers = rows_of({"kind": 0.5, "value": 0.5, "place": 0.5})
    found = Lengths(rows.by_length, numbers)
    assert found.factor(View(("sex",)), DOMAIN) == 1
    assert found.factor(View(("kind",), boxes=(((0, 2),),)), DOMAIN) == 1
    assert not found.needs(View(("sex",)), 0.0)
    assert not found.needs(View(("sex", "kind")), 1.0)


def test_a_measurement_is_scaled_with_its_noise():
    whole = Measurement(View(("kind",)), np.arange(5.0), 2.0, 0.1, sigmas=np.ones(5))
    half = whole.times(0.5)
    assert half.values.tolist() == [0, 0.5, 1, 1.5, 2]
    assert (half.sigma, half.sigmas.tolist(), half.zcdp_rho) == (1.0, [0.5] * 5, 0.1)
    assert whole.times(1.0) is whole


def test_many_columns_and_nobody_with_rows_leave_a_number():
    names = {f"c{place}": 3 for place in range(400)}
    domain, rule = Domain.coded(names), ByLength(frozenset(names), 2)
    found = Lengths(rule, np.zeros(10, dtype=np.int64))
    for seed, name in enumerate(names):
        noisy = np.random.default_rng(seed).normal(1e6 * (seed % 2), 1.0, 3)
        found.learn(View((name,)), noisy, 1e-3, 100.0, domain)
    assert 0 < found.factor(View(("c1", "c2")), domain) <= 1


def test_a_precise_sum_of_a_pair_says_how_its_rows_count():
    rows, numbers = rows_of({"kind": 0.0, "value": 0.0, "place": 0.0})
    found, view = learned(rows, numbers, 5.0), View(("kind", "place"))
    exact, guessed = true_factor(rows, view), found.factor(view, DOMAIN)
    assert found.needs(view, 0.01)
    records = view_sum(rows) / WEIGHT_PARTS
    found.learn(view, view.counted(rows) / WEIGHT_PARTS, 0.5, records, DOMAIN)
    assert not found.needs(view, 0.01)
    assert abs(guessed / exact - 1) > 0.1
    assert found.factor(View(("kind", "place"), interaction=True), DOMAIN) == pytest.approx(exact, rel=0.01)
