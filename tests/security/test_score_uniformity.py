"""The views of the curator and of the evaluators of scores: uniform words, and a noisy sum.

About 4,600 tests reject at p < 1e-6, so a correct program would fail for fewer than 1 in 200 choices of the
seeds, which are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.scores import evaluator as evaluating
from dpmosaic.common.protocols.scores import query as resharing
from dpmosaic.common.protocols.scores.carry import products_of
from dpmosaic.common.protocols.scores.shape import ScoreShape
from support.forgetting import forget, forget_sealing, shorten
from support.score_views import (
    CELLS,
    EVALUATORS,
    EVERYTHING,
    ONE,
    TWO,
    ZERO,
    distances,
    table_of,
    views_of,
)
from support.words import ALPHA, likeness, rejected, uniformity


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_the_view_of_every_role_except_the_opened_sum_is_uniform(kind, bits, monkeypatch):
    views, _ = views_of(table_of(kind), monkeypatch, bits=bits)
    assert set(views) == EVERYTHING
    assert rejected(views) == set()
    # The cells of all others go to evaluator 0, and the seeds of one of them to evaluator 2.
    received = {(to, sender, step) for _, to, sender, step in views["received"]}
    shape = ScoreShape(tuple(CELLS), Ring(bits))
    assert received == {(ZERO, sender, 0) for sender in (ONE, 1, TWO)} | {
        (EVALUATORS[step.recipient], EVALUATORS[step.sender], number)
        for number, step in enumerate(shape.steps, start=1)
    }
    assert len(views["received"]) == 2 * len(received)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
def test_the_view_of_no_role_distinguishes_two_tables(bits, monkeypatch):
    one, _ = views_of(table_of("equal"), monkeypatch, bits=bits, seed=1)
    other, _ = views_of(table_of("random"), monkeypatch, bits=bits, seed=2)
    for name in EVERYTHING:
        assert one[name].keys() == other[name].keys()
        for key in one[name]:
            assert likeness(one[name][key], other[name][key]) > ALPHA


@pytest.mark.slow
def test_the_sum_over_all_parties_is_the_distances_with_the_stated_noise(monkeypatch):
    """Chi-square over 480 scores: two-sided, p < 1e-6."""
    table = table_of("random")
    _, found = views_of(table, monkeypatch)
    errors = np.concatenate([scores.values - distances(table) for scores in found]) / found[0].sigma
    below = stats.chi2.cdf(np.sum(errors**2), errors.size)
    assert 5e-7 < below < 1 - 5e-7
    grid = grid_of(found[0].sigma)
    assert uniformity(Ring(32).words((found[0].values * grid).astype(np.int64))) < ALPHA


def forget_planes(monkeypatch, *rows):
    """Replaces planes by zeros where so many are drawn at once."""
    drawn = evaluating.draw_planes

    def forgotten(stream, count, width):
        planes = drawn(stream, count, width)
        return np.zeros_like(planes) if count in rows else planes

    monkeypatch.setattr(evaluating, "draw_planes", forgotten)


DIGITS = {bits: ScoreShape((1,), Ring(bits)) for bits in (32, 64)}
FORGOTTEN = {
    "the seeds of resharing": (
        lambda m, bits: m.setattr(resharing, "_part", lambda ring, seed, cells: ring.words(np.zeros(cells))),
        {"received", "one query's, less another's"},
    ),
    "the query in resharing": (
        lambda m, bits: shorten(m, "score shares"),
        {"one query's, less another's"},
    ),
    "the pads of the digits": (
        lambda m, bits: forget_planes(m, DIGITS[bits].tables),
        {"received", "one query's, less another's"},
    ),
    "the drawn components of the carries": (
        lambda m, bits: forget_planes(m, DIGITS[bits].wires),
        {"received", "what an evaluator holds, added up"},
    ),
    "the shares of zero": (
        lambda m, bits: forget_planes(m, *map(products_of, DIGITS[bits].layers)),
        {"received", "what an evaluator holds, added up", "one query's, less another's"},
    ),
    "the streams of the evaluators": (
        lambda m, bits: forget(m, "scores"),
        {"received", "what an evaluator holds, added up", "one query's, less another's"},
    ),
    "the query in the evaluators' streams": (
        lambda m, bits: shorten(m, "scores"),
        {"one query's, less another's"},
    ),
    "the pairwise mask": (
        lambda m, bits: forget(m, "pairwise mask"),
        {"answers of some parties", "one query's, less another's"},
    ),
    "the query in the pairwise mask": (
        lambda m, bits: shorten(m, "pairwise mask"),
        {"one query's, less another's"},
    ),
    "sealing": (lambda m, bits: forget_sealing(m), {"sealed components, added up"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("remove", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_missing_or_reused_mask_is_detected(remove, noticed, bits, monkeypatch):
    remove(monkeypatch, bits)
    table = table_of("random")
    views, found = views_of(table, monkeypatch, bits=bits)
    assert rejected(views) == noticed
    # Every role omits the mask, so the scores are unchanged.
    for scores in found:
        assert np.all(np.abs(scores.values - distances(table)) < 8 * scores.sigma)
