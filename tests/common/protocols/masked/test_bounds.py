"""Bounds of opened answers, and the refusal of what lies outside of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.bounds import AnswerBounds, marginal_bounds, score_bounds
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from support.messages import DEALERS

SIGMA = 3.0
CELLS = View(("a", "b"))
ROSTER = tuple(RosterEntry(name, 0, (name,), 65, bytes(32)) for name in ("a", "b", "c"))
PLAN = MaskedPlan(Domain.coded({"a": 2, "b": 3, "c": 4}), ROSTER, 1, Ring(32), dealers=DEALERS)


def test_values_up_to_the_bounds_are_accepted_and_those_beyond_refused():
    bounds = AnswerBounds(-2, 5, (0, 8))
    bounds.check(np.array([-2, 5, 5]))
    bounds.check(np.array([-2, 2]))
    for values in ([-3, 5], [0, 6], [-1, 0], [4, 5]):
        with pytest.raises(ProtocolError, match="the answer is not used"):
            bounds.check(np.array(values))


def test_a_total_beyond_64_bits_does_not_wrap_around():
    bounds = AnswerBounds(0, 2**62, (0, 2**63))
    with pytest.raises(ProtocolError):
        bounds.check(np.full(4, 2**62))


def test_the_cells_of_a_marginal_hold_each_record_once():
    grid = grid_of(SIGMA)
    records, noise, total = 65 * grid, PLAN.noise.largest(SIGMA), PLAN.noise.largest_total(SIGMA, 6)
    whole = marginal_bounds(PLAN, CELLS, SIGMA)
    assert (whole.least, whole.largest) == (-noise, records + noise)
    assert whole.totals == (records - total, records + total)
    boxes = View(CELLS.clique, boxes=tuple(((a, a + 1), (b, b + 1)) for a in range(2) for b in range(3)))
    assert marginal_bounds(PLAN, boxes, SIGMA) == replace(whole, totals=(-total, records + total))


def test_nobody_knows_how_many_positions_of_an_alignment_count():
    grid, total = grid_of(SIGMA), PLAN.noise.largest_total(SIGMA, 6)
    aligned = replace(PLAN, alignment=Alignment("f" * 32, Population.EVERYWHERE, ((1,) * 7,), Fraction(1, 2)))
    assert marginal_bounds(aligned, CELLS, SIGMA).totals == (-total, 65 * grid + total)


def test_differences_are_bounded_by_what_the_ring_has_room_for():
    largest = PLAN.largest(SIGMA, interaction=(2, 3))
    assert marginal_bounds(PLAN, replace(CELLS, interaction=True), SIGMA) == AnswerBounds(-largest, largest)


def test_a_score_is_at_most_the_records_and_the_references_together():
    noise = PLAN.noise.largest(SIGMA)
    assert score_bounds(PLAN, SIGMA, 100) == AnswerBounds(-noise, (65 + 100) * grid_of(SIGMA) + noise)


@pytest.mark.parametrize("sigma", [0.3, 3.0, 40.0])
def test_noise_of_all_parties_lies_within_its_bounds(sigma):
    """Fails by chance with probability below 2^-100 over the choice of the seed."""
    noise = PLAN.noise
    stream = RandomStream.from_seed(3)
    for cells in (1, 7, 2000):
        summed = sum(noise.draw(sigma, cells, stream) for _ in range(noise.parties))
        assert abs(summed).max() <= noise.largest(sigma)
        assert abs(summed.sum()) <= noise.largest_total(sigma, cells)


def test_the_bound_of_a_total_grows_with_the_root_of_the_cells():
    noise = PLAN.noise
    assert noise.largest_total(40.0, 40_000) == pytest.approx(100 * noise.largest_total(40.0, 4), rel=0.1)
    assert noise.largest_total(40.0, 4) <= 4 * noise.largest(40.0)
