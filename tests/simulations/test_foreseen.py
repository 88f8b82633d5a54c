"""A dry run foresees the release of every mechanism, and states bounds where it cannot."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs, mechanism_named
from dpmosaic.simulations.foreseen import forecast_simulation
from dpmosaic.simulations.simulate import simulate

BUDGET = Budget(1.0, 1e-6)
VARIANTS = [(name, variant) for name, entry in CATALOGUE.items() for variant in entry.variants]


@pytest.fixture(scope="module")
def table():
    codes = np.random.default_rng(1).integers(0, 4, (600, 4))
    codes[:, 1] = codes[:, 0]
    return Table.from_codes(Domain.coded({"a": 4, "b": 4, "c": 4, "d": 4}), codes)


def foreseen(table, name, variant="default", **more):
    protocol = {"protocol": "trusted"} if CATALOGUE[name].needs is Needs.RECORDS else {"grid": "2x2"}
    mechanism = mechanism_named(name, variant)
    return forecast_simulation(table, epsilon=BUDGET, mechanism=mechanism, **{**protocol, **more})


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_mechanism_states_cost_time_and_memory_before_it_runs(table, name, variant):
    said = foreseen(table, name, variant).to_json()
    assert sum(step["zcdp_rho"] for step in said["steps"]) == pytest.approx(said["zcdp_rho"])
    assert all(0 <= step["query_zcdp_rho"] <= step["zcdp_rho"] for step in said["steps"])
    curator = said["curator"]
    assert curator["marginals_mb"] >= 0
    # Either the seconds are bounded, or it is said how many steps a network trains.
    assert (curator["fit_s"] is None) == (curator["training"] is not None)
    json.dumps(said, allow_nan=False)


@pytest.mark.slow
def test_the_model_of_a_release_stays_within_the_foreseen_memory(table):
    said = foreseen(table, "aim")
    made = simulate(table, epsilon=BUDGET, mechanism="aim", grid="2x2", seed=1)
    assert made.fitted.model.size_mb <= said.resources.model_mb
    assert len(made.fitted.rounds) <= said.resources.fits


def test_a_time_limit_is_the_foreseen_time(table):
    mechanism = mechanism_named("mosaic", settings={"time_limit": "7"})
    said = forecast_simulation(table, epsilon=BUDGET, mechanism=mechanism, grid="2x2")
    assert said.resources.fit_s == 7


def test_a_training_is_foreseen_as_the_budget_pays_for_it(table):
    mechanism, training = mechanism_named("dp-gan"), foreseen(table, "dp-gan").resources.training
    assert training.steps == round(mechanism.epochs / mechanism.sample_rate)
    assert training.sample_rate == mechanism.sample_rate
    dearer = forecast_simulation(table, epsilon=Budget(4.0, 1e-6), mechanism=mechanism, protocol="trusted")
    assert dearer.resources.training.noise_multiplier < training.noise_multiplier


def test_open_bins_are_foreseen_as_planned():
    domain = Domain.from_json({"x": {"type": "numeric", "min": 0, "max": 9, "bins": "auto"}, "y": 3})
    rows = encode_table(domain, {"x": np.arange(200) % 10, "y": np.arange(200) % 3})
    said = forecast_simulation(rows, epsilon=BUDGET, mechanism="independent")
    assert said.bins_rho == pytest.approx(0.1 * float(said.granted) / 0.9, rel=0.2)


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_refuses_to_foresee_the_protocols_of_papers(table, protocol):
    with pytest.raises(DataError, match="follows a paper and has no forecast"):
        foreseen(table, "independent", protocol=protocol)


def test_the_command_prints_the_forecast_and_writes_nothing(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "0,1\n1,0\n" * 50)
    (tmp_path / "domain.json").write_text('{"a": 2, "b": 2}')
    options = [
        "simulate",
        str(tmp_path / "rows.csv"),
        "--domain",
        str(tmp_path / "domain.json"),
        "--epsilon",
        "1",
    ]
    files = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(app, [*options, "--dry-run", "--mechanism", "mst"])
    assert done.exit_code == 0, done.output
    assert "Nothing was measured or" in done.output
    assert "At the curator:" in done.output
    assert sorted(tmp_path.iterdir()) == files
    refused = CliRunner().invoke(app, options)
    assert isinstance(refused.exception, DataError)
    assert "expected --out" in str(refused.exception)
