"""Roll-up against breadth-first search, on random hierarchies of several parents."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.omop.rollup import categories, nearest


def hierarchy(parents):
    """A CDM's vocabulary whose concept n, from 1 on, has these parents; and the levels of each pair."""
    levels = {}
    for concept in parents:
        seen, at = {concept: 0}, [concept]
        for one in at:
            for above in parents[one]:
                if above not in seen:
                    seen[above] = seen[one] + 1
                    at.append(above)
        levels |= {(above, concept): distance for above, distance in seen.items()}
    connection = duckdb.connect()
    concept = pd.DataFrame({"concept_id": [*parents], "domain_id": "Drug", "standard_concept": "S"})
    rows = [(above, below, distance) for (above, below), distance in levels.items()]
    ancestor = pd.DataFrame(
        rows, columns=["ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"]
    )
    connection.register("given", concept)
    connection.execute("CREATE TABLE concept AS SELECT * FROM given")
    connection.register("above", ancestor)
    connection.execute("CREATE TABLE concept_ancestor AS SELECT * FROM above")
    return connection, levels


def random_parents(rng, size):
    return {
        one: sorted({int(p) for p in rng.integers(1, one, rng.integers(0, 3))}) if one > 1 else []
        for one in range(1, size + 1)
    }


@pytest.mark.parametrize("seed", range(8))
def test_categories_are_the_concepts_of_most_descendants_and_each_concept_goes_to_the_nearest(seed):
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, 40)
    connection, levels = hierarchy(parents)
    sizes = {one: sum(above == one for above, _ in levels) for one in parents}
    always = (int(rng.integers(1, 41)),)
    found = categories(connection, "Drug", 12, always)
    assert len(found) <= 12
    assert set(always) <= set(found)
    left = [one for one in parents if one not in found]
    smallest = min(sizes[one] for one in found if one not in always)
    assert all(sizes[one] < smallest for one in left)
    tied = [one for one in left if sizes[one] == max(map(sizes.get, left))]
    assert len(found) + len(tied) > 12
    rolled = nearest(connection, "Drug", found).set_index("concept_id")["category"].to_dict()
    for one in parents:
        above = sorted((levels[c, one], c) for c in found if (c, one) in levels)
        assert rolled.get(one) == (above[0][1] if above else None)


def test_concepts_of_other_domains_and_without_a_standard_are_not_counted():
    connection, _ = hierarchy({1: [], 2: [1], 3: [1], 4: [2]})
    connection.execute("UPDATE concept SET domain_id = 'Device' WHERE concept_id = 4")
    connection.execute("UPDATE concept SET standard_concept = NULL WHERE concept_id = 3")
    assert categories(connection, "Drug", 5) == (1, 2)
    assert nearest(connection, "Drug", [1])["concept_id"].tolist() == [1, 2]


def test_refuses_a_domain_without_concepts_and_one_without_a_hierarchy():
    connection, _ = hierarchy({one: [] for one in range(1, 8)})
    with pytest.raises(DataError, match="found none"):
        categories(connection, "Condition", 5)
    with pytest.raises(DataError, match="at most 5 concepts"):
        categories(connection, "Drug", 5)
    with pytest.raises(DataError, match="at most 2 concepts"):
        categories(connection, "Drug", 2, (1, 2, 3))
