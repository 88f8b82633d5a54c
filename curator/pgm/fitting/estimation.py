"""Fitting a graphical model to noisy marginals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....common.data.domain import Clique, Domain
from ....common.measurement import Measurement
from ..inference.oracle import MarginalOracle
from ..model import MarkovRandomField
from ..structure.junction_tree import JunctionTree
from .descent import descend
from .estimator import Problem
from .initial import initial_potentials
from .loss import split


def estimate(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    warm_start: MarkovRandomField | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-3,
    max_model_mb: float = 1024.0,
) -> MarkovRandomField:
    """Fit the distribution whose marginals are closest to the measurements (an `Estimator`).

    Minimises the sum over measurements of ||marginal - values||^2 / (2 sigma^2) over all distributions with
    the given total; of cells, or of sums over boxes. Without measurements the model is uniform. Cells that
    rules of the domain exclude have no weight in the model, and their measurements none in the loss.

    A fit that `max_iterations` stops, or that does not converge because scales of measurements are too far
    apart, still gives the best model found, and says so by `converged`: the budget of the measurements is
    spent, and a mechanism continues with this model.

    Source: McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for differential
        privacy (2019), the problem; `descend` has the method.

    Args:
        domain: attributes of the model.
        measurements: those of one clique are merged, one inside another counts separately.
        total: number of records.
        warm_start: earlier model with whose potentials the fit begins.
        max_iterations: largest number of moves.
        tolerance: stop when ten moves lower the loss by less than this share of it, or of half of the number
            of measured cells if that is more.
        max_model_mb: of beliefs; a fit also takes about 25 times the memory of the measured cells.
    """
    problem = Problem.of(domain, measurements, total=total, warm_start=warm_start, max_model_mb=max_model_mb)
    loss, mass = problem.loss, problem.total
    if not loss.cliques:
        return MarkovRandomField.uniform(domain, mass)
    tree = _tree(domain, loss.cliques, warm_start)
    oracle = MarginalOracle(tree, loss.cliques, mass)
    loss = loss.without(oracle.excluded_cells())
    known = {} if warm_start is None else warm_start.potentials
    with np.errstate(over="ignore", invalid="ignore"):
        start = initial_potentials(oracle, loss, known)
        end, iterations, converged = descend(oracle, loss, start, max_iterations, tolerance)
    oracle(end.potentials)
    return MarkovRandomField(
        domain=domain,
        tree=tree,
        beliefs=oracle.beliefs(),
        total=mass,
        potentials={
            clique: part.reshape(-1).copy()
            for clique, part in zip(loss.cliques, split(end.potentials, loss.shapes), strict=True)
        },
        loss=end.loss,
        iterations=iterations,
        converged=converged,
    )


def _tree(domain: Domain, cliques: Sequence[Clique], earlier: MarkovRandomField | None) -> JunctionTree:
    """A tree that contains the cliques: that of an earlier model if it has them all and is no larger."""
    tree = JunctionTree.build(domain, cliques)
    if earlier is None or earlier.tree.cells > tree.cells:
        return tree
    return tree if any(earlier.tree.home(clique) is None for clique in cliques) else earlier.tree
