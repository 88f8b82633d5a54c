import json
import math

import numpy as np
import pytest

from dpmosaic.common.data import workload
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 5})


def test_all_kway_names_every_clique_of_k_attributes():
    assert Workload.all_kway(DOMAIN, 3).cliques == (
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "c", "d"),
        ("b", "c", "d"),
    )
    assert Workload.all_kway(DOMAIN, 1).weights == (1, 1, 1, 1)
    assert len(Workload.all_kway(DOMAIN, 4)) == 1


@pytest.mark.parametrize(("attributes", "k"), [(3000, 2), (60, 20)])
def test_refuses_more_marginals_than_fit_into_memory(attributes, k):
    wide = Domain.coded({f"a{place}": 2 for place in range(attributes)})
    with pytest.raises(DataError, match=rf"at most 4,194,304 marginals, got all of {k} among"):
        Workload.all_kway(wide, k)


def test_a_target_adds_its_triples_and_makes_its_marginals_weigh_more():
    found = Workload.for_target(DOMAIN, "c")
    pairs = Workload.all_kway(DOMAIN, 2).cliques
    assert found.cliques == (*pairs, ("a", "b", "c"), ("a", "c", "d"), ("b", "c", "d"))
    weights = dict(zip(found.cliques, found.weights, strict=True))
    assert {weights[pair] for pair in pairs if "c" not in pair} == {1}
    assert {weights[clique] for clique in found.cliques if "c" in clique} == {workload.TARGET_WEIGHT}


def test_large_triples_of_a_target_are_left_out_and_of_many_the_smallest_are_taken(monkeypatch):
    monkeypatch.setattr(workload, "TARGET_CELLS", 40)
    assert Workload.for_target(DOMAIN, "c").cliques[6:] == (("a", "b", "c"), ("a", "c", "d"))
    monkeypatch.setattr(workload, "TARGET_TRIPLES", 1)
    assert Workload.for_target(DOMAIN, "c").cliques[6:] == (("a", "b", "c"),)


def test_a_target_of_two_attributes_is_the_only_pair():
    assert Workload.for_target(Domain.coded({"a": 2, "b": 3}), "b").cliques == (("a", "b"),)


@pytest.mark.parametrize(("domain", "target"), [(DOMAIN, "z"), (Domain.coded({"a": 2}), "a")])
def test_refuses_a_target_without_anything_to_predict_it(domain, target):
    with pytest.raises(DataError, match=f"target: expected an attribute of the domain .* got '{target}'"):
        Workload.for_target(domain, target)


def test_a_user_gives_a_workload_or_a_target_or_none():
    asked = Workload((("a", "b"),), (1.0,))
    assert Workload.wanted(DOMAIN, asked, None) == asked
    assert Workload.wanted(DOMAIN, "3way", None) == Workload.all_kway(DOMAIN, 3)
    assert Workload.wanted(DOMAIN, None, "a") == Workload.for_target(DOMAIN, "a")
    assert Workload.wanted(DOMAIN, None, None) == Workload.all_kway(DOMAIN, 2)
    with pytest.raises(
        DataError, match=r"target: expected it without a workload, .* got both; leave one out"
    ):
        Workload.wanted(DOMAIN, "2way", "a")


@pytest.mark.parametrize(
    ("cliques", "words"),
    [
        ({("a", "b"): 1, ("b", "c"): 1}, "2 marginals of 2 attributes"),
        ({("a",): 1, ("b", "c"): 1}, "2 marginals of 1 to 2 attributes"),
        (
            {("a", "b"): 1, ("a", "c"): 3, ("b", "c", "d"): 3},
            "3 marginals of 2 to 3 attributes, with 3 times the weight for those with c",
        ),
        # A light marginal has c too; two attributes stand out; nothing is in all heavy ones.
        ({("a", "c"): 1, ("b", "c"): 3, ("a", "b"): 1}, "3 marginals of 2 attributes"),
        ({("a", "b"): 1, ("c", "d"): 3}, "2 marginals of 2 attributes"),
        ({("a", "b"): 3, ("c", "d"): 3, ("b", "c"): 1}, "3 marginals of 2 attributes"),
    ],
)
def test_words_name_the_attribute_that_matters_most_if_one_does(cliques, words):
    assert Workload(tuple(cliques), tuple(map(float, cliques.values()))).in_words == words


@pytest.mark.parametrize("k", [-1, 0, 5])
def test_k_goes_from_one_to_the_number_of_attributes(k):
    with pytest.raises(DataError, match="expected k from 1 to the domain's 4 attributes"):
        Workload.all_kway(DOMAIN, k)


