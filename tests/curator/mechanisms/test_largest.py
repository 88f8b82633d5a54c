"""How many attributes a marginal of a mechanism has at most, as terms state it and parties enforce it."""

from dataclasses import dataclass

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.largest import most_attributes

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2})


@pytest.mark.parametrize(
    ("name", "kway", "most"),
    [("independent", 3, 1), ("mst", 1, 2), ("aim", 3, 3), ("mwem", 2, 2), ("mosaic", 2, None)],
)
def test_it_is_known_of_mechanisms_that_measure_no_more_than_they_say(name, kway, most):
    workload = Workload.all_kway(DOMAIN, kway)
    assert most_attributes(mechanism_named(name), workload) == most


def test_a_subclass_may_measure_more():
    @dataclass(frozen=True)
    class Other(Independent):
        pass

    assert most_attributes(Other(), Workload.all_kway(DOMAIN, 1)) is None
