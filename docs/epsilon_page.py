"""The page on which a reader chooses epsilon: python docs/epsilon_page.py FILE."""

import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import FileSystemLoader

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import DEFAULT_DELTA
from dpmosaic.common.privacy.cost import MAX_INTERACTION_SIZE
from dpmosaic.common.version import __version__
from dpmosaic.curator.forecasting.outlook import MarginalOutlook
from dpmosaic.curator.mechanisms.mosaic import grouped_rounds, grouping
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS
from dpmosaic.curator.mechanisms.parts.allocation import EXPECTED_L1
from dpmosaic.curator.pgm.rows.refinement import SWEEP_WORK
from dpmosaic.curator.report.page import TEMPLATES, environment
from dpmosaic.curator.work import limits
from dpmosaic.simulations.foreseen import forecast_simulation

TEMPLATE = Path(__file__).resolve().parent / "epsilon"

ROWS = (1_000, 10_000, 100_000)
EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
COLUMNS, VALUES = 15, 10
"""What is shown where there is no script, and first where there is."""

OF_SETTINGS = (
    "detectable group_noise group_share larger_rounds larger_scores one_way poor_score round rounds scores "
    "small small_survey useless"
)
OF_LIMITS = (
    "CANDIDATE_CELLS MAX_CANDIDATES SECONDS _CANDIDATES_SHARE _DRAFTS _LARGER_SHARE _MOST_COUNTED _ROWS "
    "_SCORING_SHARE _S_PER_ADJUSTED _S_PER_CANDIDATE _S_PER_CELL _S_PER_RECORD _S_PER_RECORD_OF_LARGER "
    "_S_PER_SCORED_LARGER"
)


def given() -> dict[str, Any]:
    """The constants of the program by which the script computes."""
    held = {name: getattr(SETTINGS, name) for name in OF_SETTINGS.split()}
    held |= {name.strip("_").lower(): getattr(limits, name) for name in OF_LIMITS.split()}
    return held | {
        "orders": len(SETTINGS.orders),
        "expected_l1": EXPECTED_L1,
        "candidate_mb": Mosaic.max_model_mb,
        "max_values": MAX_INTERACTION_SIZE,
        "sweep_work": SWEEP_WORK,
        "grouped_cells": grouping._GROUPED_CELLS,
        "most_scored": grouped_rounds.MOST_SCORED,
    }


def foreseen(
    rows: int, columns: int, values: int, epsilon: float, delta: float = DEFAULT_DELTA
) -> tuple[MarginalOutlook, ...]:
    """What the dry run expects of a count and of all pairs of such a table; it reads no row."""
    domain = Domain.coded({f"c{place}": values for place in range(columns)})
    table = Table.from_codes(domain, np.zeros((rows, columns), np.uint16))
    pairs = Workload.parse(domain, "2way").cliques if columns > 1 else ()
    cliques = (domain.names[:1], *pairs)
    workload = Workload(cliques, (1.0,) * len(cliques))
    return forecast_simulation(table, epsilon, delta=delta, workload=workload).outlook.marginals


@cache
def pair_errors() -> dict[tuple[int, float], float]:
    """The largest error of a pair, as a share of the rows, by rows and epsilon."""
    return {
        (rows, epsilon): foreseen(rows, COLUMNS, VALUES, epsilon)[-1].largest_error
        for rows, epsilon in product(ROWS, EPSILONS)
    }


def write(path: Path) -> None:
    """Writes the page."""
    pages = environment().overlay(loader=FileSystemLoader([TEMPLATE, TEMPLATES]))
    text = pages.get_template("page.html").render(
        version=__version__,
        given=given(),
        rows=ROWS,
        epsilons=EPSILONS,
        columns=COLUMNS,
        values=VALUES,
        delta=DEFAULT_DELTA,
        shown=pair_errors(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
