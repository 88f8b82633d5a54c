"""Plays N transcripts of an adversary: `python tests/soak/adversary.py N [SEED]`.

See tests/security/test_adversary.py. Prints each transcript that breaks a rule, and how many steps of each
scenario were answered and refused.
"""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from support.adversary.playing import Transcript
from support.adversary.scenarios import scenarios
from support.adversary.watching import Reused, Watch


def main(count, seed=0):
    every, taken, refused, failed = scenarios(), collections.Counter(), collections.Counter(), 0
    with Watch().installed(pytest.MonkeyPatch()) as watch:
        for number in range(seed, seed + count):
            scenario = every[number % len(every)]
            transcript = Transcript(scenario, number, watch)
            try:
                transcript.play()
            except Reused as found:
                failed += 1
                print(f"{transcript}: {found}", flush=True)
            taken[scenario] += transcript.taken
            refused[scenario] += transcript.refused
            if number % 1000 == 999:
                print(f"{number + 1 - seed} transcripts, {failed} failed", flush=True)
    for scenario in every:
        print(f"{scenario}: {taken[scenario]} steps answered, {refused[scenario]} refused")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
