"""Summaries over parties: those that these cannot compute from codes are refused before anything is spent."""

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.related.summaries import summaries_of
from dpmosaic.curator.releasing.planning.tables import PlannedTable

DOMAIN = {
    "ward": ["a", "b"],
    "cost": {"type": "numeric", "min": 0, "max": 99, "bins": 10},
    "day": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
    "date": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12},
}


def said(stated, order="day", parent="people"):
    table = PlannedTable("stays", Domain.from_json(DOMAIN), "", parent, "id", order, {}, {"new": stated})
    return summaries_of(table)


@pytest.mark.parametrize(
    "stated",
    [
        {"ward": ["a"]},
        {"what": "count", "column": "ward", "values": ["a", "b"]},
        {"what": "time", "column": "ward", "values": ["b"]},
        {"what": "first", "column": "ward"},
        {"what": "last", "column": "cost"},
        {"what": "last", "column": "date"},
    ],
)
def test_what_parties_can_say_from_codes_is_planned(stated):
    (summary,) = said(stated)
    assert summary.name == "new"


@pytest.mark.parametrize(
    ("stated", "options", "refused"),
    [
        ({"none": ["a"]}, {}, "got 'none'"),
        ({"day": [1]}, {}, "beside keys and order, got 'day'"),
        ({"ward": ["a"]}, {"parent": ""}, "a table that belongs to another"),
        ({"ward": ["a", "c"]}, {}, "values that the domain lists of 'ward'"),
        ({"cost": [5]}, {}, "name categories"),
        ({"what": "first", "column": "ward"}, {"order": ""}, "an order of 'stays'"),
        ({"what": "time", "column": "ward", "values": ["a"]}, {"order": ""}, "an order of 'stays'"),
        ({"what": "time", "column": "ward", "values": ["a"]}, {"order": "date"}, "order by days since"),
        ({"what": "most", "column": "ward"}, {}, "expected one column with its values"),
    ],
)
def test_others_are_refused(stated, options, refused):
    with pytest.raises(DataError, match=refused):
        said(stated, **options)
