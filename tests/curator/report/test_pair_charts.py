import math

import pytest

from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.report.pair_charts import LEVELS, MOST_NAMES, SIZE, heat_map, level, model_graph
from dpmosaic.curator.report.pairs import CertifiedPairs


def graph_of(form):
    return model_graph(CertifiedPairs(Certificate.from_json(form)))


def test_the_graph_has_a_line_of_the_right_kind_for_each_modelled_pair(certificate):
    certificate["model"]["cliques"].append(["kind", "code"])
    links = {link.pair: (link.across, link.measured) for link in graph_of(certificate).links}
    assert links == {
        ("kind", "age"): (False, True),
        ("age", "code"): (True, True),
        ("code", "town"): (False, True),
        ("kind", "code"): (True, False),
    }


def test_dots_lie_on_a_circle_inside_the_chart(certificate):
    graph = graph_of(certificate)
    radii = {round(math.hypot(x - SIZE / 2, y - SIZE / 2), 6) for x, y in graph.dots}
    assert len(radii) == 1
    assert 0 < radii.pop() < SIZE / 2
    assert len(set(graph.dots)) == len(graph.names) == 4


def test_the_map_has_a_cell_for_each_pair_below_the_diagonal():
    names = ["a", "b", "c"]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    heat = heat_map(names, {("a", "b"): 0.01, ("b", "c"): 0.9}, dict.fromkeys(pairs, "text"))
    assert {cell.pair: cell.level for cell in heat.cells} == {pairs[0]: 0, pairs[1]: None, pairs[2]: 4}
    spots = [(cell.x, cell.y) for cell in heat.cells]
    assert spots[0][0] == spots[1][0] < spots[2][0]
    assert spots[0][1] < spots[1][1] == spots[2][1]
    assert [name.full for name in heat.names] == ["b", "c", "a", "b"]


@pytest.mark.parametrize(
    ("distance", "expected"), [(0, 0), (0.02, 0), (0.021, 1), (0.2, 3), (0.21, 4), (1, 4)]
)
def test_a_colour_includes_its_upper_end(distance, expected):
    assert level(distance) == expected
    assert len(LEVELS) == 4


def test_truncates_long_names_and_omits_too_many():
    long = heat_map(["x" * 50, "y"], {}, {("x" * 50, "y"): ""})
    assert [len(name.text) for name in long.names] == [1, 16]
    assert long.names[1].full == "x" * 50
    many = [f"n{place}" for place in range(MOST_NAMES + 1)]
    texts = {(one, other): "" for i, one in enumerate(many) for other in many[i + 1 :]}
    crowd = heat_map(many, {}, texts)
    assert crowd.names == ()
    assert max(cell.x + crowd.side for cell in crowd.cells) <= SIZE + 1e-6
