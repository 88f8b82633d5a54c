"""What the published measurements tell of a record, to somebody who knows all other rows.

Each published interaction, of codes or of groups of codes, is the real one with noise: the interaction of
independent Gaussian noise of its stated standard deviation. A record adds to it the interaction of one cell.
So for a record x with this contribution v, and with the errors z of all interactions (published minus real),
divided by their deviations,

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
from ...common.data.grouping import Grouping, grouped
from ...common.data.interactions import freedom
from ...common.data.table import Table
from ...common.data.view import View
from ...common.privacy.cost import Adjacency
from ...curator.results.evidence import Evidence
from .neighbours import one_record, two_records

Array = NDArray[np.float64]
Codes = NDArray[np.integer]

_LEAST = 1e-6
"""A bound says nothing of noise of less than this part of the stated variance."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """The errors of the published interactions; private.

    Attributes:
        domain: of the table.
        errors: interaction -> published minus real, shape (cells,).
        sigmas: standard deviation of the noise of one cell, as stated.
    """

    domain: Domain
    errors: Mapping[View, Array]
    sigmas: Mapping[View, float]

    @classmethod
    def of(cls, evidence: Evidence, table: Table) -> Residuals:
        """The errors of a release of these rows.

        Args:
            evidence: of the release.
            table: the real rows, as the release coded them.
        """
        domain, errors, sigmas = evidence.domain, {}, {}
        for view, known in evidence.views.items():
            errors[view] = known.values - view.of_cells(view.counted(table).astype(np.float64), domain)
            sigmas[view] = known.sigma
        return cls(domain, errors, sigmas)

    @property
    def freedom(self) -> int:
        """Number of independent numbers in the noise."""
        return sum(view.sent_count(self.domain) for view in self.errors)

    @property
    def squared(self) -> float:
        """Sum of their squares, each over its stated variance."""
        return sum(self._squared(view) for view in self.errors)

    @property
    def scale(self) -> float:
        """The scale of the noise that was drawn over the stated one, about; at least a thousandth."""
        return math.sqrt(max(self.squared / self.freedom, _LEAST))

    def less_noise(self) -> tuple[float, Clique]:
        """How likely so little noise is if it is as stated, and the measurement that has least for its size.

        Twice the smaller of two probabilities: of all measurements together, and of the most unlikely one
        times their number.
        """
        least, worst = min(
            (float(stats.chi2.cdf(self._squared(view), view.sent_count(self.domain))), view.clique)
            for view in self.errors
        )
        together = float(stats.chi2.cdf(self.squared, self.freedom))
        return min(1.0, 2 * min(together, len(self.errors) * least)), worst

    def more_noise(self) -> float:
        """How likely so much noise is if it is as stated."""
        return float(stats.chi2.sf(self.squared, self.freedom))

    def mu(self, adjacency: Adjacency) -> tuple[float, Clique]:
        """The largest mu of two neighbouring tables by these measurements, and what the two have in common.

        Returns:
            mu, and the columns in which the two records agree that tell most; none if one is removed.
        """
        if adjacency is not Adjacency.REPLACE_ONE:
            return math.sqrt(one_record(self.domain, self.sigmas)), ()
        squared, agree = two_records(self.domain, self.sigmas)
        return math.sqrt(squared), agree

    def scores(self, columns: Sequence[Codes]) -> Array:
        """<v, z> of records, shape (N,).

        Args:
            columns: their codes, one array of shape (N,) for each attribute.
        """
        found = np.zeros(len(columns[0]))
        for view, errors in self.errors.items():
            places = np.ravel_multi_index(self._groups(view, columns), view.shape(self.domain))
            found += errors[places] / self.sigmas[view] ** 2
        return found

    def scores_by_value(self, name: str, columns: Sequence[Codes]) -> Array:
        """<v, z> of records with each value of a column, but for what all values add, shape (N, values).

        Args:
            name: the column.
            columns: codes of the records, as for `scores`.
        """
        found = np.zeros((len(columns[0]), self.domain[name].size))
        for view, labels in self._of_column(name):
            axis, groups = view.clique.index(name), self._groups(view, columns)
            cells = self.errors[view].reshape(view.shape(self.domain)) / self.sigmas[view] ** 2
            by_value = np.moveaxis(cells, axis, -1)[..., self._group_of_each(name, labels)]
            found += by_value[tuple(one for place, one in enumerate(groups) if place != axis)]
        return found

    def gains(self, name: str, codes: Codes) -> Array:
        """<v, v'> of records and themselves with each value of a column, but for what all values add.

        Args:
            name: the column.
            codes: what the records have in it, shape (N,).

        Returns:
            Shape (N, values).
        """
        weights: dict[Grouping, float] = {}
        for view, labels in self._of_column(name):
            sizes = zip(view.clique, view.shape(self.domain), strict=True)
            others = freedom([size for one, size in sizes if one != name])
            weights[labels] = weights.get(labels, 0.0) + others / self.sigmas[view] ** 2
        found = np.zeros((len(codes), self.domain[name].size))
        for labels, weight in weights.items():
            each = self._group_of_each(name, labels)
            found += weight * (each[codes][:, None] == each)
        return found

    def _of_column(self, name: str) -> Iterator[tuple[View, Grouping]]:
        """The interactions of a column, each with the groups in which it has the column's codes."""
        for view in self.errors:
            for one, labels in view.groupings:
                if one == name:
                    yield view, labels

    def _groups(self, view: View, columns: Sequence[Codes]) -> list[NDArray[np.intp]]:
        """The groups of each record in the attributes of an interaction."""
        return [
            self._group_of_each(name, labels)[columns[self.domain.position(name)]]
            for name, labels in view.groupings
        ]

    def _group_of_each(self, name: str, labels: Grouping) -> NDArray[np.intp]:
        """The group of each code of an attribute."""
        size = self.domain[name].size
        return grouped(np.arange(size), size, labels)[0].astype(np.intp)

    def _squared(self, view: View) -> float:
        errors = self.errors[view]
        return float(errors @ errors) / self.sigmas[view] ** 2


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
