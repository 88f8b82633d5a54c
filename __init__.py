"""Differentially private synthetic tables from tables partitioned across institutions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .common.version import __version__ as __version__

if TYPE_CHECKING:
    from .common.data.attributes.attribute import Attribute
    from .common.data.attributes.boolean import BooleanAttribute
    from .common.data.attributes.categorical import CategoricalAttribute
    from .common.data.attributes.date_parts import DatePartsAttribute
    from .common.data.attributes.dates import DateAttribute, GapAttribute
    from .common.data.attributes.numeric import NumericAttribute
    from .common.data.domain import Domain
    from .common.data.rules.determines import Determines
    from .common.data.rules.impossible import Impossible, NullWhen
    from .common.data.rules.order import AtMost, Sum
    from .common.data.rules.rule import Rule
    from .common.data.table import Table
    from .common.data.workload import Workload
    from .common.errors import (
        ApprovalPending,
        BudgetError,
        DataError,
        DeliveriesLost,
        MissingExtraError,
        ModelError,
        MosaicError,
        MosaicWarning,
        PartyUnavailable,
        PolicyError,
        ProtocolError,
    )
    from .common.privacy.budget import Budget
    from .curator.analysis.copies import combine
    from .curator.analysis.estimators.estimates import Estimates
    from .curator.analysis.queries.answer import Answer
    from .curator.analysis.release import Release, load
    from .curator.certificates.certificate import Certificate
    from .curator.mechanisms.absyn.absyn import ABSyn
    from .curator.mechanisms.aim import AIM
    from .curator.mechanisms.dp_gan.dp_gan import DPGan
    from .curator.mechanisms.dp_select.dp_select import DPSelect
    from .curator.mechanisms.independent import Independent
    from .curator.mechanisms.mosaic.mosaic import Mosaic
    from .curator.mechanisms.mst import MST
    from .curator.mechanisms.mwem import MWEM
    from .curator.mechanisms.ppsyn.ppsyn import PPSyn
    from .curator.mechanisms.privbayes.privbayes import PrivBayes
    from .curator.mechanisms.randdpgen.randdpgen import RandDPGen
    from .curator.people.release import PeopleRelease, load_people
    from .curator.results.models import load_model
    from .party.drafting.draft import Draft
    from .party.sources.source import read_table
    from .simulations.datasets.catalogue import load_dataset
    from .simulations.evaluation.evaluation import Evaluation
    from .simulations.parties.partition import Grid
    from .simulations.simulate import Simulation, simulate
    from .simulations.tables.frames import decode, draft, encode
    from .simulations.time_limit import TimeLimitWarning
    from .synthesis.evaluating.frames import compare, evaluate
    from .synthesis.synthesize import DomainWarning, synthesize
    from .synthesis.synthesizer import Synthesizer

__all__ = [
    "AIM",
    "MST",
    "MWEM",
    "ABSyn",
    "Answer",
    "ApprovalPending",
    "AtMost",
    "Attribute",
    "BooleanAttribute",
    "Budget",
    "BudgetError",
    "CategoricalAttribute",
    "Certificate",
    "DPGan",
    "DPSelect",
    "DataError",
    "DateAttribute",
    "DatePartsAttribute",
    "DeliveriesLost",
    "Determines",
    "Domain",
    "DomainWarning",
    "Draft",
    "Estimates",
    "Evaluation",
    "GapAttribute",
    "Grid",
    "Impossible",
    "Independent",
    "MissingExtraError",
    "ModelError",
    "Mosaic",
    "MosaicError",
    "MosaicWarning",
    "NullWhen",
    "NumericAttribute",
    "PPSyn",
    "PartyUnavailable",
    "PeopleRelease",
    "PolicyError",
    "PrivBayes",
    "ProtocolError",
    "RandDPGen",
    "Release",
    "Rule",
    "Simulation",
    "Sum",
    "Synthesizer",
    "Table",
    "TimeLimitWarning",
    "Workload",
    "combine",
    "compare",
    "decode",
    "draft",
    "encode",
    "evaluate",
    "load",
    "load_dataset",
    "load_model",
    "load_people",
    "read_table",
    "simulate",
    "synthesize",
]

_HOMES = {
    "AIM": "curator.mechanisms.aim",
    "MST": "curator.mechanisms.mst",
    "MWEM": "curator.mechanisms.mwem",
    "ABSyn": "curator.mechanisms.absyn.absyn",
    "Answer": "curator.analysis.queries.answer",
    "ApprovalPending": "common.errors",
    "AtMost": "common.data.rules.order",
    "Attribute": "common.data.attributes.attribute",
    "BooleanAttribute": "common.data.attributes.boolean",
    "Budget": "common.privacy.budget",
    "BudgetError": "common.errors",
    "CategoricalAttribute": "common.data.attributes.categorical",
    "Certificate": "curator.certificates.certificate",
    "DPGan": "curator.mechanisms.dp_gan.dp_gan",
    "DPSelect": "curator.mechanisms.dp_select.dp_select",
    "DataError": "common.errors",
    "DateAttribute": "common.data.attributes.dates",
    "DatePartsAttribute": "common.data.attributes.date_parts",
    "DeliveriesLost": "common.errors",
    "Determines": "common.data.rules.determines",
    "Domain": "common.data.domain",
    "DomainWarning": "synthesis.synthesize",
    "Draft": "party.drafting.draft",
    "Estimates": "curator.analysis.estimators.estimates",
    "Evaluation": "simulations.evaluation.evaluation",
    "GapAttribute": "common.data.attributes.dates",
    "Grid": "simulations.parties.partition",
    "Impossible": "common.data.rules.impossible",
    "Independent": "curator.mechanisms.independent",
    "MissingExtraError": "common.errors",
    "ModelError": "common.errors",
    "Mosaic": "curator.mechanisms.mosaic.mosaic",
    "MosaicError": "common.errors",
    "MosaicWarning": "common.errors",
    "NullWhen": "common.data.rules.impossible",
    "NumericAttribute": "common.data.attributes.numeric",
    "PPSyn": "curator.mechanisms.ppsyn.ppsyn",
    "PartyUnavailable": "common.errors",
    "PeopleRelease": "curator.people.release",
    "PolicyError": "common.errors",
    "PrivBayes": "curator.mechanisms.privbayes.privbayes",
    "ProtocolError": "common.errors",
    "RandDPGen": "curator.mechanisms.randdpgen.randdpgen",
    "Release": "curator.analysis.release",
    "Rule": "common.data.rules.rule",
    "Simulation": "simulations.simulate",
    "Sum": "common.data.rules.order",
    "Synthesizer": "synthesis.synthesizer",
    "Table": "common.data.table",
    "TimeLimitWarning": "simulations.time_limit",
    "Workload": "common.data.workload",
    "combine": "curator.analysis.copies",
    "compare": "synthesis.evaluating.frames",
    "decode": "simulations.tables.frames",
    "draft": "simulations.tables.frames",
    "encode": "simulations.tables.frames",
    "evaluate": "synthesis.evaluating.frames",
    "load": "curator.analysis.release",
    "load_dataset": "simulations.datasets.catalogue",
    "load_model": "curator.results.models",
    "load_people": "curator.people.release",
    "read_table": "party.sources.source",
    "simulate": "simulations.simulate",
    "synthesize": "synthesis.synthesize",
}


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that a party needs none of the curator's packages."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if not home.startswith(("common", "party")):
        from .common.extras import require_extra

        require_extra("curator")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*globals(), *__all__})
