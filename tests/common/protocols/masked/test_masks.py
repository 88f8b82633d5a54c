"""The key of a party's masks in one release."""

import hashlib
import hmac

from dpmosaic.common.protocols.masked.masks import release_masks

SEED, TERMS = bytes(range(32)), hashlib.sha256(b"terms").digest()


def test_the_key_is_that_of_the_seed_and_the_digest_of_the_terms():
    labels = [b"masks of a release", TERMS.hex().encode()]
    text = b"dpmosaic child" + b"".join(len(label).to_bytes(4, "big") + label for label in labels)
    key = hmac.digest(SEED, text, "sha256")
    expected = hmac.digest(key, b"dpmosaic child" + (4).to_bytes(4, "big") + b"mask", "sha256")
    assert release_masks(SEED, TERMS).child_key("mask") == expected


def test_another_seed_or_other_terms_give_another_key():
    keys = {
        release_masks(seed, terms).child_key("mask")
        for seed in (SEED, bytes(32))
        for terms in (TERMS, hashlib.sha256(b"other terms").digest())
    }
    assert len(keys) == 4
