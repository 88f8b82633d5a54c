"""Simulated releases that choose bins first: one promise, one domain, errors in the chosen bins."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.simulations.simulate import simulate

pytestmark = pytest.mark.slow

DOMAIN = Domain.from_json(
    {
        "age": {"type": "numeric", "min": 0, "max": 120, "integer": True, "bins": "auto"},
        "kind": ["x", "y"],
        "free": {"type": "numeric", "bins": "auto"},
    }
)
RNG = np.random.default_rng(1)
COLUMNS = {
    "age": RNG.normal(40, 12, 2000).round().clip(0, 120),
    "kind": RNG.choice(["x", "y"], 2000),
    "free": RNG.normal(170, 10, 2000),
}
TABLE = encode_table(DOMAIN, COLUMNS)
EXACT = Budget(zcdp_rho=1e6)
SETTINGS = {
    "one place": {"protocol": "trusted"},
    "one party": {},
    "masked": {"grid": "2x2"},
    "dealers": {"grid": "2x2", "dealers": 3},
    "indicator": {"grid": "2x2", "protocol": "indicator"},
    "theorem": {"grid": "2x2", "protocol": "theorem"},
    "shuffled": {"grid": "2x2", "shuffle": True},
    "anywhere": {"grid": "1x2", "overlap": 0.9, "population": "anywhere"},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_chooses_bins_of_the_same_promise(setting):
    result = simulate(TABLE, epsilon=EXACT, mechanism="independent", workload="1way", seed=1, **setting)
    bins, main = result.bins, result.certificate
    assert bins.promise.zcdp_rho_granted + main.promise.zcdp_rho_granted == pytest.approx(1e6)
    assert main.promise.zcdp_rho_with_bins <= 1e6
    assert main.plan.bins.certificate == bins.digest().hex()
    assert main.plan.bins.attributes == ("age", "free")
    assert not result.rows.domain.open
    assert result.metrics["kway"][0]["total_variation"] < 0.01


def test_the_triples_of_a_target_are_those_of_the_chosen_bins():
    result = simulate(TABLE, epsilon=EXACT, mechanism="independent", target="kind", seed=1)
    chosen = Workload.for_target(result.rows.domain, "kind")
    assert [(one.clique, one.weight) for one in result.certificate.plan.workload] == list(
        zip(chosen.cliques, chosen.weights, strict=True)
    )


def test_every_share_of_the_budget_gives_the_same_whole():
    for share in (0.01, 0.5):
        result = simulate(TABLE, epsilon=Budget(1.0, 1e-9), mechanism="independent", bins_share=share)
        promise, spent = result.certificate.promise, result.bins.promise.zcdp_rho_granted
        assert spent == pytest.approx(share * (spent + promise.zcdp_rho_granted))
        assert promise.epsilon == 1.0
        assert 0.99 < promise.epsilon_with_bins <= 1.0


def test_a_seed_reproduces_the_choice_and_the_rows():
    made = [simulate(TABLE, epsilon=Budget(zcdp_rho=0.1), mechanism="independent", seed=3) for _ in range(2)]
    assert made[0].rows.domain == made[1].rows.domain
    assert made[0].rows.digest() == made[1].rows.digest()


def test_a_domain_that_says_all_bins_chooses_none():
    closed = Domain.from_json(
        {"age": {"type": "numeric", "min": 0, "max": 120, "bins": 10}, "kind": ["x", "y"]}
    )
    result = simulate(encode_table(closed, COLUMNS), epsilon=Budget(1.0, 1e-9), mechanism="independent")
    assert result.bins is None
    assert result.certificate.plan.bins is None
    assert result.certificate.promise.zcdp_rho_with_bins is None


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_refuses_a_share_that_leaves_nothing_for_one_of_the_releases(share):
    with pytest.raises(DataError, match="share of the budget between 0 and 1"):
        simulate(TABLE, epsilon=EXACT, bins_share=share)


def test_refuses_open_bins_where_a_paper_has_no_choice_of_them():
    with pytest.raises(DataError, match="declare them in the domain"):
        simulate(TABLE, epsilon=EXACT, protocol="indicator-mle", grid="2x2")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN.to_json()))
    rows = zip(*COLUMNS.values(), strict=True)
    (tmp_path / "rows.csv").write_text("age,kind,free\n" + "".join(f"{a:.0f},{k},{f}\n" for a, k, f in rows))
    return tmp_path


def run(files, *options):
    args = ["simulate", str(files / "rows.csv"), "--domain", str(files / "domain.json"), "--out"]
    return CliRunner().invoke(app, [*args, str(files / "out"), "--rho", "10", *options])


def test_the_command_writes_both_certificates_and_the_chosen_domain(files):
    assert run(files, "--mechanism", "independent", "--bins-share", "0.2").exit_code == 0
    bins, main = (Certificate.load(files / out / "certificate.json") for out in ("out/bins", "out"))
    assert main.plan.bins.certificate == bins.digest().hex()
    assert main.plan.bins.zcdp_rho == pytest.approx(2)
    chosen = Domain.load(files / "out/bins/domain.json")
    assert chosen.digest() == main.plan.domain_digest
    page = (files / "out/report.html").read_text()
    assert "Choice of bins, in a release before" in page


def test_the_command_refuses_binary_digits_of_open_bins(files):
    result = run(files, "--binarise")
    assert result.exit_code != 0
    assert "leaves the bins of age, free open" in " ".join(str(result.exception or result.output).split())
