"""TLS keys and certificates: created for daemons, read from files, identified by their fingerprints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..errors import DataError
from .clocks import REMEDY

VALID_DAYS = 730

WARNED_DAYS = 30
"""Days before its end from which a certificate is warned of."""

_HOST_SUFFIX = ".dpmosaic"
_CLOCK_SKEW = timedelta(hours=1)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")


def check_name(name: str) -> str:
    """Returns a name if it is valid in certificates, file names and logs.

    Raises:
        DataError: it is not.
    """
    if not _NAME.fullmatch(name):
        raise DataError(
            "name: expected 1 to 42 lower-case letters, digits and inner hyphens such as clinic-north, "
            f"got {name!r}"
        )
    return name


@dataclass(frozen=True)
class Certificate:
    """X.509 certificate of an end entity.

    Attributes:
        pem: content of the file; of a chain, only the first certificate is used.
    """

    pem: bytes

    def __post_init__(self) -> None:
        try:
            self._leaf.subject  # noqa: B018 - parsed here, so that an invalid certificate is refused early
        except ValueError:
            raise DataError(
                "expected a certificate in PEM, got something else; ask its owner for it"
            ) from None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, hex; certificates are pinned by it."""
        return self._leaf.fingerprint(SHA256()).hex()

    @property
    def not_after(self) -> datetime:
        """End of its validity."""
        return self._leaf.not_valid_after_utc

    @property
    def not_before(self) -> datetime:
        """Start of its validity."""
        return self._leaf.not_valid_before_utc

    @property
    def leaf_pem(self) -> bytes:
        """The certificate, without the rest of a chain."""
        return self._leaf.public_bytes(Encoding.PEM)

    @property
    def host(self) -> str:
        """The first DNS name of the certificate.

        Raises:
            DataError: it has none.
        """
        try:
            names = self._leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            return names.get_values_for_type(x509.DNSName)[0]
        except (x509.ExtensionNotFound, IndexError):
            raise DataError(
                "expected a certificate with a DNS name (subjectAltName), got one without; issue a new one"
            ) from None

    def check_valid(self, now: datetime | None = None) -> None:
        """Returns only while the certificate is valid.

        Raises:
            DataError: it is not yet or no longer valid.
        """
        if not self.not_before <= (now or datetime.now(UTC)) <= self.not_after:
            raise DataError(
                f"the certificate is valid from {self.not_before:%Y-%m-%d} to {self.not_after:%Y-%m-%d}, not "
                f"now; issue a new one, or {REMEDY}"
            )

    def warning(self, now: datetime | None = None) -> str | None:
        """In words, that a valid certificate ends within `WARNED_DAYS`; None if it does not."""
        left = self.not_after - (now or datetime.now(UTC))
        if not timedelta(0) <= left < timedelta(days=WARNED_DAYS):
            return None
        return (
            f"the certificate ends on {self.not_after:%Y-%m-%d}, in {left.days} days; issue a new one and "
            "give out a new card"
        )

    @property
    def is_self_signed(self) -> bool:
        """Whether no authority issued it."""
        return self._leaf.issuer == self._leaf.subject

    def is_of(self, key_pem: bytes) -> bool:
        """Whether the certificate belongs to this private key."""
        return _public(_private(key_pem)) == self._leaf.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )

    @cached_property
    def _leaf(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.pem)


def new_tls_key() -> bytes:
    """A new P-256 private key, PEM; not the Ed25519 identity, which gRPC's TLS cannot verify."""
    key = generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def self_signed(name: str, key_pem: bytes, now: datetime, days: float = VALID_DAYS) -> Certificate:
    """A self-signed certificate: trusted only where it is pinned, and unable to issue others.

    Args:
        name: name of the party or curator.
        key_pem: its private key.
        now: current time; the certificate is valid from one hour earlier, for clocks that differ.
        days: validity in days.
    """
    key = _private(key_pem)
    built = (
        x509.CertificateBuilder()
        .subject_name(_subject(name))
        .issuer_name(_subject(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - _CLOCK_SKEW)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_alternative_name(name), critical=False)
        .add_extension(_usage(), critical=False)
        # Distinguishes two pinned certificates of one name.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    return Certificate(built.public_bytes(Encoding.PEM))


def signing_request(name: str, key_pem: bytes) -> bytes:
    """A certificate signing request for the institution's own authority, PEM."""
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(_subject(name))
        .add_extension(_alternative_name(name), critical=False)
        .add_extension(_usage(), critical=False)
        .sign(_private(key_pem), SHA256())
    )
    return request.public_bytes(Encoding.PEM)


def fingerprint_text(fingerprint: str) -> str:
    """A fingerprint in groups of four characters, for comparison by people."""
    return " ".join(fingerprint[i : i + 4] for i in range(0, len(fingerprint), 4))


def _private(key_pem: bytes) -> EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError):
        raise DataError("expected a private key in PEM without a password; convert the key file") from None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise DataError("expected a private key on an elliptic curve, got another kind; create a new key")
    return key


def _public(key: EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, check_name(name))])


def _alternative_name(name: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.DNSName(name + _HOST_SUFFIX)])


def _usage() -> x509.ExtendedKeyUsage:
    return x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
