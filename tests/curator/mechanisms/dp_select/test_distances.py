"""Weighted distances and their sensitivity."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.dp_select.distances import (
    DISTANCES,
    Reference,
    distance,
    paper_sensitivity,
    sensitivity,
)

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2})
CLIQUES = (("a", "b"), ("c",), ("a", "c"))
WEIGHTS = np.array([0.5, 0.2, 0.3])


def random_table(records, seed=0):
    rng = np.random.default_rng(seed)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, records) for n in DOMAIN.sizes]))


def counted(reference, table):
    return np.bincount(reference.cells(table).ravel(), minlength=len(reference.shares))


def test_each_row_counts_in_one_cell_of_each_marginal():
    table = random_table(40)
    reference = Reference.exact(table, CLIQUES, WEIGHTS)
    expected = np.concatenate([table.marginal(clique) for clique in CLIQUES])
    assert counted(reference, table).tolist() == expected.tolist()
    assert reference.shares.tolist() == (expected / 40).tolist()


@pytest.mark.parametrize("kind", DISTANCES)
def test_a_table_is_at_distance_zero_from_itself_and_from_itself_twice(kind):
    table = random_table(40)
    reference = Reference.exact(table, CLIQUES, WEIGHTS)
    counts = counted(reference, table)
    assert distance(kind, reference, counts, 40) == pytest.approx(0, abs=1e-12)
    assert distance(kind, reference, 2 * counts, 80) == pytest.approx(0, abs=1e-12)


def test_distances_of_a_small_marginal_have_values_computed_by_hand():
    reference = Reference.of([("c",)], np.ones(1), [np.array([0.25, 0.5, 0.25])])
    counts = np.array([1, 0, 1])
    found = [distance(kind, reference, counts, 2) for kind in DISTANCES]
    assert found == pytest.approx([1.0, 0.25, np.sqrt(0.0625 * 2 + 0.25)])


def neighbours(codes):
    """All tables with one record zeroed out (None), which then counts in no cell."""
    for row in range(len(codes)):
        yield [*codes[:row], *codes[row + 1 :]]


@pytest.mark.parametrize("kind", DISTANCES)
def test_zeroing_out_a_record_changes_the_distance_by_at_most_the_sensitivity(kind):
    """By brute force: every table of three records over six cells, every selected record."""
    records, cells = 3, 6
    largest = 0.0
    for codes in itertools.combinations_with_replacement(range(cells), records):
        for fewer in neighbours(list(codes)):
            one, other = (
                Reference.of([("x",)], np.ones(1), [np.bincount(held, minlength=cells) / records])
                for held in (list(codes), fewer)
            )
            for selected in range(cells):
                counts = np.bincount([selected], minlength=cells)
                moved = distance(kind, one, counts, 1) - distance(kind, other, counts, 1)
                largest = max(largest, abs(moved))
    assert largest <= sensitivity(records) + 1e-12
    assert largest == pytest.approx(sensitivity(records), rel=0.35 if kind == "l2" else 1e-9)


def test_lemma_three_bounds_the_change_of_the_density_distance_by_one_more_record():
    largest = 0.0
    for codes in itertools.combinations_with_replacement(range(4), 3):
        for added in range(4):
            one, other = (
                Reference.of([("x",)], np.ones(1), [np.bincount(held, minlength=4) / len(held)])
                for held in (codes, [*codes, added])
            )
            counts = np.bincount([0, 1], minlength=4)
            moved = distance("density", one, counts, 2) - distance("density", other, counts, 2)
            largest = max(largest, abs(moved))
    assert 0.5 * paper_sensitivity(3) <= largest <= paper_sensitivity(3)


def test_refuses_a_reference_without_a_weight_for_each_marginal_or_a_share_for_each_cell():
    with pytest.raises(ValueError, match="one weight"):
        Reference((("a",),), np.array([0.5]), np.ones(2) / 2, np.array([0, 2]))
    with pytest.raises(ValueError, match="a share for each cell"):
        Reference((("a",),), np.ones(1), np.ones(3) / 3, np.array([0, 2]))
