"""Random words from a stream cipher: keyed by the operating system, or by a seed in simulations."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..errors import DataError
from ..forms.values import whole
from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_BYTES = 32
FreshKeys = Callable[[], bytes]
"""Returns another key of `KEY_BYTES` bytes at each call: `fresh_key`, or in simulations
`RandomStream.key`."""

_ZEROS = bytes(1 << 18)
_AES_BLOCK_BYTES = 16


def fresh_key() -> bytes:
    """A key from the operating system's random generator, which no copy of the process repeats."""
    return secrets.token_bytes(KEY_BYTES)


class RandomStream:
    """The key stream of AES-256 in counter mode, read as 64-bit words.

    Without the key it cannot be distinguished from uniform words. Two streams with one key yield the same
    words, so a repeated query gets the byte-identical answer. Threads may share a stream; no two of them get
    the same words.

    Args:
        key: 32 bytes.
        start: number of bytes of the stream that are left out.
    """

    def __init__(self, key: bytes, start: int = 0) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key of a stream must have {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._lock = threading.Lock()
        counter = (start // _AES_BLOCK_BYTES).to_bytes(_AES_BLOCK_BYTES, "big")
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
        self._cipher.update(_ZEROS[: start % _AES_BLOCK_BYTES])

    @classmethod
    def from_os(cls) -> RandomStream:
        """A stream with a key from the operating system's random generator; used in releases."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def of_seed(cls, seed: int | None) -> RandomStream:
        """The stream of a seed that a user gave; that of the system without one.

        Raises:
            DataError: it is no whole number.
        """
        if seed is None:
            return cls.from_os()
        if not whole().fits(seed):
            raise DataError("seed: expected a whole number or none, got another; give one")
        return cls.from_seed(seed)

    @classmethod
    def from_seed(cls, seed: int) -> RandomStream:
        """A reproducible stream, only for simulations and tests: the seed suffices to remove the noise."""
        return cls(hashlib.sha256(b"dpmosaic seed %d" % seed).digest())

    def child(self, *labels: str) -> RandomStream:
        """An independent stream, determined by this stream's key and the labels."""
        return RandomStream(self.child_key(*labels))

    def child_key(self, *labels: str) -> bytes:
        """The key of `child`, 32 bytes; each label comes with its length, which separates the labels."""
        text = b"".join(len(label.encode()).to_bytes(4, "big") + label.encode() for label in labels)
        return hmac.digest(self._key, b"dpmosaic child" + text, "sha256")

    def key(self) -> bytes:
        """The next bytes as a key."""
        return self.bytes(KEY_BYTES).tobytes()

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words, shape (count,), uniform on 0 .. 2^64 - 1."""
        return self.bytes(8 * count).view(np.uint64)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """The next `count` bytes, shape (count,), uniform; independent of the sizes of earlier reads."""
        # The cipher needs a buffer that is one block, less a byte, longer than its output.
        stream = np.empty(count + _AES_BLOCK_BYTES - 1, dtype=np.uint8)
        with self._lock:
            for start in range(0, count, len(_ZEROS)):
                zeros = memoryview(_ZEROS)[: count - start]
                self._cipher.update_into(zeros, stream.data[start:])
        return stream[:count]

    def permutation(self, size: int) -> NDArray[np.int64]:
        """A permutation of 0 .. size - 1, shape (size,); each is equally probable."""
        while True:
            words = self.words(size)
            order: NDArray[np.int64] = np.argsort(words)
            ordered = words[order]
            # Equal words would leave the order of two numbers to the sorting algorithm.
            if not np.any(ordered[1:] == ordered[:-1]):
                return order

    def generator(self) -> np.random.Generator:
        """A NumPy generator seeded from this stream, for steps on public values such as rounding."""
        return np.random.default_rng([int(word) for word in self.words(4)])
