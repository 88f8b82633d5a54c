"""A certificate of a small release, and tables that fit it."""

import pytest

from dpmosaic.curator.report.comparison import Comparison, ScoreTable
from support.certificates import certificate_form, rows


def comparison_of(real):
    pairs = [(o, p) for i, o in enumerate(real.domain.names) for p in real.domain.names[i + 1 :]]
    scores = ScoreTable("Marginals & more", ("attributes", "distance"), (("1", "0.1"),), "0 is <best>.")
    return Comparison(real, dict.fromkeys(real.domain.names, 0.123), {p: 0.05 for p in pairs}, (scores,) * 3)


@pytest.fixture
def certificate():
    """The certificate as JSON values, which a test may change."""
    return certificate_form()


@pytest.fixture
def synthetic():
    return rows(300, 1)


@pytest.fixture
def comparison():
    return comparison_of(rows(500, 2))
