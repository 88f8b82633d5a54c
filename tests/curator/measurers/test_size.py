"""A noisy number of records improves with every marginal, weighed by the variances."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.measurers.size import NoisySize
from support.aligned import AlignedRelease, People

DOMAIN = Domain.coded({"a": 3, "b": 2})


def test_estimates_are_combined_as_their_weighted_mean():
    values, variances = np.array([90.0, 120.0, 105.0]), np.array([4.0, 25.0, 1.0])
    size = NoisySize(values[0], variances[0])
    for value, variance in zip(values[1:], variances[1:], strict=True):
        size = size.combine_with(value, variance)
    assert size.value == pytest.approx(np.sum(values / variances) / np.sum(1 / variances))
    assert size.variance == pytest.approx(1 / np.sum(1 / variances))


@pytest.mark.parametrize(("value", "records"), [(-3.2, 1), (0.4, 1), (7.6, 8)])
def test_a_number_of_records_is_whole_and_positive(value, records):
    assert NoisySize(value, 1.0).record_count == records


def _misled():
    """People whose published numbers are 40 too many in every slice."""
    people = People(DOMAIN, ["a b", "ab"])
    people.people = tuple(tuple(count + 40 for count in counts) for counts in people.people)
    return people


def test_a_precise_marginal_corrects_the_published_number_of_people_everywhere():
    people = _misled()
    release = AlignedRelease(people)
    measurer = release.measurer()
    exact = int(people.everywhere(("a",)).sum())
    assert measurer.record_count == exact + 80
    measurer.measure([Query(View(("a",)), release.granted / 2, "test")])
    assert measurer.record_count == exact


@pytest.mark.parametrize("options", [{"interaction": True}, {"boxes": (((0, 1), (0, 2)),)}])
def test_an_interaction_and_sums_over_boxes_say_nothing_about_it(options):
    release = AlignedRelease(_misled())
    measurer = release.measurer()
    before = measurer.record_count
    measurer.measure([Query(View(("a", "b"), **options), release.granted / 2, "test")])
    assert measurer.record_count == before


def test_marginals_of_people_anywhere_contain_the_published_numbers_themselves():
    release = AlignedRelease(_misled(), Population.ANYWHERE)
    measurer = release.measurer()
    before = measurer.record_count
    measurer.measure([Query(View(("a",)), release.granted / 2, "test")])
    assert measurer.record_count == before
