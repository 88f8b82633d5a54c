"""Both verifiers accept honest releases of every protocol, adjacency, unit and promise."""

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.releasing.release import ReleaseOrder
from support.parties import started
from support.terms import id_of
from support.two_releases import LIMITS, failed, listed, released
from support.verifiers import needs_node

pytestmark = [pytest.mark.slow, needs_node]

DOMAIN = Domain.coded({"a b": 2, "é": 3})
BUDGETS = (
    Budget(epsilon=0.1, delta=1e-6),
    Budget(epsilon=1.0, delta=1e-9),
    Budget(epsilon=8.0, delta=1e-13),
    Budget(zcdp_rho=0.05, delta=1e-9),
    Budget(zcdp_rho=0.5),
)


@pytest.mark.parametrize(("protocol", "parties"), [("masked", 3), ("trusted", 1)])
@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
def test_both_accept_what_is_honest(protocol, parties, adjacency):
    codes = np.column_stack([np.arange(300) % size for size in DOMAIN.sizes])
    workload = Workload.parse(DOMAIN, "2way")
    tables = [[Table.from_codes(DOMAIN, codes)]] * parties
    for number, budget in enumerate(BUDGETS):
        links = started(tables, LIMITS, RandomStream.from_seed(number))
        spec = ReleaseSpec(budget, Adjacency.named(adjacency), protocol=protocol)
        order = ReleaseOrder(DOMAIN, spec, mechanism_named("mst"), workload)
        _, certificate = released(order, links, id_of(number))
        assert failed(certificate, listed(links, DOMAIN)) == set()
