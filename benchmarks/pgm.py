"""Fitting graphical models to noisy marginals, and computing their marginals, against mbi.

A set contains the measurements of an iterative mechanism up to some round: all one-way marginals and 10, 20
or 40 of the most dependent pairs that keep the junction tree within 1, 10 or 80 MB, with Gaussian noise. mbi
runs 1,000 iterations of its mirror descent in float64, or as many as its time limit permits. Ours is timed
until its loss is at most mbi's final loss, tree and layout included. One function computes both losses.

Cold: without an initial model. Warm: both start from our model of all but the last pair; the second target is
mbi's final loss from there. mbi's time includes compilation, because every round has another structure,
except in the columns `alone`. Ours is compiled once per machine, which the first lines show.

Run: python benchmarks/pgm.py [--quick] [--limit SECONDS] [FOLDER]

FOLDER has adult_coded, nltcs and br2000, each NAME/NAME.csv.gz and NAME/domain.json; without it, a table is
generated. --quick leaves out sets above 1 MB. --limit (180) is for each fit of mbi. The whole run takes half
an hour on two cores, a quick one five minutes.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import multiprocessing
import os
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from pgm_sets import FitSet, fit_sets

QUICK_MB = 1.0
MOST_CELLS = 1e6
"""Most cells of a workload of triples; larger ones are skipped."""
ASKING_SECONDS = 20.0
"""Time limit of mbi, which compiles a program for each clique; the rest is extrapolated."""
ASKED = " 20"
"""Suffix of the sets whose models compute marginals."""
WANTED = {"cold": 30.0, "warm": 100.0, "alone": 5.0}
"""Medians that issue 5 asks for."""

FITS = """
cold          no initial model; to mbi's final loss
warm          from our model of all but the last pair; to the loss of mbi's cold fit
further       the same, to the loss of mbi's warm fit
default stop  ours with the default tolerance, cold
stop at 1e-6  ours with that tolerance, cold: our converged loss
alone         mbi without compiling
"""


def in_fresh_process(module: str, function: str, *arguments: object) -> Any:
    """Calls a function in a fresh process; only this process imports the module."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_call, module, function, arguments).result()


def _call(module: str, function: str, arguments: tuple[object, ...]) -> Any:
    return getattr(importlib.import_module(module), function)(*arguments)


