"""Releases of plans whose parties may drop out: which calls they miss, and what the release becomes."""

import json

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.releases import release_of_plan

SIZES = {"a": 4, "b": 3, "c": 2}
PARTIES, RECORDS, RHO = 20, 400, 1e5
KEYS = RandomStream.from_seed(1)


class Vanishing:
    """A party that answers no more from one of its calls of a kind on.

    Args:
        link: connection to the party.
        method: kind of call.
        number: of the first call of this kind that it does not answer.
        replies: whether it does what this call asks before it is gone.
    """

    def __init__(self, link, method, number, replies=False):
        self.link, self.method, self.left, self.replies = link, method, number, replies
        self.servicer = link.servicer

    def call(self, method, requests):
        self.left -= method == self.method
        if self.left <= 0:
            if self.left == 0 and self.replies and method == self.method:
                list(self.link.call(method, requests))
            self.left = min(self.left, -1) if method != self.method else self.left
            raise PartyUnavailable("a party does not answer")
        return self.link.call(method, requests)


def setting(folder, rho=RHO, mechanism="independent", parties=PARTIES, **release):
    """A plan over one party in each slice, and the parties with their table."""
    (folder / "d.json").write_text(json.dumps(SIZES))
    keys = {"domain": "d.json", "rho": rho, "mechanism": mechanism, "workload": "1way", "may_drop_out": 2}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in (keys | release).items())
    slices = "".join(f'[[slice]]\nparties = ["party-{i + 1}-1"]\n' for i in range(parties))
    (folder / "plan.toml").write_text(f"[release]\n{lines}{slices}")
    codes = np.column_stack([np.arange(RECORDS) // (3 * n) % n for n in SIZES.values()])
    table = Table.from_codes(Domain.coded(SIZES), codes)
    policy = network.policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), rho)
    pieces = partition(table, Grid.parse(f"{parties}x1", table.domain, RECORDS))
    return ReleasePlan.load(folder / "plan.toml"), network.start_parties(pieces, policy, KEYS), pieces


def counts(pieces, gone, clique):
    """Exact counts of the parties that remain, scaled to all records."""
    kept = [row[0] for place, row in enumerate(pieces) if place not in gone]
    exact = sum(piece.marginal(clique) for piece in kept)
    return exact * (RECORDS / exact.sum())


MOMENTS = {
    "before_and_after_its_answer": (("Answer", 2, False), ("Answer", 2, True)),
    "both_before": (("Answer", 1, False), ("Answer", 3, False)),
    "after_its_answer_and_after_its_signature": (("Agree", 2, False), ("Agree", 2, True)),
    "before_its_answer_and_after_its_signature": (("Answer", 2, False), ("Unmask", 2, False)),
    "after_its_answer_and_as_masks_are_told": (("Unmask", 2, False), ("Unmask", 2, True)),
    "as_shares_are_told": (("Unmask", 2, False), ("Unmask", 3, False)),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_release_ends_without_two_of_twenty_parties(tmp_path, moment):
    """Noise is so small that every marginal is exact."""
    plan, links, pieces = setting(tmp_path)
    places = (4, 11)
    for place, lost in zip(places, MOMENTS[moment], strict=True):
        links[place][0] = Vanishing(links[place][0], *lost)
    released = release_of_plan(plan, links, tmp_path)
    certificate = released.certificate
    assert {one.party for one in certificate.dropouts} == {"party-5-1", "party-12-1"}
    assert len(certificate.signed.parties) == PARTIES - 2
    for number, found in enumerate(released.fitted.measurements):
        absent = [p for p in places if answered(certificate, f"party-{p + 1}-1") <= number]
        np.testing.assert_allclose(found.values, counts(pieces, absent, found.clique), atol=0.5)


def answered(certificate, name):
    return next(one.answers for one in certificate.dropouts if one.party == name)