def test_a_workload_is_read_from_json(tmp_path):
    path = tmp_path / "workload.json"
    path.write_text(json.dumps([["c", "a"], {"clique": ["b"], "weight": 2}]), encoding="utf-8")
    assert Workload.load(DOMAIN, path) == Workload((("a", "c"), ("b",)), (1.0, 2.0))
    assert Workload.from_json(DOMAIN, {"kway": 2}) == Workload.all_kway(DOMAIN, 2)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ([], "at least one clique"),
        ([[]], "a clique of the workload is empty"),
        ([["a", "e"]], "unknown attribute 'e'"),
        ([["a", "a"]], "named twice: a"),
        ([["a", "b"], ["b", "a"]], "names the clique a, b twice"),
        ([{"clique": ["a"], "weight": -1}], "negative or not finite"),
        ([{"clique": ["a"], "weight": math.nan}], "negative or not finite"),
        ([{"clique": ["a"], "weight": math.inf}], "negative or not finite"),
        ([{"clique": ["a"], "weight": 0}], "all weights of the workload are zero"),
        ([{"clique": ["a"], "weight": "2"}], "the weight of the clique a is not a number"),
        ([{"clique": ["a"], "weight": True}], "the weight of the clique a is not a number"),
        ([{"clique": ["a"]}], "an entry of a workload is a list of names"),
        (["a"], "an entry of a workload is a list of names"),
        ([[1]], "an entry of a workload is a list of names"),
        ({"kway": "2"}, "a workload is a list of cliques"),
        ({"kway": True}, "a workload is a list of cliques"),
        ({"kway": 2, "weight": 1}, "a workload is a list of cliques"),
        ("a", "a workload is a list of cliques"),
        ({"kway": 9}, "expected k from 1"),
    ],
)
def test_refuses_a_form_that_is_no_workload(form, reason):
    with pytest.raises(DataError, match=reason):
        Workload.from_json(DOMAIN, form)


def test_refuses_a_file_that_is_no_workload(tmp_path):
    path = tmp_path / "workload.json"
    with pytest.raises(DataError, match=r"workload\.json cannot be read"):
        Workload.load(DOMAIN, path)
    path.write_text("[", encoding="utf-8")
    with pytest.raises(DataError, match="is not JSON in UTF-8"):
        Workload.load(DOMAIN, path)


def test_refuses_a_clique_without_a_weight():
    with pytest.raises(ValueError, match="2 cliques need as many weights, not 1"):
        Workload((("a",), ("b",)), (1.0,))


def test_a_refined_workload_keeps_small_cliques_and_their_weights():
    workload = Workload((("a", "b"), ("c", "d"), ("a", "c")), (1.0, 2.0, 3.0))
    assert workload.refined(DOMAIN, 8) == Workload((("a", "b"), ("a", "c")), (1.0, 3.0))
    assert workload.refined(DOMAIN, 20) == workload
    with pytest.raises(DataError, match="every clique of the workload has more than 5 cells"):
        workload.refined(DOMAIN, 5)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_overlap_weights_sum_weighted_intersections(k):
    cliques = Workload.all_kway(DOMAIN, k).cliques
    weights = tuple(float(place % 3) + 0.5 for place in range(len(cliques)))
    expected = [
        sum(weight * len(set(r) & set(s)) for s, weight in zip(cliques, weights, strict=True))
        for r in cliques
    ]
    assert Workload(cliques, weights).overlap_weights() == pytest.approx(expected)


def test_overlap_weights_of_other_cliques_come_from_the_workloads_weights():
    workload = Workload((("a", "b"), ("b", "c")), (1.0, 10.0))
    assert workload.overlap_weights([("b",), ("a", "b", "c"), ("d",)]) == (11.0, 22.0, 0.0)


def test_the_downward_closure_has_every_part_once_with_its_overlap_as_weight():
    closed = Workload((("a", "b"), ("b", "c")), (1.0, 10.0)).closed()
    assert closed.cliques == (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"))
    assert closed.weights == (1.0, 11.0, 10.0, 12.0, 21.0)
    assert len(Workload.all_kway(DOMAIN, 3).closed()) == 4 + 6 + 4


def table(*rows):
    return Table.from_codes(DOMAIN, np.array(rows))


def test_the_workload_error_is_the_weighted_mean_of_relative_distances():
    real = table([0, 0, 0, 0], [0, 1, 0, 0], [1, 2, 0, 0], [1, 2, 0, 0])
    synthetic = table([0, 0, 0, 0], [0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 0, 0])
    workload = Workload((("a",), ("a", "b"), ("c",)), (1.0, 2.0, 5.0))
    assert workload.error(real, synthetic) == pytest.approx((1 * 2 + 2 * 4 + 5 * 0) / (3 * 4))
    assert workload.error(real, real) == 0


def test_synthetic_marginals_are_scaled_to_the_number_of_real_records():
    real = table([0, 0, 0, 0], [1, 0, 0, 0])
    workload = Workload((("a",),), (1.0,))
    assert workload.error(real, Table.concatenate([real] * 3)) == pytest.approx(0)
    assert workload.error(real, table([1, 0, 0, 0])) == pytest.approx(1)


def test_refuses_tables_that_cannot_be_compared():
    real = table([0, 0, 0, 0])
    workload = Workload((("a",),), (1.0,))
    with pytest.raises(DataError, match="different domains"):
        workload.error(real, real.project(["a"]))
    for pair in ((real, real.rows(0, 0)), (real.rows(0, 0), real)):
        with pytest.raises(DataError, match="an empty table cannot be compared"):
            workload.error(*pair)


def test_a_misspelt_target_gets_the_nearest_name():
    with pytest.raises(DataError, match=r"got 'agee' .did you mean 'age'"):
        Workload.for_target(Domain.coded({"age": 2, "sex": 2}), "agee")
