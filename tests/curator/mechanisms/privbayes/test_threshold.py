"""The threshold of tables, and the cliques of a network."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.mechanisms.privbayes import threshold as module
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node
from dpmosaic.curator.mechanisms.privbayes.threshold import Threshold

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2, "h": 30})


def threshold(records, sigma=10.0, group=3):
    facts = SimpleNamespace(domain=DOMAIN, expected_sigma=lambda clique, zcdp_rho: sigma)
    return Threshold(Levels(DOMAIN, group), facts, 4.0, Fraction(1), records)


@pytest.mark.parametrize(("records", "allowed"), [(240.0, True), (239.0, False)])
def test_a_table_is_allowed_where_its_average_count_is_so_many_times_the_noise(records, allowed):
    assert threshold(records).allows([Node("a", 0), Node("b", 0)]) == allowed


@pytest.mark.parametrize("records", [100.0, 400.0, 2000.0, 1e5])
def test_the_cliques_are_all_those_that_are_allowed_at_their_coarsest(records):
    found = threshold(records)
    expected = {
        clique
        for k in (2, 3, 4, 5)
        for clique in itertools.combinations(DOMAIN.names, k)
        if found.allows([Node(name, found.levels.coarsest(name)) for name in clique])
    }
    assert set(found.cliques(())) == expected
    assert (("b", "h") in expected) == (records >= 400)


def test_lists_only_cliques_of_few_attributes_and_wanted_ones_if_there_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "_MOST_CHECKED", 12)
    wanted = ("a", "b", "c")
    found = threshold(1e5).cliques([wanted, ("a",)])
    assert set(found) == {*itertools.combinations(DOMAIN.names, 2), wanted}
