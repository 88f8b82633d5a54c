"""Which dealer knows which components of a mask, and which part of a product it deals."""

from collections import Counter

import numpy as np
import pytest

from dpmosaic.common.protocols.masked.dealers import dealt_terms, knowing_positions, known_components


def products_of(dealers):
    """The pairs of components that each dealer multiplies."""
    return [[(x, y) for x, ys in dealt_terms(dealers, position) for y in ys] for position in range(dealers)]


@pytest.mark.parametrize("dealers", [1, 3])
def test_every_pair_of_components_belongs_to_one_dealer_that_knows_both(dealers):
    dealt = products_of(dealers)
    everything = Counter((x, y) for x in range(dealers) for y in range(dealers))
    assert Counter(pair for pairs in dealt for pair in pairs) == everything
    for position, pairs in enumerate(dealt):
        assert {component for pair in pairs for component in pair} <= {*known_components(dealers, position)}


def test_each_of_three_dealers_lacks_another_component_and_two_together_know_all():
    known = [set(known_components(3, position)) for position in range(3)]
    assert [{0, 1, 2} - components for components in known] == [{0}, {1}, {2}]
    assert known[0] | known[1] == known[1] | known[2] == known[2] | known[0] == {0, 1, 2}


@pytest.mark.parametrize(("dealers", "who"), [(1, [(0,)]), (3, [(1, 2), (0, 2), (0, 1)])])
def test_the_dealers_that_know_a_component(dealers, who):
    assert [knowing_positions(dealers, component) for component in range(dealers)] == who


@pytest.mark.parametrize("dealers", [1, 3])
def test_the_parts_of_all_dealers_add_up_to_the_product_of_the_sums(dealers):
    a, b = np.random.default_rng(3).integers(0, 2**32, (2, dealers)).tolist()
    parts = [sum(a[x] * b[y] for x, y in pairs) for pairs in products_of(dealers)]
    assert sum(parts) == sum(a) * sum(b)
