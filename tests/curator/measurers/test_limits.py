"""A release asks for no marginal that a party would refuse for its size: it leaves such candidates out."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.releasing.agreement import Proposal, agree
from support.parties import cut, dealers_for, policy_for, random_table, started

DOMAIN = Domain.coded({"a": 4, "b": 4, "c": 6, "d": 6})
MOST = 24
"""Cells that every party allows: the pair of c and d has 36."""


def measurer_of(protocol, grid, most=MOST):
    keys = RandomStream.from_seed(1)
    policy = replace(policy_for(protocol, granted_rho=8.0), max_cells=most)
    links = started(cut(random_table(DOMAIN, 200), grid), policy, keys)
    spec = ReleaseSpec(Budget(zcdp_rho=8.0), protocol=protocol)
    proposal = Proposal("0" * 32, spec, Fraction(8), Purpose(DOMAIN.digest(), "{}", "", ""))
    dealers = dealers_for(links, keys) if protocol == "masked" else ()
    return agree(DOMAIN, links, proposal, dealers=dealers).measurer()


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "grid"), [("masked", "1x2"), ("trusted", "1x1")])
@pytest.mark.parametrize("name", ["mosaic", "mst", "aim", "mwem", "absyn", "privbayes"])
def test_no_mechanism_asks_for_a_larger_marginal(name, protocol, grid):
    measurer = measurer_of(protocol, grid)
    workload = Workload.all_kway(DOMAIN, 2)
    fitted = mechanism_named(name).run(measurer, workload, RandomStream.from_seed(2), ignore)
    sizes = [DOMAIN.cells(one.clique) for one in fitted.measurements if not one.view.groups]
    assert max(sizes) <= MOST
    # PrivBayes keeps only measurements of single attributes; its parties would have refused the others.
    assert name == "privbayes" or any(len(one.clique) == 2 for one in fitted.measurements)


@pytest.mark.parametrize(("protocol", "grid"), [("masked", "1x2"), ("trusted", "1x1")])
def test_a_marginal_of_groups_counts_by_its_groups(protocol, grid):
    measurer = measurer_of(protocol, grid)
    half = (0, 0, 0, 1, 1, 1)
    assert measurer.expected_sigma(View(("c", "d")), Fraction(1)) == float("inf")
    assert measurer.expected_sigma(View(("c", "d"), groups=(half, ())), Fraction(1)) < 10


def test_an_attribute_with_more_values_than_the_limit_is_refused_by_name_before_anything_is_reserved():
    with pytest.raises(DataError, match="at most 5 cells, and c, d has more values"):
        measurer_of("masked", "1x2", most=5)
