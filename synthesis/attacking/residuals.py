"""What the published measurements tell of a record, to somebody who knows all other rows.

Each published interaction is the real one with noise: the interaction of independent Gaussian noise of its
stated standard deviation. A record adds to it the interaction of one cell. So for a record x with this
contribution v, and with the errors z of all interactions (published minus real), divided by their deviations,

    log likelihood ratio of "x is in" and "x is not" = <v, z> + |v|^2 / 2   if x is in the table,
                                                       <v, z> - |v|^2 / 2   if it is not,

which are normal with means +-mu^2 / 2 and variance mu^2 for mu = |v|: no attack on these measurements is
better (Neyman and Pearson). The scores of different records depend on each other through one draw of the
noise. Those of all records that could be together determine the errors, and their noise is a known number of
independent normal numbers, which is what a bound from one release has to rest on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...common.data.domain import Clique, Domain
from ...common.data.interactions import difference_count, freedom, interaction
from ...common.data.table import Table
from ...common.privacy.cost import Adjacency
from ...curator.results.evidence import Evidence

Array = NDArray[np.float64]

_LEAST = 1e-6
"""A bound says nothing of noise of less than this part of the stated variance."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """The errors of the published interactions; private.

    Attributes:
        domain: of the table.
        errors: interaction -> published minus real, shape (n_r,).
        sigmas: standard deviation of the noise of one cell, as stated.
    """

    domain: Domain
    errors: Mapping[Clique, Array]
    sigmas: Mapping[Clique, float]

    @classmethod
    def of(cls, evidence: Evidence, table: Table) -> Residuals:
        """The errors of a release of these rows.

        Args:
            evidence: of the release.
            table: the real rows, as the release coded them.
        """
        domain, errors = evidence.domain, {}
        for clique, known in evidence.known.items():
            real = interaction(table.marginal(clique).astype(np.float64), domain.shape(clique))
            errors[clique] = known.values - real
        return cls(domain, errors, {clique: known.sigma for clique, known in evidence.known.items()})

    @property
    def freedom(self) -> int:
        """Number of independent numbers in the noise."""
        return sum(difference_count(self.domain.shape(clique)) for clique in self.errors)

    @property
    def squared(self) -> float:
        """Sum of their squares, each over its stated variance."""
        return sum(self._squared(clique) for clique in self.errors)

    @property
    def scale(self) -> float:
        """The scale of the noise that was drawn over the stated one, about; at least a thousandth."""
        return math.sqrt(max(self.squared / self.freedom, _LEAST))

    def less_noise(self) -> tuple[float, Clique]:
        """How likely so little noise is if it is as stated, and the measurement that has least for its size.

        Twice the smaller of two probabilities: of all measurements together, and of the most unlikely one
        times their number.
        """
        each = {
            clique: float(stats.chi2.cdf(self._squared(clique), difference_count(self.domain.shape(clique))))
            for clique in self.errors
        }
        worst = min(each, key=lambda clique: each[clique])
        together = float(stats.chi2.cdf(self.squared, self.freedom))
        return min(1.0, 2 * min(together, len(each) * each[worst])), worst

    def more_noise(self) -> float:
        """How likely so much noise is if it is as stated."""
        return float(stats.chi2.sf(self.squared, self.freedom))

    def mu(self, adjacency: Adjacency) -> tuple[float, Clique]:
        """The largest mu of two neighbouring tables by these measurements, and what the two have in common.

        Of a record that is added or removed it is the same for all: the interaction of a cell has one norm.
        Of two records, it follows from the columns in which they agree, which are searched for.

        Returns:
            mu, and the columns in which the two records agree that tell most; none if one is removed.
        """
        alone = sum(freedom(self.domain.shape(clique)) / self.sigmas[clique] ** 2 for clique in self.errors)
        if adjacency is not Adjacency.REPLACE_ONE:
            return math.sqrt(alone), ()
        names = list(dict.fromkeys(name for clique in self.errors for name in clique))
        agree: set[str] = set()
        least = self._common(agree)
        while better := [
            (self._common(agree ^ {name}), name) for name in names if agree ^ {name} != {*names}
        ]:
            common, name = min(better)
            if common >= least:
                break
            least, agree = common, agree ^ {name}
        return math.sqrt(2 * alone - 2 * least), self.domain.canonical(agree) if agree else ()

    def scores(self, columns: Sequence[NDArray[np.integer]]) -> Array:
        """<v, z> of records, shape (N,).

        Args:
            columns: their codes, one array of shape (N,) for each attribute.
        """
        found = np.zeros(len(columns[0]))
        for clique, errors in self.errors.items():
            found += errors[self.places(clique, columns)] / self.sigmas[clique] ** 2
        return found

    def places(self, clique: Clique, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.intp]:
        """The cell of each record in a marginal, shape (N,)."""
        codes = [columns[self.domain.position(name)].astype(np.intp) for name in clique]
        return np.ravel_multi_index(codes, self.domain.shape(clique))

    def of_column(self, name: str) -> Iterator[Clique]:
        """The interactions of a column."""
        return (clique for clique in self.errors if name in clique)

    def weight(self, name: str) -> float:
        """By how much <v, v'> of a record is larger for its own value of a column than for another."""
        return sum(
            freedom(
                [size for one, size in zip(clique, self.domain.shape(clique), strict=True) if one != name]
            )
            / self.sigmas[clique] ** 2
            for clique in self.of_column(name)
        )

    def _common(self, agree: set[str]) -> float:
        """<v, v'> of two records that agree in these columns and in no others."""
        return sum(
            math.prod((name in agree) - 1 / self.domain[name].size for name in clique)
            / self.sigmas[clique] ** 2
            for clique in self.errors
        )

    def _squared(self, clique: Clique) -> float:
        errors = self.errors[clique]
        return float(errors @ errors) / self.sigmas[clique] ** 2


def least_mu(residuals: Residuals, mu: float, alpha: float) -> float:
    """A lower bound on the mu of two tables, by the noise that was drawn.

    The noise may have another scale than stated, the same multiple s of every deviation; then mu is the
    stated one over s. The sum of squares over the stated variances is s^2 chi-square, which bounds s from
    above.

    Assumes (not enforced): the noise is Gaussian.

    Args:
        residuals: the errors of the release.
        mu: by the stated noise.
        alpha: probability with which the bound may exceed the mu of the noise.
    """
    quantile = float(stats.chi2.ppf(alpha, residuals.freedom))
    return mu * math.sqrt(quantile / max(residuals.squared, _LEAST * residuals.freedom))
