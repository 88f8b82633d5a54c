"""The key of a party's masks in one release, and masks of several components."""

import hashlib
import hmac

import numpy as np
import pytest

from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.masks import Masks, release_masks

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


@pytest.mark.parametrize("bits", [32, 64])
def test_a_mask_is_the_sum_of_its_components_however_it_is_cut_into_rows(bits):
    """Its low bits are those of the sum modulo 2^64."""
    sources = {number: release_masks(bytes([number]) * 32, TERMS) for number in (2, 0, 1)}
    ring, masks = Ring(bits), Masks(sources)
    drawn = [ring.uniform(source.child("mask", "a"), 7, 3).astype(object) for source in sources.values()]
    cut = masks.child("mask", "a")
    words = np.vstack([cut.uniform(ring, start, rows, 3) for start, rows in ((0, 2), (2, 4), (6, 1))])
    assert words.tolist() == (sum(drawn) % 2**bits).tolist()
    assert masks.child("mask", "a").wide(ring, 0, 7, 3).tolist() == (sum(drawn) % 2**64).tolist()
