"""DP-SUBN: horizontal parties update a Bayesian network one after the other.

Source: Cheng et al., "Multi-party high-dimensional data publishing under differential privacy" (2019), after
its published description: correlations of pairs from a non-overlapping covering design, a search frontier
of strongly correlated pairs, and parties that use the results of the parties before them as prior knowledge.

Each record belongs to one party, so each party spends the whole budget (parallel composition): a third on
correlations, a third on the network, a third on its tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from ...common.data.view import View
from ...common.privacy.budget import Budget
from ...curator.measurers.measurer import Query
from ...curator.mechanisms.privbayes.levels import Levels, Node, Nodes
from ...curator.mechanisms.privbayes.network import BayesianNetwork, DrawingStep
from ...curator.people.drawing.conditional import mutual_information
from ..parties.partition import Grid
from .baseline import Array, Baseline, FloatMeasurer, horizontal_parties
from .covering import covering_views

FRONTIER = 4
"""Size of the search frontier: the most correlated attributes among those before one."""
_THIRD = Fraction(1, 3)
_NOISES_PER_CELL = 4.0
_MOST_PARENTS = 3

Parents = dict[str, Clique]


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """Rows of the network that the parties agree on; they measure as this module says, `protocol` is ignored.

    Raises:
        DataError: a party does not hold all attributes.
    """
    parties = horizontal_parties("dp-subn", table, grid)
    granted = budget.granted(gaussian_only=False)
    measurers = [
        FloatMeasurer(rows, granted, stream.child("party", str(number)).generator())
        for number, rows in enumerate(parties)
    ]
    domain = table.domain
    correlations = _correlations(domain, measurers, granted * _THIRD)
    order = _order(domain, correlations)
    frontier = {name: _closest(name, order[:place], correlations) for place, name in enumerate(order)}
    part = granted * _THIRD / len(domain)
    sigma = math.sqrt(len(parties) * measurers[0].expected_sigma(View(()), part) ** 2)
    candidates = {
        name: _candidates(domain, name, frontier[name], table.record_count, sigma) for name in order
    }
    parents: Parents = {name: found[0] for name, found in candidates.items()}
    for rows, measurer in zip(parties, measurers, strict=True):
        parents = _update_parents(rows, measurer, parents, candidates, part)
    network = _network(domain, measurers, order, parents, part, table.record_count)
    return network.generate(table.record_count, stream.child("rows").generator())


def _correlations(
    domain: Domain, measurers: Sequence[FloatMeasurer], rho: Fraction
) -> Mapping[frozenset[str], float]:
    """The mutual information of every pair, from noisy views that the curator adds up."""
    views = covering_views(domain)
    found = {}
    for view, values in zip(views, _sum_over_parties(measurers, views, rho, "views"), strict=True):
        joint = values.reshape(domain.shape(view))
        for pair in combinations(range(len(view)), 2):
            others = tuple(axis for axis in range(len(view)) if axis not in pair)
            names = frozenset(view[axis] for axis in pair)
            found[names] = mutual_information(joint.sum(axis=others))
    return found


def _sum_over_parties(
    measurers: Sequence[FloatMeasurer], cliques: Sequence[Clique], rho: Fraction, step: str
) -> list[Array]:
    """Every party's noisy marginals, the budget split evenly, added up."""
    if not cliques:
        return []
    part = rho / len(cliques)
    queries = [Query(View(clique), part, step) for clique in cliques]
    answers = [[found.values for found in measurer.measure(queries)] for measurer in measurers]
    return [np.sum(values, axis=0) for values in zip(*answers, strict=True)]


def _order(domain: Domain, correlations: Mapping[frozenset[str], float]) -> list[str]:
    """Attributes in the order in which they join: always the one most correlated with any before it."""
    left = list(domain.names)
    order = [left.pop(0)]
    closest = {name: correlations[frozenset((name, order[0]))] for name in left}
    while left:
        name = max(left, key=closest.__getitem__)
        left.remove(name)
        order.append(name)
        for other in left:
            closest[other] = max(closest[other], correlations[frozenset((name, other))])
    return order


