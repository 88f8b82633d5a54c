"""Runs N random operations: `python tests/soak/operations.py N [SEED]`; it shrinks and prints what fails.

See tests/security/test_random_operations.py. A failing sequence is printed as `run(sequence, seed)` takes it.
"""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.operations.sequences import LENGTH, drawn, failure, run, shrunk


def main(count, seed=0):
    done = collections.Counter()
    for number in range(-(-count // LENGTH)):
        sequence = drawn(seed + number)
        try:
            done.update(run(sequence, seed + number))
        except Exception:
            short = shrunk(sequence, seed + number)
            print(f"run({short!r}, {seed + number})\n{failure(short, seed + number)!r}")
            return 1
        if number % 100 == 99:
            print(f"{(number + 1) * LENGTH} operations", flush=True)
    print(f"{count} operations; of these did something: {dict(done)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
