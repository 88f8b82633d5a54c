import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols import indicator

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4})


def table(records=50, seed=0):
    rng = np.random.default_rng(seed)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, records) for n in DOMAIN.sizes]))


def test_a_clique_is_divided_among_the_parties_that_hold_its_attributes():
    parts = indicator.divide(("a", "b", "c"), [("c", "a"), ("d",), ("b",)])
    assert parts == {0: ("a", "c"), 2: ("b",)}


def test_parts_of_the_budget_add_up_to_it():
    parts = [indicator.allocate(Fraction(1, 7), part, ("a", "b", "c")) for part in [("a", "c"), ("b",)]]
    assert parts == [Fraction(2, 21), Fraction(1, 21)]


@pytest.mark.parametrize("parties", [1, 2, 3])
def test_products_are_exact_counts_where_the_noise_is_negligible(parties):
    sigma, real = 1e-5, table()
    groups = {1: [("a", "b", "c")], 2: [("a", "b"), ("c",)], 3: [("a",), ("b",), ("c",)]}[parties]
    blocks = [
        np.concatenate(list(indicator.noisy_indicators(real, group, sigma, RandomStream.from_seed(j))))
        for j, group in enumerate(groups)
    ]
    product = indicator.multiply(blocks, [sigma] * parties)
    assert np.allclose(product.ravel(), real.marginal(("a", "b", "c")), atol=0.01)


def test_a_histogram_is_exact_where_the_noise_is_negligible():
    real, clique = table(), ("a", "c")
    cells = real.marginal(clique)
    boxes = (((0, 2), (1, 2)), ((1, 2), (2, 4)))
    for given, exact in [((), cells), (boxes, [cells[1] + cells[5], cells[6] + cells[7]])]:
        counts = indicator.noisy_histogram(real, View(clique, boxes=given), 1e-5, RandomStream.from_seed(1))
        assert np.allclose(counts / grid_of(1e-5), exact, atol=1e-3)


def test_a_box_has_the_noise_of_one_cell():
    rows_of_a = View(("a", "c"), boxes=(((0, 1), (0, 4)), ((1, 2), (0, 4))))
    boxes = indicator.noisy_histogram(table(), rows_of_a, 3.0, RandomStream.from_seed(1))
    cells = indicator.noisy_histogram(table(), View(("a",)), 3.0, RandomStream.from_seed(1))
    assert np.array_equal(boxes, cells)


def test_indicator_vectors_come_in_blocks_that_hold_every_record_once():
    domain = Domain.coded({"x": 100_000})
    real = Table.from_codes(domain, np.array([[5], [99_999], [5], [0], [7]]))
    blocks = list(indicator.noisy_indicators(real, ("x",), 1e-4, RandomStream.from_seed(0)))
    assert [len(block) for block in blocks] == [2, 2, 1]
    places = np.concatenate([block.argmax(axis=1) for block in blocks])
    assert places.tolist() == [5, 99_999, 5, 0, 7]
    assert np.allclose(np.concatenate(blocks).max(axis=1) / grid_of(1e-4), 1, atol=0.01)


@pytest.mark.parametrize(
    "cells_and_sigmas", [((2,), (3.0,)), ((2, 3), (0.7, 1.5)), ((2, 3, 4), (0.5, 0.9, 0.3))]
)
def test_the_stated_variance_is_the_papers_sum_over_records_averaged_over_cells(cells_and_sigmas):
    cells, sigmas = cells_and_sigmas
    rng = np.random.default_rng(1)
    records = [tuple(rng.integers(0, n) for n in cells) for _ in range(30)]
    total = 0.0
    for cell in itertools.product(*map(range, cells)):
        for record in records:
            hits = [float(code == own) for code, own in zip(cell, record, strict=True)]
            total += math.prod(v + s * s for v, s in zip(hits, sigmas, strict=True)) - math.prod(hits)
    assert indicator.product_variance(30, cells, sigmas) == pytest.approx(total / math.prod(cells))


def test_the_curators_block_is_bounded_whatever_the_parts():
    assert indicator.block_rows([10_000, 10_000]) * 10_000 <= 1 << 22
    assert indicator.block_rows([300, 300, 2]) * 300 * 300 <= 1 << 22
    assert indicator.block_rows([1 << 23, 2]) == 1
