"""The number of people of a release of related tables: from all noisy counts of them together."""

import numpy as np
import pytest
from scipy import stats

from dpmosaic.synthesis.learning.asking import Rows
from dpmosaic.synthesis.learning.private_counts import Noisy
from dpmosaic.synthesis.related import describing, making
from support.related import patients, release

PEOPLE = 200


def test_the_counts_of_disjoint_sets_say_how_many_rows_there_are():
    assert Rows.of_all(Noisy(np.array([1.0, 2.0, 4.0]), 2.0)) == Rows(7.0, 12.0)


def test_numbers_are_averaged_by_their_precision():
    averaged = Rows(10.0, 1.0).average_with(Rows(20.0, 4.0))
    assert (averaged.records, averaged.variance) == (pytest.approx(12.0), pytest.approx(0.8))
    assert Rows(10.0, 1.0).average_with(None) == Rows(10.0, 1.0)


class Stopped(Exception):
    """The end of a release of which nothing more is asked."""


def numbers_known_before(monkeypatch, releases, **options):
    """What counts of people say before their records are measured, and the deviation of the last count."""
    known, begin = [], making.begun_with

    def watched(table, order, stream, kept, people):
        begun = begin(table, order, stream, kept, people)
        alone = begin(table, order, stream, kept.part("alone"), None)
        known.append((begun.rows.records, begun.rows.deviation, alone.rows.deviation))
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(making, "begun_with", watched)
        for seed in range(releases):
            with pytest.raises(Stopped):
                release(patients(PEOPLE), epsilon=0.5, seed=seed, **options)
    return np.array(known).T


@pytest.mark.slow
@pytest.mark.parametrize(("releases", "options"), [(40, {}), (12, {"domain": None, "anyway": True})])
@pytest.mark.filterwarnings("ignore::dpmosaic.synthesis.synthesize.DomainWarning")
def test_the_number_of_people_has_the_noise_that_it_is_said_to_have(monkeypatch, releases, options):
    found, deviation, alone = numbers_known_before(monkeypatch, releases, **options)
    assert (deviation < alone).all()
    # The first step rounds to whole people. One in 10^5 fails by chance.
    square = float((((found - PEOPLE) / deviation) ** 2).sum())
    assert 5e-6 < stats.chi2.cdf(square, releases) < 1 - 5e-6


@pytest.mark.slow
def test_marginals_of_people_improve_their_number(monkeypatch):
    found, make = [], making.release_among

    def watched(*args, **options):
        made = make(*args, **options)
        found.append((options["supposed"].size.value - PEOPLE, made.released.synthetic.record_count - PEOPLE))
        raise Stopped

    monkeypatch.setattr(making, "release_among", watched)
    # A count of people has least of the budget where they are many.
    monkeypatch.setattr(describing, "second_rho", lambda *_: 0.0)
    for seed in range(40):
        with pytest.raises(Stopped):
            release(patients(PEOPLE), epsilon=0.5, seed=seed)
    before, after = (np.square(np.array(found)).sum(axis=0)).tolist()
    # A marginal of the sexes, of two cells, has most of the budget.
    assert after < 0.75 * before
