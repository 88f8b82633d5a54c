"""An authority of certificates, as an institution has one."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

SERVER, PERSON = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


class Authority:
    """Issues certificates into a folder.

    Args:
        folder: gets `NAME.pem` and `NAME.key` of each.
        name: common name of the authority.
    """

    def __init__(self, folder, name="authority"):
        self._folder, self._key = folder, generate_private_key(SECP256R1())
        self._subject = x509.Name.from_rfc4514_string(f"CN={name}")
        self.file = folder / f"{name}.pem"
        self._write(self.file, self._made(self._subject, self._key, (), None, True))

    def issue(self, name, subject, usage, *, hosts=(), days=1, former=1):
        """The files of a certificate and its key, valid for `days`, from `former` days ago on."""
        key = generate_private_key(SECP256R1())
        made = self._made(x509.Name.from_rfc4514_string(subject), key, hosts, usage, False, days, former)
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        self._write(files[0], made)
        files[1].touch(mode=0o600)
        files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return files

    def context(self, files=None):
        """What a browser of the institution trusts, and the certificate that it shows."""
        context = ssl.create_default_context(cafile=self.file)
        if files is not None:
            context.load_cert_chain(*files)
        return context

    def _made(self, subject, key, hosts, usage, is_authority, days=1, former=1):
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=former))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if is_authority:
            usages = dict.fromkeys(
                ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
                 "digital_signature", "encipher_only", "decipher_only"), False,
            )  # fmt: skip
            builder = builder.add_extension(
                x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usages), critical=True
            )
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            names = [_name_of(one) for one in hosts]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, SHA256())

    @staticmethod
    def _write(path, certificate):
        path.write_bytes(certificate.public_bytes(Encoding.PEM))


def _name_of(host):
    if host[0].isdigit():
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)
