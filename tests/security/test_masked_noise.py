"""The noise of a masked release has the stated scale and comes from every party."""

import itertools
from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.curator.measurers.measurer import Query
from support.masked_views import table_of
from support.taps import Curator
from support.words import ALPHA, likely_noise


def errors_of(monkeypatch, quiet=()):
    """Errors of 2,000 cells in units of their stated deviation, where these draws of noise are zeros."""
    draw, drawn = DistributedNoise.draw, itertools.count()

    def drawing(self, sigma, size, stream):
        noise = draw(self, sigma, size, stream)
        return noise * (next(drawn) % 3 not in quiet)

    monkeypatch.setattr(DistributedNoise, "draw", drawing)
    table = table_of("random", Domain.coded({"x": 1000, "y": 2, "z": 1}))
    (found,) = Curator(table, "1x3").measurer().measure([Query(View(("x", "y")), Fraction(1, 2), "test")])
    return (found.values - table.marginal(("x", "y"))) / found.sigma


def test_released_counts_have_the_stated_noise(monkeypatch):
    assert likely_noise(errors_of(monkeypatch), 1) > ALPHA


@pytest.mark.parametrize("quiet", [{0}, {1}, {2}, {0, 1, 2}])
def test_missing_noise_of_one_party_or_of_all_is_detected(quiet, monkeypatch):
    assert likely_noise(errors_of(monkeypatch, quiet), 1) < ALPHA
