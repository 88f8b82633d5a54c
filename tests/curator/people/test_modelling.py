"""What the release of a table is asked for."""

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


def test_a_pair_with_the_time_of_rows_is_asked_for_if_it_is_named():
    assert not [one for one in workload_of(FAMILY, "visits").cliques if "day" in one and len(one) > 1]
    named = workload_of(FAMILY, "visits", [("ward", "day")]).cliques
    assert {("ward", "day"), ("ward", "step_of_day")} <= {*named}
