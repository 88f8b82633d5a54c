"""Plays N transcripts of an adversary on all cores: `python tests/soak/adversary.py N [SEED]`.

See tests/security/test_adversary.py. Prints each transcript that breaks a rule, and how many steps of each
scenario were answered and refused.
"""

import collections
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest

from support.adversary.playing import Transcript
from support.adversary.scenarios import scenarios
from support.adversary.watching import Reused, Watch

SHARE = 100
"""Transcripts that a process plays at once."""


def main(count, seed=0):
    taken, refused, ended, failed = collections.Counter(), collections.Counter(), 0, 0
    shares = [range(start, min(start + SHARE, seed + count)) for start in range(seed, seed + count, SHARE)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as processes:
        for share, (broken, answered, not_answered) in zip(shares, processes.map(play, shares), strict=True):
            ended += len(share)
            failed += len(broken)
            for one in broken:
                print(one, flush=True)
            if not ended % 1000:
                print(f"{ended} transcripts, {failed} failed", flush=True)
            taken += answered
            refused += not_answered
    for scenario in taken:
        print(f"{scenario}: {taken[scenario]} steps answered, {refused[scenario]} refused")
    return int(failed > 0)


def play(seeds):
    """Which of these transcripts break a rule, and how many steps were answered and refused."""
    every, broken, taken, refused = scenarios(), [], collections.Counter(), collections.Counter()
    with Watch().installed(pytest.MonkeyPatch()) as watch:
        for seed in seeds:
            scenario = every[seed % len(every)]
            transcript = Transcript(scenario, seed, watch)
            try:
                transcript.play()
            except Reused as found:
                broken.append(f"{transcript}: {found}")
            taken[scenario] += transcript.taken
            refused[scenario] += transcript.refused
    return broken, taken, refused


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
