"""What a curator that joins rows of different people does to releases over its alignment."""

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.curator.measurers.measurer import Query
from support.aligned import AlignedRelease, People

DOMAIN = Domain.coded({"a": 6, "b": 6})


def counts(swapped, without=()):
    """The marginal of a and b without some people, if rows of persons 0 and 1 are joined crosswise or not."""
    people = People(DOMAIN, ["a b"], records=6, absent=0, dummies=0)
    codes = np.arange(6)[:, None].repeat(2, axis=1)
    people.tables[0] = type(people.tables[0]).from_codes(DOMAIN, codes)
    kept = []
    for place, (order, positions) in enumerate(people.placements[0]):
        by_person = dict(zip(order.tolist(), positions.tolist(), strict=True))
        if swapped and place == 1:
            by_person[0], by_person[1] = by_person[1], by_person[0]
        order = [person for person in order.tolist() if person not in without]
        kept.append((np.array(order), np.array([by_person[person] for person in order], dtype=np.int32)))
    people.placements[0] = kept
    measurer = AlignedRelease(people).measurer()
    (found,) = measurer.measure([Query(View(("a", "b")), measurer.accountant.granted / 2, "test")])
    return np.rint(found.values).astype(int)


def test_a_matcher_that_joins_rows_of_different_people_has_one_person_change_several_cells():
    """The noise is for one cell: over two parties, such a person costs up to four times as much."""
    assert np.abs(counts(swapped=False) - counts(swapped=False, without=[0])).sum() == 1
    assert np.abs(counts(swapped=True) - counts(swapped=True, without=[0])).sum() == 2
