"""Bundles: calls of a curator and replies of a party as files, sealed for one reader, signed by one writer.

A file is a line that says what it is, the length of the header, the header (`BundleHeader`), an Ed25519
signature, and a sealed stream (`common/crypto/envelope`). The key of the stream is agreed between a fresh key
of the writer and the reader's identity, so a key seals one payload. The signature is over all but itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..crypto.agreement import EphemeralKey
from ..crypto.envelope import seal, unseal
from ..crypto.identity import SIGNATURE_BYTES, Identity, agreement_public, verify
from ..crypto.randomness import fresh_key
from ..errors import MosaicError, ProtocolError
from ..frames import in_frames
from ..history import START
from . import bundle_pb2 as pb
from . import codec
from .parsing import check_parts, parse_message
from .refusals import error_in, refusal_of

MOST_BYTES = 1 << 30
"""Largest bundle."""

_MOST_PARTS = 1 << 20
"""Calls, replies and messages of a bundle together; each takes a hundred bytes of memory or more."""

_MAGIC = b"dpmosaic bundle 1\n"
_LENGTH_BYTES = 4
_MOST_HEADER_BYTES = 4096
_REQUEST, _ANSWER = "bundle of calls", "bundle of replies"
_REMEDY = "copy it again from where it was written"


@dataclass(frozen=True)
class BundleHeader:
    """From whom a bundle is, to whom, and which one it is.

    Attributes:
        sender: name of its writer.
        recipient: name of its reader.
        release_id: id of the release.
        number: from 1, for each party and release.
        request: of an answer, the digest of the bundle that it answers; empty of a request.
        ephemeral: X25519 public key, for this bundle only.
    """

    sender: str
    recipient: str
    release_id: str
    number: int
    request: bytes = b""
    ephemeral: bytes = b""

    @property
    def purpose(self) -> str:
        """What its writer signs it as."""
        return _ANSWER if self.request else _REQUEST

    @classmethod
    def decode(cls, data: bytes) -> BundleHeader:
        """The header of these bytes.

        Raises:
            ProtocolError: they are none.
        """
        found = codec.decode(cls, data)
        if len(found.release_id) != 32 or set(found.release_id) - set("0123456789abcdef"):
            raise ProtocolError(f"expected a bundle of a release, got another one; {_REMEDY}")
        return found


def is_bundle(content: bytes) -> bool:
    """Whether the content of a file begins as a bundle does."""
    return content.startswith(_MAGIC)


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read, whose signature is not verified yet.

    Attributes:
        header: its header.
        encoded: the header as it was read.
        signature: of its writer.
        sealed: the sealed stream.
    """

    header: BundleHeader
    encoded: bytes
    signature: bytes
    sealed: bytes

    @classmethod
    def read(cls, data: bytes) -> Bundle:
        """The bundle in these bytes.

        Raises:
            ProtocolError: there is none.
        """
        if not is_bundle(data):
            raise ProtocolError(f"expected a bundle, got a file of another kind; {_REMEDY}")
        begins = len(_MAGIC) + _LENGTH_BYTES
        length = int.from_bytes(data[len(_MAGIC) : begins], "big")
        signed, sealed = begins + length, begins + length + SIGNATURE_BYTES
        if length > _MOST_HEADER_BYTES or len(data) <= sealed:
            raise ProtocolError(f"expected a whole bundle, got a part of one; {_REMEDY}")
        encoded = data[begins:signed]
        return cls(BundleHeader.decode(encoded), encoded, data[signed:sealed], data[sealed:])

    @property
    def digest(self) -> bytes:
        """SHA-256 of header and sealed stream, which an answer names."""
        length = len(self.encoded).to_bytes(_LENGTH_BYTES, "big")
        return hashlib.sha256(length + self.encoded + self.sealed).digest()

    def to_bytes(self) -> bytes:
        """The content of the file."""
        length = len(self.encoded).to_bytes(_LENGTH_BYTES, "big")
        return _MAGIC + length + self.encoded + self.signature + self.sealed

    def open(self, reader: Identity, writer: bytes) -> bytes:
        """The payload.

        Args:
            reader: identity of the reader.
            writer: pinned identity of the writer.

        Raises:
            ProtocolError: another one signed it, it was altered or cut, or it is for another reader.
        """
        try:
            verify(writer, self.header.purpose, self.digest, self.signature)
            key = reader.agreement_key().pair_key(self.header.ephemeral, _context(self.encoded))
            return b"".join(unseal(key, _context(self.encoded), in_frames(self.sealed)))
        except ProtocolError as cause:
            raise ProtocolError(
                f"expected a whole bundle that {self.header.sender!r} signed and sealed for this reader, got "
                f"one that was altered, cut, or written by or for another; {_REMEDY}, and compare identities"
            ) from cause


