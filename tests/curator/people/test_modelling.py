"""What the release of a table is asked for."""

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.modelling import workload_of
from dpmosaic.curator.people.shape import Family

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


def test_what_follows_what_weighs_three_times_a_pair_unless_pairs_are_named():
    def weights(pairs=()):
        asked = workload_of(FAMILY, "visits", pairs)
        return dict(zip(asked.cliques, asked.weights, strict=True))

    default = weights()
    assert default["previous_ward", "ward"] == 3 * default["sex", "ward"]
    # The order is no column of this kind: what lies between rows counts as any pair.
    assert default["previous_step_of_day", "step_of_day"] == default["sex", "ward"]
    named = weights([("ward", "previous ward"), ("ward", "people.sex")])
    assert named["previous_ward", "ward"] == named["sex", "ward"]
