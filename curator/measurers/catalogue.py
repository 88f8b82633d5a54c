"""The measurer of every protocol that daemons speak, and what its parties have to agree on beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...common.errors import DataError
from ...common.extensions import MEASURERS as GROUP
from ...common.extensions import extensions
from ...common.messages import Acceptance
from ...common.privacy.cost import PrivacyUnit
from ...common.protocols.dropouts.plan import DropoutPlan
from ...common.protocols.partition import Partition
from ...common.protocols.registry import INDICATOR, MASKED, TRUSTED
from ...common.terms import ReleaseTerms
from ..parties.asking import Asking
from ..parties.federation import Federation
from .dropouts import DropoutMeasurer
from .federation import FederationMeasurer
from .masked import MaskedMeasurer
from .measurer import Measurer
from .planning import masked_plan

Plan = Callable[[Federation, Fraction, PrivacyUnit, int | None], Partition]
"""From the parties, the grant, the privacy unit and the collusions to tolerate (None for the default)."""

Begin = Callable[[Federation, ReleaseTerms, tuple[Acceptance, ...], Fraction, Asking | None], Measurer]
"""From the parties, the terms and what each participant signed, the grant, and how what costs budget is asked
for."""


@dataclass(frozen=True)
class Measuring:
    """How the curator measures by one protocol.

    Attributes:
        plan: which party holds what, and what else the parties agree on beyond the budget.
        begin: gives what measures under terms that every party accepted.
    """

    plan: Plan
    begin: Begin


def _partition(
    federation: Federation, granted: Fraction, unit: PrivacyUnit, tolerated: int | None
) -> Partition:
    """Nothing but the partition: these parties answer each for itself."""
    return federation.partition


def _begin_histograms(
    federation: Federation,
    terms: ReleaseTerms,
    acceptances: tuple[Acceptance, ...],
    granted: Fraction,
    asking: Asking | None,
) -> Measurer:
    return FederationMeasurer(federation, terms, granted, asking=asking)


def _begin_masked(
    federation: Federation,
    terms: ReleaseTerms,
    acceptances: tuple[Acceptance, ...],
    granted: Fraction,
    asking: Asking | None,
) -> Measurer:
    measurer = DropoutMeasurer if isinstance(terms.plan, DropoutPlan) else MaskedMeasurer
    return measurer(federation, terms, acceptances, granted, asking)


MEASURERS: Mapping[str, Measuring] = {
    MASKED.name: Measuring(masked_plan, _begin_masked),
    TRUSTED.name: Measuring(_partition, _begin_histograms),
    INDICATOR.name: Measuring(_partition, _begin_histograms),
}


def measuring(protocol: str) -> Measuring:
    """How the curator measures by a protocol.

    Raises:
        DataError: over parties it does not; names the protocols by which it does.
    """
    if protocol in MEASURERS:
        return MEASURERS[protocol]
    others = extensions(GROUP, MEASURERS)
    if protocol not in others:
        known = ", ".join((*MEASURERS, *others))
        raise DataError(f"protocol: expected one that parties speak ({known}), got {protocol!r}")
    found: Measuring = others[protocol].load(Measuring)
    return found