def seal_bundle(header: BundleHeader, payload: bytes, writer: Identity, reader: bytes) -> Bundle:
    """Seals and signs a payload.

    Args:
        header: its header; without the ephemeral key, which is drawn here.
        payload: what only the reader may read.
        writer: identity of its writer.
        reader: pinned identity of its reader.

    Raises:
        ProtocolError: the bundle would be larger than `MOST_BYTES`.
    """
    if len(payload) > MOST_BYTES // 2:
        raise ProtocolError(
            f"expected messages of at most {MOST_BYTES >> 21} MiB for a party that is reached by files, got "
            "more; put it into a slice of its own, or release fewer attributes"
        )
    fresh = EphemeralKey.from_seed(fresh_key())
    encoded = codec.encode(replace(header, ephemeral=fresh.public))
    key = fresh.pair_key(agreement_public(reader), _context(encoded))
    bundle = Bundle(
        BundleHeader.decode(encoded), encoded, b"", b"".join(seal(key, _context(encoded), [payload]))
    )
    return replace(bundle, signature=writer.sign(header.purpose, bundle.digest))


@dataclass(frozen=True)
class BundledCall:
    """One call of a curator.

    Attributes:
        method: name of a method of the service Party.
        requests: its encoded requests.
        silent: whether the curator does without the replies.
    """

    method: str
    requests: tuple[bytes, ...]
    silent: bool = False

    @property
    def digest(self) -> bytes:
        """SHA-256 of method and requests, by which its replies are found.

        Terms count without the mark of the party's ledger, which moves while the answer about them stays.
        """
        requests = self.requests
        if self.method == "Accept":
            signed = codec.decode_request(self.method, *requests)
            requests = (codec.encode(replace(signed, seen=START)),)
        fields = (self.method.encode(), *requests)
        text = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
        return hashlib.sha256(text).digest()


@dataclass(frozen=True)
class BundledReplies:
    """What a party replied.

    Attributes:
        replies: by the digest of the call, the encoded replies.
        refusal: why the next call was refused; None if all were answered.
    """

    replies: dict[bytes, tuple[bytes, ...]]
    refusal: MosaicError | None = None


def encode_calls(calls: Sequence[BundledCall]) -> bytes:
    """The payload of a curator's bundle."""
    return pb.BundledCalls(calls=map(codec.to_message, calls)).SerializeToString()


def decode_calls(payload: bytes) -> list[BundledCall]:
    """The calls in the payload of a curator's bundle.

    Raises:
        ProtocolError: they do not parse, or are more than a bundle holds.
    """
    check_parts(payload, 2, _MOST_PARTS)
    return [codec.of_message(BundledCall, call) for call in parse_message(pb.BundledCalls, payload).calls]


def encode_replies(replies: BundledReplies) -> bytes:
    """The payload of a party's bundle."""
    return pb.BundledReplies(
        replies=[pb.BundledReply(call=call, replies=each) for call, each in replies.replies.items()],
        refusal=None if replies.refusal is None else refusal_of(replies.refusal),
    ).SerializeToString()


def decode_replies(payload: bytes) -> BundledReplies:
    """The replies in the payload of a party's bundle.

    Raises:
        ProtocolError: they do not parse, or are more than a bundle holds.
    """
    check_parts(payload, 2, _MOST_PARTS)
    read = parse_message(pb.BundledReplies, payload)
    replies = {bytes(each.call): tuple(each.replies) for each in read.replies}
    return BundledReplies(replies, error_in(read.refusal) if read.HasField("refusal") else None)


def _context(encoded: bytes) -> bytes:
    """What the key of a bundle is bound to: its header, with both names."""
    return b"bundle" + encoded