def show_start() -> None:
    """Prints our compilation time: into an empty cache folder, then from it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        compiling, again = in_fresh_process("pgm_ours", "start")
        loading, _ = in_fresh_process("pgm_ours", "start")
        del os.environ["NUMBA_CACHE_DIR"]
    print(
        f"our kernels: compiled in {compiling - again:.1f} s, once per machine; "
        f"loaded from disk in {loading - again:.2f} s, once per process"
    )


def compare_fits(sets: list[FitSet], limit_seconds: float) -> None:
    """Prints a few lines for each set, then medians."""
    ratios: dict[str, list[float]] = {name: [] for name in ("cold", "warm", "further", "alone", "loss")}
    print(FITS)
    print(
        f"{'':<15} {'':>7} {'':<13} {'mbi':^33} {'loss to':>14} {'ours':^15} {'times faster':^14} "
        f"{'peak MB':^11}\n"
        f"{'set':<15} {'MB':>7} {'fit':<13} {'seconds':>8} {'compiling':>9} {'alone':>8} {'steps':>5} "
        f"{'reach':>14} {'seconds':>9} {'steps':>5} {'all':>6} {'alone':>7} {'ours':>5} {'mbi':>5}"
    )
    for one in sets:
        mbi = in_fresh_process("pgm_mbi", "measure", one, limit_seconds)
        ours = in_fresh_process("pgm_ours", "measure", one, mbi.cold.loss, mbi.warm.loss)
        rows = (
            ("cold", mbi.cold, mbi.cold.loss, ours.cold),
            ("warm", mbi.warm, mbi.cold.loss, ours.warm),
            ("further", mbi.warm, mbi.warm.loss, ours.further),
        )
        for name, theirs, target, reached in rows:
            ratios[name].append(theirs.seconds / reached.seconds)
            alone = theirs.running / reached.seconds
            of_set = f"{one.name:<15} {one.size_mb:>7.4f}" if name == "cold" else " " * 23
            peaks = f"{ours.peak_mb:>5.0f} {mbi.peak_mb:>5.0f}" if name == "cold" else ""
            print(
                f"{of_set} {name:<13} {theirs.seconds:>8.2f} {theirs.compiling:>9.2f} {theirs.running:>8.3f} "
                f"{theirs.steps:>5} {target:>14.6f} {reached.seconds:>9.4f} {reached.steps:>5} "
                f"{ratios[name][-1]:>6.0f} {alone:>7.1f} {peaks}"
            )
        ratios["alone"].append(mbi.cold.running / ours.cold.seconds)
        ratios["loss"].append(ours.tight.loss / mbi.cold.loss)
        for name, fit in (("default stop", ours.default), ("stop at 1e-6", ours.tight)):
            share = f"{fit.loss / mbi.cold.loss:.10f} of mbi's loss"
            print(
                f"{'':<23} {name:<13} {'':>33} {fit.loss:>14.6f} {fit.seconds:>9.4f} {fit.steps:>5} {share}",
                flush=True,
            )
    labels = {
        "cold": "cold, mbi with compilation",
        "warm": "warm, mbi with compilation, to the loss of its cold fit",
        "further": "warm, mbi with compilation, to the loss of its warm fit",
        "alone": "cold, mbi's iterations alone",
    }
    print()
    for name, label in labels.items():
        wanted = f", wanted {WANTED[name]:.0f}" if name in WANTED else ""
        print(
            f"times faster, {label}: median {statistics.median(ratios[name]):.1f}{wanted}; "
            f"least {min(ratios[name]):.1f}, wanted 1"
        )
    print(f"our loss at 1e-6 over mbi's: at most {max(ratios['loss']):.10f}, wanted 1")


def compare_queries(sets: list[FitSet]) -> None:
    """Prints one line for each workload: all its marginals and their L1 distances, from the same model."""
    print(
        f"\n{'marginals of':<22} {'cliques':>7} {'ours s':>8} {'mbi, all s':>10} {'alone':>8} "
        f"{'asked':>5} {'faster, all':>11} {'alone':>7} {'farthest':>9}"
    )
    rng = np.random.default_rng(0)
    for one in sets:
        if not one.name.endswith(ASKED):
            continue
        for order in (2, 3):
            cliques = list(itertools.combinations(one.domain.names, order))
            cliques = [cliques[place] for place in rng.permutation(len(cliques))]
            cells = [one.domain.cells(clique) for clique in cliques]
            if order == 3 and sum(cells) > MOST_CELLS:
                continue
            references = [np.full(count, one.records / count) for count in cells]
            first, again, asked, theirs = in_fresh_process(
                "pgm_mbi", "ask", one, cliques, references, ASKING_SECONDS
            )
            seconds, ours = in_fresh_process("pgm_ours", "ask", one, cliques, references)
            farthest = max(np.abs(a - b).max() for a, b in zip(theirs, ours, strict=False)) / one.records
            scale = len(cliques) / asked
            kind = "pairs" if order == 2 else "triples"
            print(
                f"{one.name + ', ' + kind:<22} {len(cliques):>7} {seconds:>8.4f} {first * scale:>10.2f} "
                f"{again * scale:>8.3f} {asked:>5} {first * scale / seconds:>11.0f} "
                f"{again * scale / seconds:>7.1f} {farthest:>9.0e}",
                flush=True,
            )


def main() -> None:
    """Prints seconds, losses and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=float, default=180.0)
    options = parser.parse_args()
    sets = fit_sets(options.folder, QUICK_MB if options.quick else math.inf)
    sets.sort(key=lambda one: one.size_mb)
    show_start()
    compare_fits(sets, options.limit)
    compare_queries(sets)


if __name__ == "__main__":
    main()
