import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpmosaic.common.crypto.identity import Identity, agreement_public, verify
from dpmosaic.common.errors import ProtocolError

SEED = bytes(range(32))
FIELD = 2**255 - 19
ORDER_8_Y = int.from_bytes(
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
)
SMALL_ORDER = [(1, 0), (FIELD - 1, 0)] + [
    (y, sign) for y in (0, ORDER_8_Y, FIELD - ORDER_8_Y) for sign in (0, 1)
]
OTHER_SPELLINGS = [(1, 1), (FIELD - 1, 1), (FIELD, 0), (FIELD, 1), (FIELD + 1, 0), (FIELD + 1, 1)]


def encoded(y, sign):
    return (y + (sign << 255)).to_bytes(32, "little")


def signed_text(purpose, message):
    return b"dpmosaic signature 1" + len(purpose).to_bytes(4, "big") + purpose + message


@pytest.mark.parametrize(
    ("seed", "public"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        ),
    ],
)
def test_public_keys_are_those_of_rfc_8032_section_7_1(seed, public):
    assert Identity.from_seed(bytes.fromhex(seed)).public.hex() == public


def test_a_signature_is_ed25519_of_a_fixed_prefix_the_purpose_with_its_length_and_the_message():
    signature = Identity.from_seed(SEED).sign("käse", b"message")
    text = signed_text("käse".encode(), b"message")
    assert signature == Ed25519PrivateKey.from_private_bytes(SEED).sign(text)


def test_a_signature_verifies_under_its_public_key_purpose_and_message():
    identity = Identity.generate()
    verify(identity.public, "round", b"message", identity.sign("round", b"message"))


def test_two_generated_identities_differ():
    assert Identity.generate().public != Identity.generate().public


@pytest.mark.parametrize(("purpose", "message"), [("round", b"other"), ("roun", b"dmessage"), ("", b"")])
def test_a_signature_of_another_purpose_or_message_is_refused(purpose, message):
    identity = Identity.from_seed(SEED)
    with pytest.raises(ProtocolError, match="does not verify"):
        verify(identity.public, "round", b"message", identity.sign(purpose, message))


def test_a_signature_of_another_identity_is_refused():
    signature = Identity.generate().sign("round", b"message")
    with pytest.raises(ProtocolError, match="does not verify"):
        verify(Identity.from_seed(SEED).public, "round", b"message", signature)


@pytest.mark.parametrize("bit", [0, 255, 256, 511])
def test_a_signature_with_one_bit_flipped_is_refused(bit):
    identity = Identity.from_seed(SEED)
    signature = bytearray(identity.sign("round", b"message"))
    signature[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProtocolError, match="does not verify"):
        verify(identity.public, "round", b"message", bytes(signature))


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_another_length_is_refused(length):
    identity = Identity.from_seed(SEED)
    signature = (identity.sign("round", b"message") + b"\0")[:length]
    with pytest.raises(ProtocolError, match=f"expected 64 bytes .* got {length} bytes"):
        verify(identity.public, "round", b"message", signature)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_public_key_of_another_length_is_refused(length):
    identity = Identity.from_seed(SEED)
    with pytest.raises(ProtocolError, match=f"expected 32 bytes .* got {length} bytes"):
        verify((identity.public + b"\0")[:length], "round", b"message", identity.sign("round", b"message"))


def test_a_public_key_that_is_no_point_of_the_curve_is_refused():
    with pytest.raises(ProtocolError, match="does not verify"):
        verify(encoded(2, 0), "round", b"message", encoded(1, 0) + bytes(32))


@pytest.mark.parametrize(("y", "sign"), SMALL_ORDER)
def test_a_public_key_of_small_order_is_refused(y, sign):
    public, forgery = encoded(y, sign), encoded(1, 0) + bytes(32)

    def is_forged(message):
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(forgery, signed_text(b"round", message))
        except InvalidSignature:
            return False
        return True

    message = next(filter(is_forged, (b"%d" % number for number in range(1000))))
    with pytest.raises(ProtocolError, match="not a valid Ed25519 key"):
        verify(public, "round", message, forgery)


@pytest.mark.parametrize(("y", "sign"), OTHER_SPELLINGS)
def test_another_encoding_of_such_a_key_is_refused_too(y, sign):
    with pytest.raises(ProtocolError, match="not a valid Ed25519 key"):
        verify(encoded(y, sign), "round", b"message", encoded(1, 0) + bytes(32))


def test_a_seed_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        Identity.from_seed(bytes(31))


def test_neither_a_representation_nor_a_refusal_shows_a_key():
    identity = Identity.from_seed(hashlib.sha256(b"seed").digest())
    with pytest.raises(ProtocolError) as refusal:
        verify(identity.public, "round", b"message", bytes(64))
    assert repr(identity) == "Identity(<key not shown>)"
    assert identity.public.hex() not in str(refusal.value)
    assert repr(identity.public)[2:-1] not in str(refusal.value)


def test_the_key_to_seal_for_an_identity_is_that_of_its_own_agreement_key():
    for seed in (SEED, bytes(32), b"\xff" * 32):
        identity = Identity.from_seed(seed)
        assert agreement_public(identity.public) == identity.agreement_key().public


def test_the_key_to_seal_for_an_identity_is_that_of_the_test_vector_of_libsodium():
    # test/default/ed25519_convert.c
    seed = bytes.fromhex("421151a459faeade3d247115f94aedae42318124095afabe4d1451a559faedee")
    public = bytes.fromhex("f1814f0e8ff1043d8a44d25babff3cedcae6c22c3edaa48f857ae70de2baae50")
    assert agreement_public(Identity.from_seed(seed).public) == public
