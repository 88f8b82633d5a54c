from collections import Counter

import numpy as np

from dpmosaic.common.data.compared import counted_in_both
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload

DOMAIN = Domain.coded({"a": 90_000, "b": 2, "c": 100_000})


def table(seed, rows):
    codes = np.random.default_rng(seed).integers(0, [5, 2, 7], (rows, 3))
    return Table.from_codes(DOMAIN, codes)


def cells(of, clique):
    return Counter(zip(*(of.column(name).tolist() for name in clique), strict=True))


def test_every_occupied_cell_is_counted_once_in_marginals_of_any_size():
    one, two = table(1, 200), table(2, 300)
    cliques = [("b",), ("a", "c"), ("a", "b", "c"), ("a", "b")]
    for clique, (first, second) in zip(cliques, counted_in_both(one, two, cliques), strict=True):
        assert sorted(count for count in first if count) == sorted(cells(one, clique).values())
        assert sorted(count for count in second if count) == sorted(cells(two, clique).values())
        both = cells(one, clique).keys() & cells(two, clique).keys()
        assert np.minimum(first, second).astype(bool).sum() == len(both)


def test_the_workload_error_of_a_pair_of_large_attributes_is_that_of_its_occupied_cells():
    one, two = table(1, 200), table(2, 200)
    first, second = cells(one, ("a", "c")), cells(two, ("a", "c"))
    distance = sum(abs(first[cell] - second[cell]) for cell in first.keys() | second.keys())
    assert Workload((("a", "c"),), (1.0,)).error(one, two) == distance / 200
