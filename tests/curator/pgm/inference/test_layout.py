import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.curator.pgm.inference.layout import lay_out
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree


def test_sizes_count_the_cells_of_all_and_the_largest_clique(shape: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    _, sizes, cuts = lay_out(tree, cliques)
    tables = []
    for place, parts in enumerate(cuts):
        batch, outer, middle, run = (math.prod(tree.shapes[place][axis] for axis in part) for part in parts)
        tables.append(batch * (outer * middle + outer * run + (middle * run if parts.middle else 0)))
    assert sizes.potentials == sum(map(domain.cells, cliques))
    assert sizes.messages == sum(map(domain.cells, tree.separators))
    assert (sizes.tables, sizes.largest) == (sum(tables), max(tables))


def test_a_separator_of_one_cell_carries_no_message() -> None:
    apart = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 3})
    layout, sizes, _ = lay_out(JunctionTree.build(apart, [("a", "b"), ("c", "d")]), [("a", "b"), ("c", "d")])
    assert (len(layout.sources), sizes.messages) == (2, 2)
    joined: list[Clique] = [("a", "b"), ("b", "c")]
    layout, sizes, _ = lay_out(JunctionTree.build(apart.project(("a", "b", "c")), joined), joined)
    assert (len(layout.sources), sizes.messages) == (3, 4)


def test_each_clique_multiplies_the_smallest_of_the_tree_around_it() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 20})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    layout, _, _ = lay_out(tree, [("a", "b"), ("b", "c"), ("b",)])
    place = tree.cliques.index(("a", "b"))
    clique = layout.cliques[place]
    cells = set(layout.sources["cells"][clique["sources"] : clique["sources_end"]].tolist())
    # Potentials begin at 0, 6 and 66; the message of its child or none follows.
    assert {0, 66} <= cells
    assert 6 not in cells


def test_maps_that_are_the_same_are_kept_once() -> None:
    domain = Domain.coded({"a": 30, "b": 40, "c": 30, "d": 40})
    halves: list[Clique] = [("a", "b"), ("c", "d")]
    one, _, _ = lay_out(JunctionTree.build(domain.project(("a", "b")), halves[:1]), halves[:1])
    both, _, _ = lay_out(JunctionTree.build(domain, halves), halves)
    assert len(both.cliques) == 2
    assert len(both.maps) == len(one.maps)


@pytest.mark.parametrize("name", ["row", "column"])
def test_maps_lead_to_cells_of_their_source(name: str) -> None:
    domain = Domain.coded({"a": 9, "b": 12, "c": 5, "d": 7})
    cliques: list[Clique] = [*itertools.combinations(domain.names, 2), ("a", "c", "d")]
    layout, sizes, _ = lay_out(JunctionTree.build(domain, cliques), cliques)
    bounds = np.cumsum([0, *map(domain.cells, cliques)])
    assert sizes.potentials == bounds[-1]
    clique = layout.cliques[0]
    lengths = {
        "row": [clique["batch"] * clique["outer"]] * 2 + [clique["batch"] * clique["middle"]],
        "column": [clique["middle"], clique["run"], clique["run"]],
    }[name]
    for source, cells in zip(layout.sources[: len(cliques)], np.diff(bounds), strict=True):
        offsets = layout.maps[source[name] :][: lengths[source["table"]]]
        assert 0 <= offsets.min()
        assert offsets.max() < cells
