"""Arrays of words of a secret stream, which notice what they are added to."""

import threading

import numpy as np

HIDING = (np.add, np.subtract, np.bitwise_xor)
"""Operations by which a word hides a value."""

ALONE = (np.negative, np.right_shift)
"""Operations after which a secret word is still one."""


class Pad(np.ndarray):
    """Words of secret streams: their sums with other secret words are pads again, all else is a plain array.

    Attributes:
        streams: key and position of the streams whose words these are.
        root: array of the words as they were read.
    """

    hidden = threading.local()
    """What this thread notes: `note(streams, offset, value)`; nothing if it has no `note`."""

    def __array_finalize__(self, made_from):
        self.streams = getattr(made_from, "streams", frozenset())
        self.root = getattr(made_from, "root", None)

    @classmethod
    def of(cls, words, streams):
        """These words as a pad."""
        made = np.asarray(words).view(cls)
        made.streams, made.root = frozenset(streams), np.asarray(words)
        return made

    def offset(self):
        """Bytes from the beginning of the words that were read; 0 in a copy of them."""
        start, own = self.root.ctypes.data, self.ctypes.data
        return own - start if start <= own < start + self.root.nbytes else 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **others):
        pads = [one for one in inputs if isinstance(one, Pad) and one.streams]
        plain = [np.asarray(one) if isinstance(one, Pad) else one for one in inputs]
        written = tuple(np.asarray(one) if isinstance(one, Pad) else one for one in out)
        found = getattr(ufunc, method)(*plain, **({"out": written} if written else {}), **others)
        if method != "__call__" or not pads:
            return found
        if ufunc in ALONE and inputs[0] is pads[0]:
            return Pad.of(found, pads[0].streams)
        if ufunc in HIDING and len(pads) == len(inputs):
            return Pad.of(found, pads[0].streams | pads[1].streams)
        if ufunc in HIDING:
            (value,) = (one for one, given in zip(plain, inputs, strict=True) if given is not pads[0])
            if not np.any(value):
                return Pad.of(found, pads[0].streams)
            if note := getattr(Pad.hidden, "note", None):
                note(pads[0].streams, pads[0].offset(), value)
        return found
