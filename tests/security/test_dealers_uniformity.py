"""What dealers learn about rows: nothing with the curator, and one of three nothing with a party either.

About 220 tests reject at p < 1e-6, so a correct program would fail for fewer than 1 in 4,000 choices of the
keys, which are fixed.
"""

import numpy as np
import pytest

from dpmosaic.common.dealing import dealing
from dpmosaic.common.protocols.masked.masks import Mask, Masks
from dpmosaic.common.protocols.masked.sacrifice import CHECK_MASK
from dpmosaic.party.answerers.masked import rows
from support.dealer_views import PARTIES, DealtRelease, table_of
from support.forgetting import ZEROS, forget, forget_sealing, forget_where
from support.words import rejected

CURATOR = {"sealed", "sealed, with a dealer's masks", "answers of some parties"}
PRODUCTS = {"dealt products, less the product of the masks"}
PADS = PRODUCTS | {"dealt rows, less the product of the masks"}
DIFFERENCES = {"dealt rows, one dealer's less another's", "dealt products, one dealer's less another's"}
OPENED = {"opened, with a dealer's masks"}
CHECKS = {"checks, less a dealer's masks"}


@pytest.mark.slow
@pytest.mark.parametrize("dealers", [1, 3])
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_the_view_of_the_curator_and_a_dealer_is_uniform(kind, dealers, monkeypatch):
    views = DealtRelease(table_of(kind), monkeypatch, dealers).views_of_curator()
    assert set(views) == CURATOR
    assert rejected(views) == set()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "random"])
def test_the_view_of_a_party_and_one_of_three_dealers_is_uniform(kind, monkeypatch):
    """What was dealt is uniform given all masks; what was opened, given those that the dealer knows."""
    views = DealtRelease(table_of(kind), monkeypatch, 3).views_of_party()
    assert set(views) == OPENED | CHECKS | PADS | DIFFERENCES
    assert rejected(views) == set()


@pytest.mark.parametrize("kind", ["equal", "random"])
def test_what_a_single_dealer_dealt_tells_a_party_nothing_about_masks(kind, monkeypatch):
    views = DealtRelease(table_of(kind), monkeypatch, 1).views_of_party()
    assert rejected(views) == OPENED | CHECKS


@pytest.mark.slow
@pytest.mark.parametrize(("dealers", "colluding"), [(1, 1), (3, 2)])
def test_a_party_with_the_dealer_or_with_two_of_three_reads_rows_of_others(dealers, colluding, monkeypatch):
    """Documents against whom a release does not protect."""
    table = table_of("random")
    release = DealtRelease(table, monkeypatch, dealers)
    read = set()
    for party in PARTIES:
        for (sender, chain), words in release.opened(party).items():
            if len(chain) == 1:
                matrix = words + release.known(release.dealers[:colluding], sender, chain)
                assert np.all(np.sort(matrix, axis=1)[:, -2:] == [0, 1])
                codes = np.argmax(matrix, axis=1).reshape(-1, 1)
                assert np.array_equal(codes.ravel(), table.column(chain[0][0]))
                read.add(chain[0][0])
    assert read == {"a", "b", "c", "d"}


def same_pads(monkeypatch):
    """Lets all dealers hide what they deal by the same words, for every owner.

    Of three parts, the two owners' pads are equal then too, so that their sum is even.
    """
    pad = dealing.pad_stream

    def shared(pair, kind, chain):
        return pad(dealing.RandomStream.from_seed(3), kind, chain)

    for module in (dealing, rows):
        monkeypatch.setattr(module, "pad_stream", shared)


def forget_component(monkeypatch):
    """Lets one component of all masks be zero."""
    child = Masks.child
    forget_where(monkeypatch, lambda names: False)

    def forgotten(self, *names):
        return Mask(tuple((n, ZEROS if n == 1 else key) for n, key in child(self, *names).keys))

    monkeypatch.setattr(Masks, "child", forgotten)


FORGOTTEN = {
    "the pads": (lambda m: forget(m, "pad"), 3, PADS | DIFFERENCES),
    "the pads of a single dealer": (lambda m: forget(m, "pad"), 1, PADS | OPENED | CHECKS),
    "the dealer in the pads": (same_pads, 3, PRODUCTS | DIFFERENCES),
    "a component of the masks": (forget_component, 3, OPENED | CHECKS),
    "the mask of a check": (lambda m: forget(m, CHECK_MASK), 3, CHECKS),
    "sealing": (forget_sealing, 1, {"sealed, with a dealer's masks"} | OPENED | CHECKS),
    "the pairwise mask": (lambda m: forget(m, "pairwise mask"), 3, {"answers of some parties"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("remove", "dealers", "noticed"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_missing_or_reused_randomness_is_detected(remove, dealers, noticed, monkeypatch):
    remove(monkeypatch)
    table = table_of("random")
    release = DealtRelease(table, monkeypatch, dealers)
    assert rejected(release.views_of_curator() | release.views_of_party()) == noticed
    # Every role leaves it out, so the counts are unchanged.
    for one in release.found:
        assert np.all(np.abs(one.values - table.marginal(one.clique)) < 8 * one.sigma)
