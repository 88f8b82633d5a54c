"""What rows know of columns above them: groups of codes."""

import numpy as np

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.curator.people.groups import (
    MOST_CODE_GROUPS,
    OTHERS,
    column_of_groups,
    even_groups,
    groups_by_mass,
)


def test_few_codes_are_told_apart():
    assert groups_by_mass(np.ones(MOST_CODE_GROUPS), True, False) is None
    assert even_groups(NumericAttribute("age", 0, 10, 5)) is None


def test_groups_of_ordered_codes_are_neighbours_of_about_equal_mass():
    mass = np.arange(1.0, 101.0)
    groups = np.array(groups_by_mass(mass, True, False))
    assert (np.diff(groups) >= 0).all()
    assert groups.max() + 1 == MOST_CODE_GROUPS
    assert np.bincount(groups, mass).max() <= mass.sum() / MOST_CODE_GROUPS + mass.max()


def test_missing_values_have_a_group_of_their_own():
    assert even_groups(NumericAttribute("age", 0, 100, 50, nullable=True))[-1] == MOST_CODE_GROUPS
    groups = groups_by_mass(np.ones(51), True, True)
    assert groups.count(groups[-1]) == 1


def test_frequent_categories_stand_alone_and_the_others_together():
    mass = np.ones(40)
    mass[[3, 17]] = 100
    groups = np.array(groups_by_mass(mass, False, False))
    assert (groups == groups[3]).sum() == (groups == groups[17]).sum() == 1
    assert (groups == MOST_CODE_GROUPS - 1).sum() == 40 - (MOST_CODE_GROUPS - 1)
    known = column_of_groups(
        CategoricalAttribute("code", tuple(f"d{k}" for k in range(40))), tuple(groups), "code"
    )
    assert known.categories[groups[17]] == "d17"
    assert known.categories[-1] == OTHERS


def test_groups_of_a_column_have_distinct_names_beside_a_further_one():
    attribute = CategoricalAttribute("kind", ("none", "other"))
    assert column_of_groups(attribute, (0, 1), "previous_kind", "none").categories == (
        "none_",
        "other",
        "none",
    )
