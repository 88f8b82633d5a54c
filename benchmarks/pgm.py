"""Fitting graphical models to noisy marginals, and asking them for marginals, against mbi in the same run.

A set is what an iterative mechanism has measured by some round: all one-way marginals and 10, 20 or 40 of
the most dependent pairs that keep the junction tree within 1, 10 or 80 MB, each with Gaussian noise. mbi runs
1,000 iterations of its mirror descent in float64, or as many as fit into its limit of time; what counts for
us is the time to a loss at most that of its end, tree and layout included, found by one function for both.

Cold: no model beforehand. Warm: both start from one model, ours of all but the last pair; the second target
is what mbi reaches from there. Compilation counts for mbi, because every round has another structure, save
where it is said to run alone. Ours is compiled once per machine, which the first lines show.

Run: python benchmarks/pgm.py [--quick] [--limit SECONDS] [FOLDER]

FOLDER has adult_coded, nltcs and br2000, each NAME/NAME.csv.gz and NAME/domain.json; without it, a table is
made up. --quick leaves out sets above 1 MB. --limit (180) is for each fit of mbi. The whole run takes half an
hour on two cores, a quick one five minutes.
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
"""Workloads of triples with more cells are not asked for."""
ASKING_SECONDS = 20.0
"""For mbi, which compiles a program for each clique; the rest of them is extrapolated from a random part."""
ASKED = " 20"
"""Sets whose models are asked for marginals."""
WANTED = {"cold": 30.0, "warm": 100.0, "alone": 5.0}
"""Medians that issue 5 asks for."""

FITS = """
cold          nobody has a model; mbi's final loss is what we must reach
warm          from our model of all but the last pair; we must reach the loss of mbi's cold fit
further       the same, and we must reach the loss of mbi's warm fit
default stop  ours with the default tolerance, cold
stop at 1e-6  ours with that tolerance, cold: our converged loss
alone         mbi without compiling
"""


def apart(module: str, function: str, *arguments: object) -> Any:
    """Calls a function in a fresh process, which alone imports its module."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_call, module, function, arguments).result()


def _call(module: str, function: str, arguments: tuple[object, ...]) -> Any:
    return getattr(importlib.import_module(module), function)(*arguments)


def show_start() -> None:
    """Our compilation: into an empty folder, then from it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        compiling, again = apart("pgm_ours", "start")
        loading, _ = apart("pgm_ours", "start")
        del os.environ["NUMBA_CACHE_DIR"]
    print(
        f"our kernels: compiled in {compiling - again:.1f} s, once per machine; "
        f"loaded from disk in {loading - again:.2f} s, once per process"
    )


def compare_fits(sets: list[FitSet], limit_seconds: float) -> None:
    """A few lines for each set, then medians."""
    ratios: dict[str, list[float]] = {name: [] for name in ("cold", "warm", "further", "alone", "loss")}
    print(FITS)
    print(
        f"{'':<15} {'':>7} {'':<13} {'mbi':^33} {'loss to':>14} {'ours':^15} {'times faster':^14} "
        f"{'peak MB':^11}\n"
        f"{'set':<15} {'MB':>7} {'fit':<13} {'seconds':>8} {'compiling':>9} {'alone':>8} {'steps':>5} "
        f"{'reach':>14} {'seconds':>9} {'steps':>5} {'all':>6} {'alone':>7} {'ours':>5} {'mbi':>5}"
    )
    for one in sets:
        mbi = apart("pgm_mbi", "measure", one, limit_seconds)
        ours = apart("pgm_ours", "measure", one, mbi.cold.loss, mbi.warm.loss)
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
    """One line for each workload: all its marginals and their L1 distances, from the same model."""
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
            first, again, asked, theirs = apart("pgm_mbi", "ask", one, cliques, references, ASKING_SECONDS)
            seconds, ours = apart("pgm_ours", "ask", one, cliques, references)
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
