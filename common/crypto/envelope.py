"""Sealed streams between two parties, which the curator relays but can neither read nor alter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..errors import ProtocolError
from ..frames import FRAME_BYTES

KEY_BYTES = 32
TAG_BYTES = 16
_CHUNK_BYTES = FRAME_BYTES - TAG_BYTES
_PREFIX = b"dpmosaic sealed stream 1"
_REMEDY = "ask for the stream again, and if it fails again, do not trust the relay"


def seal(key: bytes, context: bytes, payload: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Encrypts a payload into frames that decrypt only with the key and context, unaltered and in order.

    Every frame is AES-256-GCM of one chunk of the payload under a key derived from `key` and `context`; its
    nonce consists of its number and of whether it is the last. All frames but the last are FRAME_BYTES long,
    so they do not depend on how the payload is cut into pieces. One chunk is in memory at a time.

    Run by: the sender, once for each payload.
    Source: the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, "Online
        Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance" (CRYPTO 2015); RFC 5869.
    Guarantee: the relay learns only the length of the payload and whether the same payload is sent again.
    Assumes (not enforced): a pair of key and context seals one payload only. Nonces repeat, so a second
        payload would reveal both. The same payload sealed twice gives the same bytes, so a relay may ask
        for it again.

    Args:
        key: 32 bytes shared by sender and receiver.
        context: description of payload, sender and receiver; not secret.
        payload: pieces of any size; the memory of a piece may be reused when the next piece is requested.

    Returns:
        At least one frame; the last has 16 to FRAME_BYTES bytes.

    Raises:
        ValueError: the key does not have 32 bytes.
    """
    return _seal_frames(_stream_cipher(key, context), payload)


def unseal(key: bytes, context: bytes, frames: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of a sealed stream, chunk by chunk, each authenticated before it is yielded.

    A chunk has the content and the position that the sender gave it. Only the end of the stream shows that it
    is complete: use the payload only when the iterator is exhausted. Two frames are in memory at a time.

    Run by: the receiver.
    Source: as for `seal`.

    Args:
        key: as for `seal`.
        context: as for `seal`.
        frames: frames of `seal`, as the relay delivered them.

    Raises:
        ProtocolError: a frame is altered, missing, repeated, out of order or from another stream, key or
            context, or the stream ends before its last frame or continues after it.
        ValueError: the key does not have 32 bytes.
    """
    return _open_frames(_stream_cipher(key, context), frames)


def _stream_cipher(key: bytes, context: bytes) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key of a sealed stream must have {KEY_BYTES} bytes, not {len(key)}")
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=_PREFIX + context).derive(key))


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _seal_frames(cipher: AESGCM, payload: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    chunk = memoryview(bytearray(_CHUNK_BYTES))
    number = filled = 0
    for piece in payload:
        rest = _octets(piece)
        # A full chunk is kept until one more byte comes: only then is it known not to be the last.
        while len(rest) > (room := _CHUNK_BYTES - filled):
            chunk[filled:] = rest[:room]
            yield cipher.encrypt(_nonce(number, last=False), chunk, None)
            rest = rest[room:]
            number, filled = number + 1, 0
        chunk[filled : filled + len(rest)] = rest
        filled += len(rest)
    yield cipher.encrypt(_nonce(number, last=True), chunk[:filled], None)


def _octets(piece: bytes | memoryview) -> memoryview:
    view = memoryview(piece)
    return view.cast("B") if view.nbytes else memoryview(b"")  # an empty view cannot be cast


def _open_frames(cipher: AESGCM, frames: Iterable[bytes]) -> Iterator[bytes]:
    number, waiting = 0, None
    for frame in frames:
        if waiting is not None:
            yield _open_frame(cipher, waiting, number, last=False)
            number += 1
        waiting = frame
    if waiting is None:
        raise ProtocolError(f"a sealed stream has no frame: expected at least the last one; {_REMEDY}")
    yield _open_frame(cipher, waiting, number, last=True)


def _open_frame(cipher: AESGCM, frame: bytes, number: int, last: bool) -> bytes:
    shortest, place = (TAG_BYTES, "the last frame") if last else (FRAME_BYTES, "a frame before the last")
    if not shortest <= len(frame) <= FRAME_BYTES:
        raise ProtocolError(
            f"frame {number} of a sealed stream has {len(frame)} bytes: expected {shortest} to {FRAME_BYTES} "
            f"for {place}; {_REMEDY}"
        )
    try:
        return cipher.decrypt(_nonce(number, last), frame, None)
    except InvalidTag as cause:
        raise ProtocolError(
            f"frame {number} of a sealed stream does not open: expected {place}, sealed by the other "
            f"party under the same key and context; {_REMEDY}"
        ) from cause
