"""The audit is itself audited: every planted fault raises its alarm."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common import queries
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy import distributed, noise
from dpmosaic.common.privacy.cost import Adjacency, score_cost
from dpmosaic.curator.measurers import scores
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.mosaic import knowledge
from dpmosaic.party.accounts import account
from dpmosaic.simulations.contracts.trial import Trial
from support.auditing import alarms, audited, audited_mu, replayed
from support.forgetting import forget
from support.parties import random_table
from support.transcripts import AnotherRequest
from support.worst_tables import BUDGET, MU, Pair, ratios_of, runs_of

RUNS = 160
DOMAIN = Domain.coded({"a": 6, "b": 5, "c": 4})
TABLE = random_table(DOMAIN, 60)
WORKLOAD = Workload.all_kway(DOMAIN, 2)
MOSAIC = mechanism_named("mosaic", "default", {})
PARTIES = [("trusted", "1x1"), ("masked", "2x2")]


def mosaic_over(monkeypatch, protocol, grid, table=TABLE):
    trial = Trial(MOSAIC.granted(BUDGET), protocol, grid)
    return audited(monkeypatch, MOSAIC, table, trial, WORKLOAD)


def half_the_noise(monkeypatch):
    full = noise.discrete_gaussian
    for module in (noise, distributed):
        monkeypatch.setattr(
            module, "discrete_gaussian", lambda sigma, size, stream: full(sigma / 2, size, stream)
        )


def scores_not_charged(monkeypatch):
    """Neither by the accountant nor by a ledger."""
    for module in (scores, queries):
        monkeypatch.setattr(module, "score_cost", lambda *_: Fraction(0))


def one_charge_for_a_batch(monkeypatch):
    for module in (scores, queries):
        monkeypatch.setattr(module, "score_cost", lambda sigma, adjacency, _: score_cost(sigma, adjacency, 1))


def a_quarter_of_the_sensitivity(monkeypatch):
    whole = Adjacency.squared_interaction_sensitivity
    monkeypatch.setattr(
        Adjacency, "squared_interaction_sensitivity", lambda self, shape: whole(self, shape) / 16
    )


def a_mask_left_out(monkeypatch):
    forget(monkeypatch, "pairwise mask")


def one_noise_key(monkeypatch):
    stream = account.RandomStream
    monkeypatch.setattr(account, "RandomStream", lambda key: stream(bytes(32)))


FAULTS = [
    (half_the_noise, PARTIES, "noise"),
    (scores_not_charged, PARTIES, "cost"),
    (one_charge_for_a_batch, PARTIES, "cost"),
    (a_quarter_of_the_sensitivity, PARTIES, "cost"),
    (one_noise_key, PARTIES, "keys"),
    (a_mask_left_out, PARTIES[1:], "masks"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "grid"), PARTIES)
def test_nothing_raises_an_alarm_without_a_fault(protocol, grid, monkeypatch):
    assert alarms(mosaic_over(monkeypatch, protocol, grid)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "protocol", "grid", "alarm"),
    [
        pytest.param(fault, protocol, grid, alarm, id=f"{fault.__name__} {protocol}")
        for fault, parties, alarm in FAULTS
        for protocol, grid in parties
    ],
)
def test_a_planted_fault_raises_its_alarm(fault, protocol, grid, alarm, monkeypatch):
    fault(monkeypatch)
    assert alarm in alarms(mosaic_over(monkeypatch, protocol, grid))


@pytest.mark.slow
def test_exact_one_way_marginals_make_a_mechanism_ask_otherwise_over_another_table(monkeypatch):
    """All answers are in order; the same answers over other rows show what was read beside them."""
    held = {"table": TABLE}

    def exact(noisy, total):
        return [of_as_many_values(held["table"], values.size) for values, _ in noisy]

    def of_as_many_values(table, count):
        name = next(name for name in table.domain if table.domain[name].size == count)
        return table.marginal([name]).astype(float), np.full(count, 1e-3)

    monkeypatch.setattr(knowledge, "denoise", exact)
    run = mosaic_over(monkeypatch, "trusted", "1x1")
    assert alarms(run) == set()
    held["table"] = random_table(DOMAIN, 60, seed=2)
    with pytest.raises(AnotherRequest):
        replayed(MOSAIC, run, held["table"], WORKLOAD)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "grid"), PARTIES)
def test_parties_charge_scores_that_the_curator_does_not_and_refuse_what_goes_beyond(
    protocol, grid, monkeypatch
):
    monkeypatch.setattr(scores, "score_cost", lambda *_: Fraction(0))
    with pytest.raises(BudgetError, match="left of the release's budget at this party"):
        mosaic_over(monkeypatch, protocol, grid)


@pytest.mark.slow
def test_half_the_noise_raises_the_lower_bound_above_the_claim(monkeypatch):
    half_the_noise(monkeypatch)
    pair = Pair(Adjacency.REPLACE_ONE)
    independent = mechanism_named("independent", "default", {})
    runs = runs_of(monkeypatch, independent, pair, "trusted", "1x1", RUNS)
    assert audited_mu(*(ratios_of(half, pair) for half in runs)) > MU


@pytest.mark.slow
def test_no_statistic_of_the_answers_shows_one_noise_key_for_two_queries(monkeypatch):
    """Why keys are compared: the errors of each answer look like the noise that was stated."""
    one_noise_key(monkeypatch)
    assert alarms(mosaic_over(monkeypatch, "trusted", "1x1")) == {"keys"}
