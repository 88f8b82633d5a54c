"""The views of curator, dealer and evaluators of scores: uniform words, and a noisy sum.

About 2,400 tests reject at p < 1e-6, so a correct program would fail for fewer than 1 in 400 choices of the
seeds, which are fixed.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores import dealer as dealing
from dpmosaic.common.protocols.scores import evaluator as evaluating
from support.forgetting import forget, forget_sealing, shorten
from support.score_views import EVERYTHING, ONE, ZERO, distances, table_of, views_of
from support.words import ALPHA, likeness, rejected, uniformity


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_the_view_of_every_role_except_the_opened_sum_is_uniform(kind, bits, monkeypatch):
    views, _ = views_of(table_of(kind), monkeypatch, bits=bits)
    assert set(views) == EVERYTHING
    assert rejected(views) == set()
    # The cells of the two other parties go to evaluator 0, and as many rounds each way.
    received = {(to, sender, step) for _, to, sender, step in views["received"]}
    rounds = range(1, 1 + max(step for _, _, step in received))
    assert len(rounds) >= 3
    assert received == {(ZERO, 1, 0), (ZERO, 2, 0)} | {
        (to, sender, step) for to, sender in ((ZERO, ONE), (ONE, ZERO)) for step in rounds
    }
    assert len(views["received"]) == 2 * len(received)


@pytest.mark.parametrize("bits", [32, 64])
def test_the_view_of_no_role_distinguishes_two_tables(bits, monkeypatch):
    one, _ = views_of(table_of("equal"), monkeypatch, bits=bits, seed=1)
    other, _ = views_of(table_of("random"), monkeypatch, bits=bits, seed=2)
    for name in EVERYTHING:
        assert one[name].keys() == other[name].keys()
        for key in one[name]:
            assert likeness(one[name][key], other[name][key]) > ALPHA


def test_the_sum_over_all_parties_is_the_distances_with_the_stated_noise(monkeypatch):
    """Chi-square over 480 scores: two-sided, p < 1e-6."""
    table = table_of("random")
    _, found = views_of(table, monkeypatch)
    errors = np.concatenate([scores.values - distances(table) for scores in found]) / found[0].sigma
    below = stats.chi2.cdf(np.sum(errors**2), errors.size)
    assert 5e-7 < below < 1 - 5e-7
    grid = grid_of(found[0].sigma)
    assert uniformity(Ring(32).words((found[0].values * grid).astype(np.int64))) < ALPHA


def forget_masks(monkeypatch, **parts):
    """Replaces some masks of evaluators and dealer by zeros."""
    draw = dealing.draw_masks

    def drawn(shape, stream):
        masks = draw(shape, stream)
        return replace(masks, **{name: change(getattr(masks, name)) for name, change in parts.items()})

    monkeypatch.setattr(dealing, "draw_masks", drawn)
    monkeypatch.setattr(evaluating, "draw_masks", drawn)


def forget_complement(monkeypatch):
    """Replaces evaluator 0's share of the complement by zeros."""

    def read(shape, octets, whole=dealing.read_complement):
        return whole(shape, np.zeros_like(octets))

    monkeypatch.setattr(dealing, "read_complement", read)
    monkeypatch.setattr(
        evaluating,
        "read_complement",
        lambda shape, octets, whole=evaluating.read_complement: whole(
            # The share that evaluator 0 draws is writable; evaluator 1's message is not.
            shape,
            np.zeros_like(octets) if octets.flags.writeable else octets,
        ),
    )


FORGOTTEN = {
    "the part of evaluator 1 in resharing": (
        lambda m: forget(m, "score shares"),
        {"received", "one query's, less another's"},
    ),
    "the query in resharing": (
        lambda m: shorten(m, "score shares"),
        {"one query's, less another's"},
    ),
    "the words under which differences are opened": (
        lambda m: forget_masks(m, words=np.zeros_like),
        {"opened by both", "received, with the receiver's share"},
    ),
    "the masks of the layers": (
        lambda m: forget_masks(m, layers=lambda layers: [np.zeros_like(planes) for planes in layers]),
        {"opened by both", "received"},
    ),
    "the mask of the sign": (
        lambda m: forget_masks(m, sign=np.zeros_like),
        {"signs opened, with the difference's"},
    ),
    "the share of what is dealt": (forget_complement, {"dealt", "one query's, less another's"}),
    "the query in the evaluators' streams": (
        lambda m: shorten(m, "scores"),
        {"one query's, less another's"},
    ),
    "the pairwise mask": (
        lambda m: forget(m, "pairwise mask"),
        {"answers of some parties", "one query's, less another's"},
    ),
    "the query in the pairwise mask": (
        lambda m: shorten(m, "pairwise mask"),
        {"one query's, less another's"},
    ),
    "sealing": (forget_sealing, {"sealed differences, with the dealer's masks"}),
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("remove", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_missing_or_reused_mask_is_detected(remove, noticed, bits, monkeypatch):
    remove(monkeypatch)
    table = table_of("random")
    views, found = views_of(table, monkeypatch, bits=bits)
    assert rejected(views) == noticed
    # Every role omits the mask, so the scores are unchanged.
    for scores in found:
        assert np.all(np.abs(scores.values - distances(table)) < 8 * scores.sigma)


def test_cells_that_are_not_reshared_distinguish_two_tables(monkeypatch):
    forget(monkeypatch, "score shares")
    one, other = (
        views_of(table_of(kind), monkeypatch, seed=seed)[0]["received"]
        for kind, seed in (("equal", 1), ("random", 2))
    )
    for key in one:
        assert (likeness(one[key], other[key]) < ALPHA) == (key[3] == 0)
