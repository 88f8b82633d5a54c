import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream


def test_a_stream_is_the_key_stream_of_aes_256_in_counter_mode():
    cipher = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor()
    assert RandomStream(bytes(range(32))).words(1000).tobytes() == cipher.update(bytes(8000))


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
