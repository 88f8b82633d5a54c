"""How many larger interactions are scored, which ones, and which are worth a measurement."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.mosaic.grouped_rounds import (
    MOST_SCORED,
    most_cells,
    most_scored,
    scored_in_time,
    tells_much,
    worth_measuring,
)
from dpmosaic.curator.mechanisms.mosaic.grouping import Candidates

RECORDS = 4000
RHO = Fraction(1, 100)
"""Of scores; noise of scores limits candidates to 3,200."""


def independent(names="abcdefgh", size=2, seed=0):
    codes = np.random.default_rng(seed).integers(0, size, (RECORDS, len(names)))
    return Table.from_codes(Domain.coded(dict.fromkeys(names, size)), codes)


def candidates(given, known, order=3, rho=RHO, without=()):
    """The cliques that are scored, in a minute."""
    found = Candidates(known).find(order, most_cells(given), without)
    return [view.clique for view in scored_in_time(given, found, rho, 60.0)]


def test_the_noise_of_each_score_stays_below_a_tenth_of_the_records():
    """A record changes all distances, so the noise of each of n has scale sqrt(n / (2 rho))."""
    for records, rho in ((5000, 1e-5), (40_000, 1e-6)):
        most = most_scored(records, rho, 1e9)
        assert np.sqrt(most / (2 * rho)) <= 0.1 * records < np.sqrt((most + 1) / (2 * rho))


def test_fewer_are_scored_with_less_budget_less_time_and_in_large_tables_with_more_records():
    by_budget = [most_scored(10_000, rho, 60.0) for rho in (1e-8, 1e-6, 1e-5, 1e-4, 1.0)]
    by_time = [most_scored(10_000, 1.0, seconds) for seconds in (0.01, 1.0, 10.0, 60.0, 1e9)]
    by_records = [most_scored(records, 1.0, 60.0) for records in (10**4, 10**6, 10**7, 10**9)]
    assert by_budget == sorted(by_budget)
    assert by_time == sorted(by_time)
    assert by_records == sorted(by_records, reverse=True)
    assert by_budget[0] == by_time[0] == by_records[-1] == 0
    assert by_time[-1] == MOST_SCORED


def test_candidates_are_as_many_as_asked_for_and_can_be_measured(facts, measured):
    table = independent()
    given = facts(table.domain, RECORDS, Fraction(1, 10))
    every = candidates(given, measured(table))
    assert len(every) == 56
    assert candidates(given, measured(table), rho=Fraction(16, 10**6)) == every[:5]
    assert candidates(given, measured(table), without=every[:2]) == every[2:]
    given = facts(table.domain, RECORDS, Fraction(1, 10), unmeasurable=tuple(every[:3]))
    assert candidates(given, measured(table)) == every[3:]


def test_candidates_that_parties_multiply_for_long_are_fewer(facts, measured):
    """At 50 nanoseconds a word, 4.2 s of 60 are enough for 4 cliques of 20 million words."""
    table = independent()
    given = facts(table.domain, RECORDS, Fraction(1, 10), words=20_000_000)
    assert len(candidates(given, measured(table))) == 4


def test_a_matrix_that_candidates_share_is_multiplied_once(facts, measured):
    table = independent()
    given = facts(table.domain, RECORDS, Fraction(1, 10), words=80_000_000, openings="shared")
    assert len(candidates(given, measured(table))) == 56


def test_groups_are_fewer_where_noise_is_larger(facts, measured):
    """The L1 noise for a twentieth of the budget stays below 0.35 of the records."""
    table, cells = independent("abc", 20), []
    for rho in (1e-3, 1e-2, 1.0):
        given = facts(table.domain, RECORDS, Fraction(rho))
        (view,) = scored_in_time(given, Candidates(measured(table)).find(3, most_cells(given), ()), RHO, 60.0)
        assert view.clique == ("a", "b", "c")
        cells.append(view.cells(table.domain))
        assert np.sqrt(2 / np.pi) * cells[-1] / np.sqrt(2 * rho / 20) <= 0.35 * RECORDS
    assert cells[0] < cells[1] < cells[2]


def test_an_interaction_is_worth_its_measurement_if_that_tells_much_of_it(facts, measured, scored_triples):
    strong, weak = ("a", "b", "c"), ("d", "e", "f")
    known, found = scored_triples(
        measured(independent()), independent(seed=1), {strong: 3000.0, weak: 150.0}, 20.0
    )
    given = facts(independent().domain, RECORDS, Fraction(1, 200))
    assert [tells_much(given, known, clique, Fraction(1, 10_000)) for clique in (strong, weak)] == [
        True,
        False,
    ]
    assert not tells_much(given, known, strong, Fraction(0))
    assert worth_measuring(given, known, found, np.ones(len(found)), 60.0) == [strong]


def test_those_with_the_largest_gains_come_first(facts, measured, scored_triples):
    names = [("a", "b", "c"), ("d", "e", "f"), ("a", "g", "h")]
    known, found = scored_triples(
        measured(independent()), independent(seed=1), dict.fromkeys(names, 3000.0), 20.0
    )
    given = facts(independent().domain, RECORDS, Fraction(1, 10))
    gains = np.array([1.0 + names.index(clique) if clique in names else 0.0 for clique in found])
    assert worth_measuring(given, known, found, gains, 60.0)[:3] == names[::-1]


def test_so_many_are_worth_it_as_rows_are_adjusted_to_in_time(facts, measured, scored_triples):
    """6e-8 s for each row and each of three attributes, in a fifth of the time; those before count too."""
    names = [("a", "b", "c"), ("d", "e", "f"), ("a", "g", "h"), ("b", "d", "g")]
    known, found = scored_triples(
        measured(independent()), independent(seed=1), dict.fromkeys(names, 3000.0), 20.0
    )
    given = facts(independent().domain, RECORDS, Fraction(1, 10))
    gains = np.array([clique in names for clique in found], dtype=float)
    seconds = 3.5 * 3 * 6e-8 * max(RECORDS, 1 << 14) / 0.2
    assert len(worth_measuring(given, known, found, gains, seconds)) == 3
    known.beside += names[:2]
    assert len(worth_measuring(given, known, found, gains, seconds)) == 1


@pytest.mark.slow
def test_scores_of_noise_alone_seldom_make_a_measurement_worth_it(facts, measured, scored_triples):
    """Ten tables, rows drawn anew, and scores of noise alone; fixed seeds.

    None of 60 seeds had a false alarm, so with 95 % confidence less than one table in twenty has one; then
    two of ten tables have one with at most 9 %.
    """
    rho, false = Fraction(1, 50), 0
    for seed in range(10):
        table = independent(seed=2 * seed)
        given = facts(table.domain, RECORDS, rho)
        sigma = 0.02 * RECORDS
        known, found = scored_triples(measured(table), independent(seed=2 * seed + 1), {}, sigma)
        rng = np.random.default_rng(seed)
        distances = dict(zip(found, np.abs(rng.normal(0, sigma, len(found))).tolist(), strict=True))
        known, found = scored_triples(measured(table), independent(seed=2 * seed + 1), distances, sigma)
        false += bool(worth_measuring(given, known, found, np.ones(len(found)), 60.0))
    assert false <= 1


@pytest.mark.parametrize("order", [4, 5])
def test_no_candidates_of_more_attributes_without_large_triples(order, facts, measured, scored_triples):
    table = independent()
    known, found = scored_triples(measured(table), independent(seed=1), {}, 20.0)
    known.beside += found
    assert candidates(facts(table.domain, RECORDS, Fraction(1, 10)), known, order) == []
