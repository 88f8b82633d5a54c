"""Sequences of random operations: drawn from a seed, run, and shrunk if a promise does not hold."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from dpmosaic.common.errors import DeliveriesLost, PartyUnavailable
from support.operations import operations
from support.operations.world import World

LENGTH = 150
"""Operations of one sequence; each sequence has parties of its own."""


def drawn(seed, length=LENGTH):
    """Names of operations, each with a seed of its own, so that any part of a sequence is one."""
    rng = np.random.default_rng(seed)
    weights = np.array(list(operations.OPERATIONS.values()), dtype=float)
    names = [operation.__name__ for operation in operations.OPERATIONS]
    return [
        (str(name), int(rng.integers(2**32))) for name in rng.choice(names, length, p=weights / weights.sum())
    ]


def run(sequence, seed=0):
    """Runs operations one after the other and checks every promise after each.

    Returns:
        For each operation, how often it did something.

    Raises:
        Exception: a promise does not hold, or an operation failed as it should not.
    """
    # In memory where there is such a folder: a kill is a copy of the files, so nothing depends on a disk.
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="operations", dir=memory if memory.is_dir() else None))
    world = World(folder, seed)
    try:
        for name, own in sequence:
            try:
                if getattr(operations, name)(world, np.random.default_rng(own)) is not False:
                    world.done[name] += 1
            except (DeliveriesLost, PartyUnavailable):
                # A party restarted between two calls of one step; a curator tries again, here by `resume`.
                pass
            world.check()
        return world.done
    finally:
        world.close()
        shutil.rmtree(folder)


def shrunk(sequence, seed=0):
    """A short part of a failing sequence that fails as well."""
    step = len(sequence) // 2
    while step:
        start = 0
        while start < len(sequence):
            shorter = sequence[:start] + sequence[start + step :]
            if failure(shorter, seed) is not None:
                sequence = shorter
            else:
                start += step
        step //= 2
    return sequence


def failure(sequence, seed=0):
    """The error of a sequence, or None."""
    try:
        run(sequence, seed)
    except Exception as error:
        return error
    return None
