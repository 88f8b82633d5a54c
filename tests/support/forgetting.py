"""Masks that every role omits, so that counts stay correct: defects that tests of uniformity must detect."""

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.dealing import peers

ZEROS = bytes(32)
"""The key of a stream of zeros, in place of an omitted mask."""


def forget(monkeypatch, kind, parts=None):
    """Replaces the words of this kind by zeros in every role, for chains of so many parts."""
    forget_where(
        monkeypatch,
        lambda names: names[0] == kind and (parts is None or len(chain_of(names[1:])) in parts),
    )


def forget_where(monkeypatch, forgotten):
    """Replaces the words of streams whose labels `forgotten` names, and of the key `ZEROS`, by zeros."""
    child_key, octets = RandomStream.child_key, RandomStream.bytes

    def key(self, *names):
        return ZEROS if forgotten(names) else child_key(self, *names)

    def zeros(self, count):
        return np.zeros(count, dtype=np.uint8) if self._key == ZEROS else octets(self, count)

    monkeypatch.setattr(RandomStream, "child_key", key)
    monkeypatch.setattr(RandomStream, "bytes", zeros)


def chain_of(names):
    """The chain that these labels are of."""
    chain, rest = [], list(names)
    while rest:
        size = int(rest.pop(0))
        chain.append(tuple(rest[:size]))
        del rest[:size]
    return tuple(chain)


def shorten(monkeypatch, kind, names=1):
    """Lets every role derive the streams and keys of this kind from only so many labels."""
    child_key = RandomStream.child_key
    monkeypatch.setattr(
        RandomStream,
        "child_key",
        lambda self, *texts: child_key(self, *(texts[:names] if texts[0] == kind else texts)),
    )


def same_seeds(monkeypatch):
    """Lets dealers give all parties one seed of each component."""
    shorten(monkeypatch, "component of masks", 3)


def forget_sealing(monkeypatch):
    monkeypatch.setattr(peers, "seal", lambda key, context, payload: (bytes(piece) for piece in payload))
    monkeypatch.setattr(peers, "unseal", lambda key, context, frames: frames)
