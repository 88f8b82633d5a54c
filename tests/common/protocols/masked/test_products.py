"""Shares of products from the step functions of all roles, against counting; masks are arbitrary words."""

import itertools
import json
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked import products
from dpmosaic.common.protocols.masked.plan import labels

pytestmark = pytest.mark.slow

RINGS = [Ring(32), Ring(64)]
VECTORS = {
    vector["bits"]: vector
    for path in sorted((Path(__file__).parent / "vectors").iterdir())
    for vector in [json.loads(path.read_text())]
}


def cases(kind):
    """Every entry of this kind, with its ring's vectors."""
    return [
        pytest.param(vector, case, id=f"{bits} bits, {i}")
        for bits, vector in VECTORS.items()
        for i, case in enumerate(vector[kind])
    ]


def words(vector, hexadecimal):
    return np.vectorize(lambda text: int(text, 16), otypes=[Ring(vector["bits"]).dtype])(hexadecimal)


def stream_words(vector, name):
    return words(vector, vector["streams"][name]["words"])


@st.composite
def tables(draw, parts):
    """A ring, the cells of each part, and the codes of 1 to 12 records in each; -1 for a row of zeros."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=parts, max_size=parts))
    records, least = draw(st.integers(1, 12)), draw(st.sampled_from([0, -1]))
    codes = [
        np.array(draw(st.lists(st.integers(least, n - 1), min_size=records, max_size=records))) for n in sizes
    ]
    return draw(st.sampled_from(RINGS)), sizes, codes


SEEDS = st.integers(0, 2**32)


def counted(sizes, codes):
    """Counts of every combination of codes, record by record; a row of zeros counts nowhere."""
    counts = dict.fromkeys(itertools.product(*map(range, sizes)), 0)
    for record in zip(*(column.tolist() for column in codes), strict=True):
        if -1 not in record:
            counts[record] += 1
    return list(counts.values())


def row_wise(sizes, codes):
    """For every record, 1 at its combination of codes."""
    return [counted(sizes, [column[i : i + 1] for column in codes]) for i in range(len(codes[0]))]


class Dealing:
    """Random words, in the order in which the steps draw them."""

    def __init__(self, ring, seed):
        self.ring, self.stream = ring, RandomStream.from_seed(seed)

    def __call__(self, rows, cells):
        return self.ring.uniform(self.stream, rows, cells)


def multiplied(ring, dealing, matrices, codes, cells):
    """Shares of the product of a matrix with the last part's indicators.

    Args:
        ring: ring of all words.
        dealing: masks and shares.
        matrices: matrices of the left parties, whose sum is the matrix.
        codes: codes of the right party.
        cells: cells of the right party.

    Returns:
        Every left party's share, and the right one's.
    """
    rows = len(codes)
    masks = [dealing(*matrix.shape) for matrix in matrices]
    openings = [products.opening(*pair) for pair in zip(matrices, masks, strict=True)]
    right_mask = dealing(rows, cells)
    right_opening = products.opening(products.indicators(ring, codes, cells), right_mask)

    own = [dealing(masks[0].shape[1], cells) for _ in masks]
    dealt = products.dealt_share(ring.transposed_product(sum(masks), right_mask), sum(own))
    lefts = [
        products.left_product(ring, mask, right_opening) + share
        for mask, share in zip(masks, own, strict=True)
    ]
    return [*lefts, products.right_product(sum(openings), codes, cells) + dealt]


def multiplied_row_wise(ring, dealing, matrices, codes, cells):
    """As `multiplied`, record by record."""
    rows = len(codes)
    masks = [dealing(*matrix.shape) for matrix in matrices]
    openings = [products.opening(*pair) for pair in zip(matrices, masks, strict=True)]
    right_mask = dealing(rows, cells)
    right_opening = products.opening(products.indicators(ring, codes, cells), right_mask)

    own = [dealing(rows, masks[0].shape[1] * cells) for _ in masks]
    dealt = products.dealt_share(products.row_products(sum(masks), right_mask), sum(own))
    lefts = [products.left_rows(mask, right_opening, share) for mask, share in zip(masks, own, strict=True)]
    return [*lefts, products.right_rows(sum(openings), codes, cells, dealt)]


@given(tables(parts=1))
def test_indicators_have_one_1_in_every_row_at_its_code_and_none_without_a_code(table):
    ring, (size,), (codes,) = table
    found = products.indicators(ring, codes, size)
    assert found.dtype == ring.dtype
    assert found.tolist() == [[int(code == k) for k in range(size)] for code in codes]


@given(tables(parts=1), SEEDS)
def test_an_opening_plus_the_mask_is_the_matrix(table, seed):
    ring, (size,), (codes,) = table
    matrix, words = products.indicators(ring, codes, size), Dealing(ring, seed)(len(codes), size)
    assert np.array_equal(products.opening(matrix, words) + words, matrix)
    # For any matrix and any opening there is exactly one mask, so the opening is independent of the matrix.
    assert np.array_equal(products.opening(matrix, matrix - words), words)


@given(tables(parts=2), SEEDS)
def test_shares_of_a_product_add_up_to_the_counts(table, seed):
    ring, sizes, codes = table
    matrix = products.indicators(ring, codes[0], sizes[0])
    left, right = multiplied(ring, Dealing(ring, seed), [matrix], codes[1], sizes[1])
    assert left.dtype == right.dtype == ring.dtype
    assert (left + right).ravel().tolist() == counted(sizes, codes)


@given(tables(parts=2), SEEDS)
def test_shares_of_a_row_wise_product_add_up_to_the_indicators_of_both(table, seed):
    ring, sizes, codes = table
    matrix = products.indicators(ring, codes[0], sizes[0])
    left, right = multiplied_row_wise(ring, Dealing(ring, seed), [matrix], codes[1], sizes[1])
    assert left.dtype == right.dtype == ring.dtype
    assert (left + right).tolist() == row_wise(sizes, codes)


@given(tables(parts=1), SEEDS, st.integers(1, 4))
def test_any_matrix_is_multiplied_not_only_indicators(table, seed, columns):
    ring, (size,), (codes,) = table
    dealing = Dealing(ring, seed)
    matrix = dealing(len(codes), columns)
    left, right = multiplied(ring, dealing, [matrix], codes, size)
    expected = np.zeros((columns, size), dtype=object)
    for row, code in zip(matrix.tolist(), codes, strict=True):
        if code >= 0:
            expected[:, code] += np.array(row, dtype=object)
    assert (left + right).tolist() == (expected % 2**ring.bits).tolist()


@given(tables(parts=3), SEEDS)
def test_the_right_party_adds_its_own_share_of_the_left_matrix_in_the_clear(table, seed):
    """Presence of one party, times an attribute of the other, times another attribute of the other."""
    ring, sizes, codes = table
    dealing = Dealing(ring, seed)
    first = products.indicators(ring, codes[0], sizes[0])
    theirs, own = multiplied_row_wise(ring, dealing, [first], codes[1], sizes[1])
    rows, cells = len(codes[2]), sizes[2]
    mask, right_mask = dealing(*theirs.shape), dealing(rows, cells)
    opened = products.opening(theirs, mask) + own
    right_opening = products.opening(products.indicators(ring, codes[2], cells), right_mask)
    left = dealing(theirs.shape[1], cells)
    dealt = products.dealt_share(ring.transposed_product(mask, right_mask), left)
    shares = [
        products.left_product(ring, mask, right_opening) + left,
        products.right_product(opened, codes[2], cells) + dealt,
    ]
    assert sum(shares).ravel().tolist() == counted(sizes, codes)


@pytest.mark.parametrize("parts", [3, 4])
@given(data=st.data(), seed=SEEDS)
def test_a_chain_of_more_than_two_parts_uses_row_wise_products_before_the_last(parts, data, seed):
    ring, sizes, codes = data.draw(tables(parts))
    dealing = Dealing(ring, seed)
    shares = [products.indicators(ring, codes[0], sizes[0])]
    for k in range(1, parts - 1):
        shares = multiplied_row_wise(ring, dealing, shares, codes[k], sizes[k])
        assert len(shares) == k + 1
        assert sum(shares).tolist() == row_wise(sizes[: k + 1], codes[: k + 1])
    shares = multiplied(ring, dealing, shares, codes[-1], sizes[-1])
    assert len(shares) == parts
    assert sum(shares).ravel().tolist() == counted(sizes, codes)


@given(tables(parts=2), SEEDS, st.integers(1, 5))
def test_blocks_of_records_add_up_to_the_product_of_all(table, seed, rows):
    ring, sizes, codes = table
    dealing = Dealing(ring, seed)
    total = np.zeros(sizes, dtype=ring.dtype)
    for start in range(0, len(codes[0]), rows):
        left, right = (column[start : start + rows] for column in codes)
        matrix = products.indicators(ring, left, sizes[0])
        total += reduce(np.add, multiplied(ring, dealing, [matrix], right, sizes[1]))
    assert total.ravel().tolist() == counted(sizes, codes)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("codes", [(-1,), (0, 2), (-1, 0, 3), tuple(range(400))], ids=str)
def test_sums_by_groups_are_products_whether_a_code_has_few_rows_or_many(bits, codes):
    ring = Ring(bits)
    drawn = np.random.default_rng(4).choice(codes, 900)
    opened = ring.uniform(RandomStream.from_seed(5), 900, 3)
    expected = ring.transposed_product(opened, products.indicators(ring, drawn, 400))
    assert np.array_equal(products.right_product(opened, drawn, 400), expected)


@given(tables(parts=1), SEEDS, st.integers(1, 4))
def test_the_right_partys_sums_by_groups_are_products_with_its_indicators(table, seed, columns):
    ring, (size,), (codes,) = table
    dealing = Dealing(ring, seed)
    opened, dealt = dealing(len(codes), columns), dealing(len(codes), columns * size)
    matrix = products.indicators(ring, codes, size)
    assert np.array_equal(
        products.right_product(opened, codes, size), ring.transposed_product(opened, matrix)
    )
    assert np.array_equal(
        products.right_rows(opened, codes, size, dealt), products.row_products(opened, matrix) + dealt
    )


@given(tables(parts=2))
def test_row_products_have_the_rights_columns_side_by_side(table):
    ring, sizes, codes = table
    left, right = (products.indicators(ring, c, n) for c, n in zip(codes, sizes, strict=True))
    assert products.row_products(left, right).tolist() == row_wise(sizes, codes)


@pytest.mark.parametrize(("vector", "case"), cases("openings"))
def test_an_opening_is_that_of_the_vector(vector, case):
    found = products.opening(words(vector, case["matrix"]), stream_words(vector, case["mask"]))
    assert np.array_equal(found, words(vector, case["opening"]))


def dealt_of(vector, case):
    """The dealer's words for a product of the vectors, from the masks and shares of all its parties."""
    ring = Ring(vector["bits"])
    masks = sum(stream_words(vector, left["mask"]) for left in case["lefts"])
    shares = sum(stream_words(vector, left["product_share"])[0] for left in case["lefts"])
    product = ring.transposed_product(masks, stream_words(vector, case["right"]["mask"]))
    return products.dealt_share(product.ravel(), shares)


