"""The three scores of the 2018 NIST challenge: from 0 to 10^6, higher is better.

Source: Bao et al., "Synthetic data generation with differential privacy via Bayesian networks", section 4.
The challenge was about one table; here its gender, income and city are any three attributes. The scores are
computed from private rows: not for publication.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ...common.data.attributes.dates import bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Clique
from ...common.data.rules.plain import extent
from ...common.data.table import Table, check_comparable
from ...common.errors import DataError
from .distances import marginal_distance

PERFECT = 1e6
MARGINALS = 100
SUBSETS = 300

_LEAST_FREQUENCY = 1e-6
"""Smaller frequencies are raised to this, the contest's value, so that logarithms are finite."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pay:
    """The attributes of the regression score.

    Attributes:
        split: attribute by which amounts are compared (gender in the challenge): code 0 with all others.
        amount: attribute that is compared (income): a numeric attribute by the middles of its bins, any other
            by its codes; a missing value or a negative amount counts as 0.
        group: attribute within whose values the comparison is made (city).
    """

    split: str
    amount: str
    group: str


def clustering_score(real: Table, synthetic: Table, rng: np.random.Generator) -> float:
    """10^6 times one minus half the L1 distance of three-way marginals, averaged over 100 random ones.

    With fewer than three attributes, the marginal of all attributes is used.
    """
    check_comparable(real, synthetic)
    k = min(3, len(real.domain))
    distances = []
    for _ in range(MARGINALS):
        places = rng.choice(len(real.domain), size=k, replace=False)
        clique: Clique = tuple(real.domain.names[place] for place in sorted(places))
        distances.append(marginal_distance(real, synthetic, clique).total_variation)
    return PERFECT * (1 - float(np.mean(distances)))


def classification_score(real: Table, synthetic: Table, rng: np.random.Generator) -> float:
    """The similarity of the frequencies of random subsets of the domain, on a logarithmic scale.

    A third of the attributes is drawn, for each a random range if it is numeric and a random set of values
    otherwise, and the rows inside all of them are counted. With d the root mean square difference of the
    logarithms of the frequencies over 300 repeats, the score is 10^6 max(0, 1 + d / ln(1/1000)). The paper's
    text lacks the 1, without which every score is negative.
    """
    check_comparable(real, synthetic)
    names = real.domain.names
    squares = []
    for _ in range(SUBSETS):
        places = rng.choice(len(names), size=max(1, round(len(names) / 3)), replace=False)
        wanted = {names[place]: _subset(real, names[place], rng) for place in places}
        logs = [math.log(max(_LEAST_FREQUENCY, _frequency(table, wanted))) for table in (real, synthetic)]
        squares.append((logs[0] - logs[1]) ** 2)
    return PERFECT * max(0.0, 1 + math.sqrt(float(np.mean(squares))) / math.log(1 / 1000))


def regression_score(real: Table, synthetic: Table, pay: Pay) -> float:
    """The mean of a score of inequality and a score of pay gaps.

    Inequality: 10^6 times one minus the mean square difference between the Gini coefficients of amounts, over
    all groups and split values with rows in the real table; this is how we read the paper's "measured on the
    joint distribution of gender and income". Where the synthetic table has no such row, the difference is 1.

    Pay gap: the mean amount of split code 0 minus that of the others, 0 where either has no row. Groups with
    rows in the real table are ranked by it, with equal ranks for ties; the score is 10^6 times one minus the
    mean square difference of the ranks over its largest possible value, (m^2 - 1) / 3 for m groups.

    Raises:
        DataError: the three attributes are not different, or the split has one value.
    """
    check_comparable(real, synthetic)
    if len({pay.split, pay.amount, pay.group}) < 3:
        raise DataError(
            "the regression score needs three different attributes; name a split, an amount and a group"
        )
    if real.domain[pay.split].size < 2:
        raise DataError(f"{pay.split!r} has one value, so there is no gap to compare; name another split")
    counts = [_joint(table, pay) for table in (real, synthetic)]
    present = counts[0].sum(axis=2) > 0
    amounts = _amounts(real, pay.amount)
    ginis = [_ginis(count[present], amounts) for count in counts]
    apart = np.where(np.isnan(ginis[1]), 1.0, ginis[0] - ginis[1])
    groups = present.any(axis=1)
    ranks = [rankdata(_gaps(count[groups], amounts)) for count in counts]
    m = int(groups.sum())
    furthest = (m * m - 1) / 3
    moved = float(np.mean((ranks[0] - ranks[1]) ** 2)) / furthest if m > 1 else 0.0
    return PERFECT * (1 - float(np.mean(apart**2)) + 1 - moved) / 2


def _subset(table: Table, name: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random subset of the codes: a range if numeric, else any set that is not empty."""
    attribute = table.domain[name]
    inside = np.zeros(attribute.size, dtype=bool)
    bins = bins_of(attribute)
    if bins is not None:
        first, last = sorted(rng.integers(0, len(bins.cells), size=2).tolist())
        inside[first : last + 1] = True
    else:
        inside[:] = rng.random(attribute.size) < 0.5
        if not inside.any():
            inside[rng.integers(0, attribute.size)] = True
    return inside


def _frequency(table: Table, wanted: dict[str, NDArray[np.bool_]]) -> float:
    matching = np.ones(table.record_count, dtype=bool)
    for name, inside in wanted.items():
        matching &= inside[table.column(name)]
    return float(matching.mean())


def _joint(table: Table, pay: Pay) -> Array:
    """Counts of shape (groups, split values, amounts)."""
    clique = (pay.group, pay.split, pay.amount)
    return table.marginal(clique).reshape(table.domain.shape(clique)).astype(np.float64)


def _amounts(table: Table, name: str) -> Array:
    """The amount that each code stands for."""
    attribute = table.domain[name]
    if not isinstance(attribute, NumericAttribute):
        return np.arange(attribute.size, dtype=np.float64)
    middles: Array = np.nan_to_num(extent(attribute).mean(axis=1))
    return np.maximum(middles, 0.0)


def _ginis(counts: Array, amounts: Array) -> Array:
    """The Gini coefficient of each row of counts; NaN without a count, 0 where all amounts are 0.

    It is half the mean absolute difference of two draws, over the mean.
    """
    order = np.argsort(amounts, kind="stable")
    counts, amounts = counts[:, order], amounts[order]
    people = counts.sum(axis=1)
    money = counts @ amounts
    # A step between two amounts separates the people below from those above; each such pair differs by it.
    below = np.cumsum(counts, axis=1)[:, :-1]
    differences = (below * (people[:, None] - below)) @ np.diff(amounts)
    with np.errstate(divide="ignore", invalid="ignore"):
        ginis: Array = np.where(money > 0, differences / (people * money), 0.0)
    return np.where(people > 0, ginis, np.nan)


def _gaps(counts: Array, amounts: Array) -> Array:
    """For each group the mean amount of split code 0 minus that of the others, shape (groups,)."""
    first, others = counts[:, 0], counts[:, 1:].sum(axis=1)
    people = first.sum(axis=1), others.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = (first @ amounts) / people[0] - (others @ amounts) / people[1]
    return np.where((people[0] > 0) & (people[1] > 0), gaps, 0.0)
