import pytest

from support.scoring import EVALUATORS, Scoring, plan_with


@pytest.fixture
def new_release(masked):
    """Creates releases that are equal to the last byte, with ledgers in a folder if one is given."""

    def made(folder=None, evaluators=EVALUATORS, **changes):
        terms = masked.terms_of(plan_with(masked, evaluators), **changes)
        return masked.Release(terms, folder).accept().introduce()

    return made


@pytest.fixture
def scoring(new_release):
    """All products are computed; the score query is not yet known."""
    return Scoring(new_release()).multiply()
