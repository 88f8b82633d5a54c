"""A release that learned its columns, beside a real table that holds what it does not."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.curator.results.comparable import comparable

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")]

RARE = {"town": "Basel", "size": np.nan, "day": pd.NaT, "ill": None}
ODD = {"town": "NA", "size": "tall", "day": "soon", "ill": "N/A"}
"""What three records alone have, which a release does not learn; the second in a file."""


@pytest.fixture(scope="module")
def real():
    rng = np.random.default_rng(3)
    n = 2000
    rows = pd.DataFrame(
        {
            "town": rng.choice(["Bern", "Uri"], n).astype(object),
            "size": rng.normal(170, 10, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "ill": rng.choice(np.array([True, False], dtype=object), n),
        }
    )
    for name, value in RARE.items():
        rows.loc[[5, 6, 7], name] = value
    return rows


@pytest.fixture(scope="module")
def release(real):
    return dpmosaic.synthesize(real, epsilon=3.0, seed=2, mechanism="independent", ledger=False)


def test_it_is_compared_with_the_table_that_it_was_made_of(real, release):
    found = dpmosaic.evaluate(real, release)
    assert 0 < found.workload_error < 0.5
    assert "Basel" not in release.domain["town"].categories


def test_the_command_compares_it_with_a_file_of_any_cells(real, release, tmp_path):
    release.save(tmp_path / "out")
    rows = real.astype(object)
    for name, value in ODD.items():
        rows.loc[[8, 9], name] = value
    rows.to_csv(tmp_path / "real.csv", index=False)
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path / "real.csv"), str(tmp_path / "out"), "--json"])
    assert done.exception is None
    assert json.loads(done.stdout)["records"] == {"real": 2000, "synthetic": len(release.table)}


def test_its_page_and_figure_show_the_table_too(real, release, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    page = release.compare(real)
    page.save(tmp_path / "page.html")
    page.plot(["town", "size"]).save(tmp_path / "figure.png")
    assert "Basel" not in page.html


def test_what_the_release_holds_keeps_its_codes(release):
    learned = [one.name for one in release.certificate.plan.unseen]
    more = comparable(release.domain, learned)
    assert set(learned) == set(RARE)
    one, other = (dpmosaic.encode(release.table, domain) for domain in (release.domain, more))
    assert [column.tolist() for column in one.columns] == [column.tolist() for column in other.columns]
    assert comparable(release.domain, []) == release.domain
