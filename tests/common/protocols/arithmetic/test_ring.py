"""The ring against Python's integers; random words are AES-256 in counter mode, and uniform.

Both tests of uniformity use one fixed seed and reject at p < 1e-6: a uniform stream would fail for 2 of a
million choices of the seeds.
"""

import hmac
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import labels

RINGS = [pytest.param(Ring(bits), id=f"{bits} bits") for bits in (32, 64)]
VECTORS = [
    json.loads(path.read_text())
    for path in sorted((Path(__file__).parents[1] / "masked" / "vectors").iterdir())
]
STREAMS = [
    pytest.param(vector["bits"], vector["mask_seeds"][stream["party"]], stream, id=f"{vector['bits']} {name}")
    for vector in VECTORS
    for name, stream in vector["streams"].items()
]
LARGE = [
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0x80008000,
    0x80007FFF,
    2**22 - 1,
    2**44 - 1,
    2**64 - 1,
]
"""Words whose limbs are as large as can be, in absolute value."""


def words_of(ring):
    """Words of this ring, often at the borders of limbs and of the ring."""
    borders = [
        edge + step for power in (16, 22, 31, 32, 44, 63, 64) for edge in [1 << power] for step in (-1, 0)
    ]
    whole = st.integers(0, 2**ring.bits - 1)
    return st.one_of(whole, st.sampled_from([0, 1, *(b for b in borders if b < 2**ring.bits)]))


def matrix(ring, rows, columns):
    flat = st.lists(words_of(ring), min_size=rows * columns, max_size=rows * columns)
    return flat.map(lambda words: np.array(words, dtype=ring.dtype).reshape(rows, columns))


def pairs_of_matrices(ring):
    sizes = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4))
    return sizes.flatmap(lambda s: st.tuples(matrix(ring, s[0], s[1]), matrix(ring, s[0], s[2])))


@pytest.mark.slow
@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data())
def test_a_product_is_that_of_the_integers_modulo_the_ring(ring, data):
    left, right = data.draw(pairs_of_matrices(ring))
    found = ring.transposed_product(left, right)
    assert found.dtype == ring.dtype
    assert found.tolist() == [
        [sum(x * y for x, y in zip(a, b, strict=True)) % 2**ring.bits for b in right.T.tolist()]
        for a in left.T.tolist()
    ]


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("rows", [1, 127, 128, 129, 511, 512, 513, 2000])
def test_the_largest_words_are_added_up_exactly(ring, rows):
    words = sorted({word % 2**ring.bits for word in LARGE})
    for left, right in itertools.product(words, words):
        one, other = (np.full((rows, 1), word, dtype=ring.dtype) for word in (left, right))
        assert ring.transposed_product(one, other).tolist() == [[rows * left * right % 2**ring.bits]]
        # An odd sum: a float64 that cannot hold it shows.
        one[0], other[0] = 1, 1
        expected = ((rows - 1) * left * right + 1) % 2**ring.bits
        assert ring.transposed_product(one, other).tolist() == [[expected]]


@pytest.mark.parametrize("ring", RINGS)
def test_uniform_words_in_many_rows_are_multiplied_as_integers_are(ring):
    stream = RandomStream.from_seed(1)
    left, right = ring.uniform(stream, 10_000, 3), ring.uniform(stream, 10_000, 2)
    # A product of NumPy's integers goes through no float and wraps around modulo 2^64.
    expected = left.T.astype(np.uint64) @ right.astype(np.uint64)
    assert np.array_equal(ring.transposed_product(left, right), expected.astype(ring.dtype))


@pytest.mark.parametrize("ring", RINGS)
def test_the_upper_half_of_the_words_stands_for_negative_numbers(ring):
    half, top = 2 ** (ring.bits - 1), 2**ring.bits
    words = np.array([0, 1, half - 1, half, half + 1, top - 1], dtype=ring.dtype)
    assert ring.as_signed(words).tolist() == [0, 1, half - 1, -half, 1 - half, -1]


@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data())
def test_integers_that_the_ring_holds_come_back_and_others_wrap_around(ring, data):
    half, top = 2 ** (ring.bits - 1), 2**ring.bits
    numbers = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
    words = ring.words(np.array(numbers, dtype=np.int64))
    assert words.dtype == ring.dtype
    assert words.tolist() == [number % top for number in numbers]
    assert ring.as_signed(words).tolist() == [(number + half) % top - half for number in numbers]


