"""The budget of a release, and the accountant that enforces it."""

from __future__ import annotations

import enum
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from reprlib import repr as brief
from typing import Any

from ..errors import BudgetError
from . import conversion
from .renyi import ExponentialSteps, RenyiOrder, SampledGaussian, renyi_order

DEFAULT_DELTA = 1e-9
"""Delta of a promise, unless it is given."""

LEAST_DELTA = 1e-18
"""Smallest delta that is promised. Each draw of noise is within 2^-128 of its distribution, which adds
(1 + e^epsilon) 2^-128 to delta: of 10^10 draws, up to epsilon 3, less than a 10^-9 part of this one."""


def _plain(value: Any) -> Any:
    """A number of any other kind as a float, which JSON has and which means what it shows."""
    if not isinstance(value, Real) or isinstance(value, int):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_number(value: object) -> bool:
    return type(value) is int or isinstance(value, float)


@dataclass(frozen=True)
class Budget:
    """The promise of a release: (epsilon, delta)-DP, or rho-zCDP with delta only for reports.

    Attributes:
        epsilon: positive and finite; None if rho is given.
        delta: in (0, 1), at least `LEAST_DELTA`.
        zcdp_rho: positive and finite; None if epsilon is given.
    """

    epsilon: float | None = None
    delta: float | None = None
    zcdp_rho: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.zcdp_rho is None):
            raise BudgetError("expected either epsilon with delta or rho; got both or neither")
        for name in ("epsilon", "delta", "zcdp_rho"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        for name, value in (("epsilon", self.epsilon), ("rho", self.zcdp_rho)):
            if value is not None and not (_is_number(value) and 0 < value <= sys.float_info.max):
                raise BudgetError(f"{name}: expected a positive finite number, got {brief(value)}")
        if self.epsilon is not None and self.delta is None:
            raise BudgetError(
                "delta: expected a number in (0, 1) beside epsilon, got none; 1e-9 is a common choice"
            )
        if self.delta is not None and not (_is_number(self.delta) and 0 < self.delta < 1):
            raise BudgetError(f"delta: expected a number in (0, 1), got {brief(self.delta)}")
        if self.delta is not None and self.delta < LEAST_DELTA:
            raise BudgetError(
                f"delta: expected at least {LEAST_DELTA:g}, below which draws of noise are not exact enough, "
                f"got {self.delta:g}; raise it"
            )

    @classmethod
    def of(cls, epsilon: float | Budget, delta: float) -> Budget:
        """The promise of these numbers; one that is a budget already stays.

        Raises:
            BudgetError: one of them is out of range.
        """
        return epsilon if isinstance(epsilon, Budget) else cls(epsilon, delta)

    def granted(self, *, gaussian_only: bool) -> Fraction:
        """The rho that may be spent under this promise.

        Args:
            gaussian_only: the release only adds Gaussian noise and post-processes. Then the calibration is
                exact (Gaussian differential privacy, whose adaptive composition is that of one Gaussian
                mechanism: Smith and Thakurta 2022); otherwise zCDP is converted.

        Returns:
            Upper limit of the sum of all costs: a float, as an exact fraction.
        """
        if self.zcdp_rho is not None:
            return Fraction(self.zcdp_rho)
        assert self.epsilon is not None
        assert self.delta is not None
        if not gaussian_only:
            return Fraction(conversion.zcdp_rho(self.epsilon, self.delta))
        # The margins cover 10^6 discrete measurements (each within exp(+-1e-21) of a Gaussian) and the
        # sampler's statistical distance.
        mu = conversion.gaussian_mu(self.epsilon * (1 - 1e-12), self.delta * (1 - 1e-9))
        return Fraction(mu * mu / 2)

    def allows(self, zcdp_rho: Fraction) -> bool:
        """Whether the promise holds if queries with Gaussian noise cost this much together.

        The party that adds the noise charges it, so their composition is that of one Gaussian mechanism.
        """
        if self.zcdp_rho is not None:
            return zcdp_rho <= Fraction(self.zcdp_rho)
        assert self.epsilon is not None
        assert self.delta is not None
        return conversion.gaussian_delta(math.sqrt(2 * zcdp_rho), self.epsilon) <= self.delta

    def without_delta(self, delta: float) -> Budget:
        """What is left of the promise if labels of open categories need some of delta.

        Args:
            delta: what they need; zero leaves the promise as it is.

        Raises:
            BudgetError: nothing would be left of delta, or the promise has none.
        """
        if not delta:
            return self
        if self.delta is None or delta >= self.delta:
            raise BudgetError(
                "delta: expected more than the labels of open categories need, got less or none; raise delta"
            )
        # Rounded down, so that both parts together never exceed delta.
        return replace(self, delta=math.nextafter(self.delta - delta, 0.0))

    @property
    def order(self) -> RenyiOrder:
        """The Rényi order for a release in which some steps are charged at one order only.

        Raises:
            BudgetError: the promise is in zCDP, which bounds all orders.
        """
        if self.epsilon is None or self.delta is None:
            raise BudgetError(
                "expected epsilon and delta, got rho: sampled noise has no zCDP; give epsilon and delta"
            )
        return renyi_order(self.epsilon, self.delta)

    def granted_by_bun_steinke(self) -> Fraction:
        """The rho by the looser conversion, to reproduce papers that use it."""
        if self.epsilon is None or self.delta is None:
            return self.granted(gaussian_only=False)
        return Fraction(conversion.bun_steinke_rho(self.epsilon, self.delta))


class AnswerKind(enum.StrEnum):
    """What the noise of an access is added to; the value is its name in certificates.

    A record changes one cell of a marginal by 1, each score by 1, and an interaction by less than a marginal
    (`cost`); under replace-one two cells, and each score by 2.
    """

    MARGINAL = "marginal"
    INTERACTION = "interaction"
    """A marginal without what smaller marginals determine."""
    SCORES = "scores"
    """L1 distances between marginals and references."""
    LABELS = "labels"
    """Numbers of rows of each label of an open category, of which a threshold states the frequent ones."""
    ALIGNMENT = "alignment"
    """Numbers of people in sets of parties, hidden by dummies."""
    OTHER = "other"
    """No Gaussian noise on a query: samples of records, or choices by an exponential mechanism."""


@dataclass(frozen=True)
class Charge:
    """One access to private data.

    Attributes:
        step: name of the mechanism's step.
        clique: attributes that were asked for.
        zcdp_rho: cost.
        sigmas: one tuple for each slice: the scales of the noise variables that hide one record of the
            slice, in counts. Empty if the noise is not Gaussian.
        scores: the noise is on L1 distances, not on cells.
        groups: number of groups of each attribute, if groups of codes were counted; else empty.
        labels: the noise, drawn by one party of each slice, is on the numbers of rows of labels.
        interaction: shape of the marginal, of groups if they were counted, if only its interaction was
            measured; else empty.
        steps: many steps of another kind, declared together; for `SampledGaussian` zcdp_rho is the cost at
            the order of the promise only (`renyi_order`).
    """

    step: str
    clique: tuple[str, ...]
    zcdp_rho: Fraction
    sigmas: tuple[tuple[float, ...], ...] = ()
    scores: bool = False
    interaction: tuple[int, ...] = ()
    steps: SampledGaussian | ExponentialSteps | None = None
    labels: bool = False
    groups: tuple[int, ...] = ()

    @property
    def kind(self) -> AnswerKind:
        """What the noise is added to."""
        if not self.sigmas:
            return AnswerKind.OTHER
        if self.scores:
            return AnswerKind.SCORES
        if self.labels:
            return AnswerKind.LABELS
        return AnswerKind.INTERACTION if self.interaction else AnswerKind.MARGINAL


@dataclass(frozen=True)
class Accountant:
    """What was granted and what was charged; a charge beyond the grant is refused."""

    granted: Fraction
    charges: tuple[Charge, ...] = ()
    spent: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """Rest of the grant, never negative."""
        return self.granted - self.spent

    @property
    def spent_share(self) -> float:
        """The share of the grant that is spent, in 0..1."""
        return float(self.spent / self.granted)

    def charge(self, *charges: Charge) -> Accountant:
        """The accountant after these charges; to be called before any noise is drawn.

        Raises:
            BudgetError: the sum would exceed the grant; nothing is charged.
        """
        total = self.spent + sum((charge.zcdp_rho for charge in charges), Fraction(0))
        if total > self.granted:
            raise BudgetError(
                f"step {charges[0].step!r} asks for more than is left of the budget; nothing was charged. "
                "Lower the cost of the step or grant more"
            )
        return replace(self, charges=self.charges + charges, spent=total)
