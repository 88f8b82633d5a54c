"""Forecasts compared with the releases that follow."""

import json
import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.forecasting.display import print_forecast
from dpmosaic.curator.forecasting.forecast import forecast
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.releases import release_of_plan

pytestmark = pytest.mark.slow

SIZES = {"a": 6, "b": 3, "c": 5, "d": 2}
RECORDS = 900


class Setting:
    """A plan, and parties in this process that allow it; b depends strongly on a, d on c."""

    def __init__(self, folder, grid, sizes=SIZES, count=0, **keys):
        (folder / "d.json").write_text(json.dumps(sizes))
        lines = {k: v for k, v in ({"domain": "d.json", "rho": 0.5} | keys).items() if v is not None}
        stated = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
        rows, columns = (int(part) for part in grid.split("x"))
        names = [[f"party-{i}-{j}" for j in range(1, columns + 1)] for i in range(1, rows + 1)]
        slices = "".join(f"\n[[slice]]\nparties = {json.dumps(row)}\n" for row in names)
        (folder / "plan.toml").write_text(f"[release]\n{stated}\n{slices}")
        self.folder, self.plan = folder, ReleasePlan.load(folder / "plan.toml")
        rng = np.random.default_rng(1)
        a, c = rng.integers(0, 6, RECORDS), rng.integers(0, 5, RECORDS)
        codes = np.column_stack([a, a // 2, c, c // 3])[:, : len(sizes)] % list(sizes.values())
        table = Table.from_codes(Domain.coded(sizes), codes)
        policy = network.policy_for(
            self.plan.spec.protocol, PrivacyUnit(Adjacency.ZERO_OUT), 0.5, dealers=count
        )
        pieces, seed = partition(table, Grid.parse(grid, table.domain, RECORDS)), RandomStream.from_seed(1)
        self.links = network.start_parties(pieces, policy, seed, dealers=count)
        dealing = network.start_dealers(count, seed, self.links) if count else []
        self.dealers = dict(zip(network.dealer_names(count), dealing, strict=True))

    @property
    def bytes(self):
        links = [*(link for row in self.links for link in row), *self.dealers.values()]
        return sum(link.bytes_in + link.bytes_out for link in links)

    def forecast(self):
        return forecast(self.plan, self.links, 10.0, dealers=self.dealers)

    def release(self):
        return release_of_plan(self.plan, self.links, self.folder, dealers=self.dealers)


PROTOCOLS = {"scores": {}, "marginals": {"collusions": 2}, "indicator": {"protocol": "indicator"}}
"""Masked parties that give scores, masked parties that may collude, and noise at every party."""


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x3"])
def test_one_way_marginals_have_the_forecast_noise(tmp_path, grid):
    keys = {"mechanism": "independent", "workload": "1way"} | ({"collusions": 0} if grid == "1x1" else {})
    setting = Setting(tmp_path, grid, **keys)
    said = setting.forecast()
    measured = {m.clique: m.sigma for m in setting.release().fitted.measurements}
    assert {m.clique: m.least_sigma for m in said.outlook.marginals} == pytest.approx(measured)
    assert all(m.least_sigma == m.largest_sigma for m in said.outlook.marginals)


def combined_sigmas(released):
    """For each clique whose cells were measured, the deviation of the average of all its measurements."""
    precisions = {}
    for found in released.fitted.measurements:
        if not found.view.boxes:
            precisions[found.clique] = precisions.get(found.clique, 0.0) + found.sigma**-2
    return {clique: precision**-0.5 for clique, precision in precisions.items()}


def forecastable():
    """Every variant that measures marginals, over each protocol with its own way of selection."""
    for name, entry in CATALOGUE.items():
        for variant in entry.variants:
            if entry.needs is not Needs.RECORDS and variant not in entry.on_paper:
                for case, keys in PROTOCOLS.items():
                    if not keys or entry.needs is Needs.MARGINALS:
                        yield pytest.param(name, variant, keys, id=f"{name} {variant} {case}")


def test_proofs_of_openings_are_in_the_forecast_and_the_check_in_the_certificate(tmp_path):
    checked = Setting(tmp_path, "2x2", mechanism="mst", check="one-hot")
    plain = Setting(tmp_path, "2x2", mechanism="mst")
    said, before = checked.forecast(), checked.bytes
    # Two parties of each slice open two columns to each other, and prove each with 65 words of 8 bytes.
    assert said.traffic.total - plain.forecast().traffic.total > 2 * 4 * 65 * 8
    released = checked.release()
    assert checked.bytes - before < said.traffic.total + 120_000
    assert released.certificate.plan.spec.check == "one-hot"


@pytest.mark.parametrize(("mechanism", "variant", "keys"), list(forecastable()))
def test_steps_bytes_and_noise_of_a_release_are_within_its_forecast(tmp_path, mechanism, variant, keys):
    promise = {} if variant == "default" else {"epsilon": 2.0, "delta": 1e-9, "rho": None}
    setting = Setting(tmp_path, "2x2", mechanism=mechanism, variant=variant, **promise, **keys)
    said = setting.forecast()
    before = setting.bytes
    released = setting.release()
    # The rest is names, signatures and the statements of the certificate. Forecasts count the openings of
    # single codes; those of groups have fewer columns, but come in addition.
    groups = said.traffic.total if any(step.name == "larger" for step in said.outlook.steps) else 0
    assert setting.bytes - before < said.traffic.total + groups + 120_000
    assert set(released.certificate.steps) <= {step.name for step in said.outlook.steps}
    assert sum(step.zcdp_rho for step in said.outlook.steps) == pytest.approx(float(said.granted))
    measured = combined_sigmas(released)
    known = {marginal.clique: marginal for marginal in said.outlook.marginals}
    assert mechanism == "independent" or known.keys() & measured.keys()
    # Mosaic splits its last round by predicted error, which gives less to interactions of little gain.
    slack = 2 if mechanism == "mosaic" else 1 + 1e-4
    for clique in known.keys() & measured.keys():
        # Scales of noise are rounded up to a grid.
        assert known[clique].least_sigma * (1 - 1e-4) <= measured[clique]
        assert measured[clique] <= known[clique].largest_sigma * slack


@pytest.mark.parametrize("mechanism", ["mosaic", "randdpgen"])
@pytest.mark.parametrize("keys", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_release_moves_a_large_part_of_the_forecast_bytes(tmp_path, keys, mechanism):
    setting = Setting(tmp_path, "2x2", mechanism=mechanism, **keys)
    said = setting.forecast()
    before = setting.bytes
    setting.release()
    assert setting.bytes - before > 0.3 * said.traffic.total


def test_what_three_dealers_deal_is_in_the_forecast(tmp_path):
    names = network.dealer_names(3)
    setting = Setting(tmp_path, "2x2", count=3, dealers=names, mechanism="mst")
    said, before = setting.forecast(), setting.bytes
    assert list(said.parties[4:]) == names
    setting.release()
    assert 0.3 * said.traffic.total < setting.bytes - before < said.traffic.total + 160_000


@pytest.mark.parametrize("protocol", ["masked", "trusted"])
def test_interactions_have_the_forecast_noise(tmp_path, protocol):
    """The sensitivity of the residual of a pair of bits is half of that of the marginal."""
    keys = {"protocol": protocol} | ({"collusions": 0} if protocol == "masked" else {})
    setting = Setting(tmp_path, "1x1", {"a": 2, "b": 2}, mechanism="mosaic", **keys)
    said = setting.forecast()
    steps = {step.name: step for step in said.outlook.steps}
    for name, sensitivity in [("one-way", math.sqrt(1 / 2)), ("round", 1 / 2)]:
        step, parts = steps[name], 2 if name == "one-way" else 1
        sigma = sensitivity / math.sqrt(2 * step.zcdp_rho / step.times / parts)
        assert step.sigmas == pytest.approx((sigma, sigma), rel=1e-4)
    (pair,) = said.outlook.marginals
    measured = combined_sigmas(setting.release())
    assert pair.least_sigma <= measured[("a", "b")] <= pair.largest_sigma


def test_a_forecast_charges_nothing_and_asks_for_descriptions_only(tmp_path):
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


def test_a_faster_link_lowers_the_forecast_time(tmp_path):
    setting = Setting(tmp_path, "2x2", mechanism="mst")
    slow, fast = (forecast(setting.plan, setting.links, rate) for rate in (0.01, 100.0))
    waited, less = (said.seconds - said.traffic.calls * said.latency_s for said in (slow, fast))
    assert waited > less + 0.9 * slow.traffic.total / (0.01 * 2**20)


def test_a_marginal_of_too_much_noise_is_shown_as_never_measured(tmp_path):
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


def test_a_variant_of_a_paper_has_a_forecast(tmp_path):
    keys = {"mechanism": "randdpgen", "variant": "paper", "epsilon": 1.0, "delta": 1e-9, "rho": None}
    said = Setting(tmp_path, "2x2", **keys).forecast()
    assert [step.name for step in said.outlook.steps] == ["candidates", "select", "round"]
    assert said.epsilon == 1.0


def test_shows_steps_with_titles_and_charged_names(tmp_path):
    said = Setting(tmp_path, "2x2").forecast()
    form = json.loads(json.dumps(said.to_json(), allow_nan=False))
    titles = {step["name"]: step["title"] for step in form["steps"]}
    assert titles["one-way"] == "One-way marginals"
    assert titles.keys() == {"one-way", "scores", "round", "larger scores", "larger", "last round"}
    shown = StringIO()
    print_forecast(Console(file=shown, width=160), said)
    for name, title in titles.items():
        assert name in shown.getvalue()
        assert title in shown.getvalue()


@pytest.mark.parametrize("mechanism", [name for name in CATALOGUE if CATALOGUE[name].needs is Needs.RECORDS])
def test_refuses_to_forecast_a_mechanism_that_reads_records(tmp_path, mechanism):
    promise = {"epsilon": 1.0, "delta": 1e-9, "rho": None}
    setting = Setting(tmp_path, "1x1", mechanism=mechanism, protocol="trusted", **promise)
    with pytest.raises(DataError, match="simulat"):
        setting.forecast()


def test_a_sample_is_forecast_with_its_noise_its_error_and_less_traffic(tmp_path):
    keys = {"mechanism": "mst", "workload": "2way", "collusions": 0, "sample": 300}
    whole = Setting(tmp_path, "1x2", **(keys | {"sample": None})).forecast()
    setting = Setting(tmp_path, "1x2", **keys)
    said = setting.forecast()
    stated = said.to_json()["sample"]
    assert (stated["rows"], stated["of"], whole.to_json()["sample"]) == (300, RECORDS, None)
    assert said.sampling_error == stated["total_variation_at_most"] > whole.sampling_error == 0
    # All columns are opened once, a word of 4 bytes for each of their codes, and sent and received.
    assert whole.traffic.total - said.traffic.total == (RECORDS - 300) * sum(SIZES.values()) * 4 * 2
    pair = next(m for m in said.outlook.marginals if m.clique == ("a", "d"))
    plain = next(m for m in whole.outlook.marginals if m.clique == ("a", "d"))
    assert pair.least_sigma == pytest.approx(RECORDS / 300 * plain.least_sigma)
    text = StringIO()
    print_forecast(Console(file=text, width=200), said)
    assert "counted on 300 of 900 rows" in text.getvalue()
    released = setting.release()
    assert released.certificate.plan.spec.sample == 300
    assert {len(m.clique) for m in released.fitted.measurements if m.sampled} == {2}
