from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.releasing.planning.alignment_order import AlignmentOrder
from dpmosaic.simulations.parties.alignment import align
from dpmosaic.simulations.parties.network import policy_for, start_parties
from dpmosaic.simulations.parties.partition import Grid
from dpmosaic.simulations.parties.people import Linkage, Overlap, row_numbers
from support.terms import SPEC

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 2})
TABLE = Table.from_codes(DOMAIN, np.random.default_rng(0).integers(0, 2, (400, 3)))
PEOPLE = Linkage(row_numbers(TABLE.record_count), Overlap(0.8, shuffle=True, typos=0.02))


def aligned(grid, rho, seed=1):
    """An alignment over parties of TABLE, and the identifiers that they hold."""
    stream = RandomStream.from_seed(seed)
    cut = Grid.parse(grid, DOMAIN, TABLE.record_count)
    tables, identifiers = PEOPLE.scatter(TABLE, cut, stream.child("people").generator())
    policy = policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), 1.0, Fraction(rho))
    links = start_parties(tables, policy, stream.child("parties"), identifiers)
    order = AlignmentOrder.parse({"rho": rho})
    return align(links, DOMAIN, order, SPEC, stream.child("alignment")), identifiers


def patterns(texts):
    """The number of people of each pattern, by comparing all identifiers."""
    held = Counter(
        sum(1 << j for j, own in enumerate(map(set, texts)) if text in own) for text in set().union(*texts)
    )
    return tuple(held[pattern] for pattern in range(1, 1 << len(texts)))


@pytest.mark.parametrize("grid", ["2x1", "2x2", "1x3"])
def test_at_a_huge_budget_the_alignment_counts_the_people_of_each_pattern(grid):
    found, identifiers = aligned(grid, 1e6)
    assert found.alignment.people == tuple(map(patterns, identifiers))


def test_at_a_small_budget_positions_are_more_than_people():
    found, identifiers = aligned("2x2", 0.02)
    assert all(size > len(set().union(*texts)) for size, texts in zip(found.sizes, identifiers, strict=True))
    assert float(found.alignment.zcdp_rho) == pytest.approx(0.02)


def test_a_seed_determines_the_alignment():
    one, again, other = (aligned("1x2", 0.02, seed)[0] for seed in (1, 1, 2))
    assert (one.sizes, one.alignment.people) == (again.sizes, again.alignment.people)
    assert (one.sizes, one.alignment.people) != (other.sizes, other.alignment.people)
