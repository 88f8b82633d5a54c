"""Steps of mechanisms as values."""

from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.privacy.cost import MAX_INTERACTION_SIZE
from dpmosaic.curator.mechanisms.parts.steps import (
    Asks,
    Step,
    by_name,
    measurable_as_interaction,
    one_way_step,
)

PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4})


def step(**changed):
    return Step(**{"name": "s", "title": "S", "asks": Asks.MARGINALS, "share": Fraction(1, 2)} | changed)


def test_its_budget_is_its_share_of_the_grant_over_its_times():
    assert step(times=3).budget(Fraction(3, 5)) == Fraction(1, 10)
    assert step().budget(Fraction(3, 5)) == Fraction(3, 10)


def test_asks_for_all_marginals_at_once_or_for_the_stated_number():
    assert step(cliques=PAIRS).most == 3
    assert step(cliques=PAIRS, at_once=2).most == 2
    assert step(cliques=PAIRS, at_once=9).most == 3
    assert step().most == 0


def test_its_budget_is_split_by_cells_or_by_the_sizes_that_it_states():
    assert step(cliques=PAIRS).sizes_in(DOMAIN) == (6.0, 8.0, 12.0)
    assert step(cliques=PAIRS, sizes=(1.0, 2.0, 3.0)).sizes_in(DOMAIN) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"share": Fraction(-1, 10)}, "share of the budget"),
        ({"share": Fraction(11, 10)}, "share of the budget"),
        ({"times": 0}, "runs at least once"),
        ({"cliques": PAIRS[:1], "certain": PAIRS[1:]}, "only cliques of the step"),
        ({"cliques": PAIRS, "at_once": 0}, "at least one clique"),
        ({"cliques": PAIRS, "certain": PAIRS, "at_once": 2}, "all certain ones"),
        ({"cliques": PAIRS, "sizes": (1.0,)}, "expected 3 sizes, one for each clique, got 1"),
    ],
)
def test_refuses_an_inconsistent_step(changed, message):
    with pytest.raises(ValueError, match=message):
        step(**changed)


def test_the_one_way_step_certainly_asks_for_every_attribute():
    found = one_way_step(DOMAIN, Fraction(1, 10))
    assert found.certain == found.cliques == (("a",), ("b",), ("c",))
    assert by_name([found]) == {"one-way": found}


def test_an_interaction_is_measurable_if_each_attribute_has_at_least_two_and_not_too_many_values():
    assert measurable_as_interaction((2, MAX_INTERACTION_SIZE))
    assert not measurable_as_interaction((2, 1))
    assert not measurable_as_interaction((2, MAX_INTERACTION_SIZE + 1))
