"""A small table whose statistics are known, and releases of it with other statistics and known noise."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.curator.results.evidence import Evidence, Known
from dpmosaic.curator.results.frames import typed_frame

DOMAIN = Domain(
    (
        NumericAttribute("age", 20, 29, 10),
        CategoricalAttribute("school", ("low", "middle", "high")),
        BooleanAttribute("rural"),
        NumericAttribute("income", 0, 7, 8, nullable=True),
        CategoricalAttribute("owner", ("no", "yes")),
    )
)
"""Whole numbers have bins of their own, so that codes say all."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What estimators need of a release."""

    rows: Table
    frame: pd.DataFrame
    evidence: Evidence | None
    model: Any = None

    @property
    def domain(self) -> Domain:
        return self.rows.domain

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def records(self) -> float:
        return float(self.rows.record_count)


def people(seed: int, count: int = 4000, missing: float = 0.05) -> pd.DataFrame:
    """A random sample of a population."""
    rng = np.random.default_rng(seed)
    age = 20 + rng.binomial(9, 0.4, count)
    school = rng.binomial(2, 0.3 + 0.04 * (age - 20))
    rural = rng.random(count) < 0.4 - 0.1 * school
    mean = 1 + 0.25 * (age - 20) + 0.8 * school - 0.7 * rural
    income = np.clip(np.round(mean + rng.normal(size=count)), 0, 7)
    odds = -2.5 + 0.5 * income + 0.6 * rural + 0.1 * (age - 20)
    owner = rng.random(count) < 1 / (1 + np.exp(-odds))
    return pd.DataFrame(
        {
            "age": age,
            "school": np.array(["low", "middle", "high"], dtype=object)[school],
            "rural": rural,
            "income": np.where(rng.random(count) < missing, np.nan, income),
            "owner": np.where(owner, "yes", "no").astype(object),
        }
    )


def tilted(frame: pd.DataFrame, seed: int, size: float = 0.3) -> pd.DataFrame:
    """Rows of a table drawn with other frequencies: other means, shares and slopes."""
    rng = np.random.default_rng(seed)
    income, age = frame["income"].fillna(3) - 3, frame["age"] - 23
    tilt = 0.2 * income + 0.6 * frame["rural"] * (frame["owner"] == "yes") - 0.03 * income * age
    weights = np.exp(size * np.clip(tilt, -3, 3)).to_numpy()
    drawn = rng.choice(len(frame), len(frame), p=weights / weights.sum())
    return frame.take(drawn).reset_index(drop=True)


def coded(frame: pd.DataFrame, domain: Domain = DOMAIN) -> Table:
    columns: Mapping[str, Any] = {name: frame[name].to_numpy(dtype=object) for name in domain}
    return encode_table(domain, columns)


def measured(
    table: Table, sigma: float, seed: int, cliques: Sequence[Clique] | None = None, largest: int = 2
) -> Evidence:
    """Noisy interactions of these cliques, by default of all up to a size."""
    rng, domain, known = np.random.default_rng(seed), table.domain, {}
    if cliques is None:
        cliques = [c for k in range(1, largest + 1) for c in itertools.combinations(domain.names, k)]
    for clique in cliques:
        shape = domain.shape(clique)
        noisy = table.marginal(clique) + sigma * rng.standard_normal(math.prod(shape))
        known[clique] = Known(interaction(noisy, shape), sigma)
    return Evidence(domain, float(table.record_count), known)


def survey(table: Table, evidence: Evidence | None, model: Any = None) -> Survey:
    frame = typed_frame(table, table.domain.columns, np.random.default_rng(0))
    return Survey(table, frame, evidence, model)
