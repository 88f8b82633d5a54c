"""The certificate of a release of related tables: what its releases cost together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...common.privacy.budget import Budget
from ...common.privacy.conversion import gaussian_epsilon
from ..certificates.certificate import Certificate
from ..certificates.signed_record import SignedRecord


@dataclass(frozen=True)
class Part:
    """One of the releases.

    Attributes:
        table: table whose records it is of.
        certificate: SHA-256 of its certificate, as hexadecimal digits.
        zcdp_rho: what it cost, with its choice of columns and bins.
        labels_delta: what labels took of delta.
    """

    table: str
    certificate: str
    zcdp_rho: Fraction
    labels_delta: float


@dataclass(frozen=True)
class PeopleCertificate(SignedRecord):
    """The public record of a release of related tables.

    Attributes:
        differentially_private: whether the promise holds as stated; false if there are labels.
        labels: why the result is not a private release; empty if it is.
        budget: the promise.
        adjacency: which people neighbouring tables differ in.
        privacy_unit: who is protected, in words.
        parts: the releases, which compose.
        zcdp_rho_spent: what they cost together.
        epsilon_spent: epsilon of that, at the delta of the promise; None of a promise in zCDP without delta.
        outputs: name of each published file -> its SHA-256, as hexadecimal digits.
    """

    format: ClassVar[str] = "dpmosaic certificate of people 1"
    called: ClassVar[str] = "a certificate"
    remedy: ClassVar[str] = "fix the path"

    differentially_private: bool
    labels: tuple[str, ...]
    budget: Budget
    adjacency: str
    privacy_unit: str
    parts: tuple[Part, ...]
    zcdp_rho_spent: Fraction
    epsilon_spent: float | None
    outputs: Mapping[str, str]

    @classmethod
    def of(
        cls, certificates: Mapping[str, Certificate], budget: Budget, unit: str, more: tuple[Part, ...] = ()
    ) -> PeopleCertificate:
        """The certificate of releases under one budget.

        Args:
            certificates: for each table, that of its release.
            budget: the promise.
            unit: who is protected, in words.
            more: releases before them that chose columns.
        """
        parts = (*more, *(part_of(table, one) for table, one in certificates.items()))
        spent = sum((part.zcdp_rho for part in parts), Fraction(0))
        labels = tuple(dict.fromkeys(label for one in certificates.values() for label in one.labels))
        delta = budget.delta
        epsilon = None
        if delta is not None:
            left = delta - sum(part.labels_delta for part in parts)
            epsilon = gaussian_epsilon(math.sqrt(2 * spent), left)
        adjacency = next(iter(certificates.values())).plan.adjacency
        return cls(not labels, labels, budget, adjacency, unit, parts, spent, epsilon, {})


def part_of(table: str, certificate: Certificate) -> Part:
    """What a release cost together with the choice before it."""
    promise, bins = certificate.promise, certificate.plan.bins
    rho = Fraction(promise.zcdp_rho_spent) + (0 if bins is None else Fraction(bins.zcdp_rho))
    here = 0.0 if certificate.plan.labels is None else certificate.plan.labels.delta
    before = 0.0 if bins is None else bins.labels_delta
    return Part(table, certificate.digest().hex(), rho, here + before)
