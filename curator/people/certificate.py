"""The certificate of a release of related tables: what its releases cost together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import PurePosixPath
from typing import ClassVar

from ...common.privacy.budget import Budget
from ...common.privacy.conversion import gaussian_epsilon, zcdp_epsilon
from ...common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ...common.protocols.chosen import Chosen
from ..certificates.certificate import Certificate
from ..certificates.issuing import unreviewed_label
from ..certificates.json_values import OPTIONAL
from ..certificates.signed_record import SignedRecord

OF_COLUMNS, OF_RECORDS = "columns, from one row of each person", "records"
OF_CHOICE, OF_ALIGNMENT = "bins of columns and of numbers of rows", "the alignment of people"
"""What parts are of, beside numbers of rows; those of choices and an alignment are over parties."""

EARLIER = "earlier"
"""The folder of the certificates of the releases before, in that of a release that continues them."""

_ONE_ROW_EACH = (
    "One record is one row of a person, which was drawn at random among those of the table. The promise is "
    "for the person with all rows in all tables, whatever their number."
)


@dataclass(frozen=True)
class Lifetime:
    """Which one of several releases that share a promise this one is.

    Attributes:
        releases: how many releases share the promise.
        number: which one it is, from 1.
        release_id: its id.
        until: up to which value of the order it has rows.
        settings: SHA-256 of key, order and domain, which are the same in all of them.
        earlier: SHA-256 of the certificate of the release that it continues; empty for the first.
        zcdp_rho_earlier: what all before it cost together.
        table: name of the file of the table; that of the release before is its beginning, byte for byte.
        table_bytes: size of that beginning.
    """

    releases: int
    number: int
    release_id: str
    until: str
    settings: str
    table: str
    earlier: str = field(default="", metadata=OPTIONAL)
    zcdp_rho_earlier: Fraction = field(default=Fraction(0), metadata=OPTIONAL)
    table_bytes: int = field(default=0, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.releases:
            raise ValueError("a release is one of those that share its promise")
        if (self.number > 1) != bool(self.earlier):
            raise ValueError("each release but the first continues another")
        if self.table_bytes < 0 or not is_inside(self.table):
            raise ValueError("the rows of before are the beginning of a file in the folder of the release")


@dataclass(frozen=True)
class Spent:
    """One of the releases.

    Attributes:
        table: table whose records it is of.
        of: what it found out, in words.
        certificate: SHA-256 of its certificate (`digest_of`), as hexadecimal digits; empty for numbers of
            people and of rows from one place and for an alignment, which have none of their own here.
        zcdp_rho: what it cost, with its choice of bins.
        labels_delta: what labels took of delta.
    """

    table: str
    of: str
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
        zcdp_rho_spent: what they cost together, with the releases that it continues.
        epsilon_spent: epsilon of that, at the delta of the promise; None of a promise in zCDP without delta.
        outputs: name of each published file -> its SHA-256, as hexadecimal digits.
        lifetime: which one it is of the releases that share the promise; None if it is the only one.
    """

    format: ClassVar[str] = "dpmosaic certificate of people 1"
    called: ClassVar[str] = "a certificate"
    remedy: ClassVar[str] = "read it by the version of the software that wrote it, or name another file"

    differentially_private: bool
    labels: tuple[str, ...]
    budget: Budget
    adjacency: str
    privacy_unit: str
    parts: tuple[Spent, ...]
    zcdp_rho_spent: Fraction
    epsilon_spent: float | None
    outputs: Mapping[str, str]
    lifetime: Lifetime | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if self.outputs and self.lifetime is not None and self.lifetime.table not in self.outputs:
            raise ValueError("the rows of before are the beginning of a published file")

    @classmethod
    def of(
        cls, certificates: Mapping[str, Certificate], budget: Budget, before: tuple[Spent, ...] = ()
    ) -> PeopleCertificate:
        """The certificate of releases under one budget.

        Args:
            certificates: for each table, that of its release.
            budget: the promise.
            before: what was found out before them.
        """
        parts = (*before, *(part_of(table, OF_RECORDS, one) for table, one in certificates.items()))
        labels = _reasons(certificates.values())
        spent = sum((part.zcdp_rho for part in parts), Fraction(0))
        adjacency = next(iter(certificates.values())).plan.spec.adjacency
        unit = PrivacyUnit(Adjacency.named(adjacency), ALL_ROWS).in_words
        epsilon = epsilon_of(parts, budget)
        return cls(not labels, labels, budget, adjacency, unit, parts, spent, epsilon, {})


