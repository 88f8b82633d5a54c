"""What a party sends to the mailbox of its curator over HTTPS: a signed request, and perhaps an answer.

The body of a POST is the length of the request, the request (`MailboxRequest`), an Ed25519 signature, and the
bundle that the party brings, if any. The reply is a bundle of calls for the party, or nothing. Requests are
signed, and bundles are sealed and signed, so TLS may end anywhere between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..crypto.identity import SIGNATURE_BYTES, Identity, verify
from ..errors import ProtocolError
from . import codec
from .bundles import MOST_BYTES

MOST_HEAD_BYTES = 8192
"""Longest request with its length and signature, without an answer."""

MOST_WAIT_S = 30
"""Longest wait for a bundle; connections that are silent for a minute are often cut."""

MOST_HELD = 64
"""Most bundles that a party says it has: as many releases may wait for its officer."""

CLOCK_S = 300
"""Most seconds by which the clocks of a party and its curator may differ."""

_LENGTH_BYTES = 4
_PURPOSE = "request to a mailbox"
_NO_REQUEST = "expected a request of a party to the curator's mailbox, got something else; compare versions"


@dataclass(frozen=True)
class MailboxRequest:
    """What a party asks of a mailbox.

    Attributes:
        sender: name of the party.
        recipient: name of the curator.
        sent_us: microseconds since 1970 in UTC; later in each request of a party.
        wait_s: seconds to wait for a bundle.
        held: release and number, as in names of files, of bundles that it has and cannot answer yet.
        answer_bytes: length of the answer that it brings; 0 if it asks for a bundle.
        answer_digest: SHA-256 of that answer; empty if it asks for a bundle.
    """

    sender: str
    recipient: str
    sent_us: int
    wait_s: int = 0
    held: tuple[str, ...] = ()
    answer_bytes: int = 0
    answer_digest: bytes = b""

    def sign(self, identity: Identity) -> bytes:
        """What stands in front of an answer: length, request and signature."""
        encoded = codec.encode(self)
        length = len(encoded).to_bytes(_LENGTH_BYTES, "big")
        return length + encoded + identity.sign(_PURPOSE, encoded)


@dataclass(frozen=True)
class SignedRequest:
    """A request as it was read, whose signature is not verified yet.

    Attributes:
        request: what is asked.
        encoded: the request as it was read.
        signature: of the party.
    """

    request: MailboxRequest
    encoded: bytes
    signature: bytes

    @classmethod
    def read(cls, read: Callable[[int], bytes]) -> SignedRequest:
        """The request at the beginning of a body.

        Args:
            read: reads so many bytes, or fewer at the end.

        Raises:
            ProtocolError: there is none, or it is beyond a limit.
        """
        length = int.from_bytes(read(_LENGTH_BYTES), "big")
        if not 0 < length <= MOST_HEAD_BYTES - _LENGTH_BYTES - SIGNATURE_BYTES:
            raise ProtocolError(_NO_REQUEST)
        encoded, signature = read(length), read(SIGNATURE_BYTES)
        if len(encoded) < length or len(signature) < SIGNATURE_BYTES:
            raise ProtocolError(_NO_REQUEST)
        request = codec.decode(MailboxRequest, encoded)
        if request.answer_bytes > MOST_BYTES or len(request.held) > MOST_HELD:
            raise ProtocolError(_NO_REQUEST)
        return cls(request, encoded, signature)

    @property
    def head_bytes(self) -> int:
        """Length of all that stands before the answer."""
        return _LENGTH_BYTES + len(self.encoded) + SIGNATURE_BYTES

    def verify(self, identity: bytes) -> None:
        """Returns only if the owner of a pinned identity signed the request.

        Raises:
            ProtocolError: another one did.
        """
        verify(identity, _PURPOSE, self.encoded, self.signature)
