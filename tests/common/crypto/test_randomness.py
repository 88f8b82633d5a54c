import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream

KEY = bytes(range(32))
AT_ONCE = 1 << 18
"""Bytes that a stream asks of its cipher at a time."""


def key_stream(count):
    """The first bytes of the key stream of AES-256 in counter mode."""
    return Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(bytes(count))


def test_a_stream_is_the_key_stream_of_aes_256_in_counter_mode():
    assert RandomStream(KEY).words(1000).tobytes() == key_stream(8000)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 7])
def test_bytes_are_the_key_stream_to_the_last_byte(count):
    octets = RandomStream(KEY).bytes(count)
    assert (octets.dtype, octets.shape) == (np.uint8, (count,))
    assert octets.tobytes() == key_stream(count)


@pytest.mark.slow
@given(st.lists(st.integers(0, 70) | st.integers(AT_ONCE - 20, AT_ONCE + 20), max_size=6))
@example([1, AT_ONCE, 15, 0, AT_ONCE + 1])
def test_bytes_are_the_same_however_they_are_cut(cuts):
    stream = RandomStream(KEY)
    parts = [stream.bytes(count) for count in cuts]
    assert b"".join(part.tobytes() for part in parts) == key_stream(sum(cuts))


@given(st.integers(0, 100) | st.integers(AT_ONCE - 20, AT_ONCE + 20), st.integers(0, 50))
@example(5 * 2**40 + 3, 40)
def test_a_stream_begins_at_any_of_its_bytes(start, count):
    found = RandomStream(KEY, start).bytes(count).tobytes()
    counter = (start // 16).to_bytes(16, "big")
    encryptor = Cipher(algorithms.AES(KEY), modes.CTR(counter)).encryptor()
    assert found == encryptor.update(bytes(start % 16 + count))[start % 16 :]


def test_words_and_bytes_are_read_from_one_stream():
    stream = RandomStream(KEY)
    parts = [stream.bytes(3), stream.words(2), stream.bytes(21)]
    assert b"".join(part.tobytes() for part in parts) == key_stream(40)
    # Overwriting words that were read does not change the next ones.
    parts[1][:] = 0
    assert stream.bytes(8).tobytes() == key_stream(48)[40:]


def test_words_do_not_depend_on_how_many_are_asked_for_at_once():
    whole = RandomStream.from_seed(3).words(300_000)
    stream = RandomStream.from_seed(3)
    parts = np.concatenate([stream.words(n) for n in (0, 1, 131_072, 168_927)])
    assert np.array_equal(whole, parts)


def test_children_differ_by_every_label_and_labels_do_not_run_together():
    stream = RandomStream.from_seed(3)
    keys = {stream.child_key(*labels) for labels in [("a", "b"), ("ab",), ("a",), ("", "ab"), ("ab", "")]}
    assert len(keys) == 5
    assert RandomStream.from_seed(4).child_key("a") != stream.child_key("a")


def test_two_streams_of_the_operating_system_differ():
    assert RandomStream.from_os().words(4).tolist() != RandomStream.from_os().words(4).tolist()


def test_words_are_uniform():
    octets = np.frombuffer(RandomStream.from_seed(9).words(1 << 17).tobytes(), dtype=np.uint8)
    # Rejects a uniform stream with probability 1e-4 over the choice of the seed.
    assert stats.chisquare(np.bincount(octets, minlength=256)).pvalue > 1e-4


def test_a_key_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        RandomStream(b"short")


def test_threads_that_share_a_stream_never_get_the_same_words():
    stream, drawn = RandomStream.from_seed(4), []
    threads = [
        threading.Thread(target=lambda: drawn.extend(stream.bytes(32).tobytes() for _ in range(300)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == len(set(drawn)) == 1200
