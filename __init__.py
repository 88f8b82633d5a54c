"""Differentially private synthetic tables, from one table or from one partitioned across institutions.

A release: synthesize(data, epsilon) of one table, or of related ones; simulate(data, epsilon, grid="2x2") of
    one table as parties would make it, with its errors, simulate_people(tables, epsilon, holders="1x2") of
    related ones, Holders; Synthesizer, in the style of scikit-learn.
    budget(data) says what all releases of a table promise together, and sets a limit: TableBudget.
A finished one: load(folder), load_people(folder), load_model(file); Release and PeopleRelease with table,
    generate, query, mean, copies, plot, compare, save; Answer and Estimates, with intervals; combine;
    Certificate.
Compared with the real table, not for publication: evaluate, Evaluation; compare, ComparisonPage; attack,
    Attacks.
Data: Domain, Table, Workload, Grid, Budget; draft(data) drafts a domain, Draft; encode, decode, read_table;
    load_dataset, public tables to try.
Attributes: Attribute, BooleanAttribute, CategoricalAttribute, NumericAttribute, DateAttribute,
    DatePartsAttribute, GapAttribute. Rules: Rule, AtMost, Sum, Product, PartOf,
    StepsOf, Impossible, NullWhen, Determines.
Mechanisms: Mosaic, the default; RandDPGen, AIM, ABSyn, PPSyn, PrivBayes, MST, MWEM, DPSelect, DPGan,
    Independent.
Errors, all of them a MosaicError: DataError, BudgetError, PolicyError, ApprovalPending, ProtocolError,
    DeliveriesLost, ModelError, MissingExtraError, PartyUnavailable. Warnings, each a MosaicWarning:
    BudgetWarning, DomainWarning, TimeLimitWarning. Simulation: what simulate returns.

help(dpmosaic.synthesize) and so on say more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .common.version import __version__ as __version__

if TYPE_CHECKING:
    from .common.data.attributes.attribute import Attribute as Attribute
    from .common.data.attributes.boolean import BooleanAttribute as BooleanAttribute
    from .common.data.attributes.categorical import CategoricalAttribute as CategoricalAttribute
    from .common.data.attributes.date_parts import DatePartsAttribute as DatePartsAttribute
    from .common.data.attributes.dates import DateAttribute as DateAttribute
    from .common.data.attributes.dates import GapAttribute as GapAttribute
    from .common.data.attributes.numeric import NumericAttribute as NumericAttribute
    from .common.data.domain import Domain as Domain
    from .common.data.rules.determines import Determines as Determines
    from .common.data.rules.follows import PartOf as PartOf
    from .common.data.rules.follows import StepsOf as StepsOf
    from .common.data.rules.impossible import Impossible as Impossible
    from .common.data.rules.impossible import NullWhen as NullWhen
    from .common.data.rules.order import AtMost as AtMost
    from .common.data.rules.order import Product as Product
    from .common.data.rules.order import Sum as Sum
    from .common.data.rules.rule import Rule as Rule
    from .common.data.table import Table as Table
    from .common.data.workload import Workload as Workload
    from .common.errors import ApprovalPending as ApprovalPending
    from .common.errors import BudgetError as BudgetError
    from .common.errors import DataError as DataError
    from .common.errors import DeliveriesLost as DeliveriesLost
    from .common.errors import MissingExtraError as MissingExtraError
    from .common.errors import ModelError as ModelError
    from .common.errors import MosaicError as MosaicError
    from .common.errors import MosaicWarning as MosaicWarning
    from .common.errors import PartyUnavailable as PartyUnavailable
    from .common.errors import PolicyError as PolicyError
    from .common.errors import ProtocolError as ProtocolError
    from .common.privacy.budget import Budget as Budget
    from .curator.analysis.copies import combine as combine
    from .curator.analysis.estimators.estimates import Estimates as Estimates
    from .curator.analysis.queries.answer import Answer as Answer
    from .curator.analysis.release import Release as Release
    from .curator.analysis.release import load as load
    from .curator.certificates.certificate import Certificate as Certificate
    from .curator.mechanisms.absyn.absyn import ABSyn as ABSyn
    from .curator.mechanisms.aim import AIM as AIM
    from .curator.mechanisms.dp_gan.dp_gan import DPGan as DPGan
    from .curator.mechanisms.dp_select.dp_select import DPSelect as DPSelect
    from .curator.mechanisms.independent import Independent as Independent
    from .curator.mechanisms.mosaic.mosaic import Mosaic as Mosaic
    from .curator.mechanisms.mst import MST as MST
    from .curator.mechanisms.mwem import MWEM as MWEM
    from .curator.mechanisms.ppsyn.ppsyn import PPSyn as PPSyn
    from .curator.mechanisms.privbayes.privbayes import PrivBayes as PrivBayes
    from .curator.mechanisms.randdpgen.randdpgen import RandDPGen as RandDPGen
    from .curator.people.release import PeopleRelease as PeopleRelease
    from .curator.people.release import load_people as load_people
    from .curator.results.models import load_model as load_model
    from .party.drafting.draft import Draft as Draft
    from .party.sources.source import read_table as read_table
    from .simulations.datasets.catalogue import load_dataset as load_dataset
    from .simulations.evaluation.evaluation import Evaluation as Evaluation
    from .simulations.parties.partition import Grid as Grid
    from .simulations.simulate import Simulation as Simulation
    from .simulations.simulate import simulate as simulate
    from .simulations.tables.frames import decode as decode
    from .simulations.tables.frames import draft as draft
    from .simulations.tables.frames import encode as encode
    from .simulations.time_limit import TimeLimitWarning as TimeLimitWarning
    from .synthesis.attacking.attack import attack as attack
    from .synthesis.attacking.page import Attacks as Attacks
    from .synthesis.evaluating.frames import ComparisonPage as ComparisonPage
    from .synthesis.evaluating.frames import compare as compare
    from .synthesis.evaluating.frames import evaluate as evaluate
    from .synthesis.ledgers.budget import TableBudget as TableBudget
    from .synthesis.ledgers.budget import budget as budget
    from .synthesis.ledgers.counting import BudgetWarning as BudgetWarning
    from .synthesis.over_parties.holders import Holders as Holders
    from .synthesis.over_parties.releasing import simulate_people as simulate_people
    from .synthesis.styles.synthesizer import Synthesizer as Synthesizer
    from .synthesis.synthesize import DomainWarning as DomainWarning
    from .synthesis.synthesize import synthesize as synthesize

_HOMES = {
    "AIM": "curator.mechanisms.aim",
    "MST": "curator.mechanisms.mst",
    "MWEM": "curator.mechanisms.mwem",
    "ABSyn": "curator.mechanisms.absyn.absyn",
    "Answer": "curator.analysis.queries.answer",
    "ApprovalPending": "common.errors",
    "AtMost": "common.data.rules.order",
    "Attacks": "synthesis.attacking.page",
    "Attribute": "common.data.attributes.attribute",
    "BooleanAttribute": "common.data.attributes.boolean",
    "Budget": "common.privacy.budget",
    "BudgetError": "common.errors",
    "BudgetWarning": "synthesis.ledgers.counting",
    "CategoricalAttribute": "common.data.attributes.categorical",
    "Certificate": "curator.certificates.certificate",
    "DPGan": "curator.mechanisms.dp_gan.dp_gan",
    "DPSelect": "curator.mechanisms.dp_select.dp_select",
    "ComparisonPage": "synthesis.evaluating.frames",
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
    "Holders": "synthesis.over_parties.holders",
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
    "PartOf": "common.data.rules.follows",
    "PartyUnavailable": "common.errors",
    "PeopleRelease": "curator.people.release",
    "PolicyError": "common.errors",
    "PrivBayes": "curator.mechanisms.privbayes.privbayes",
    "Product": "common.data.rules.order",
    "ProtocolError": "common.errors",
    "RandDPGen": "curator.mechanisms.randdpgen.randdpgen",
    "Release": "curator.analysis.release",
    "Rule": "common.data.rules.rule",
    "Simulation": "simulations.simulate",
    "StepsOf": "common.data.rules.follows",
    "Sum": "common.data.rules.order",
    "Synthesizer": "synthesis.styles.synthesizer",
    "Table": "common.data.table",
    "TableBudget": "synthesis.ledgers.budget",
    "TimeLimitWarning": "simulations.time_limit",
    "Workload": "common.data.workload",
    "attack": "synthesis.attacking.attack",
    "budget": "synthesis.ledgers.budget",
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
    "simulate_people": "synthesis.over_parties.releasing",
    "synthesize": "synthesis.synthesize",
}


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that a party needs none of the curator's packages."""
    if name not in _HOMES:
        from .common.forms.nearest import hint

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint(name, _HOMES)}")
    home = _HOMES[name]
    if not home.startswith(("common", "party")):
        from .common.extras import require_extra

        require_extra("curator")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*globals(), *_HOMES})
