"""What the release of a table is asked for, and what part of the budget it has."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.modelling import shares_of, workload_of
from dpmosaic.curator.people.rows import codes_of_first_rows
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


def test_the_codes_of_first_rows_are_those_of_no_row_before_and_of_no_gap():
    sizes = {column.attribute.name: column.attribute.size for column in FAMILY.columns("visits")}
    before = {name: sizes[name] - 1 for name in ("previous_ward", "previous_step_of_day")}
    assert codes_of_first_rows(FAMILY, "visits") == {**before, "step_of_day": 0}


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


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), min_size=1, max_size=6))
def test_tables_that_others_belong_to_have_a_tenth_of_the_budget_however_wide_the_others_are(drawn):
    tables, owners, own = [Kin("t0", None, key="k0")], set(), {"t0": 1}
    for place, (above, columns) in enumerate(drawn, start=1):
        owner = f"t{above % place}"
        tables.append(Kin(f"t{place}", None, key=f"k{place}", parent=owner, foreign=f"k{above % place}"))
        owners.add(owner)
        own[f"t{place}"] = columns
    family = Family(tuple(tables))
    found = shares_of(family, lambda name: [f"{name}{number}" for number in range(own[name])])
    assert sum(found.values()) == pytest.approx(1)
    assert all(found[name] > 0 for name in own)
    assert min(found[name] for name in owners) * len(owners) > 0.1 * 0.9
    assert sum(found[name] for name in owners) >= 0.1 - 1e-9


def test_a_wide_table_of_people_has_the_part_of_its_pairs():
    family = Family((Kin("people", None, key="id"), Kin("visits", None, parent="people", foreign="id")))
    found = shares_of(family, lambda name: list("abcdefgh" if name == "people" else "v"))
    # 28 pairs and 8 columns of people; a column of visits, and its pairs with these and the row before.
    assert found["people"] == pytest.approx(36 / (36 + 1 + 8 + 1))
