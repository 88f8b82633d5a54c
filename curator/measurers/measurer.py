"""The interface between mechanisms and protocols: noisy answers to marginal queries at a stated zCDP cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups
from ...common.data.table import Table
from ...common.data.view import View
from ...common.errors import DataError
from ...common.measurement import Measurement
from ...common.privacy.budget import Accountant, Charge
from ...common.promises.dropout import Dropout
from ...common.protocols.masked.sampling import Sampling
from .lengths import Lengths
from .size import NoisySize, Supposed


@dataclass(frozen=True)
class Query:
    """A query of a mechanism.

    Attributes:
        view: what is measured.
        zcdp_rho: upper limit of its cost.
        step: step of the mechanism, under which the query is charged.
    """

    view: View
    zcdp_rho: Fraction
    step: str

    @property
    def clique(self) -> Clique:
        """Attributes of the marginal, in domain order."""
        return self.view.clique


@dataclass(frozen=True)
class Observer:
    """What an observer sees: the noise that hides a record from it, relative to the charged noise.

    Attributes:
        who: role that sees the answers.
        assumes: assumptions; "nothing" if there are none.
        noise_factor: noise that it sees, as a multiple of the charged noise; at least 1.
    """

    who: str
    assumes: str
    noise_factor: float

    def __post_init__(self) -> None:
        if not self.noise_factor >= 1:
            raise ValueError(
                "expected a noise factor of at least 1, since no observer may see less noise than was "
                "charged, "
                f"got {self.noise_factor}"
            )


@dataclass(frozen=True)
class Scores:
    """Noisy L1 distances, in records.

    Attributes:
        values: shape (views,).
        sigma: standard deviation of the noise of each value.
    """

    values: NDArray[np.float64]
    sigma: float


class Measurer(ABC):
    """Measures marginals of one table under one grant; charges its accountant before noise is drawn.

    Args:
        domain: domain of the whole table.
        record_count: records of the whole table; public.
        granted: upper limit of all costs, zCDP.
    """

    not_private: str | None = None
    """Why the result is not differentially private at the stated cost; None if it is."""

    before: tuple[Measurement, ...] = ()
    """Noisy one-way marginals of this table that a release before published, such as the choice of bins."""

    prior: Table | None = None
    """A public table of the same domain, known before; None without one."""

    prior_sigma: float = 0.0
    """Standard deviation of the noise with which cells of its pairs were measured; 0 for none."""

    sampling: Sampling | None = None
    """The sample of rows that answers for some cliques (`is_sampled`); None if all rows always answer."""

    observers: tuple[Observer, ...] = ()
    """What each observer sees, if some see more noise than was charged; otherwise empty."""

    _size: NoisySize | None = None
    """The number of records, if it is noisy and every marginal says more of it."""

    _lengths: Lengths | None = None
    """How rows of people count that weigh by length; None if all weights add up."""

    def __init__(self, domain: Domain, record_count: int, granted: Fraction) -> None:
        self.domain = domain
        self.record_count = record_count
        self.accountant = Accountant(granted)

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP."""
        return self.accountant.granted

    @property
    def dropouts(self) -> tuple[Dropout, ...]:
        """The parties that dropped out so far; see `DropoutPlan`."""
        return ()

    def suppose(self, records: Supposed) -> None:
        """Takes the number of records to be noisy, if it is not what parties state; marginals improve it."""
        self._size, self._lengths = records.size, records.lengths
        self.record_count = records.size.record_count

    def charge(self, *charges: Charge) -> None:
        """Charges the accountant before noise is drawn; the only way to spend budget.

        Raises:
            BudgetError: the charges exceed what is left; nothing is charged.
        """
        self.accountant = self.accountant.charge(*charges)

    @property
    def scores_exactly(self) -> bool:
        """Whether `score` is available: it adds noise to exact distances, not to marginals."""
        return False

    def measure(self, queries: Sequence[Query]) -> list[Measurement]:
        """Noisy marginals, in the order of the queries.

        Raises:
            DataError: a query's attributes, boxes or groups do not fit; nothing is charged or measured.
            BudgetError: the queries together exceed what is left; nothing is charged or measured.
            PartyUnavailable: a party does not answer.
        """
        for query in queries:
            self._check(query.view)
        charges = [self._charge(query) for query in queries]
        self.charge(*charges)
        return [one.times(self._factor_of(one.view)) for one in self._answers(queries, charges)]

    def score(
        self,
        views: Sequence[View],
        references: Iterable[NDArray[np.int64]],
        zcdp_rho: Fraction,
        step: str,
    ) -> Scores:
        """Noisy L1 distances between the table's marginals and public references, if `scores_exactly`.

        Args:
            views: marginals, of codes or of groups.
            references: for each view, shape (cells,): non-negative whole numbers of records; read once, in
                sequence.
            zcdp_rho: upper limit of the cost of all scores together.
            step: step of the mechanism, under which the scores are charged.

        Raises:
            DataError: groups do not fit; nothing is charged or measured.
            BudgetError: the scores exceed what is left; nothing is charged or measured.
            PartyUnavailable: a party does not answer.
        """
        raise DataError("this protocol gives no scores for these parties; select by noisy marginals")

    def find_labels(self, attribute: str, zcdp_rho: Fraction, step: str) -> tuple[str, ...]:
        """The frequent labels of an open category, sorted, by partition selection at each slice.

        Args:
            attribute: open category whose labels the terms of the release look for.
            zcdp_rho: upper limit of the cost; the terms say what it costs of delta.
            step: step of the mechanism, under which the query is charged.

        Raises:
            DataError: the terms look for no labels of it; nothing is charged.
            BudgetError: the query exceeds what is left; nothing is charged or measured.
            PartyUnavailable: a party does not answer.
        """
        raise DataError("this protocol finds no labels of open categories; list all categories")

    @abstractmethod
    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """Standard deviation of one value's noise (root mean square over values) at this cost.

        It follows from public facts, and does not contain the error of a sample. Of an interaction it is that
        of cells before projection.

        Args:
            view: what is measured.
            zcdp_rho: cost of the measurement.
        """

    def is_sampled(self, clique: Clique) -> bool:
        """Whether only sampled rows answer for this clique; `sampling` says how many there are."""
        return False

    def measurable_groups(self, groups: Groups) -> Groups:
        """The groups that are measured in place of these; equal to them unless a code has to be apart."""
        return groups

    def multiplied(self, view: View) -> Mapping[Hashable, int]:
        """Words of each matrix that parties multiply before they can count this view; a measure of time.

        Matrices of equal keys are the same for all views, and are multiplied once.
        """
        return {}

    def _factor_of(self, view: View) -> float:
        """What values of a view and their noise are multiplied by; see `Lengths.factor`."""
        return 1.0 if self._lengths is None else self._lengths.factor(view, self.domain)

    def needs_sum(self, view: View, zcdp_rho: Fraction) -> bool:
        """Whether the sum of a marginal is to be measured, and not its interaction alone; see `Lengths`.

        Args:
            view: the marginal.
            zcdp_rho: cost of its measurement.
        """
        if self._lengths is None or self._lengths.adds_up(view):
            return False
        noise = self.expected_sigma(view, zcdp_rho) * math.sqrt(view.size(self.domain))
        return self._lengths.needs(view, noise / self.record_count)

    def _learn_size(self, view: View, counts: NDArray[np.float64], sigma: float) -> None:
        """Improves a noisy number of records by the sum of a marginal, or learns how rows count in it."""
        if self._lengths is not None and not self._lengths.adds_up(view):
            self._lengths.learn(view, counts, sigma, self.record_count, self.domain)
        elif self._size is not None:
            self._size = self._size.combine_with(float(counts.sum()), sigma**2 * counts.size)
            self.record_count = self._size.record_count

    def _check(self, view: View) -> None:
        """Raises DataError if groups or boxes do not fit."""
        view.check(self.domain)

    @abstractmethod
    def _charge(self, query: Query) -> Charge:
        """The exact cost of the query."""

    def _answers(self, queries: Sequence[Query], charges: Sequence[Charge]) -> list[Measurement]:
        """Measures charged queries."""
        return [self._answer(query, charge) for query, charge in zip(queries, charges, strict=True)]

    @abstractmethod
    def _answer(self, query: Query, charge: Charge) -> Measurement:
        """Measures a charged query."""
