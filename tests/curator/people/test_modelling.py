"""What the release of a table is asked for."""

import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.modelling import workload_of
from dpmosaic.curator.people.shape import Family, Kin

DAY = NumericAttribute("day", 0, 364, 12, integer=True)
NUMBER = NumericAttribute("number_of_visits", 0, 3, 4, integer=True)
PEOPLE = Domain(
    (CategoricalAttribute("sex", ("f", "m")), CategoricalAttribute("city", ("a", "b", "c")), NUMBER)
)
FAMILY = Family(
    (
        Kin("people", PEOPLE, key="id"),
        Kin(
            "visits",
            Domain((CategoricalAttribute("ward", ("x", "y")),)),
            parent="people",
            foreign="id",
            ordered=True,
            steps=Steps(DAY),
        ),
    )
)
WHEN = ("first_day_of_visits", "span_of_day_of_visits")


@pytest.mark.parametrize("pairs", [(), [("sex", "city")]])
def test_when_rows_begin_and_how_long_they_go_on_are_asked_for_together(pairs):
    workload = workload_of(FAMILY, "people", pairs)
    weights = dict(zip(workload.cliques, workload.weights, strict=True))
    assert weights[WHEN] == weights["sex", "number_of_visits"] == 3 * weights["sex", "city"]


def test_pairs_that_are_not_named_are_left_out_but_for_those_that_bind_tables():
    cliques = workload_of(FAMILY, "people", [("sex", "city")]).cliques
    assert ("sex", WHEN[0]) not in cliques
    assert {("sex", "city"), WHEN, ("sex", "number_of_visits")} <= {*cliques}
