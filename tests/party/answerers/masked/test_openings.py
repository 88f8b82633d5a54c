import itertools
import tempfile
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.errors import DeliveriesLost, PolicyError, ProtocolError
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.policies.allowance import Quota

RING = Ring(32)


def matrix(rows, cells, bits=32, seed=0):
    ring = Ring(bits)
    words = np.random.default_rng(seed).integers(0, 2**bits - 1, (rows, cells), ring.dtype, endpoint=True)
    return words.astype(ring.dtype)


def cut(data, places):
    """The bytes in pieces that end at these places."""
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(ends)]


def on_disk(limit=1 << 30):
    """Openings with so many bytes of disk."""
    return Openings(Quota(limit, "max_disk_mb"))


WHOLE = matrix(6, 2, seed=3).tobytes()


def read(openings, key, block_rows=3):
    return np.concatenate(list(openings.blocks(key, block_rows)))


@pytest.fixture
def opened_files(monkeypatch):
    """Every temporary file that is opened during the test."""
    files, temporary = [], tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: files.append(temporary()) or files[-1])
    return files


@given(
    rows=st.integers(1, 9),
    cells=st.integers(1, 5),
    bits=st.sampled_from([32, 64]),
    places=st.lists(st.integers(0, 400), max_size=6),
    block_rows=st.integers(1, 12),
)
def test_a_matrix_comes_back_in_blocks_however_it_was_cut(rows, cells, bits, places, block_rows):
    words, openings = matrix(rows, cells, bits), on_disk()
    openings.put("key", Ring(bits), rows, cells, cut(words.tobytes(), places))
    blocks = list(openings.blocks("key", block_rows))
    assert all(block.shape == (block_rows, cells) for block in blocks[:-1])
    assert all(block.dtype == Ring(bits).dtype for block in blocks)
    assert np.array_equal(np.concatenate(blocks), words)


RANGES = [range(0, 2), range(2, 4), range(4, 6)]


def rows_of(words, within):
    return [words[within.start : within.stop].tobytes()]


def test_a_matrix_may_come_in_ranges_of_rows_and_a_range_twice(opened_files):
    words, openings = matrix(6, 2), on_disk()
    for within in (RANGES[0], RANGES[1], RANGES[1], RANGES[0], RANGES[1], RANGES[2], RANGES[2], RANGES[1]):
        openings.put("key", RING, 6, 2, rows_of(words, within), within)
    assert np.array_equal(read(openings, "key"), words)
    assert [file.closed for file in opened_files] == [True, False]


def test_a_range_that_broke_off_is_received_again():
    def broken():
        yield bytes(5)
        raise ProtocolError("a frame does not open")

    words, openings = matrix(6, 2), on_disk()
    openings.put("key", RING, 6, 2, rows_of(words, RANGES[0]), RANGES[0])
    with pytest.raises(ProtocolError, match="a frame does not open"):
        openings.put("key", RING, 6, 2, broken(), RANGES[1])
    with pytest.raises(DeliveriesLost, match="needs those before it"):
        openings.put("key", RING, 6, 2, rows_of(words, RANGES[2]), RANGES[2])
    for within in RANGES[1:]:
        assert "key" not in openings
        openings.put("key", RING, 6, 2, rows_of(words, within), within)
    assert np.array_equal(read(openings, "key"), words)


def test_ranges_of_a_new_matrix_replace_an_old_one_only_together():
    old, new, openings = matrix(6, 2, seed=1), matrix(6, 2, seed=2), on_disk()
    openings.put("key", RING, 6, 2, [old.tobytes()])
    for within in RANGES:
        assert np.array_equal(read(openings, "key"), old)
        openings.put("key", RING, 6, 2, rows_of(new, within), within)
    assert np.array_equal(read(openings, "key"), new)
    openings.drop("key")
    with pytest.raises(DeliveriesLost, match="needs those before it"):
        openings.put("key", RING, 6, 2, rows_of(new, RANGES[1]), RANGES[1])


def test_matrices_are_kept_apart_by_their_keys():
    openings = on_disk()
    one, other = matrix(7, 3, seed=1), matrix(5, 4, seed=2)
    openings.put((1, "a"), RING, 7, 3, [one.tobytes()])
    openings.put((2, "a"), RING, 5, 4, [other.tobytes()])
    assert np.array_equal(read(openings, (1, "a")), one)
    assert np.array_equal(read(openings, (2, "a")), other)
    assert ((1, "a") in openings, (2, "a") in openings, (3, "a") in openings) == (True, True, False)


def test_one_matrix_can_be_read_by_two_at_once():
    words, openings = matrix(9, 2), on_disk()
    openings.put("key", RING, 9, 2, [words.tobytes()])
    pairs = zip(openings.blocks("key", 3), openings.blocks("key", 3), strict=True)
    for start, (one, other) in zip(range(0, 9, 3), pairs, strict=True):
        assert np.array_equal(one, words[start : start + 3])
        assert np.array_equal(other, one)


def test_a_reader_keeps_what_it_began_to_read(opened_files):
    old, openings = matrix(6, 2, seed=1), on_disk()
    openings.put("key", RING, 6, 2, [old.tobytes()])
    replaced = openings.blocks("key", 2)
    assert np.array_equal(next(replaced), old[:2])
    openings.put("key", RING, 6, 2, [WHOLE])
    dropped = openings.blocks("key", 2)
    assert next(dropped).tobytes() == WHOLE[:16]
    openings.drop("key")
    assert np.array_equal(np.concatenate(list(replaced)), old[2:])
    assert np.concatenate(list(dropped)).tobytes() == WHOLE[16:]
    assert [file.closed for file in opened_files] == [True, True]


