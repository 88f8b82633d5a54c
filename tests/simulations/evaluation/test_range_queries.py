import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.range_queries import RangeQuery, range_errors, range_queries

DOMAIN = Domain.coded({"a": 5, "b": 3, "c": 7, "d": 2, "e": 4, "f": 6})


def table(records, seed):
    rng = np.random.default_rng(seed)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, records) for n in DOMAIN.sizes]))


def rows(some):
    return [dict(zip(DOMAIN, codes, strict=True)) for codes in zip(*map(some.column, DOMAIN), strict=True)]


def share(some, query):
    return np.mean(
        [
            all(low <= row[name] < high for name, (low, high) in zip(query.clique, query.ranges, strict=True))
            for row in rows(some)
        ]
    )


def test_the_errors_are_those_of_counting_records_one_by_one():
    real, synthetic = table(40, 1), table(25, 2)
    three, five = range_errors(real, synthetic)
    assert (three.dimensions, three.queries, five.dimensions, five.queries) == (3, 210, 5, 37)
    for error in (three, five):
        queries = range_queries(DOMAIN, error.dimensions, error.queries)
        off = [share(real, query) - share(synthetic, query) for query in queries]
        assert error.mean_squared == pytest.approx(np.mean(np.square(off)))
        assert error.mean_absolute == pytest.approx(np.mean(np.abs(off)))
        assert error.mean_squared > 0


def test_a_query_counts_both_ends_of_its_ranges():
    query = RangeQuery(("b", "d"), ((1, 3), (0, 1)))
    codes = [[0, b, 0, d, 0, 0] for b in range(3) for d in range(2)]
    assert query.share(Table.from_codes(DOMAIN, np.array(codes))) == pytest.approx(2 / 6)


def test_queries_are_the_same_every_time_other_ones_with_another_seed_and_inside_the_domain():
    queries = range_queries(DOMAIN, 3, 50)
    assert queries == range_queries(DOMAIN, 3, 50)
    assert queries != range_queries(DOMAIN, 3, 50, seed=1)
    for query in queries:
        assert query.clique == DOMAIN.canonical(query.clique)
        assert len(query.clique) == 3
        for (low, high), size in zip(query.ranges, DOMAIN.shape(query.clique), strict=True):
            assert 0 <= low < high <= size
    assert {high - low for query in queries for low, high in query.ranges} >= {1, 2, 3, 4, 5}


def test_some_attributes_come_up_more_often_than_others():
    """Even draws of 400 sets of three from six would give each 200, with a deviation of 10."""
    queries = range_queries(DOMAIN, 3, 400)
    counts = [sum(name in query.clique for query in queries) for name in DOMAIN]
    assert max(counts) > 250
    assert min(counts) < 150


def test_a_table_is_at_no_distance_from_itself_and_sizes_do_not_count():
    real = table(30, 3)
    twice = Table.concatenate([real, real])
    for error in range_errors(real, twice):
        assert error.mean_squared == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize("dimensions", [0, 7])
def test_refuses_queries_of_more_attributes_than_there_are(dimensions):
    with pytest.raises(DataError, match="1 to 6 dimensions"):
        range_queries(DOMAIN, dimensions, 10)


def test_a_table_of_few_attributes_has_the_errors_that_it_can_have():
    small = Table.from_codes(Domain.coded({"a": 2, "b": 2, "c": 2}), np.zeros((4, 3), dtype=int))
    assert [error.dimensions for error in range_errors(small, small)] == [3]
