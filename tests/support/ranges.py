"""Work on ranges of rows, and work that fails, for processes and clusters."""

import os
import signal

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.workers import MANY_RECORDS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.masks import Masks
from dpmosaic.common.protocols.masked.ranges import dealt_range, left_range, right_range

RING = Ring(32)
ROWS, AT_ONCE = 200, 30
MASKS = Masks({0: RandomStream.from_seed(1), 2: RandomStream.from_seed(2)})
LEFT, RIGHT = (MASKS.child(name) for name in ("left", "right"))


def work():
    """Pieces of each kind of work on ranges."""
    rng = np.random.default_rng(7)
    opened = RING.uniform(RandomStream.from_seed(3), ROWS, 5)
    codes = rng.integers(-1, 4, ROWS)
    starts = range(0, ROWS, AT_ONCE)
    blocks = [opened[start : start + AT_ONCE] for start in starts]
    return {
        dealt_range: [
            (RING, ((0, (0, 2)), (2, (0,))), [([LEFT], 3)], [(RIGHT, 5)], start, len(block))
            for start, block in zip(starts, blocks, strict=True)
        ],
        left_range: [
            (RING, [(LEFT, 3)], start, [block]) for start, block in zip(starts, blocks, strict=True)
        ],
        right_range: [
            ([block], [(codes[start : start + AT_ONCE], 4)])
            for start, block in zip(starts, blocks, strict=True)
        ],
    }


def check_the_same(workers):
    for function, pieces in work().items():
        expected = [function(*piece) for piece in pieces]
        found = list(workers.map(function, pieces, MANY_RECORDS))
        assert all(map(np.array_equal, found, expected)), function
        assert len(found) == len(expected) == 7


def summed(block):
    """The sum of an array, and the process that found it."""
    return int(block.sum()), os.getpid()


def killed_once(path, block=None):
    """Ends the process that comes first; the block is only sent."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def refusing():
    raise DataError("expected another range, got this one; fix it")
