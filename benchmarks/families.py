"""All mechanisms on families of generated tables (`tables.py`): errors, accuracy, seconds and memory.

Reference: the best other mechanism of the same run, for each figure separately. A ratio below 1 says that
`mosaic` is closer; of the accuracy of a learner the difference is shown. Seconds and MiB are those of the
release in a process of its own (`families_cell.py`), its start-up and the table left out of the seconds.
A release that takes more than --limit seconds of processor time (of all threads: it does not depend on what
else the machine does) is out of time and has no figures.

"gain" is the share of what marginals of the structure's order bring at best, where a family has such a
structure: (mosaic - exact pairs) / (exact structure - exact pairs), of the accuracy, of all triples and of
the structure's own distance.

Results are kept in a JSON file; cells that are there are not run again, so that a stopped run resumes. One
that was out of time is, once --limit is larger.

Run: python benchmarks/families.py [FAMILY...] [--epsilon 0.1 1 10] [--seeds NUMBER] [--mechanism NAME...]
    [--protocol trusted] [--half reported] [--limit 300] [--out families.json] [--page docs/families.md]

`--page` puts the tables in place of those of the page.
A FAMILY is parity, regions, copula, latent, zipf, small, dependent or narrow, or one of their variants.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

from families_cell import GRIDS, REFERENCES, Cell, Figures, figures
from families_page import markdown
from families_shown import show
from published_tables import placed
from tables import CHOSEN_ON, REPORTED, VARIANTS

from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, entry_named

HALVES = {"chosen": (CHOSEN_ON, 2), "reported": (REPORTED, 1)}
"""Variants and first seed of each half; seeds have the same parity."""

MECHANISMS = tuple(name for name in CATALOGUE if name not in ("mwem", "dp-gan"))
"""All but two that are there for comparison with others' figures."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the missing cells, then prints the comparison."""
    asked = _parsed(arguments)
    results = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    cells = list(_cells(asked))
    for cell in cells:
        found = results.get(cell.key)
        if found is None or found.get("limit_s", math.inf) < asked.limit:
            results[cell.key] = _rounded(figures(cell, asked.limit))
            _keep(asked.out, results)
            print(cell.key, _line(results[cell.key]), flush=True)
    found = [(cell, results[cell.key]) for cell in cells]
    show(found)
    if asked.page:
        page = placed(asked.page.read_text(encoding="utf-8"), markdown(found))
        asked.page.write_text(page, encoding="utf-8")


def variants(half: str, named: list[str]) -> list[str]:
    """The variants of a half that have one of these names or are of a family of these names; all by default.

    Raises:
        ValueError: a name is of no variant of the half.
    """
    of_half = HALVES[half][0]
    known = {*of_half, *(VARIANTS[variant].family for variant in of_half)}
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"families: expected some of {', '.join(sorted(known))}; got {', '.join(unknown)}")
    return [v for v in of_half if not named or v in named or VARIANTS[v].family in named]


def _cells(asked: argparse.Namespace) -> Iterator[Cell]:
    """The cells of one table after the other, its references first."""
    first = HALVES[asked.half][1]
    tables = (
        (variant, first + 2 * place)
        for variant in variants(asked.half, asked.families)
        for place in range(asked.seeds or VARIANTS[variant].seeds)
    )
    for variant, seed in tables:
        references = REFERENCES if VARIANTS[variant].structured else REFERENCES[:1]
        yield from (Cell(variant, "", 0, seed, name) for name in references)
        for protocol, epsilon, name in itertools.product(asked.protocol, asked.epsilon, asked.mechanism):
            if protocol in entry_named(name).protocols:
                yield Cell(variant, protocol, epsilon, seed, name)


def _keep(path: Path, results: dict[str, Figures]) -> None:
    """Replaces the file in one step, so that a stopped run leaves it whole; a line for each cell."""
    lines = [f"{json.dumps(key)}: {json.dumps(results[key])}" for key in sorted(results)]
    beside = path.with_name(path.name + ".part")
    beside.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(beside, path)


def _rounded(found: Figures) -> Figures:
    """The figures in four digits."""
    return {
        name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in found.items()
    }


def _line(found: Figures) -> str:
    return "  ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.items()
        if value is not None
    )


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*")
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--seeds", type=int, help="instead of each variant's own number")
    parser.add_argument("--mechanism", nargs="+", choices=list(CATALOGUE), default=list(MECHANISMS))
    parser.add_argument("--protocol", nargs="+", choices=list(GRIDS), default=["trusted"])
    parser.add_argument("--half", choices=list(HALVES), default="reported")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--out", type=Path, default=Path("families.json"))
    parser.add_argument("--page", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
