"""What is said before a release, against what the release then does."""

import json
import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.forecasting.display import print_forecast
from dpmosaic.curator.forecasting.forecast import forecast
from dpmosaic.curator.releasing.plan import ReleasePlan
from dpmosaic.simulations import network
from dpmosaic.simulations.partition import Grid, partition
from support.releases import release_of_plan

SIZES = {"a": 6, "b": 3, "c": 5, "d": 2}
RECORDS = 900


class Setting:
    """A plan, and parties in this process that allow it; b says most of a, d most of c."""

    def __init__(self, folder, grid, **keys):
        (folder / "d.json").write_text(json.dumps(SIZES))
        lines = {k: v for k, v in ({"domain": "d.json", "rho": 0.5} | keys).items() if v is not None}
        stated = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
        rows, columns = (int(part) for part in grid.split("x"))
        names = [[f"party-{i}-{j}" for j in range(1, columns + 1)] for i in range(1, rows + 1)]
        slices = "".join(f"\n[[slice]]\nparties = {json.dumps(row)}\n" for row in names)
        (folder / "plan.toml").write_text(f"[release]\n{stated}\n{slices}")
        self.folder, self.plan = folder, ReleasePlan.load(folder / "plan.toml")
        rng = np.random.default_rng(1)
        a, c = rng.integers(0, 6, RECORDS), rng.integers(0, 5, RECORDS)
        table = Table.from_codes(Domain.coded(SIZES), np.column_stack([a, a // 2, c, c // 3]))
        policy = network.policy_for(self.plan.protocol.name, Adjacency.ZERO_OUT, 0.5)
        pieces = partition(table, Grid.parse(grid, table.domain, RECORDS))
        self.links = network.start_parties(pieces, policy, RandomStream.from_seed(1))

    @property
    def bytes(self):
        return sum(link.bytes_in + link.bytes_out for row in self.links for link in row)

    def forecast(self):
        return forecast(self.plan, self.links, 10.0)

    def release(self):
        return release_of_plan(self.plan, self.links, self.folder)


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x3"])
def test_one_way_marginals_have_the_noise_that_was_forecast(tmp_path, grid):
    keys = {"mechanism": "independent", "workload": "1way"} | ({"collusions": 0} if grid == "1x1" else {})
    setting = Setting(tmp_path, grid, **keys)
    said = setting.forecast()
    measured = {m.clique: m.sigma for m in setting.release().fitted.measurements}
    assert {m.clique: m.least_sigma for m in said.outlook.marginals} == pytest.approx(measured)
    assert all(m.least_sigma == m.largest_sigma for m in said.outlook.marginals)


@pytest.mark.parametrize("mechanism", ["mosaic", "randdpgen"])
@pytest.mark.parametrize(
    "keys", [{}, {"collusions": 2}, {"protocol": "indicator"}], ids=["scores", "marginals", "indicator"]
)
def test_steps_bytes_and_noise_of_a_release_are_within_its_forecast(tmp_path, keys, mechanism):
    setting = Setting(tmp_path, "2x2", mechanism=mechanism, **keys)
    said = setting.forecast()
    before = setting.bytes
    released = setting.release()
    moved = setting.bytes - before
    # The rest is names, signatures and the certificate's statements.
    assert 0.3 * said.traffic.total < moved < said.traffic.total + 120_000
    names = {step.name for step in said.outlook.steps}
    assert sum(step.zcdp_rho for step in said.outlook.steps) == pytest.approx(0.5)
    # Where all candidates are looked at, the last round is the rest of the rounds.
    assert set(released.certificate.steps) <= names | {"last round"}
    last = {m.clique: m.sigma for m in released.fitted.measurements if len(m.clique) == 2}
    known = {m.clique: m for m in said.outlook.marginals}
    assert last
    if not keys and mechanism == "randdpgen":
        for clique, sigma in last.items():
            assert known[clique].least_sigma * (1 - 1e-9) <= sigma <= known[clique].largest_sigma * (1 + 1e-9)


def test_a_forecast_charges_nothing_and_asks_for_descriptions_alone(tmp_path):
    setting = Setting(tmp_path, "2x2")
    asked = []

    class Watched:
        def __init__(self, link):
            self.link = link

        def call(self, method, requests):
            asked.append(method)
            return self.link.call(method, requests)

    forecast(setting.plan, [[Watched(link) for link in row] for row in setting.links], 10.0)
    assert set(asked) == {"Describe"}


def test_a_faster_link_is_expected_to_take_less_time(tmp_path):
    setting = Setting(tmp_path, "2x2")
    slow, fast = (forecast(setting.plan, setting.links, rate) for rate in (0.01, 100.0))
    waited, less = (said.seconds - said.traffic.calls * said.latency_s for said in (slow, fast))
    assert waited > less + 0.9 * slow.traffic.total / (0.01 * 2**20)


def test_a_marginal_that_drowns_in_noise_is_said_to_be_never_measured(tmp_path):
    setting = Setting(tmp_path, "1x2", mechanism="randdpgen", protocol="indicator", rho=1e-4)
    said = setting.forecast()
    never = [m for m in said.outlook.marginals if math.isinf(m.least_sigma)]
    assert {("a", "c")} <= {m.clique for m in never}
    form = json.loads(json.dumps(said.to_json(), allow_nan=False))
    assert {"clique": ["a", "c"], "least_sigma": None}.items() <= next(
        m for m in form["marginals"] if m["clique"] == ["a", "c"]
    ).items()
    shown = StringIO()
    print_forecast(Console(file=shown, width=120), said)
    assert "never measured" in shown.getvalue()


def test_the_paper_s_variant_has_a_forecast_too(tmp_path):
    keys = {"mechanism": "randdpgen", "variant": "paper", "epsilon": 1.0, "delta": 1e-9, "rho": None}
    said = Setting(tmp_path, "2x2", **keys).forecast()
    assert [step.name for step in said.outlook.steps] == ["candidates", "round"]
    assert said.epsilon == 1.0
