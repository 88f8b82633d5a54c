"""The protocol `masked` over people with all rows, through real parties, against the definition.

The noise of all parties stays below `OFF` counts, and draws are cut, so that there are no false alarms.
"""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, MosaicError, PolicyError
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency, gaussian_sigma
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.asking import Asking
from support.parties import cut, layout, measurer_over
from support.people import CLIQUES, DOMAIN, expected, people_of

NUMBERS = [1, 2, 3, 7, 1, 12, 5, 1, 1, 40, 2, 3]
RHO = Fraction(10**8)
OFF = 0.01

GRIDS = {
    "one party": ("1x1", 0.0),
    "three hospitals": ("3x1", 0.0),
    "columns at two": ("1x2", 2.0**-10),
    "columns at three": ((layout(12, "ac b d"),), 2.0**-6),
    "hospitals of one, two and four": (
        (layout(4, "abcd"), layout(5, "ad bc"), layout(3, "d c b a")),
        2.0**-5,
    ),
}
"""Grids, and by how much of a person parts differ from exact shares, for each party."""


@pytest.mark.slow
@pytest.mark.parametrize(("grid", "coarse"), GRIDS.values(), ids=GRIDS)
def test_every_marginal_is_the_sum_of_people_whose_rows_add_up_to_one(grid, coarse):
    rows = people_of(NUMBERS)
    measurer = measurer_over(rows, grid, RHO * len(CLIQUES))
    assert measurer._plan.ring == Ring(64)
    assert measurer.record_count == len(NUMBERS)
    sigma = gaussian_sigma(RHO, Adjacency.ZERO_OUT)
    assert measurer._plan.noise.largest(sigma) / measurer._plan.noise.grid(sigma) < OFF
    found = measurer.measure([Query(View(clique), RHO, "test") for clique in CLIQUES])
    for one in found:
        wanted, start = np.zeros(one.values.size), 0
        for pieces in cut(rows, grid):
            held = rows.rows(start, start + pieces[0].record_count)
            wanted += expected(held, [piece.domain.names for piece in pieces], one.clique)
            start += held.record_count
        # Nobody is left out: people add up to their number.
        assert abs(one.values.sum() - len(NUMBERS)) < OFF * one.values.size
        assert np.abs(one.values - wanted).max() < OFF + 4 * coarse * len(NUMBERS)


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["1x1", "2x1", "1x2", "2x2", "1x3"])
def test_scores_are_distances_of_people(grid):
    rows = people_of(NUMBERS)
    measurer = measurer_over(rows, grid, 4 * RHO)
    assert measurer.scores_exactly
    views = [View(("a", "b")), View(("a", "d")), View(("b", "d"))]
    counts = [one.values for one in measurer.measure([Query(view, RHO, "test") for view in views])]
    references = [np.arange(len(values)) % 3 for values in counts]
    scores = measurer.score(views, references, RHO, "test")
    wanted = [np.abs(values - one).sum() for values, one in zip(counts, references, strict=True)]
    assert np.abs(scores.values - wanted).max() < 1


@pytest.mark.slow
def test_an_indicator_counts_people_of_hospitals():
    rows = people_of(NUMBERS)
    measurer = measurer_over(rows, "3x1", 2 * RHO, protocol="indicator")
    (found,) = measurer.measure([Query(View(("a", "d")), RHO, "test")])
    assert np.abs(found.values - rows.marginal(("a", "d")) / WEIGHT_PARTS).max() < OFF


def test_interactions_are_those_of_people():
    rows = people_of(NUMBERS)
    measurer = measurer_over(rows, "2x2", 2 * RHO)
    view = View(("b", "d"), interaction=True)
    (plain,) = measurer.measure([Query(View(("b", "d")), RHO, "test")])
    (found,) = measurer.measure([Query(view, RHO, "test")])
    assert np.abs(found.values - view.of_cells(plain.values, DOMAIN)).max() < 10 * OFF


def test_noise_has_the_scale_that_one_record_needs():
    """Of 200 draws, the variance is within a factor of two with probability 1 - 10^-9 (chi-squared)."""
    rows, rho = people_of([3, 1]), Fraction(1, 50)
    measurer = measurer_over(rows, "2x1", 50 * rho)
    found = measurer.measure([Query(View(("b", "d")), rho, "test") for _ in range(17)])
    noise = np.concatenate([one.values for one in found]) - np.tile(
        rows.marginal(("b", "d")) / WEIGHT_PARTS, 17
    )
    # One of two parties may collude, so that both draw the whole noise.
    assert found[0].sigma == pytest.approx(np.sqrt(2) * gaussian_sigma(rho, Adjacency.ZERO_OUT))
    assert 0.5 < noise.var() / found[0].sigma ** 2 < 2


@pytest.mark.slow
def test_a_party_that_is_started_again_goes_on_with_the_same_people():
    rows, links = people_of(NUMBERS), []

    def kept(link):
        links.append(link)
        return link

    measurer = measurer_over(rows, "1x2", 4 * RHO, tapped=kept)
    measurer._asking = Asking(away_s=10.0, sleep=lambda seconds: None)
    view = View(("a", "d"))
    (before,) = measurer.measure([Query(view, RHO, "test")])
    links[0].restart()
    (after,) = measurer.measure([Query(view, RHO, "test")])
    assert np.abs(before.values - after.values).max() < 2 * OFF


def test_a_party_that_uses_one_row_takes_part_in_no_release_of_all_rows(monkeypatch):
    monkeypatch.setattr("support.parties.policy_for", policy_of(1))
    with pytest.raises(PolicyError, match="uses all rows of a person, and the policy does not allow that"):
        measurer_over(people_of(NUMBERS), "2x1")


def test_a_party_that_uses_all_rows_takes_part_in_no_release_of_single_rows(monkeypatch):
    monkeypatch.setattr("support.parties.policy_for", policy_of(ALL_ROWS))
    with pytest.raises(PolicyError, match='plan it with rows_per_person = "all"'):
        measurer_over(people_of(NUMBERS).table, "2x1")


def policy_of(rows_per_person):
    from support.parties import policy_for

    return lambda protocol, adjacency, granted, _: policy_for(protocol, adjacency, granted, rows_per_person)


@pytest.mark.parametrize(
    ("grid", "options", "refusal"),
    [
        ((layout(12, "a b c d"),), {"sample": 5}, "sample: expected all people"),
        ("1x2", {"protocol": "indicator"}, "does not count people with all rows"),
    ],
)
def test_what_vectors_of_people_do_not_have_is_refused_before_anything_is_spent(grid, options, refusal):
    with pytest.raises((MosaicError, ValueError), match=refusal):
        measurer_over(people_of(NUMBERS), grid, **options)


def test_more_parties_of_a_slice_than_a_person_has_parts_for_are_refused():
    domain = type(DOMAIN).coded(dict.fromkeys("abcde", 2))
    rows = people_of([1, 2], domain)
    with pytest.raises(DataError, match="at most 4 parties in a slice of people with all rows"):
        measurer_over(rows, (layout(2, "a b c d e"),))


def test_a_budget_so_small_that_the_grid_has_no_room_is_refused_before_it_is_spent():
    measurer = measurer_over(people_of(NUMBERS), "2x1")
    with pytest.raises(BudgetError):
        measurer.measure([Query(View(("a",)), Fraction(1, 2**60), "test")])
    assert not measurer.accountant.spent
