"""Patients, their stays and what was found in these: related tables with public domains."""

import numpy as np
import pandas as pd

import dpmosaic
from dpmosaic.curator.results.table_format import TableFile, TableFormat

RELATIONS = {"stays": {"id": "patients"}, "codes": {"stay": "stays"}}
ORDER = {"stays": "day"}
DOMAINS = {
    "patients": {
        "sex": ["f", "m"],
        "born": {"type": "numeric", "min": 1930, "max": 2009, "bins": 8, "integer": True},
    },
    "stays": {
        "ward": ["a", "b", "c"],
        "day": {"type": "date", "min": "2020-01-01", "max": "2022-12-31", "bins": 12},
    },
    "codes": {"code": ["x", "y", "z"]},
}


def patients(people=400, seed=1, heaviest=6):
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(people), rng.integers(0, heaviest, people))
    stays = pd.DataFrame(
        {
            "stay": [f"S{place}" for place in range(len(whose))],
            "id": whose + 1000,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, len(whose)), unit="D"),
            "ward": rng.choice(["a", "b", "c"], len(whose)),
        }
    )
    of = np.repeat(np.arange(len(stays)), rng.integers(0, 3, len(stays)))
    codes = pd.DataFrame({"stay": stays["stay"].to_numpy()[of], "code": rng.choice(["x", "y", "z"], len(of))})
    root = pd.DataFrame(
        {
            "id": np.arange(people) + 1000,
            "sex": rng.choice(["f", "m"], people),
            "born": rng.integers(1930, 2010, people),
        }
    )
    return {"patients": root, "stays": stays, "codes": codes}


def saved_and_loaded(made, folder, table_format):
    """A release of related tables, written in a format and read again."""
    folder.mkdir()
    made.write(folder, TableFile(TableFormat(table_format)))
    return dpmosaic.load_people(folder)


def release(data=None, epsilon=2.0, **options):
    defaults = {
        "relations": RELATIONS,
        "order": ORDER,
        "domain": DOMAINS,
        "mechanism": "independent",
        "progress": False,
    }
    return dpmosaic.synthesize(patients() if data is None else data, epsilon, **defaults | options)
