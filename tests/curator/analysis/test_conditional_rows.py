"""Rows under random conditions on attributes of every kind, beside plain rows of which those are kept."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.analysis import drawing
from dpmosaic.curator.analysis.conditions import NOT_MISSING
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree
from support.certificates import certificate_form

SIZES = ["S", "M", "L", "XL"]
DOMAIN = Domain.from_json(
    {
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "nullable": True, "integer": True},
        "pay": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "atoms": [0.5], "nullable": True},
        "cost": {"type": "numeric", "min": 1, "max": 9, "bins": 4, "multiple_of": 0.5, "nullable": True},
        "gain": {"type": "numeric", "min": 1, "max": 1000, "bins": 6, "scale": "log", "nullable": True},
        "job": ["", "clerk, senior", "cook=chef", "it's", "wow!"],
        "size": {"type": "categorical", "categories": SIZES, "ordered": True},
        "grade": [1, 2, 3, 5],
        "smokes": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
        "born": {"type": "date", "min": "2000-01-01", "max": "2003-12-31", "bins": 4, "nullable": True},
        "seen": {"type": "timestamp", "min": "2020-01-01", "max": "2020-12-31T23:59:59", "bins": 12},
        "month": {
            "type": "date",
            "min": "2020-01-01",
            "max": "2020-12-31",
            "parts": ["month"],
            "nullable": True,
        },
        "left": {"type": "clock", "format": "HHMM", "bins": 6, "nullable": True},
        "lasted": {"type": "clock", "format": "HH:MM:SS", "bins": 6},
        "code": 5,
    }
)
CONTINUOUS = ("pay", "gain", "seen", "lasted")
UNORDERED = ("job", "smokes", "grade")


@pytest.fixture(scope="module")
def release():
    tree = JunctionTree.build(DOMAIN, list(zip(DOMAIN.names, DOMAIN.names[1:], strict=False)))
    oracle = MarginalOracle(tree, tree.cliques, 1000.0)
    oracle(np.random.default_rng(0).normal(size=tree.cells))
    model = MarkovRandomField(DOMAIN, tree, oracle.beliefs(), 1000.0, {}, 0.0, 0)
    return Published(None, model, Certificate.from_json(certificate_form(DOMAIN)), None, None)


@pytest.fixture(scope="module")
def plain(release):
    return drawing.generate_rows(release, 100_000, seed=1)


def random_condition(rng, name, values):
    """A condition on an attribute, by values that occur."""
    known = values.dropna().sample(2, random_state=int(rng.integers(2**31))).tolist()
    kinds = [NOT_MISSING]
    if values.isna().any():
        kinds.append(None)
    if name != "month":
        if name not in UNORDERED:
            low, high = sorted(known, key=SIZES.index if name == "size" else None)
            kinds += [(low, high), (None, high), (low, None)]
        if name not in CONTINUOUS:
            kinds += [known[0], known]
    if values.isna().any():
        kinds.append([None, kinds[2]] if len(kinds) > 2 and not isinstance(kinds[2], list) else [None])
    return kinds[rng.integers(len(kinds))]


def meeting(values, condition):
    """Which values meet it."""
    if isinstance(condition, list):
        return np.any([meeting(values, one) for one in condition], axis=0)
    if condition is None:
        return values.isna().to_numpy()
    if not isinstance(condition, tuple):
        return (values == condition).fillna(False).to_numpy(dtype=bool)
    held = values.notna()
    places = values.map(SIZES.index) if set(values.dropna()) <= set(SIZES) else values
    low, high = (SIZES.index(end) if end in SIZES else end for end in condition)
    held &= True if low is None else (places >= low).fillna(False)
    held &= True if high is None else (places <= high).fillna(False)
    return held.to_numpy(dtype=bool)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_all_rows_meet_the_condition_and_are_as_plain_rows_that_meet_it(release, plain, seed):
    """Shares of another column's missing and largest code differ by less than six standard deviations.

    The shares are of 2000 rows and of at least 200; 40 conditions fail by chance at a rate below 1e-6.
    """
    rng = np.random.default_rng(seed)
    names = rng.permutation(DOMAIN.names)[: rng.integers(1, 3)]
    where = {str(name): random_condition(rng, name, plain[name]) for name in names}
    rows = drawing.generate_rows(release, 2000, where, seed=seed)
    assert len(rows) == 2000
    pd.testing.assert_series_equal(rows.dtypes, plain.dtypes)
    kept = np.ones(len(plain), dtype=bool)
    for name, condition in where.items():
        assert meeting(rows[name], condition).all()
        kept &= meeting(plain[name], condition)
    wanted = plain[kept]
    if len(wanted) < 200:
        return
    for name in ("job", "code", "smokes"):
        shares = [frame[name].astype(str).value_counts(normalize=True) for frame in (rows, wanted)]
        for value, share in shares[1].items():
            spread = np.sqrt(share * (1 - share) * (1 / 2000 + 1 / len(wanted)))
            assert abs(shares[0].get(value, 0.0) - share) < 6 * spread + 0.005


def test_rows_that_are_adjusted_to_pairs_stay_under_a_rare_condition():
    rng = np.random.default_rng(1)
    rare = rng.choice(["a", "b", "c"], 5000, p=[0.01, 0.5, 0.49])
    counts = np.exp(rng.normal(3, 1, 5000)).round()
    domain = {
        "code": 5,
        "rare": ["a", "b", "c"],
        "count": {
            "type": "numeric",
            "min": 0,
            "max": 3000,
            "bins": "auto",
            "integer": True,
            "scale": "symlog",
        },
    }
    table = pd.DataFrame({"code": rng.integers(0, 5, 5000), "rare": rare, "count": counts})
    made = dpmosaic.synthesize(table, domain=domain, epsilon=1.0, seed=1)
    for high in (5, 10, 20):
        rows = made.generate(3000, where={"rare": "a", "count": (0, high)}, seed=3)
        assert set(rows["rare"]) == {"a"}
        assert rows["count"].between(0, high).all()
