"""Tables of a billion records: counts are whole numbers from the engine to the answer."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.protocols.partition import Partition
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.releasing import row_count
from dpmosaic.curator.releasing.release import ReleaseOrder, make_release
from support.parties import measurer_over, random_table

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
TIMES = 10**7
RECORDS = 100 * TIMES
SURE = Fraction(1)
"""The cost of a marginal whose noise is below a few dozen records, of a billion."""


class Repeated:
    """Rows of a table so many times, counted as by an engine."""

    def __init__(self, table, times=TIMES):
        self.table, self.times = table, times
        self.domain, self.record_count = table.domain, times * table.record_count

    def project(self, attributes):
        return Repeated(self.table.project(attributes), self.times)

    def with_check(self, check):
        return self

    def check_ready(self):
        pass

    def digest(self):
        return f"{self.times} times {self.table.digest()}"

    def marginal(self, clique, groups=()):
        return self.times * self.table.marginal(clique, groups)

    def marginals(self, cliques, groups=()):
        return [self.times * found for found in self.table.marginals(cliques, groups)]


def measurer_of(table, grid, granted, protocol, times=TIMES):
    return measurer_over(table, grid, granted, protocol=protocol, held=lambda piece: Repeated(piece, times))


@pytest.mark.parametrize(("protocol", "grid"), [("trusted", "1x1"), ("masked", "1x1"), ("masked", "4x1")])
def test_counts_of_a_billion_records_are_exact_up_to_the_noise(protocol, grid):
    table = random_table(DOMAIN, 100)
    measurer = measurer_of(table, grid, 4 * SURE, protocol)
    assert measurer.record_count == RECORDS
    for clique in (("a",), ("a", "b"), ("a", "b", "c")):
        (found,) = measurer.measure([Query(View(clique), SURE, "test")])
        # More than 12 deviations; the noise is drawn with a fixed seed.
        assert np.abs(found.values - TIMES * table.marginal(clique)).max() < 12 * found.sigma < 40


def test_counts_beyond_whole_floats_keep_their_last_digits_through_shares():
    """2^53 records and more: the ring has 64 bits, and nothing is a float before the sum is opened."""
    table = random_table(DOMAIN, 100)
    times = 2**41 + 1
    measurer = measurer_of(table, "2x1", Fraction(1, 10**6), "masked", times)
    assert measurer._plan.ring.bits == 64
    (found,) = measurer.measure([Query(View(("a",)), Fraction(1, 10**7), "test")])
    assert np.abs(found.values - times * table.marginal(("a",))).max() < 12 * found.sigma < 1e5


def test_a_release_of_a_billion_records_has_bounded_rows_and_states_small_errors(monkeypatch):
    monkeypatch.setattr(row_count, "DEFAULT_MOST_ROWS", 5000)
    table = random_table(DOMAIN, 100)
    order = ReleaseOrder(
        DOMAIN,
        ReleaseSpec(Budget(1.0, 1e-9), protocol="trusted"),
        mechanism_named("independent"),
        Workload.wanted(DOMAIN, "1way", None),
    )
    measurer = measurer_of(table, "1x1", order.granted, "trusted")
    layout = Partition.of_slices(DOMAIN, [(RECORDS, [DOMAIN.names])])
    released = make_release(order, layout, measurer, RandomStream.from_seed(2))
    assert (released.synthetic.record_count, released.certificate.records) == (5000, RECORDS)
    for bound in released.certificate.error_bounds:
        shares = released.synthetic.marginal(bound.clique) / 5000
        error = np.abs(shares - table.marginal(bound.clique) / 100).sum() / 2
        assert error <= bound.total_variation < 0.001
