"""Masks that every role omits, so that counts stay correct: defects that tests of uniformity must detect."""

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.dealing import peers


class Zeros:
    """A stream of zeros, in place of an omitted mask."""

    def bytes(self, count):
        return np.zeros(count, dtype=np.uint8)


def forget(monkeypatch, kind, parts=None):
    """Replaces the words of this kind by zeros in every role, for chains of so many parts."""
    child = RandomStream.child

    def forgotten(self, *names):
        if names[0] == kind and (parts is None or len(chain_of(names[1:])) in parts):
            return Zeros()
        return child(self, *names)

    monkeypatch.setattr(RandomStream, "child", forgotten)


def chain_of(names):
    """The chain that these labels are of."""
    chain, rest = [], list(names)
    while rest:
        size = int(rest.pop(0))
        chain.append(tuple(rest[:size]))
        del rest[:size]
    return tuple(chain)


def shorten(monkeypatch, kind, names=1):
    """Lets every role derive the streams of this kind from only so many labels."""
    child = RandomStream.child
    monkeypatch.setattr(
        RandomStream,
        "child",
        lambda self, *texts: child(self, *(texts[:names] if texts[0] == kind else texts)),
    )


def shorten_keys(monkeypatch, kind, names=1):
    """Lets every role derive the keys of this kind from only so many labels."""
    child_key = RandomStream.child_key
    monkeypatch.setattr(
        RandomStream,
        "child_key",
        lambda self, *texts: child_key(self, *(texts[:names] if texts[0] == kind else texts)),
    )


def same_seeds(monkeypatch):
    """Lets dealers give all parties one seed of each component."""
    shorten_keys(monkeypatch, "component of masks", 3)


def forget_sealing(monkeypatch):
    monkeypatch.setattr(peers, "seal", lambda key, context, payload: (bytes(piece) for piece in payload))
    monkeypatch.setattr(peers, "unseal", lambda key, context, frames: frames)
