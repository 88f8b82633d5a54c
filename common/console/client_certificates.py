"""People who show a certificate of their institution's authority, which the connection has verified."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID
from starlette.requests import Request

from ..errors import ProtocolError
from .signing_in import PEER
from .visitors import BY_CERTIFICATE, Person

_LONGEST_SUBJECT = 500
"""Characters of a subject."""


class ClientCertificates:
    """Signs in whoever the certificate of the browser names."""

    words = "Your browser has shown the certificate that your institution gave you."

    def begin(self, request: Request) -> Person:
        """See `Method.begin`."""
        peer = request.scope.get(PEER)
        if peer is None:
            raise ProtocolError(
                "expected a certificate of your institution, got none; choose one in the browser"
            )
        return person_of(peer)

    def finish(self, request: Request) -> Person:
        """Nobody comes back from elsewhere."""
        raise ProtocolError("expected no answer of a provider, since people show certificates here")


def person_of(der: bytes) -> Person:
    """The person whom a certificate names, by its subject.

    Args:
        der: a certificate that was verified.

    Raises:
        ProtocolError: its subject is empty or very long.
    """
    subject = x509.load_der_x509_certificate(der).subject
    text = subject.rfc4514_string()
    if not 0 < len(text) <= _LONGEST_SUBJECT:
        raise ProtocolError(
            f"expected a certificate with a subject of at most {_LONGEST_SUBJECT} characters, got another; "
            "ask your institution's authority for one"
        )
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    shown = str(names[0].value) if names else text
    return Person(BY_CERTIFICATE + text, shown, frozenset((BY_CERTIFICATE + text,)))
