"""The seam between mechanisms and protocols: noisy answers to marginal queries at a stated zCDP cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.data.boxes import Box, box_labels
from ...common.data.domain import Clique, Domain
from ...common.errors import DataError
from ...common.measurement import Measurement
from ...common.privacy.budget import Accountant, Charge


@dataclass(frozen=True)
class Query:
    """What a mechanism asks for.

    Attributes:
        clique: attributes of the marginal, in domain order.
        zcdp_rho: what it may cost.
        step: which step of the mechanism asks; for the accounts.
        boxes: disjoint boxes of cells whose sums are wanted, in place of single cells.
        interaction: the marginal's interaction alone is wanted, which costs less at the same noise.
    """

    clique: Clique
    zcdp_rho: Fraction
    step: str
    boxes: tuple[Box, ...] = ()
    interaction: bool = False

    def __post_init__(self) -> None:
        if self.boxes and self.interaction:
            raise ValueError("a query asks for sums over boxes or for an interaction, not for both")


@dataclass(frozen=True)
class Observer:
    """What somebody sees: the noise that hides a record from them, over the noise that was charged.

    Attributes:
        who: sees the answers.
        assumes: what has to hold for that; "nothing" where nothing has to.
        noise_factor: at least 1.
    """

    who: str
    assumes: str
    noise_factor: float

    def __post_init__(self) -> None:
        if not self.noise_factor >= 1:
            raise ValueError(
                f"nobody may see less noise than was charged, but the noise factor is {self.noise_factor}"
            )


@dataclass(frozen=True)
class Scores:
    """L1 distances with noise, in records.

    Attributes:
        values: shape (cliques,).
        sigma: standard deviation of the noise of each.
    """

    values: NDArray[np.float64]
    sigma: float


class Measurer(ABC):
    """Measures marginals of one table under one grant; charges its accountant before any noise is drawn.

    Args:
        domain: of the whole table.
        record_count: records of the whole table; public.
        granted: upper limit of all costs, zCDP.
    """

    not_private: str | None = None
    """Why what it measures is not differentially private at the stated cost; None where it is."""

    observers: tuple[Observer, ...] = ()
    """What holds against whom, where more noise hides a record from some than was charged; else empty."""

    def __init__(self, domain: Domain, record_count: int, granted: Fraction) -> None:
        self.domain = domain
        self.record_count = record_count
        self.accountant = Accountant(granted)

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP."""
        return self.accountant.granted

    def charge(self, *charges: Charge) -> None:
        """Charges the accountant, before any noise is drawn: the one way in which a run spends.

        Raises:
            BudgetError: they cost more than is left; nothing is charged.
        """
        self.accountant = self.accountant.charge(*charges)

    @property
    def scores_exactly(self) -> bool:
        """Whether `score` can be asked: exact distances get noise, not marginals that they come from."""
        return False

    def measure(self, queries: Sequence[Query]) -> list[Measurement]:
        """Noisy marginals, in the order of the queries.

        Raises:
            DataError: a query's attributes or boxes do not fit; nothing is charged or measured.
            BudgetError: together they cost more than is left; nothing is charged or measured.
            PartyUnavailable: a party does not answer.
        """
        for query in queries:
            if query.boxes:
                box_labels(self.domain.shape(query.clique), query.boxes)
        charges = [self._charge(query) for query in queries]
        self.charge(*charges)
        return self._answers(queries, charges)

    def score(
        self,
        cliques: Sequence[Clique],
        references: Iterable[NDArray[np.int64]],
        zcdp_rho: Fraction,
        step: str,
    ) -> Scores:
        """Noisy L1 distances between the table's marginals and public ones, where `scores_exactly`.

        Args:
            cliques: attributes in domain order.
            references: for each clique shape (n_r,): whole numbers of records, not negative; read once, one
                after the other.
            zcdp_rho: what all scores together may cost.
            step: which step of the mechanism asks; for the accounts.

        Raises:
            BudgetError: they cost more than is left; nothing is charged or measured.
            PartyUnavailable: a party does not answer.
        """
        raise DataError("exact scores are out of reach of this protocol here; select by noisy marginals")

    @abstractmethod
    def expected_sigma(self, clique: Clique, zcdp_rho: Fraction, interaction: bool = False) -> float:
        """Standard deviation of one cell (root mean square over cells) at this cost, from public facts.

        Args:
            clique: the marginal.
            zcdp_rho: what measuring it may cost.
            interaction: its interaction alone is measured; the deviation is that of the cells before it.
        """

    @abstractmethod
    def _charge(self, query: Query) -> Charge:
        """What the query will cost, exactly."""

    def _answers(self, queries: Sequence[Query], charges: Sequence[Charge]) -> list[Measurement]:
        """Measures queries that have been charged."""
        return [self._answer(query, charge) for query, charge in zip(queries, charges, strict=True)]

    @abstractmethod
    def _answer(self, query: Query, charge: Charge) -> Measurement:
        """Measures a query that has been charged."""
