import itertools
from dataclasses import dataclass

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.work import limits
from dpmosaic.curator.work.limits import (
    CANDIDATE_CELLS,
    MAX_CANDIDATES,
    affords_larger,
    model_mb,
    rows_drawn,
    seconds_of,
)


@dataclass
class Facts:
    """A table's public facts."""

    domain: Domain
    record_count: int = 1000


def facts(sizes, **others):
    return Facts(Domain.coded({f"a{place}": size for place, size in enumerate(sizes)}), **others)


def pairs_of(given):
    return list(itertools.combinations(given.domain.names, 2))


def affordable(given, cliques, seconds):
    return limits.affordable(given.domain, given.record_count, cliques, seconds)


def test_all_candidates_of_a_usual_table_are_kept_in_their_order():
    given = facts([2, 70, 10, 100, 40] * 4, record_count=50_000)
    pairs = pairs_of(given)[::-1]
    assert affordable(given, pairs, 60.0) == pairs


def test_the_largest_candidates_are_left_out_first():
    given = facts([2, 3000, 4, 3000, 5, 2900])
    kept = affordable(given, pairs_of(given), 60.0)
    left_out = {*pairs_of(given)} - {*kept}
    assert left_out == {("a1", "a3")} | ({("a1", "a5"), ("a3", "a5")} & left_out)
    assert sum(map(given.domain.cells, kept)) <= CANDIDATE_CELLS
    assert max(map(given.domain.cells, kept)) <= min(map(given.domain.cells, left_out))


def test_of_equally_large_candidates_the_nearest_in_the_domain_stay():
    given = facts([2] * 30)
    kept = affordable(given, pairs_of(given), 0.5)
    places = [tuple(map(given.domain.position, pair)) for pair in kept]
    far = max(b - a for a, b in places)
    assert 0 < len(kept) < 435
    assert sum(b - a < far for a, b in places) == sum(30 - gap for gap in range(1, far))


def test_pairs_from_which_dependencies_are_learned_come_first(monkeypatch):
    given = facts([2, 2, 2, 500, 500])

    class Zeros:
        learned = (("a3", "a4"),)

    monkeypatch.setattr(limits, "zeros_of", lambda domain: Zeros())
    seconds = 2 * seconds_of(given.domain, [("a3", "a4")], given.record_count) + 0.001
    assert affordable(given, pairs_of(given), seconds) == [("a3", "a4")]


def test_more_time_never_keeps_fewer_candidates_and_more_records_never_more():
    sizes = [2, 3, 10, 50, 200, 1000] * 6
    pairs = pairs_of(facts(sizes))
    numbers = [
        [len(affordable(facts(sizes, record_count=n), pairs, s)) for s in (0.1, 1, 5, 30, 200)]
        for n in (100, 10_000, 1_000_000, 100_000_000)
    ]
    for shorter in numbers:
        assert shorter == sorted(shorter)
    for fewer in zip(*numbers, strict=True):
        assert list(fewer) == sorted(fewer, reverse=True)


def test_the_estimated_time_is_within_its_share():
    sizes = [2, 3, 10, 50, 200, 1000] * 20
    given = facts(sizes, record_count=100_000)
    kept = affordable(given, pairs_of(given), 10.0)
    assert 4.0 < seconds_of(given.domain, kept, given.record_count) <= 5.0


def test_a_model_is_smaller_where_more_marginals_of_it_are_computed():
    assert model_mb(0, 60.0) == float("inf")
    assert model_mb(100, 60.0) > 16 > model_mb(5000, 60.0) > model_mb(20_000, 60.0) > 0.5


def test_larger_interactions_are_looked_for_in_tables_of_few_attributes_only():
    assert affords_larger(facts([20] * 14).domain, 50_000, 60.0)
    assert affords_larger(facts([2] * 23).domain, 38_000, 60.0)
    assert not affords_larger(facts([20] * 14).domain, 50_000, 1.0)
    assert not affords_larger(facts([20] * 100).domain, 50_000, 60.0)


def test_a_table_of_very_many_records_keeps_its_candidates():
    """Parties count them; a limit for a usual table would leave most of a billion records' pairs out."""
    given = facts([85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2], record_count=10**9)
    assert affordable(given, pairs_of(given), 60.0) == pairs_of(given)


@pytest.mark.slow
def test_pairs_of_500_attributes_are_limited_to_a_number_that_fits_memory_and_time():
    given = facts([2, 3] * 250, record_count=10**9)
    pairs = pairs_of(given)
    assert len(pairs) == 124_750
    kept = affordable(given, pairs, 10_000.0)
    assert len(kept) == MAX_CANDIDATES
    assert sum(map(given.domain.cells, kept)) <= CANDIDATE_CELLS


def test_unfinished_models_have_as_many_rows_as_records_within_limits():
    assert [rows_drawn(n) for n in (10, 20_000, 10**8)] == [2**14, 20_000, 2**17]
