"""Queries in canonical form: only equal queries have equal bytes."""

import hashlib
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given

from dpmosaic.common.canonical.queries import encode_asked, query_digest
from dpmosaic.common.data.view import View
from dpmosaic.common.queries import AlignmentQuery, AnswerForm, MarginalQuery, ScoreQuery
from support.changed import changed
from support.messages import (
    GROUPED,
    GROUPED_SCORES,
    QUERIES,
    QUERY,
    SCORE_QUERIES,
    SCORE_QUERY,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "canonical.json").read_text())


def pairs(lists):
    return tuple(tuple(tuple(pair) for pair in box) for box in lists)


@pytest.mark.parametrize("vector", VECTORS["marginal queries"], ids=lambda vector: vector["name"])
def test_marginal_queries_have_the_bytes_of_the_vectors(vector):
    value = vector["value"]
    query = MarginalQuery(
        value["release_id"],
        value["query_id"],
        AnswerForm[value["form"]],
        View(
            tuple(value["clique"]),
            groups=tuple(map(tuple, value.get("groups", ()))),
            boxes=pairs(value["boxes"]),
            interaction=value["interaction"],
        ),
        value["sigma"],
        tuple(value["other_sigmas"]),
    )
    assert encode_asked(query).hex() == vector["bytes"]
    assert query_digest(query) == vector["sha256"]


@pytest.mark.parametrize("vector", VECTORS["score queries"], ids=lambda vector: vector["name"])
def test_score_queries_have_the_bytes_of_the_vectors(vector):
    value = dict(vector["value"])
    value["references"] = bytes.fromhex(value["references"])
    cliques = map(tuple, value.pop("cliques"))
    groups = [tuple(map(tuple, groups)) for groups in value.pop("groups", ())]
    value["views"] = tuple(itertools.starmap(View, itertools.zip_longest(cliques, groups, fillvalue=())))
    query = ScoreQuery(**value)
    assert encode_asked(query).hex() == vector["bytes"]
    assert query_digest(query) == vector["sha256"]


@pytest.mark.parametrize("vector", VECTORS["alignment queries"], ids=lambda vector: vector["name"])
def test_alignment_queries_have_the_bytes_of_the_vectors(vector):
    query = AlignmentQuery(**vector["value"])
    assert encode_asked(query).hex() == vector["bytes"]
    assert query_digest(query) == vector["sha256"]


@given(QUERIES | SCORE_QUERIES)
def test_the_digest_is_that_of_the_bytes(query):
    assert query_digest(query) == hashlib.sha256(encode_asked(query)).hexdigest()


@pytest.mark.slow
@given(QUERIES, QUERIES)
@example(
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, View(("ab",)), 1.0),
    MarginalQuery("r", "q", AnswerForm.HISTOGRAM, View(("a", "b")), 1.0),
)
@example(
    MarginalQuery("r", "q", AnswerForm.SHARE, View(("a",), boxes=(((0, 1), (2, 3)),)), 1.0),
    MarginalQuery("r", "q", AnswerForm.SHARE, View(("a",), boxes=(((0, 1),), ((2, 3),))), 1.0),
)
def test_only_equal_queries_have_equal_bytes(one, other):
    assert (encode_asked(one) == encode_asked(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "R"},
        {"query_id": "Q"},
        {"form": AnswerForm.RECORD_WISE},
        {"clique": ("b", "a")},
        {"sigma": np.nextafter(2.5, 3)},
        {"boxes": ()},
        {"boxes": QUERY.view.boxes[::-1]},
        {"boxes": (((0, 1), (1, 2)), QUERY.view.boxes[1])},
    ],
)
def test_every_field_of_a_query_changes_its_bytes(change):
    assert encode_asked(changed(QUERY, **change)) != encode_asked(QUERY)


def test_every_sigma_changes_the_bytes_of_a_query():
    of_two = changed(QUERY, boxes=(), form=AnswerForm.RECORD_WISE, other_sigmas=(2.5,))
    others = [replace(of_two, other_sigmas=others) for others in [(), (2.0,), (2.5, 2.5)]]
    assert encode_asked(of_two) not in map(encode_asked, others)


def test_an_interaction_changes_the_bytes_of_a_query():
    marginal = changed(QUERY, boxes=())
    assert encode_asked(changed(marginal, interaction=True)) != encode_asked(marginal)


@pytest.mark.parametrize("query", [GROUPED, changed(GROUPED, interaction=True)])
@pytest.mark.parametrize(
    "groups", [(), ((0, 1, 1),), ((), (0, 1, 1)), ((0, 1), (1,)), ((0, 1, 0), ()), ((), ())]
)
def test_groups_change_the_bytes_of_a_query(query, groups):
    assert encode_asked(changed(query, groups=groups)) != encode_asked(query)


@pytest.mark.parametrize("groups", [(), ((), ((0, 1, 1),)), (((0, 1, 1),), ()), (((), (0, 1, 1)), ())])
def test_groups_change_the_bytes_of_a_score_query(groups):
    assert encode_asked(changed(GROUPED_SCORES, groups=groups)) != encode_asked(GROUPED_SCORES)


@pytest.mark.slow
@given(SCORE_QUERIES, SCORE_QUERIES)
def test_only_equal_score_queries_have_equal_bytes(one, other):
    assert (encode_asked(one) == encode_asked(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "R"},
        {"query_id": "Q"},
        {"cliques": (("a",), ("b",), ("c",))},
        {"cliques": (("c",), ("a", "b"))},
        {"sigma": np.nextafter(2.5, 3)},
        {"references": b"H" * 32},
        {"largest_reference": 8},
        {"largest_total": 8},
    ],
)
def test_every_field_of_a_score_query_changes_its_bytes(change):
    assert encode_asked(changed(SCORE_QUERY, **change)) != encode_asked(SCORE_QUERY)


@pytest.mark.slow
@given(QUERIES, SCORE_QUERIES)
def test_no_score_query_has_the_bytes_of_a_marginal_query(query, score):
    assert encode_asked(query) != encode_asked(score)


@pytest.mark.parametrize("largest", [-1, 1 << 64])
def test_a_number_past_64_bits_or_below_zero_has_no_bytes(largest):
    boxes = (((0, largest), (0, 1)),)
    with pytest.raises(ValueError, match="0 to 64 bits"):
        encode_asked(changed(QUERY, boxes=boxes))