def _reasons(certificates: Collection[Certificate]) -> tuple[str, ...]:
    """Why releases are not private; columns that nobody has reviewed are in those of several tables."""
    unreviewed = dict.fromkeys(name for one in certificates for name in one.plan.unreviewed)
    others = dict.fromkeys(
        label
        for one in certificates
        for label in one.labels
        if not one.plan.unreviewed or label != unreviewed_label(one.plan.unreviewed)
    )
    return (*([unreviewed_label([*unreviewed])] if unreviewed else []), *others)


def share_promise(certificate: PeopleCertificate, lifetime: Lifetime) -> PeopleCertificate:
    """The certificate of a release as one of several that share its promise."""
    earlier = lifetime.zcdp_rho_earlier
    return replace(
        certificate,
        lifetime=lifetime,
        zcdp_rho_spent=certificate.zcdp_rho_spent + earlier,
        epsilon_spent=epsilon_of(certificate.parts, certificate.budget, earlier),
    )


def part_of(table: str, of: str, certificate: Certificate, chosen: Chosen | None = None) -> Spent:
    """What a release cost together with the choice of bins before it.

    Args:
        table: see `Spent`.
        of: see `Spent`.
        certificate: of the release.
        chosen: what it chose for others, if it does.
    """
    delta = stated_labels_delta(certificate)
    if chosen is not None:
        delta = max(delta, chosen.labels_delta)
    return Spent(table, of, digest_of(certificate), cost_of(certificate), delta)


def stated_labels_delta(certificate: Certificate) -> float:
    """What labels took of delta in a release and in the choice of bins before it, as its certificate says."""
    labels, bins = certificate.plan.labels, certificate.plan.bins
    return (0.0 if labels is None else labels.delta) + (0.0 if bins is None else bins.labels_delta)


def is_part(part: Spent, certificate: Certificate) -> bool:
    """Whether a certificate is that of a part, at its cost and its delta of labels.

    What labels took of delta where columns were learned, their certificate does not say.
    """
    delta = stated_labels_delta(certificate)
    learned = not delta and any(charge.kind == "labels" for charge in certificate.charges)
    same = part.labels_delta > 0 if learned else part.labels_delta == delta
    return same and cost_of(certificate) == part.zcdp_rho


def of_people(certificate: Certificate) -> Certificate:
    """The certificate of what was learned from one row of each person, which says so."""
    return replace(certificate, plan=replace(certificate.plan, privacy_unit=_ONE_ROW_EACH))


def digest_of(certificate: Certificate) -> str:
    """SHA-256 of the certificate of a part, as hexadecimal digits, as it is before its files are written."""
    return replace(certificate, outputs={}).digest().hex()


def cost_of(certificate: Certificate) -> Fraction:
    """What a release cost together with the choice of bins before it, zCDP; not less."""
    bins = certificate.plan.bins
    spent = math.nextafter(certificate.promise.zcdp_rho_spent, math.inf)
    return Fraction(spent) + (0 if bins is None else Fraction(bins.zcdp_rho))


def epsilon_of(parts: Iterable[Spent], budget: Budget, earlier: Fraction = Fraction(0)) -> float | None:
    """Epsilon of parts together at the delta of a promise; None without one.

    It is that of Gaussian differential privacy: all parts only add Gaussian noise. With an alignment, whose
    noise is another, it is that of zCDP. Labels have a part of delta each.

    Args:
        parts: of a release.
        budget: the promise.
        earlier: what the releases cost that it continues, zCDP, which have no labels.
    """
    held = tuple(parts)
    if budget.delta is None:
        return None
    left = budget.delta - sum(part.labels_delta for part in held)
    spent = sum((part.zcdp_rho for part in held), earlier)
    if any(part.of == OF_ALIGNMENT for part in held):
        return zcdp_epsilon(float(spent), left)
    return gaussian_epsilon(math.sqrt(2 * spent), left)


def is_inside(name: str) -> bool:
    """Whether a name is that of a file in the folder of a release."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def earlier_name(number: int) -> str:
    """The file of the certificate of an earlier release.

    Args:
        number: which one it is, from 1.
    """
    return f"{EARLIER}/{number}.json"
