"""Releases related tables by `dpsynth.relational`; run by `people.py --dpsynth PYTHON`, which has dpsynth.

It reads FOLDER/asked.json and a CSV file for each table, and writes each table's CSV file to FOLDER/made.

Run: PYTHON benchmarks/people_dpsynth.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dpsynth import discrete_mechanisms
from dpsynth.domain import CategoricalAttribute, NumericalAttribute
from dpsynth.relational import ForeignKeyRelation, MultiTableConfig


def main() -> None:
    """Makes the release."""
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "asked.json").read_text())
    tables = {name: _read(folder / f"{name}.csv", columns) for name, columns in asked["columns"].items()}
    mechanism = MultiTableConfig(
        domains={
            name: {column: _attribute(stated) for column, stated in columns.items()}
            for name, columns in asked["columns"].items()
        },
        foreign_keys=[
            ForeignKeyRelation(parent, key, child, foreign, asked["children"])
            for parent, key, child, foreign in asked["relations"]
        ],
        discrete_mechanism=discrete_mechanisms.MSTConfig(pgm_iters=asked["iterations"]),
        num_permutation_slots=min(3, asked["children"]),
        exploration_strategy="size_sliced",
    ).configure(zcdp_rho=asked["zcdp_rho"])
    made = mechanism(np.random.default_rng(asked["seed"]), tables)
    (folder / "made").mkdir()
    for name, rows in made.synthetic_tables.items():
        rows.to_csv(folder / "made" / f"{name}.csv", index=False)


def _read(path: Path, columns: dict[str, Any]) -> pd.DataFrame:
    """A table, whose columns of texts are texts also where they look like numbers or are empty."""
    texts = {column: str for column, stated in columns.items() if "values" in stated}
    rows = pd.read_csv(path, dtype=texts)
    return rows.assign(**{column: rows[column].fillna("") for column in texts})


def _attribute(stated: dict[str, Any]) -> CategoricalAttribute | NumericalAttribute:
    if "values" in stated:
        return CategoricalAttribute(stated["values"])
    return NumericalAttribute(
        stated["low"],
        stated["high"],
        dtype="int" if stated["whole"] else "float",
        interval_handling="sample",
    )


if __name__ == "__main__":
    main()