def shares_of(vector, case, *, openings=None, own=None):
    """All parties' shares of a product of the vectors, with other openings or own words where given."""
    ring, right = Ring(vector["bits"]), case["right"]
    if openings is None:
        openings = [words(vector, left["opening"]) for left in case["lefts"]]
    if own is None:
        own = [stream_words(vector, left["product_share"])[0] for left in case["lefts"]]
    masks = [stream_words(vector, left["mask"]) for left in case["lefts"]]
    lefts = [
        products.left_product(ring, mask, words(vector, right["opening"])).ravel() + share
        for mask, share in zip(masks, own, strict=True)
    ]
    summed = products.right_product(sum(openings), np.array(right["codes"]), right["cells"])
    return [*lefts, summed.ravel() + words(vector, right["dealt"])]


@pytest.mark.parametrize(("vector", "case"), cases("products"))
def test_dealt_words_and_shares_of_a_product_are_those_of_the_vector(vector, case):
    assert np.array_equal(dealt_of(vector, case), words(vector, case["right"]["dealt"]))
    found = shares_of(vector, case)
    for share, role in zip(found, [*case["lefts"], case["right"]], strict=True):
        assert np.array_equal(share, words(vector, role["share"]))
    assert sum(found).tolist() == case["counts"]


@pytest.mark.parametrize(("vector", "case"), cases("row_products"))
def test_dealt_words_and_shares_of_a_row_wise_product_are_those_of_the_vector(vector, case):
    left, right = case["left"], case["right"]
    mask, own = stream_words(vector, left["mask"]), stream_words(vector, left["row_share"])
    dealt = products.dealt_share(products.row_products(mask, stream_words(vector, right["mask"])), own)
    assert np.array_equal(dealt, words(vector, right["dealt"]))
    found = [
        products.left_rows(mask, words(vector, right["opening"]), own),
        products.right_rows(words(vector, left["opening"]), np.array(right["codes"]), right["cells"], dealt),
    ]
    for share, role in zip(found, (left, right), strict=True):
        assert np.array_equal(share, words(vector, role["share"]))
    assert sum(found).tolist() == case["products"]