def _closest(name: str, others: Sequence[str], correlations: Mapping[frozenset[str], float]) -> list[str]:
    """The search frontier of an attribute, the strongest correlation first."""
    return sorted(others, key=lambda other: -correlations[frozenset((name, other))])[:FRONTIER]


def _candidates(
    domain: Domain, name: str, frontier: Sequence[str], records: int, sigma: float
) -> list[Clique]:
    """Sets of parents whose table exceeds its noise; most parents and strongest correlations first."""
    found: list[Clique] = []
    for count in range(min(_MOST_PARENTS, len(frontier)), -1, -1):
        for chosen in combinations(frontier, count):
            cells = domain.cells((name, *chosen))
            if not chosen or records / cells >= _NOISES_PER_CELL * sigma:
                found.append(domain.canonical(chosen))
    return found


def _update_parents(
    rows: Table,
    measurer: FloatMeasurer,
    parents: Parents,
    candidates: Mapping[str, Sequence[Clique]],
    part: Fraction,
) -> Parents:
    """One party's turn: for each attribute, the best of the frontier's parents on its own rows."""
    chosen = dict(parents)
    n = rows.record_count
    # Bound on the change of n times a mutual information by one record (PrivBayes 2017, Lemma 1). Leaving one
    # out changes it by at most log n + 1 + log s, s the values of an attribute: less, while s < 0.68 n.
    sensitivity = 2 * math.log((n + 1) / 2) + (n - 1) * math.log((n + 1) / (n - 1)) if n > 1 else 1.0
    for name, sets in candidates.items():
        if len(sets) > 1:
            scores = [n * mutual_information(_joint(rows, name, found)) for found in sets]
            chosen[name] = sets[measurer.choose(scores, sensitivity, part, "network")]
    return chosen


def _joint(rows: Table, name: str, parents: Clique) -> Array:
    """Counts of shape (codes of the attribute, cells of its parents)."""
    clique = rows.domain.canonical((name, *parents))
    counts = rows.marginal(clique).reshape(rows.domain.shape(clique)).astype(np.float64)
    return np.moveaxis(counts, clique.index(name), 0).reshape(rows.domain[name].size, -1)


def _network(
    domain: Domain,
    measurers: Sequence[FloatMeasurer],
    order: Sequence[str],
    parents: Parents,
    part: Fraction,
    records: int,
) -> BayesianNetwork:
    """The network with tables that are the sums of the parties' noisy ones."""
    # Only one level: no attribute is coarsened.
    levels = Levels(domain, max(2, *(attribute.size for attribute in domain.attributes)))
    cliques = [domain.canonical((name, *parents[name])) for name in order]
    tables = _sum_over_parties(measurers, cliques, part * len(domain), "tables")
    steps = []
    for name, clique, values in zip(order, cliques, tables, strict=True):
        nodes: Nodes = tuple(Node(each, 0) for each in clique)
        steps.append(DrawingStep.of(levels, Node(name, 0), nodes, values))
    return BayesianNetwork(levels, tuple(steps), float(records), "with-replacement")


DP_SUBN = Baseline(
    "DP-SUBN",
    "Parties that hold whole rows update a Bayesian network one after the other: correlations from a "
    "covering design, a search frontier of strongly correlated pairs, one exponential mechanism for each "
    "attribute.",
    (
        "Of the authors' three variants the paper uses the third; the public description does not tell them "
        "apart, so it is open which of them this is.",
        "The budget is split in thirds, for correlations, network and tables, by zero-concentrated "
        "accounting with Gaussian noise; the authors add Laplace noise under pure differential privacy.",
        "Attributes join in the order of a maximum spanning tree of noisy mutual information, the frontier "
        "of each holds the four most correlated ones before it, at most three of them become parents, if an "
        "average cell of the table is at least four standard deviations of noise.",
        "Each party has one turn, and selects by the mutual information of its own rows; the parties' noisy "
        "tables are summed.",
        "The covering design is a greedy one of views of two to four attributes that share no pair.",
    ),
    release,
)
