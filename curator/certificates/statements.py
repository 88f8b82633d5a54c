"""The parts of a certificate: frozen values whose fields are the keys of its JSON."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from ...common.data.domain import Clique
from ...common.history import Mark
from ...common.labels import LabelSearch
from ...common.privacy.budget import AnswerKind, Budget
from ...common.privacy.cost import PrivacyUnit
from ...common.privacy.renyi import ExponentialSteps, SampledGaussian
from ...common.promises.statement import Entry, Statement
from ...common.protocols.aligned import Alignment, Population
from ...common.protocols.chosen import Chosen
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.masked.trust import who_must_collude
from ...common.protocols.partition import Partition
from ...common.release_spec import ReleaseSpec
from .json_values import OPTIONAL
from .unseen import Unseen


class Unstated(enum.Enum):
    """Stands for a number that a certificate does not state, where null says that there is none."""

    UNSTATED = "unstated"


@dataclass(frozen=True)
class WeightedClique:
    """A marginal of the workload.

    Attributes:
        clique: its attributes.
        weight: of its error.
    """

    clique: Clique
    weight: float


@dataclass(frozen=True)
class StatedStep:
    """A step of the mechanism, as it set out.

    Attributes:
        name: under which it is charged.
        title: the same for readers.
        share: of the whole budget, in 0..1.
    """

    name: str
    title: str
    share: float


@dataclass(frozen=True)
class StatedAlignment:
    """The alignment that a release counted on, which was made and charged before under its own id.

    Attributes:
        alignment_id: id of the release that made it.
        population: whose records are counted (`Population`).
        people: for each slice, noisy number of people of each pattern of parties (`Alignment.people`).
        sigma: least standard deviation of a number of people (`Alignment.sigma`).
        zcdp_rho: what it cost, zCDP.
        match_keys: number of match keys; with several, the promise is for linked records, given the links.
    """

    alignment_id: str
    population: str
    people: tuple[tuple[int, ...], ...]
    sigma: float
    zcdp_rho: Fraction
    match_keys: int

    def __post_init__(self) -> None:
        # Refuses what no plan states.
        self.alignment  # noqa: B018

    @property
    def alignment(self) -> Alignment:
        """The same, as plans state it."""
        population = Population.named(self.population)
        return Alignment(self.alignment_id, population, self.people, self.zcdp_rho, self.match_keys)


def stated_alignment(alignment: Alignment | None, unit: PrivacyUnit) -> StatedAlignment | None:
    """What a certificate states of the alignment of a plan; None of none."""
    if alignment is None:
        return None
    return StatedAlignment(
        alignment.alignment_id,
        alignment.population.value,
        alignment.people,
        alignment.sigma(unit),
        alignment.zcdp_rho,
        alignment.match_keys,
    )


@dataclass(frozen=True)
class StatedBins:
    """The release that chose the codes of open attributes, from the same budget, before this one.

    Attributes:
        release_id: its id.
        certificate: SHA-256 of its certificate, as hexadecimal digits.
        zcdp_rho: its grant, zCDP.
        attributes: whose codes it chose.
        labels_delta: what its labels took of the delta of the promise.
    """

    release_id: str
    certificate: str
    zcdp_rho: float
    attributes: Clique
    labels_delta: float = field(default=0.0, metadata=OPTIONAL)


def stated_bins(chosen: Chosen | None) -> StatedBins | None:
    """What a certificate states of the chosen codes of a plan; None of none."""
    if chosen is None:
        return None
    attributes = tuple(sorted((*chosen.coding.runs, *chosen.coding.labels)))
    return StatedBins(chosen.release_id, chosen.certificate, chosen.zcdp_rho, attributes, chosen.labels_delta)


@dataclass(frozen=True)
class StatedPlan:
    """What was asked for, before any data was touched.

    Attributes:
        spec: what the release promises, by which protocol, with what its parties agreed on.
        attributes: attribute -> number of its values, in domain order.
        domain_digest: of the table's domain.
        record_counts: of each slice, or positions if its parties are aligned; public.
        parties: attributes of each party, slice by slice.
        privacy_unit: what one record is and who is protected, in words.
        mechanism: name, variant and parameters.
        workload: which marginals matter.
        steps: of the mechanism; empty in a certificate that does not state them.
        names: of the parties, slice by slice; empty for a simulation.
        dealers: names of those who deal randomness; empty where nobody does.
        evaluators: names of the three roles that compute scores from shares; empty where there are none.
        collusion: who would have to collude to read what, in words; empty where the protocol does not say.
        alignment: of the parties' rows; None if the parties of a slice hold the same records.
        unreviewed: attributes whose bounds or categories were read from private rows, and that nobody has
            reviewed; such a release is not private as stated.
        bins: the release that chose codes before; None if the domain says all codes.
        labels: open categories whose labels the release looked for; None for none.
        records_sigma: standard deviation of the noise of the number of records; 0 if that is public.
        unseen: what noise may hide of the columns that a first step learned; empty if there was none.
        prior: digest (`Table.digest`) of a table that was public or released before; empty for none.
    """

    spec: ReleaseSpec
    attributes: Mapping[str, int]
    domain_digest: str
    record_counts: tuple[int, ...]
    parties: tuple[tuple[Clique, ...], ...]
    privacy_unit: str
    mechanism: Mapping[str, Any]
    workload: tuple[WeightedClique, ...]
    steps: tuple[StatedStep, ...] = field(default=(), metadata=OPTIONAL)
    names: tuple[tuple[str, ...], ...] = field(default=(), metadata=OPTIONAL)
    dealers: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    evaluators: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    collusion: str = field(default="", metadata=OPTIONAL)
    alignment: StatedAlignment | None = field(default=None, metadata=OPTIONAL)
    unreviewed: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    bins: StatedBins | None = field(default=None, metadata=OPTIONAL)
    labels: LabelSearch | None = field(default=None, metadata=OPTIONAL)
    records_sigma: float = field(default=0.0, metadata=OPTIONAL)
    unseen: tuple[Unseen, ...] = field(default=(), metadata=OPTIONAL)
    prior: str = field(default="", metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism.get("name"), str):
            raise ValueError("expected the name of the mechanism")
        if len(self.record_counts) != len(self.parties):
            raise ValueError("expected the number of records and the parties of each slice")
        if self.alignment is not None and len(self.alignment.people) != len(self.parties):
            raise ValueError("expected the number of people of each slice")

    @property
    def noise_budget(self) -> Budget:
        """The promise that noise has to keep: without the delta of labels, here and of chosen ones."""
        here = 0.0 if self.labels is None else self.labels.delta
        before = 0.0 if self.bins is None else self.bins.labels_delta
        return self.spec.budget.without_delta(here).without_delta(before)

    @property
    def dealt_by_curator(self) -> bool:
        """Whether the curator was the only dealer, which is for trials."""
        return self.dealers == (CURATOR_DEALS,)


def stated_parties(signed: Partition) -> dict[str, Any]:
    """What a `StatedPlan` says of the parties of a release and their roles, by field."""
    masked = signed if isinstance(signed, MaskedPlan) else None
    return {
        "record_counts": tuple(entries[0].record_count for entries in signed.slices),
        "parties": tuple(tuple(entry.attributes for entry in entries) for entries in signed.slices),
        "names": tuple(tuple(entry.name for entry in entries) for entries in signed.slices),
        "dealers": () if masked is None else tuple(dealer.name for dealer in masked.dealers),
        "evaluators": () if masked is None else masked.evaluator_names,
        "collusion": "" if masked is None else who_must_collude(masked),
    }


@dataclass(frozen=True)
class Observed:
    """What holds against one observer.

    Attributes:
        who: sees the answers.
        assumes: what has to hold for that.
        zcdp_rho: what was spent, as they see it.
        epsilon: the same at the promise's delta; None where it was not computed.
    """

    who: str
    assumes: str
    zcdp_rho: float
    epsilon: float | None


@dataclass(frozen=True)
class Promise:
    """What was promised and spent.

    Attributes:
        epsilon: None if the promise is in zCDP.
        delta: None where there is none.
        zcdp_rho_granted: of the release.
        zcdp_rho_spent: of it.
        spent_within_grant: compared as exact fractions.
        zcdp_rho_really_spent: what the parties were charged.
        epsilon_really_spent: the same at delta, where it is more than the accounts say.
        epsilon_by_privacy_loss_distribution: the second opinion (`privacy_loss`), which rounding alone never
            brings above the promise; None where not all noise is Gaussian, or delta is too small for it.
        composition: of steps that have no zCDP (`composition`); None where all have.
        observers: what holds against whom, where that differs.
        zcdp_rho_with_alignment: what this release, one that chose codes and the alignment that it counted on
            cost together; None without an alignment. Other releases may count on the same alignment.
        epsilon_with_alignment: the same at delta; None without a delta.
        zcdp_rho_with_bins: what this release and the one that chose codes cost together, which the promise
            covers; None without one.
        epsilon_with_bins: the same at delta; None without a delta, or where not all noise is Gaussian.
    """

    epsilon: float | None
    delta: float | None
    zcdp_rho_granted: float
    zcdp_rho_spent: float
    spent_within_grant: bool
    zcdp_rho_really_spent: float
    epsilon_really_spent: float | None = field(default=None, metadata=OPTIONAL)
    epsilon_by_privacy_loss_distribution: float | Literal[Unstated.UNSTATED] | None = field(
        default=Unstated.UNSTATED, metadata=OPTIONAL
    )
    composition: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    observers: tuple[Observed, ...] = field(default=(), metadata=OPTIONAL)
    zcdp_rho_with_alignment: float | None = field(default=None, metadata=OPTIONAL)
    epsilon_with_alignment: float | None = field(default=None, metadata=OPTIONAL)
    zcdp_rho_with_bins: float | None = field(default=None, metadata=OPTIONAL)
    epsilon_with_bins: float | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if not self.zcdp_rho_granted > 0:
            raise ValueError("expected a grant above 0")


@dataclass(frozen=True)
class StatedCharge:
    """One access to the data.

    Attributes:
        step: of the mechanism.
        clique: what was asked; empty for a charge over many.
        kind: what the noise is added to: "marginal", "interaction", "scores", "labels" or "other"
            (`AnswerKind`).
        zcdp_rho: its cost.
        noise_sigmas_by_slice: scales of the noise variables that hide one record, in counts.
        steps: what is not Gaussian noise of one query.
        groups: number of groups of each attribute, if groups of codes were counted.
    """

    step: str
    clique: Clique
    kind: str
    zcdp_rho: float
    noise_sigmas_by_slice: tuple[tuple[float, ...], ...]
    steps: SampledGaussian | ExponentialSteps | None = field(default=None, metadata=OPTIONAL)
    groups: tuple[int, ...] = field(default=(), metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if self.kind not in tuple(AnswerKind):
            raise ValueError(f"expected a kind of answer: {', '.join(AnswerKind)}")


@dataclass(frozen=True)
class StatedMeasurement:
    """One noisy marginal.

    Attributes:
        clique: its attributes.
        interaction: only its interaction.
        sigma: standard deviation of one count.
        zcdp_rho: its cost.
        groups: number of groups of each attribute, if groups of codes were counted.
    """

    clique: Clique
    interaction: bool
    sigma: float
    zcdp_rho: float
    groups: tuple[int, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True)
class StatedModel:
    """The fitted model.

    Attributes:
        cliques: the attributes of each of its tables.
        size_mb: its memory, in MiB.
    """

    cliques: tuple[Clique, ...]
    size_mb: float


@dataclass(frozen=True)
class PartyStatement:
    """What one party or dealer signed.

    Attributes:
        name: of the party or dealer.
        entries: of its ledger; a dealer has none.
        signature: over the entries, the mark and the certificate.
        mark: of its ledger when it signed.
    """

    name: str
    entries: tuple[Entry, ...]
    signature: bytes
    mark: Mark


@dataclass(frozen=True)
class Signatures:
    """Who signed a certificate.

    Attributes:
        terms: of the release, encoded.
        curator_signature: over the terms.
        parties: what each signed.
        dealers: what each dealer signed that is no party and not the curator.
    """

    terms: bytes
    curator_signature: bytes
    parties: tuple[PartyStatement, ...]
    dealers: tuple[PartyStatement, ...] = field(default=(), metadata=OPTIONAL)

    @classmethod
    def of(
        cls,
        terms: bytes,
        signature: bytes,
        parties: Mapping[str, Statement],
        dealers: Mapping[str, Statement],
    ) -> Signatures:
        """The signatures of a release.

        Args:
            terms: of the release, encoded.
            signature: the curator's, over them.
            parties: statements of the parties, by name.
            dealers: statements of the dealers that are no party and not the curator, by name.
        """
        signed = [
            tuple(
                PartyStatement(name, tuple(statement.entries), statement.signature, statement.mark)
                for name, statement in statements.items()
            )
            for statements in (parties, dealers)
        ]
        return cls(terms, signature, *signed)