@pytest.mark.parametrize("ring", RINGS)
@given(data=st.data())
def test_sums_wrap_around_and_signed_sums_that_fit_are_exact(ring, data):
    half = 2 ** (ring.bits - 1)
    one, other = (data.draw(st.integers(-half, half - 1)) for _ in range(2))
    total = ring.words(np.array([one], dtype=np.int64)) + ring.words(np.array([other], dtype=np.int64))
    assert ring.as_signed(total).tolist() == [(one + other + half) % (2 * half) - half]


@pytest.mark.parametrize(
    ("largest", "bits"), [(0, 32), (2**31 - 1, 32), (2**31, 64), (2**32, 64), (2**63 - 1, 64)]
)
def test_the_smaller_ring_that_holds_a_number_is_chosen(largest, bits):
    assert Ring.holding(largest) == Ring(bits)
    assert [Ring(size).holds(largest) for size in (32, 64)] == [bits == 32, True]


@pytest.mark.parametrize("largest", [2**63, 2**64, 10**30])
def test_numbers_that_no_ring_holds_are_refused(largest):
    assert not Ring(64).holds(largest)
    with pytest.raises(BudgetError, match="64 bits"):
        Ring.holding(largest)


@pytest.mark.parametrize("ring", RINGS)
def test_a_ring_holds_exactly_the_integers_that_decode_to_themselves(ring):
    for largest in (2 ** (ring.bits - 1) - 2, 2 ** (ring.bits - 1) - 1):
        assert ring.holds(largest)
        words = np.array([largest, 2**ring.bits - largest], dtype=ring.dtype)
        assert ring.as_signed(words).tolist() == [largest, -largest]
    assert not ring.holds(2 ** (ring.bits - 1))


@pytest.mark.parametrize("bits", [0, 16, 31, 33, 128])
def test_a_ring_of_another_size_is_refused(bits):
    with pytest.raises(ValueError, match="32 or 64 bits"):
        Ring(bits)


@pytest.mark.parametrize("ring", RINGS)
def test_words_are_little_endian_and_as_wide_as_the_ring(ring):
    assert 8 * ring.word_bytes == ring.bits == 8 * ring.dtype.itemsize
    assert np.array([1], dtype=ring.dtype).tobytes() == b"\x01" + bytes(ring.word_bytes - 1)


@pytest.mark.parametrize("ring", RINGS)
@given(cells=st.integers(1, 7), cuts=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_a_stream_gives_the_same_words_however_it_is_cut_into_rows(ring, cells, cuts):
    whole = ring.uniform(RandomStream.from_seed(2), sum(cuts), cells)
    stream = RandomStream.from_seed(2)
    blocks = [ring.uniform(stream, rows, cells) for rows in cuts]
    assert [block.shape for block in blocks] == [(rows, cells) for rows in cuts]
    assert np.array_equal(np.vstack(blocks), whole)


@pytest.mark.parametrize("ring", RINGS)
def test_uniform_words_have_uniform_bytes_at_every_place(ring):
    octets = ring.uniform(RandomStream.from_seed(3), 1 << 12, 4).view(np.uint8).reshape(-1, ring.word_bytes)
    counts = np.stack([np.bincount(place, minlength=256) for place in octets.T])
    expected = len(octets) / 256
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, counts.size - len(counts)) > 1e-6


@pytest.mark.parametrize(("bits", "seed", "stream"), STREAMS)
def test_a_stream_of_the_vectors_is_aes_256_in_counter_mode_under_a_key_of_its_labels(bits, seed, stream):
    ring = Ring(bits)
    names = (stream["kind"], *labels(tuple(map(tuple, stream["chain"]))))
    rows, cells = len(stream["words"]), len(stream["words"][0])
    found = ring.uniform(RandomStream(bytes.fromhex(seed)).child(*names), rows, cells)
    assert found.tolist() == [[int(word, 16) for word in row] for row in stream["words"]]

    text = b"".join(len(name.encode()).to_bytes(4, "big") + name.encode() for name in names)
    key = hmac.digest(bytes.fromhex(seed), b"dpmosaic child" + text, "sha256")
    octets = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(found.nbytes))
    assert octets == b"".join(
        int(word, 16).to_bytes(ring.word_bytes, "little") for row in stream["words"] for word in row
    )
