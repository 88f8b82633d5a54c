"""The views of curator and parties of a masked release: uniform words, and a noisy sum.

About 1,400 tests reject at p < 1e-6, so a correct program would fail for fewer than 1 in 700 choices of the
seeds, which are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from dpmosaic.common.protocols.arithmetic.ring import Ring
from support.forgetting import forget, forget_sealing, forget_where, same_seeds, shorten
from support.masked_views import CLIQUES, EVERYTHING, REPEATS, table_of, views_of
from support.words import ALPHA, likeness, rejected, uniformity

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_the_view_of_every_role_except_the_opened_sum_is_uniform(kind, bits, monkeypatch):
    views, _ = views_of(table_of(kind), monkeypatch, bits=bits)
    assert set(views) == EVERYTHING
    assert rejected(views) == set()
    # a, b and c to two parties each, d and both of a, d to one, two shares of a product to the third.
    assert len(views["sealed"]) == len(views["opened"]) == 10
    assert {len(chain) for _, _, chain in views["opened"]} == {1, 2}


@pytest.mark.parametrize("bits", [32, 64])
def test_the_view_of_no_role_distinguishes_two_tables(bits, monkeypatch):
    one, _ = views_of(table_of("equal"), monkeypatch, bits=bits, seed=1)
    other, _ = views_of(table_of("random"), monkeypatch, bits=bits, seed=2)
    for name in EVERYTHING:
        assert one[name].keys() == other[name].keys()
        for key in one[name]:
            assert likeness(one[name][key], other[name][key]) > ALPHA


def test_the_sum_over_all_parties_is_not_uniform(monkeypatch):
    _, found = views_of(table_of("random"), monkeypatch)
    grid = grid_of(gaussian_sigma(Fraction(1, len(CLIQUES) * REPEATS), Adjacency.ZERO_OUT))
    opened = np.concatenate([one.values * grid for one in found]).astype(np.int64)
    assert uniformity(Ring(32).words(opened)) < ALPHA


def forget_row_pads(monkeypatch):
    """Replaces the pads of row-wise products by zeros in every role."""
    forget_where(monkeypatch, lambda names: names[:2] == ("pad", "row-wise share"))


FORGOTTEN = {
    "the mask of a part": (
        lambda m: forget(m, "mask", parts={1}),
        {"opened", "opened, with a party's own masks", "opened by a party, less one another"},
    ),
    "the mask of a row-wise share": (
        lambda m: forget(m, "mask", parts={2}),
        {"opened shares of one matrix, added up"},
    ),
    "the pads of row-wise products": (forget_row_pads, {"dealt rows"}),
    "the pairwise mask": (
        lambda m: forget(m, "pairwise mask"),
        {"answers of some parties", "answers to one question, less one another"},
    ),
    "the query in the pairwise mask": (
        lambda m: shorten(m, "pairwise mask", 1),
        {"answers to one question, less one another"},
    ),
    "the chain in the mask": (lambda m: shorten(m, "mask", 1), {"opened by a party, less one another"}),
    "the party in its seed": (
        same_seeds,
        {
            "opened, with a party's own masks",
            "opened shares of one matrix, added up",
        },
    ),
    "sealing": (forget_sealing, {"sealed, with the masks"}),
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("remove", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_missing_or_reused_mask_is_detected(remove, noticed, bits, monkeypatch):
    remove(monkeypatch)
    table = table_of("random")
    views, found = views_of(table, monkeypatch, bits=bits)
    odd = rejected(views)
    if "answers of some parties" not in noticed:
        # Shares of products are uniform themselves, so they may pass with a reused mask.
        odd.discard("answers of some parties")
    assert odd == noticed
    # Every role omits the mask, so the counts are unchanged.
    for one in found:
        assert np.all(np.abs(one.values - table.marginal(one.clique)) < 8 * one.sigma)


def test_openings_without_masks_distinguish_two_tables(monkeypatch):
    forget(monkeypatch, "mask", parts={1})
    views = [
        views_of(table_of(kind), monkeypatch, seed=seed)[0]["opened"]
        for kind, seed in (("equal", 1), ("random", 2))
    ]
    for key in views[0]:
        assert (likeness(views[0][key], views[1][key]) < ALPHA) == (len(key[-1]) == 1)