def failing(name):
    found = [(v, case) for v in VECTORS.values() for case in v["failing"] if case["name"] == name]
    assert found
    return [pytest.param(*pair, id=f"{pair[0]['bits']} bits") for pair in found]


@pytest.mark.parametrize(
    ("vector", "case"), failing("one bit of an opening is altered on its way to the right party")
)
def test_an_altered_opening_gives_other_counts_which_is_why_openings_are_sealed(vector, case):
    product = vector["products"][case["product"]]
    altered = [words(vector, left["opening"]) for left in product["lefts"]]
    altered[0][case["row"], case["column"]] ^= altered[0].dtype.type(1 << case["bit"])
    found = sum(shares_of(vector, product, openings=altered))
    assert np.array_equal(found, words(vector, case["counts"]))
    assert (found != np.array(product["counts"])).sum() == 1


@pytest.mark.parametrize(
    ("vector", "case"), failing("the left party takes its share from the label of another chain")
)
def test_a_share_under_the_label_of_another_chain_gives_words_that_are_no_counts(vector, case):
    product = vector["products"][case["product"]]
    (left,) = product["lefts"]
    seed = RandomStream(bytes.fromhex(vector["mask_seeds"][left["party"]]))
    stream = seed.child("product share", *labels(tuple(map(tuple, case["label_chain"]))))
    wrong = Ring(vector["bits"]).uniform(stream, 1, len(product["counts"]))[0]
    found = sum(shares_of(vector, product, own=[wrong]))
    assert np.array_equal(found, words(vector, case["counts"]))
    assert np.all(found > len(product["right"]["codes"]))
