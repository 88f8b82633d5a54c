"""Releases of a table in which a date comes after another: the gap comes back wherever rows do."""

import json

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.values.values import Values
from dpmosaic.simulations.parties.partition import Grid
from dpmosaic.simulations.simulate import simulate

pytestmark = pytest.mark.slow

ROWS = 2000
DOMAIN = {
    "sex": ["f", "m"],
    "admitted": {"type": "date", "min": "2019-01-01", "max": "2021-12-31", "bins": 36},
    "died": {
        "type": "timestamp",
        "granularity": "minute",
        "after": {"admitted": {"min": 0, "max": 86400, "bins": "auto", "scale": "symlog"}},
        "format": "%d.%m.%Y %H:%M",
        "nullable": True,
    },
}
EXACT = {"epsilon": 200.0, "delta": 1e-6, "mechanism": "independent", "seed": 7}


def table():
    rng = np.random.default_rng(5)
    admitted = pd.Series(np.datetime64("2019-01-01") + rng.integers(0, 1096, ROWS)).astype("datetime64[us]")
    minutes = np.minimum(rng.lognormal(9, 1, ROWS).astype(int), 86400)
    died = (admitted + pd.to_timedelta(minutes, unit="min")).dt.strftime("%d.%m.%Y %H:%M")
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "admitted": admitted,
            "died": died.where(rng.random(ROWS) < 0.4, None),
        }
    )


def gaps(rows):
    """The gaps in minutes, where there are some."""
    died = pd.to_datetime(rows["died"], format="%d.%m.%Y %H:%M")
    return ((died - pd.to_datetime(rows["admitted"])) / pd.Timedelta("1min")).dropna()


@pytest.fixture(scope="module")
def release():
    return dpmosaic.synthesize(table(), domain=DOMAIN, **EXACT)


@pytest.fixture(scope="module", params=["csv", "parquet"])
def loaded(release, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / request.param
    release.save(folder, request.param)
    return dpmosaic.load(folder)


def test_the_gap_comes_back_in_tables_samples_and_copies(release, loaded):
    real = gaps(table())
    for rows in (release.table, loaded.table, release.generate(2000, seed=1), *loaded.copies(2, seed=1)):
        found = gaps(rows)
        assert found.min() >= 0
        assert found.median() == pytest.approx(real.median(), rel=0.15)
        assert rows["died"].notna().mean() == pytest.approx(table()["died"].notna().mean(), abs=0.05)
        assert rows.dtypes.equals(release.table.dtypes)


def test_a_condition_on_the_other_date_or_on_the_gap_is_met(loaded):
    some = loaded.generate(300, where={"admitted": ("2020-02-01", "2020-02-20")}, seed=2)
    assert some["admitted"].between("2020-02-01", "2020-02-20").all()
    soon = loaded.generate(300, where="died - admitted=..2000", seed=2)
    assert len(gaps(soon)) == 300
    assert gaps(soon).max() <= 2000


def test_rows_that_are_read_again_have_the_codes_of_the_release(release, loaded):
    assert loaded.rows.digest() == release.rows.digest()


def test_estimates_over_rows_select_by_the_gap(loaded):
    minutes = gaps(loaded.table)
    found = loaded.proportion("sex", "f", where={"died - admitted": (0, 5000)})
    chosen = loaded.table.loc[minutes.index[minutes <= 5000], "sex"]
    assert found.released[0] == pytest.approx((chosen == "f").mean())


def test_an_evaluation_compares_gaps(release, tmp_path):
    paths = tmp_path / "real.csv", tmp_path / "synthetic.csv"
    for path, rows in zip(paths, (table(), release.table), strict=True):
        rows.to_csv(path, index=False)
    real, synthetic = (Values.read(path, release.domain).numbers["died"] for path in paths)
    assert np.nanmedian(synthetic) == pytest.approx(np.nanmedian(real), rel=0.15)


def test_parties_hold_both_dates_or_the_simulation_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    table().to_csv(path, index=False)
    divided = Grid.even(dpmosaic.Domain.from_json(DOMAIN), ROWS, 1, 3)
    for grid, party in (("1x3", "its party of slice 1"), (divided, "party '.*' of slice 1")):
        with pytest.raises(DataError, match=f"'died' comes after 'admitted', which {party} does not have"):
            simulate(path, domain=DOMAIN, grid=grid, epsilon=dpmosaic.Budget(zcdp_rho=50.0))
    grid = tmp_path / "grid.json"
    slices = [{"rows": ROWS // 2, "groups": [["sex"], ["admitted", "died"]]}] * 2
    grid.write_text(json.dumps(slices), encoding="utf-8")
    found = simulate(
        path, domain=DOMAIN, grid=str(grid), epsilon=dpmosaic.Budget(zcdp_rho=50.0), mechanism="independent"
    )
    rows = dpmosaic.decode(found.rows, seed=1)
    assert gaps(rows).median() == pytest.approx(gaps(table()).median(), rel=0.15)
