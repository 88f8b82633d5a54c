"""What related tables keep, at a budget at which noise does not show."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.curator.people.rows import records
from dpmosaic.simulations.evaluation.related import evaluate, mean_distance

pytestmark = pytest.mark.slow

RELATIONS = {"visits": {"id": "people"}}
ORDER = {"visits": "day"}
DOMAIN = {
    "people": {
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 20, "integer": True},
        "sex": ["f", "m"],
    },
    "visits": {
        "day": {"type": "numeric", "min": 0, "max": 3650, "bins": 50, "integer": True},
        "test": ["pulse", "smoke"],
        "value": {"type": "numeric", "min": 0, "max": 120, "bins": 121, "integer": True},
    },
}


def real():
    rng = np.random.default_rng(3)
    size = 3_000
    age, sex = rng.integers(20, 90, size), rng.choice(["f", "m"], size)
    # Older people have more rows, in a time of their own.
    numbers = rng.poisson(age / 10)
    person = np.repeat(np.arange(size), numbers)
    followed = rng.integers(100, 3000, size)
    day = np.floor(rng.random(len(person)) * followed[person]).astype(int)
    test = rng.choice(["pulse", "smoke"], len(person))
    pulse = rng.normal(70 + 8 * (sex[person] == "m"), 8).clip(40, 120).astype(int)
    value = np.where(test == "smoke", rng.random(len(person)) < 0.3, pulse)
    rows = pd.DataFrame({"id": person, "day": day, "test": test, "value": value})
    return {"people": pd.DataFrame({"id": np.arange(size), "age": age, "sex": sex}), "visits": rows}


REAL = real()


@pytest.fixture(scope="module")
def release():
    return dpmosaic.synthesize(
        REAL, 200.0, relations=RELATIONS, order=ORDER, domain=DOMAIN, seed=1, progress=False
    )


@pytest.fixture(scope="module")
def found(release):
    return evaluate(REAL, release.tables, RELATIONS, ORDER)["visits"]


def test_pairs_numbers_and_spans_are_close(found):
    assert found.numbers < 0.03
    assert found.orphans == 0
    assert mean_distance(found.within) < 0.06
    assert mean_distance(found.across) < 0.05
    assert mean_distance(found.before) < 0.06
    assert found.spans < 0.06


def test_texts_as_keys_leave_no_orphan():
    texts = {name: rows.assign(id="p" + rows.id.astype(str)) for name, rows in REAL.items()}
    made = dpmosaic.synthesize(
        texts, 1.0, relations=RELATIONS, order=ORDER, domain=DOMAIN, seed=1, progress=False
    )
    assert made.tables["visits"].id.isin(made.tables["people"].id).all()


def test_a_value_fits_its_test(release):
    rows = release.tables["visits"]
    assert (rows.value[rows.test == "smoke"] <= 1).mean() > 0.95
    assert (rows.value[rows.test == "pulse"] >= 37).mean() > 0.97


def test_dates_do_not_pile_up_at_the_bounds(release):
    days = release.tables["visits"].day
    assert (days == 3650).mean() < 0.002


def test_a_first_row_and_no_other_has_none_before_it(release):
    family = release.family
    rows = release.generate(500, seed=2)["visits"]
    assert rows.groupby("id").day.apply(lambda days: days.is_monotonic_increasing).all()
    domain = family.record("visits")
    assert domain.rules
    sampled = release.releases["visits"].rows
    for rule in domain.rules:
        codes = {name: sampled.column(name) for name in domain}
        assert not rule.forbids(domain, codes).any()


def test_weights_of_a_person_stay_below_one_with_evened_numbers(release):
    from dpmosaic.common.data.related.rows import Rows
    from dpmosaic.common.privacy.cost import WEIGHT_PARTS

    family = release.family
    assert family["visits"].evened > 1
    numbers = np.array([0, 1, 3, family["visits"].evened, 500])
    parent = np.repeat(np.arange(5), numbers)
    own = (*family.own("visits"), *family.counted_attributes("visits"))
    codes = {one.name: np.zeros(len(parent), dtype=np.int64) for one in own}
    people = {one.name: np.zeros(5, dtype=np.int64) for one in family.own("people")}
    rows = {"people": Rows(people, np.arange(5), 5), "visits": Rows(codes, parent, 5)}
    table = records(family, "visits", rows)
    assert (np.bincount(parent, table.weights, 5) <= WEIGHT_PARTS).all()


def test_people_of_a_key_alone_have_numbers_of_rows_without_learning():
    rows = REAL["visits"]
    made = dpmosaic.synthesize(
        rows, 5.0, key="id", order="day", domain=DOMAIN["visits"], seed=1, progress=False
    )
    found = made.tables["rows"].id.value_counts().mean()
    assert found == pytest.approx(rows.id.value_counts().mean(), rel=0.1)


def test_codes_follow_the_year_where_the_pair_is_named():
    """Odd years have other codes than even ones; without the pair, half of the rows are wrong."""
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(3_000), rng.poisson(5, 3_000))
    day = np.floor(rng.random(len(person)) * 3650).astype(int)
    kind = rng.integers(0, 3, len(person))
    code = np.where(day % 730 < 365, np.array(["a", "b", "c"])[kind], np.array(["d", "e", "f"])[kind])
    real = pd.DataFrame({"id": person, "day": day, "code": code})
    made = dpmosaic.synthesize(
        real,
        20.0,
        key="id",
        order="day",
        domain={"day": DOMAIN["visits"]["day"], "code": list("abcdef")},
        workload=[("code", "day")],
        seed=1,
        progress=False,
    )
    shares = [pd.crosstab(rows.day // 365, rows.code, normalize="all") for rows in (real, made.table)]
    apart = shares[0].sub(shares[1], fill_value=0).abs().to_numpy().sum() / 2
    assert apart < 0.15
    some = made.generate(2_000, seed=2)["rows"]
    other = pd.crosstab(some.day // 365, some.code, normalize="all")
    assert shares[0].sub(other, fill_value=0).abs().to_numpy().sum() / 2 < 0.15


def test_rows_of_the_first_people_are_as_those_of_all():
    """What sweeps change to reach noisy pairs, they change in people anywhere."""
    rng, size = np.random.default_rng(2), 800
    person = np.repeat(np.arange(size), 4)
    rows = {"id": person, "year": np.tile(np.arange(4), size)}
    for name in "abcde":
        usual = rng.integers(0, 8, size)[person]
        rows[name] = np.where(rng.random(len(person)) < 0.8, usual, rng.integers(0, 8, len(person)))
    year = {"type": "numeric", "min": 0, "max": 4, "bins": 5, "integer": True}
    made = dpmosaic.synthesize(
        {"people": pd.DataFrame({"id": range(size), "form": ["s", "t"] * 400}), "rows": pd.DataFrame(rows)},
        0.3,
        relations={"rows": {"id": "people"}},
        order={"rows": "year"},
        domain={
            "people": {"form": ["s", "t"]},
            "rows": {"year": year} | {one: [*range(8)] for one in "abcde"},
        },
        seed=2,
        progress=False,
    ).tables["rows"]
    firsts = made.groupby("id").head(1)
    ratios = []
    for name in "abcde":
        parts = pd.crosstab(np.arange(len(firsts)) * 20 // len(firsts), firsts[name]).to_numpy(float)
        expected = parts.sum(axis=1, keepdims=True) * parts.sum(axis=0) / parts.sum()
        ratios.append(((parts - expected) ** 2 / expected).sum() / np.prod(np.array(parts.shape) - 1))
    # Of chi squared and its degrees of freedom, 133: the mean of five deviates by 0.055.
    assert np.mean(ratios) < 1.2
