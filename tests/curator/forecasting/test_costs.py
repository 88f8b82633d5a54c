"""What a dry run says of processors and memory, against figures that `benchmarks/scale.py` recorded."""

import csv
from functools import cache
from pathlib import Path

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, score_sigma
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS, DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.curator.forecasting.costs import larger, role_costs, usual
from dpmosaic.curator.forecasting.outlook import outlook
from dpmosaic.curator.forecasting.traffic import Traffic, masked_traffic
from dpmosaic.curator.measurers.planning import masked_sigma
from dpmosaic.curator.mechanisms.catalogue import mechanism_named

RECORDED = Path(__file__).parents[3] / "benchmarks" / "scale.csv"
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
DOMAIN = Domain.coded({f"x{place:02}": size for place, size in enumerate(SIZES)})
WORKLOAD = Workload.wanted(DOMAIN, "2way", None)


def plan_of(grid, records, dealer="dealer"):
    """The plan of the benchmark: columns at two parties, or rows at four."""
    names = DOMAIN.names
    if grid == "1x2":
        parts, evaluators = ((0, names[:7]), (0, names[7:])), (2, 0, 1)
        dealers = (DealerEntry(dealer, b"d" * 32),)
    else:
        parts, evaluators, dealers = tuple((k, names) for k in range(4)), (2, 0, 3), ()
    each = records // (parts[-1][0] + 1)
    roster = tuple(
        RosterEntry(f"party {place + 1}", number, held, each, bytes([place]) * 32)
        for place, (number, held) in enumerate(parts)
    )
    return MaskedPlan(DOMAIN, roster, 1, Ring(32), evaluators, dealers).with_sample(None)


class Planned:
    """The noise of a planned release over these parties."""

    domain, scores_exactly = DOMAIN, True

    def __init__(self, plan, granted):
        self.plan, self.granted, self.record_count = plan, granted, plan.record_count

    def expected_sigma(self, view, rho):
        return masked_sigma(self.plan, Adjacency.ZERO_OUT, view, rho)

    def expected_score_sigma(self, count, rho):
        return self.plan.noise.factor * score_sigma(rho, Adjacency.ZERO_OUT, count)


@cache
def costs_of(grid, records, dealer="dealer"):
    plan, mechanism = plan_of(grid, records, dealer), mechanism_named("mosaic")
    seen = outlook(mechanism, Planned(plan, mechanism.granted(Budget(1.0, 1e-9))), WORKLOAD)
    sigmas = {step.name: step.sigmas[0] for step in seen.steps if step.sigmas}
    traffic = masked_traffic(plan, usual(seen.planned, WORKLOAD), sigmas)
    found = role_costs(plan, traffic, larger(seen.planned, WORKLOAD, plan))
    return {cost.name: cost for cost in found}


def figures():
    """What was recorded; an engine's own processes are not predicted."""
    rows = csv.DictReader(RECORDED.read_text().splitlines())
    return [row for row in rows if row["engine"] == "duckdb"]


@pytest.mark.slow
@pytest.mark.parametrize("row", figures(), ids=lambda row: " ".join(row.values()))
def test_predictions_are_within_30_percent_of_what_was_measured(row):
    said = costs_of(row["grid"], int(row["records"]))[row["role"]]
    assert said.cpu_s == pytest.approx(float(row["cpu_s"]), rel=0.3)
    assert said.peak_mb == pytest.approx(float(row["peak_mb"]), rel=0.3)


def test_a_curator_that_deals_takes_what_the_dealer_would():
    apart, dealing = costs_of("1x2", 10**7), costs_of("1x2", 10**7, CURATOR_DEALS)
    assert set(dealing) == {"party 1", "party 2", "curator"}
    more = dealing["curator"].cpu_s - apart["curator"].cpu_s
    assert 0.95 * apart["dealer"].cpu_s < more + 1.0 <= apart["dealer"].cpu_s + 1e-9


def peak_of(plan):
    """Memory of the first party."""
    idle = [0] * len(plan.participants)
    return role_costs(plan, Traffic(idle, idle))[0].peak_mb


def test_a_sample_is_held_three_times_while_it_is_found():
    plan = plan_of("1x2", 10**8)
    whole, sampled = (peak_of(plan.with_sample(rows)) for rows in (10**8, 10**6))
    assert sampled - whole == pytest.approx(3 * 4)


def test_codes_take_as_many_bits_as_they_need_as_far_as_their_engine_has_room():
    few, more, many, most = (peak_of(plan_of("4x1", 10**power)) for power in (6, 7, 9, 10))
    bits = sum((size - 1).bit_length() for size in SIZES)
    assert more - few == pytest.approx(9 / 4 * bits / 8)
    assert many - few < 384
    assert many == most


def test_beyond_the_sample_only_counting_grows_with_the_records():
    some, more = costs_of("1x2", 10**7), costs_of("1x2", 10**8)
    assert more["dealer"] == some["dealer"]
    assert more["curator"].peak_mb == some["curator"].peak_mb
    counted = 7 * 1.05e-7 + 21 * 4.2e-8
    assert more["party 1"].cpu_s - some["party 1"].cpu_s == pytest.approx(9e7 * counted)
