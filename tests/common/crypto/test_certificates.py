from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from dpmosaic.common.crypto.certificates import (
    Certificate,
    check_name,
    fingerprint_text,
    new_tls_key,
    self_signed,
    signing_request,
)
from dpmosaic.common.errors import DataError

NOW = datetime(2031, 5, 4, 12, tzinfo=UTC)
KEY = new_tls_key()


def test_a_certificate_is_valid_from_an_hour_ago_for_the_given_days():
    made = self_signed("clinic-north", KEY, NOW, 10)
    assert made.not_before == NOW - timedelta(hours=1)
    assert made.not_after == NOW + timedelta(days=10)
    assert made.host == "clinic-north.dpmosaic"


def test_a_certificate_belongs_only_to_its_key():
    made = self_signed("a", KEY, NOW)
    assert made.is_of(KEY)
    assert not made.is_of(new_tls_key())


def test_two_certificates_have_two_fingerprints():
    first, second = self_signed("a", KEY, NOW), self_signed("a", KEY, NOW)
    assert first.fingerprint != second.fingerprint
    assert Certificate(first.pem).fingerprint == first.fingerprint


def test_a_self_signed_certificate_issues_no_other():
    parsed = x509.load_pem_x509_certificate(self_signed("a", KEY, NOW).pem)
    assert parsed.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_the_first_certificate_of_a_chain_is_used():
    first, second = self_signed("a", KEY, NOW), self_signed("b", KEY, NOW)
    chain = Certificate(first.pem + second.pem)
    assert (chain.fingerprint, chain.leaf_pem) == (first.fingerprint, first.pem)


def test_a_request_asks_for_the_same_name():
    request = x509.load_pem_x509_csr(signing_request("clinic-north", KEY))
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["clinic-north.dpmosaic"]
    assert request.is_signature_valid


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a-", "a.b", "a/b", "é", "a" * 43, "a\n"])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(DataError, match="lower-case letters"):
        check_name(name)


@pytest.mark.parametrize("pem", [b"", b"rows", KEY])
def test_bytes_that_are_not_a_certificate_are_refused(pem):
    with pytest.raises(DataError, match="certificate in PEM"):
        Certificate(pem)


def test_a_certificate_without_a_dns_name_is_refused():
    key = new_tls_key()
    made = self_signed("a", key, NOW)
    builder = x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(x509.Name([]))
    private = load_pem_private_key(key, None)
    bare = builder.public_key(private.public_key()).serial_number(1)
    bare = bare.not_valid_before(made.not_before).not_valid_after(made.not_after).sign(private, SHA256())
    with pytest.raises(DataError, match="subjectAltName"):
        assert Certificate(bare.public_bytes(Encoding.PEM)).host


@pytest.mark.parametrize(
    "key", [b"", b"rows", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_bytes_that_are_not_a_key_are_refused(key):
    with pytest.raises(DataError, match="private key in PEM"):
        self_signed("a", key, NOW)


def test_a_key_of_another_kind_is_refused():
    rsa = generate_private_key(65537, 2048)
    pem = rsa.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(DataError, match="elliptic curve"):
        self_signed("a", pem, NOW)


def test_a_fingerprint_is_shown_in_groups_of_four():
    assert fingerprint_text("0123456789ab") == "0123 4567 89ab"


def test_a_certificate_is_valid_only_between_its_dates():
    made = self_signed("a", KEY, NOW, 10)
    made.check_valid(NOW)
    for moment in (NOW - timedelta(hours=2), NOW + timedelta(days=11)):
        with pytest.raises(DataError, match="issue a new one, or synchronise both clocks by NTP"):
            made.check_valid(moment)