def test_a_block_may_be_overwritten_without_an_effect():
    words, openings = matrix(6, 2), on_disk()
    openings.put("key", RING, 6, 2, [words.tobytes()])
    for block in openings.blocks("key", 4):
        block[...] = 0
    assert np.array_equal(read(openings, "key"), words)


def test_refuses_to_read_a_matrix_that_was_not_stored():
    with pytest.raises(ProtocolError, match="not delivered; deliver all of them"):
        read(on_disk(), "key")


def test_a_dropped_matrix_frees_its_space_and_may_be_dropped_again(opened_files):
    openings = on_disk()
    openings.put("key", RING, 6, 2, [matrix(6, 2).tobytes()])
    openings.drop("key")
    openings.drop("key")
    openings.drop("another")
    assert "key" not in openings
    assert [file.closed for file in opened_files] == [True]
    with pytest.raises(ProtocolError, match="not delivered"):
        read(openings, "key")


def test_files_are_closed_with_the_openings(opened_files):
    openings = on_disk()
    for key in range(3):
        openings.put(key, RING, 6, 2, [matrix(6, 2).tobytes()])
    assert not any(file.closed for file in opened_files)
    del openings
    assert all(file.closed for file in opened_files)


@pytest.mark.parametrize("shape", [(6, 2), (4, 5)])
def test_a_new_matrix_replaces_an_old_one_and_frees_its_space(opened_files, shape):
    openings, new = on_disk(), matrix(*shape, seed=2)
    openings.put("key", RING, 6, 2, [matrix(6, 2, seed=1).tobytes()])
    openings.put("key", RING, *shape, [new.tobytes()])
    assert np.array_equal(read(openings, "key"), new)
    assert [file.closed for file in opened_files] == [True, False]


def test_the_old_matrix_stays_until_all_of_the_new_one_came():
    openings, old, new = (
        on_disk(),
        matrix(6, 2, seed=1),
        matrix(6, 2, seed=2),
    )
    openings.put("key", RING, 6, 2, [old.tobytes()])

    def chunks():
        for piece in cut(new.tobytes(), [9, 20]):
            assert np.array_equal(read(openings, "key"), old)
            yield piece

    openings.put("key", RING, 6, 2, chunks())
    assert np.array_equal(read(openings, "key"), new)


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([], id="nothing"),
        pytest.param([b""], id="an empty chunk"),
        pytest.param([WHOLE[:-1]], id="a byte less"),
        pytest.param([WHOLE[:-4]], id="a word less"),
        pytest.param([WHOLE + b"\0"], id="a byte more"),
        pytest.param([WHOLE, WHOLE[:8]], id="a row more"),
        pytest.param([WHOLE, WHOLE], id="twice"),
    ],
)
def test_a_stream_of_another_length_is_refused_and_nothing_changes(opened_files, chunks):
    openings, old = on_disk(), matrix(6, 2, seed=1)
    with pytest.raises(ProtocolError, match="more or fewer integers than expected"):
        openings.put("key", RING, 6, 2, chunks)
    assert "key" not in openings
    openings.put("key", RING, 6, 2, [old.tobytes()])
    with pytest.raises(ProtocolError, match="more or fewer integers than expected"):
        openings.put("key", RING, 6, 2, chunks)
    assert np.array_equal(read(openings, "key"), old)
    assert [file.closed for file in opened_files] == [True, False, True]


def test_an_interrupted_stream_keeps_the_old_matrix(opened_files):
    def broken():
        yield WHOLE[:24]
        raise ProtocolError("a frame does not open")

    openings, old = on_disk(), matrix(6, 2, seed=1)
    openings.put("key", RING, 6, 2, [old.tobytes()])
    with pytest.raises(ProtocolError, match="a frame does not open"):
        openings.put("key", RING, 6, 2, broken())
    assert np.array_equal(read(openings, "key"), old)
    assert [file.closed for file in opened_files] == [False, True]


def test_an_endless_stream_is_refused_before_it_fills_the_disk():
    taken = []

    def endless():
        while True:
            taken.append(len(WHOLE))
            yield WHOLE

    with pytest.raises(ProtocolError, match="more or fewer"):
        on_disk().put("key", RING, 12, 2, endless())
    assert len(taken) <= 4


@pytest.mark.parametrize("cells", [1, 8, 1 << 18])
def test_a_large_matrix_needs_little_memory(cells):
    """64 MiB, stored and read in blocks of 4 MiB, of which a few are in memory at a time."""
    chunk, openings, rows = (
        bytes(1 << 20),
        on_disk(),
        (1 << 24) // cells,
    )
    tracemalloc.start()
    try:
        openings.put("key", RING, rows, cells, (chunk for _ in range(64)))
        for block in openings.blocks("key", (1 << 20) // cells):
            assert not block.any()
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_disk_is_free_again_when_a_matrix_is_dropped_or_did_not_come_whole():
    openings, words = on_disk(limit=6 * 2 * 4), matrix(6, 2)
    with pytest.raises(ProtocolError, match="more or fewer"):
        openings.put("key", RING, 6, 2, [b"too short"])
    for _ in range(3):
        openings.put("key", RING, 6, 2, [words.tobytes()])
        openings.drop("key")
    openings.put("key", RING, 6, 2, [words.tobytes()])
    with pytest.raises(PolicyError, match="max_disk_mb"):
        openings.put("other", RING, 6, 2, [words.tobytes()])


def test_a_matrix_and_the_one_that_replaces_it_need_disk_at_the_same_time():
    openings, words = on_disk(limit=2 * 6 * 2 * 4 - 1), matrix(6, 2)
    openings.put("key", RING, 6, 2, [words.tobytes()])
    with pytest.raises(PolicyError, match="max_disk_mb"):
        openings.put("key", RING, 6, 2, [words.tobytes()])
    assert read(openings, "key").tolist() == words.tolist()
