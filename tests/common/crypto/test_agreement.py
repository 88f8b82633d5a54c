import hashlib
import hmac
import json
from pathlib import Path

import pytest

from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.errors import ProtocolError

VECTORS = json.loads((Path(__file__).parent / "vectors" / "pair_key.json").read_text())
# RFC 7748, section 6.1.
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED_SECRET = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")


def cases(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


def with_length(field):
    return len(field).to_bytes(4, "big") + field


def test_public_keys_are_those_of_rfc_7748():
    assert EphemeralKey.from_seed(ALICE).public == ALICE_PUBLIC
    assert EphemeralKey.from_seed(BOB).public == BOB_PUBLIC


def test_a_pair_key_is_hkdf_of_the_secret_of_rfc_7748_with_context_and_sorted_public_keys():
    extracted = hmac.digest(bytes(32), SHARED_SECRET, "sha256")
    info = b"dpmosaic pair key 1" + b"".join(map(with_length, (b"context", ALICE_PUBLIC, BOB_PUBLIC)))
    expanded = hmac.digest(extracted, info + b"\x01", "sha256")
    assert ALICE_PUBLIC < BOB_PUBLIC
    assert EphemeralKey.from_seed(ALICE).pair_key(BOB_PUBLIC, b"context") == expanded
    assert EphemeralKey.from_seed(BOB).pair_key(ALICE_PUBLIC, b"context") == expanded


@pytest.mark.parametrize("vector", cases(VECTORS["agreed"]))
def test_both_sides_derive_the_pair_key_of_the_vector(vector):
    ends = [EphemeralKey.from_seed(bytes.fromhex(seed)) for seed in vector["seeds"]]
    context = bytes.fromhex(vector["context"])
    assert [end.public.hex() for end in ends] == vector["publics"]
    assert ends[0].pair_key(ends[1].public, context).hex() == vector["pair_key"]
    assert ends[1].pair_key(ends[0].public, context).hex() == vector["pair_key"]


@pytest.mark.parametrize("vector", cases(VECTORS["refused"]))
def test_refuses_an_invalid_peer_key_and_the_own_one(vector):
    peer_public = bytes.fromhex(vector["peer_public"])
    with pytest.raises(ProtocolError) as refusal:
        EphemeralKey.from_seed(bytes.fromhex(vector["seed"])).pair_key(peer_public, b"context")
    assert not peer_public or peer_public.hex() not in str(refusal.value)


def test_every_context_and_every_pair_has_its_own_key():
    one, two, three = (EphemeralKey.from_seed(hashlib.sha256(b"%d" % n).digest()) for n in range(3))
    keys = {
        one.pair_key(two.public, b"a"),
        one.pair_key(two.public, b"b"),
        one.pair_key(two.public, b""),
        one.pair_key(three.public, b"a"),
        two.pair_key(three.public, b"a"),
    }
    assert len(keys) == 5
    assert {len(key) for key in keys} == {32}


def test_a_seed_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        EphemeralKey.from_seed(bytes(33))


def test_a_representation_shows_no_key():
    assert repr(EphemeralKey.from_seed(ALICE)) == "EphemeralKey(<key not shown>)"
