"""Dealers in releases over plans: they restart, they refuse, and they sign."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError, PartyUnavailable, PolicyError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.party.dealing.dealer import Dealer
from dpmosaic.party.serving.servicer import PartyServicer
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.releases import release_of_plan

SIZES = {"a": 4, "b": 3, "c": 2, "d": 2}
NAMES = tuple(network.dealer_names(3))
KEYS = RandomStream.from_seed(1)


class Restarting:
    """A dealer that dies before one of its messages and comes back with nothing but its ledger.

    Args:
        link: connection to the dealer.
        dies: number of the call of `Deal` that it does not answer.
    """

    def __init__(self, link, dies):
        self.link, self.dies, self.dealt = link, dies, 0

    def call(self, method, requests):
        if method == "Deal":
            self.dealt += 1
            if self.dealt == self.dies:
                old = self.link.servicer._party
                again = Dealer(old._name, old._identity, old._rules, old._ledger, old._keys)
                self.link.servicer = PartyServicer(again)
                raise PartyUnavailable("dealer-2 does not answer")
        return self.link.call(method, requests)


@pytest.fixture
def setting(tmp_path):
    """A plan of two slices with three dealers, its parties and its dealers."""
    (tmp_path / "d.json").write_text(json.dumps(SIZES))
    rows = [[f"party-{i}-1", f"party-{i}-2"] for i in (1, 2)]
    slices = "".join(f"[[slice]]\nparties = {json.dumps(row)}\n" for row in rows)
    stated = f'domain = "d.json"\nrho = 0.5\nmechanism = "mst"\ndealers = {json.dumps(NAMES)}\n'
    (tmp_path / "plan.toml").write_text(f"[release]\n{stated}{slices}")
    table = Table.from_codes(
        Domain.coded(SIZES), np.column_stack([np.arange(80) // 3 % n for n in SIZES.values()])
    )
    policy = network.policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), 0.5, dealers=3)
    pieces = partition(table, Grid.parse("2x2", table.domain, 80))
    links = network.start_parties(pieces, policy, KEYS, dealers=3)
    dealers = dict(zip(NAMES, network.start_dealers(3, KEYS, links), strict=True))
    return ReleasePlan.load(tmp_path / "plan.toml"), links, dealers


@pytest.mark.slow
@pytest.mark.parametrize("dies", [2, 6])
def test_a_dealer_that_restarts_goes_on_and_deals_the_same_again(setting, tmp_path, dies):
    """First among the seeds of the four parties, then among the products."""
    plan, links, dealers = setting
    dying = Restarting(dealers["dealer-2"], dies)
    released = release_of_plan(plan, links, tmp_path, dealers=dealers | {"dealer-2": dying}, away_s=10.0)
    assert dying.dealt > dies
    assert [dealer.name for dealer in released.certificate.signed.dealers] == list(NAMES)
    # The sum over the cells of a marginal is 80 and Gaussian noise: beyond seven deviations in less than one
    # of 10^10 runs, for ten marginals.
    marginals = [found for found in released.fitted.measurements if not found.view.interaction]
    assert marginals
    for found in marginals:
        assert abs(found.values.sum() - 80) < 7 * found.sigma * np.sqrt(found.values.size)


def test_a_dealer_that_is_away_stops_the_release_by_name(setting, tmp_path):
    plan, links, dealers = setting
    dying = Restarting(dealers["dealer-2"], 1)
    with pytest.raises(PartyUnavailable, match="dealer-2"):
        release_of_plan(plan, links, tmp_path, dealers=dealers | {"dealer-2": dying})


def test_a_release_that_a_dealer_refuses_is_reserved_nowhere(setting, tmp_path):
    plan, links, dealers = setting
    refusing = dealers["dealer-3"].servicer._party
    refusing._rules = replace(refusing._rules, policy=replace(refusing._rules.policy, max_records=1))
    with pytest.raises(PolicyError, match=r"max_records.*The release is abandoned, and no party keeps"):
        release_of_plan(plan, links, tmp_path, dealers=dealers)
    everybody = [*(link for row in links for link in row), *dealers.values()]
    states = [[entry.state for entry in link.servicer._party._ledger.summaries()] for link in everybody]
    assert states == [[]] * 7


def test_a_party_of_no_slice_does_not_deal(setting, tmp_path):
    plan, links, dealers = setting
    stranger = links[1][0]
    with pytest.raises(DataError, match="is a party of no slice"):
        release_of_plan(plan, links, tmp_path, dealers=dealers | {"dealer-1": stranger})
