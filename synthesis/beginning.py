"""What a mechanism refuses, it refuses before the first step of a release has spent anything."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..common.crypto.randomness import RandomStream
from ..common.data.domain import Domain
from ..common.data.table import Table
from ..common.privacy.budget import Charge
from ..common.privacy.cost import Adjacency
from ..curator.mechanisms.parts.fitted import ignore
from ..curator.people.modelling import check_noise_is_small
from ..curator.releasing.release import ReleaseOrder
from ..curator.results.columns.formulas import check_followers
from ..simulations.parties.measurers import CentralMeasurer
from ..simulations.parties.participants import Participants
from ..simulations.parties.partition import Grid

_MADE_UP_ROWS = 1000
"""The real number of records is private."""


class _Begun(Exception):
    """A mechanism has begun: it asks for what costs budget, or what a paper does not pay for."""


class _Beginning(CentralMeasurer):
    """Stops a mechanism where it has begun."""

    def charge(self, *charges: Charge) -> None:
        raise _Begun

    def records_unpaid(self, why: str) -> Table:
        raise _Begun


def check_beginning(order: ReleaseOrder) -> None:
    """Refuses a release whose columns cannot be computed, or that its mechanism would refuse.

    The mechanism begins one of a made-up table.

    Where a first step has to find out what columns hold, they have two codes.

    Args:
        order: the release, with the whole budget.

    Raises:
        DataError: the mechanism does not fit the adjacency, or is one of simulations, or no marginal fits it.
        BudgetError: the budget is too small.
        ModelError: the smallest model is larger than its limit.
        MissingExtraError: packages are missing.
    """
    check_followers(order.domain)
    check_noise_is_small(float(order.granted))
    if order.spec.adjacency is Adjacency.ADD_REMOVE:
        order = replace(order, records=_MADE_UP_ROWS, records_sigma=1.0)
    if order.domain.open:
        order = replace(order, domain=Domain.coded(dict.fromkeys(order.domain.names, 2)))
    codes = np.zeros(_MADE_UP_ROWS, dtype=np.int64)
    table = Table.from_codes(order.domain, dict.fromkeys(order.domain.names, codes))
    stream = RandomStream.from_os()
    among = Participants.in_order(
        table, order, Grid.even(table.domain, _MADE_UP_ROWS, 1, 1), stream, 0, False
    )
    agreed = among.start(order, "0" * 32, stream.generator()).agreement
    assert agreed is not None
    budget = order.spec.budget
    measurer = _Beginning(agreed.federation, agreed.terms, order.granted, table, budget)
    with suppress(_Begun):
        order.mechanism.run(measurer, order.workload, stream, ignore)
