"""What checks cost: the same release with all checks and without, for one dealer and three.

With all checks, parties prove their openings (`check = "one-hot"`) and evaluators prove their messages.
Without, openings are not proved, and the proofs of evaluators, which a release always has, are taken out of
this process. Each line has processor seconds of all roles, the bytes that parties and dealers send, the mean
total variation distance of the pairs of attributes between synthetic and real table, and their ratios to the
line without checks. Noise has other keys where more messages are sealed, so errors differ as between seeds.

Run: python benchmarks/checks.py [FOLDER] [--grids 2x2 1x3] [--epsilon 1] [--seed 0]

The FOLDER is that of `dealers.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from dealers import Cost, generated, released
from mechanisms import load

from dpmosaic.common.protocols.registry import CHECK
from dpmosaic.common.protocols.scores import evaluator
from dpmosaic.common.protocols.scores.shape import ScoreShape


def main() -> None:
    """Prints the costs without checks and with all of them."""
    asked = _arguments()
    table = generated() if asked.folder is None else load(asked.folder)
    released(table, asked.grids[0], asked.epsilon, asked.seed, 0)  # Compiles what is compiled once.
    print(
        f"{'grid':>5} {'dealers':>8} {'checks':>7} {'all s':>7} {'MB':>8} {'error':>8} {'s ratio':>8} "
        f"{'MB ratio':>9} {'error ratio':>12}"
    )
    for grid in asked.grids:
        for dealers in (1, 3):
            with without_proofs():
                none = released(table, grid, asked.epsilon, asked.seed, dealers)
            _show(grid, dealers, "none", none, none)
            cost = released(table, grid, asked.epsilon, asked.seed, dealers, CHECK)
            _show(grid, dealers, "all", cost, none)


def _show(grid: str, dealers: int, checks: str, cost: Cost, none: Cost) -> None:
    print(
        f"{grid:>5} {dealers:>8} {checks:>7} {cost.all_roles:>7.2f} {cost.sent / 1e6:>8.2f} "
        f"{cost.error:>8.5f} {cost.all_roles / none.all_roles:>8.3f} {cost.sent / none.sent:>9.4f} "
        f"{cost.error / none.error:>12.3f}",
        flush=True,
    )


@contextmanager
def without_proofs() -> Iterator[None]:
    """Evaluators of scores prove nothing."""
    with (
        patch.object(ScoreShape, "_memory", lambda shape, words, _: words * shape.word_bytes),
        patch.object(ScoreShape, "proofs", ()),
        patch.object(evaluator, "check", lambda *_: iter(())),
    ):
        yield


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--grids", nargs="+", default=["2x2", "1x3"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
