"""All mechanisms by name: what each is, when to use it, over which protocols, with which parameters."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...common.errors import DataError
from ...common.extensions import MECHANISMS, extensions
from ...common.forms.form import Form
from ...common.forms.nearest import hint
from ...common.forms.values import Choice
from ...common.protocols.registry import Protocol, Scores, protocol_named, protocol_names
from .listed import LISTED
from .parts.parameters import forms_of

if TYPE_CHECKING:
    from ...common.privacy.budget import Budget
    from .mechanism import Mechanism


class Needs(enum.Enum):
    """What a mechanism needs of a protocol."""

    MARGINALS = "noisy marginals"
    SCORES = "exact distances with noise"
    """With `masked`, at most one collusion."""
    RECORDS = "the records in one place"
    """In simulation only, where one process holds the table."""

    def met_by(self, protocol: Protocol) -> bool:
        """Whether a protocol gives that, in some release at least."""
        if self is Needs.RECORDS:
            return protocol.one_party
        return self is Needs.MARGINALS or protocol.scores is not Scores.NEVER


@dataclass(frozen=True)
class Entry:
    """A mechanism of the catalogue.

    Attributes:
        what: what it does.
        use: when to choose it.
        needs: what it needs of a protocol.
        variants: a configured mechanism for each variant; "default" first.
        on_paper: variants that read exact marginals or records: not private. They run over the protocol
            "theorem" only; where the mechanism needs records, over "trusted" in simulation, labelled.
    """

    what: str
    use: str
    needs: Needs
    variants: Mapping[str, Callable[[], Mechanism]]
    on_paper: tuple[str, ...] = ()

    @property
    def protocols(self) -> tuple[str, ...]:
        """The names of the protocols that it runs over."""
        return tuple(name for name in protocol_names() if self.needs.met_by(protocol_named(name)))


def _variants(home: str, *, paper: bool = False) -> Mapping[str, Callable[[], Mechanism]]:
    """The variants of a mechanism of this package, whose module is imported when one is made.

    Args:
        home: MODULE:CLASS, in this package.
        paper: whether it has the variant of its paper.
    """
    module, _, name = home.partition(":")

    def load_class() -> Any:
        return getattr(import_module(f".{module}", __package__), name)

    variants: dict[str, Callable[[], Mechanism]] = {"default": lambda: load_class()()}
    return variants | ({"paper": lambda: load_class().of_the_paper()} if paper else {})


CATALOGUE: Mapping[str, Entry] = {
    "mosaic": Entry(
        "measures interactions where scores show that the model lacks them, and shrinks them by their noise",
        "the default",
        Needs.MARGINALS,
        _variants("mosaic.mosaic:Mosaic"),
    ),
    "randdpgen": Entry(
        "scores all marginals in four rounds, measures more in each, and everything once more at the end",
        "to compare with the RandDPGen paper",
        Needs.MARGINALS,
        _variants("randdpgen.randdpgen:RandDPGen", paper=True),
    ),
    "aim": Entry(
        "measures one marginal after the other, the worst for its noise, and pays more once it learns little",
        "marginals of three and more attributes, or to compare with what others report",
        Needs.SCORES,
        _variants("aim:AIM"),
    ),
    "mst": Entry(
        "measures the pairs of a spanning tree of the attributes that depend most on each other",
        "many attributes and little time: one batch of scores, one fit, a small model",
        Needs.SCORES,
        _variants("mst:MST"),
    ),
    "mwem": Entry(
        "measures a fixed number of marginals, the worst first, starting from the uniform distribution",
        "few marginals of a small domain, or to compare with what others report",
        Needs.SCORES,
        _variants("mwem:MWEM"),
    ),
    "absyn": Entry(
        "scores all pairs once and selects in one batch those that leave least noise and missing dependence",
        "fewer steps than the default, and as a rule less time",
        Needs.SCORES,
        _variants("absyn.absyn:ABSyn", paper=True),
    ),
    "ppsyn": Entry(
        "measures marginals over boxes of cells, those first that improve the model most for their cost",
        "attributes of many values and small budgets",
        Needs.SCORES,
        _variants("ppsyn.ppsyn:PPSyn", paper=True),
        on_paper=("paper",),
    ),
    "privbayes": Entry(
        "measures a Bayesian network of attributes that depend most on each other, large ones coarsened",
        "many attributes and little time; it draws rows without fitting a model",
        Needs.MARGINALS,
        _variants("privbayes.privbayes:PrivBayes", paper=True),
    ),
    "dp-select": Entry(
        "generates a pool of records by a DP-GAN and selects those whose marginals come close to the table's",
        "rows that a network made up, where one place holds the table and a minute of one core is affordable",
        Needs.RECORDS,
        _variants("dp_select.dp_select:DPSelect", paper=True),
        on_paper=("paper",),
    ),
    "dp-gan": Entry(
        "trains a generative network against a critic whose gradients are noisy",
        "comparing with others: marginals that are measured say more",
        Needs.RECORDS,
        _variants("dp_gan.dp_gan:DPGan"),
    ),
    "independent": Entry(
        "measures one-way marginals and takes the attributes to be independent",
        "the baseline to compare with, or a budget too small for anything else",
        Needs.MARGINALS,
        _variants("independent:Independent"),
    ),
}


def mechanism_names() -> tuple[str, ...]:
    """The names of all mechanisms, those of other packages last."""
    return (*CATALOGUE, *extensions(MECHANISMS, CATALOGUE))


def entry_named(name: str) -> Entry:
    """The mechanism of this name.

    Raises:
        DataError: there is none, or a package brings it that cannot be used.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    others = extensions(MECHANISMS, CATALOGUE)
    if name not in others:
        for fault in Choice(mechanism_names()).faults(name):
            raise DataError(f"mechanism: {fault.reason}")
    found: Entry = others[name].load(Entry)
    return found


@dataclass(frozen=True)
class Parameter:
    """What `--set` can change.

    Attributes:
        name: of the parameter.
        kind: type and range in words.
        default: value in the default variant.
    """

    name: str
    kind: str
    default: Any


def mechanism_named(
    name: str, variant: str = "default", settings: Mapping[str, str] | None = None
) -> Mechanism:
    """A mechanism with the defaults of one of its variants, and some parameters set.

    Args:
        name: in the catalogue.
        variant: one of its variants.
        settings: values of parameters as text.

    Raises:
        DataError: no mechanism has this name, variant or parameter, or a value is of another type or out of
            range; lists what there is.
    """
    variants = entry_named(name).variants
    for fault in Choice(tuple(variants)).faults(variant):
        raise DataError(f"variant of {name}: {fault.reason}")
    mechanism: Any = variants[variant]()
    forms = forms_of(type(mechanism))
    values = {}
    for key, text in (settings or {}).items():
        if key not in forms:
            known = ", ".join(f"{p.name} ({p.kind})" for p in parameters(name)) or "none"
            raise DataError(f"parameter of {name}: expected one of {known}; got {key!r}{hint(key, forms)}")
        values[key] = _value(key, text, forms[key])
    configured: Mechanism = replace(mechanism, **values)
    return configured


_READING_RECORDS = ("dp-gan", "dp-select")
"""Mechanisms that read rows, and not counts of them."""


def check_counting(mechanism: Mechanism, budget: Budget) -> None:
    """Refuses a mechanism for people with all rows that does not only add Gaussian noise to counts.

    Args:
        mechanism: the mechanism.
        budget: of its release.

    Raises:
        DataError: it reads rows, or other noise is a part of its cost.
    """
    whole = budget.granted(gaussian_only=True)
    if mechanism.name in _READING_RECORDS or mechanism.granted(budget) != whole:
        raise DataError(
            f"mechanism: expected one that only adds Gaussian noise to counts of rows, got "
            f"{mechanism.name!r} in a variant that does not; leave it out"
        )


def parameters(name: str) -> list[Parameter]:
    """The parameters of a mechanism of the catalogue, with the values of the default variant."""
    return [Parameter(key, form.words, default) for key, (form, default) in _parameters(name).items()]


def parameter_forms(name: str) -> Mapping[str, Form]:
    """What each parameter of a mechanism of the catalogue may be."""
    return {key: form for key, (form, _) in _parameters(name).items()}


def declared(mechanism: Mechanism) -> dict[str, tuple[Form, Any]]:
    """Form and value of each parameter of a mechanism, as its class states them."""
    return {key: (form, getattr(mechanism, key)) for key, form in forms_of(type(mechanism)).items()}


def _parameters(name: str) -> Mapping[str, tuple[Form, Any]]:
    """Form and default of each parameter; a mechanism of this package is not imported for them."""
    return LISTED[name] if name in LISTED else declared(entry_named(name).variants["default"]())


def _value(key: str, text: str, form: Form) -> object:
    """Reads the value of a parameter.

    Raises:
        DataError: it is of another type, or out of range.
    """
    value = form.read(text)
    if not form.fits(value):
        raise DataError(f"parameter {key}: expected {form.words}, got {text!r}")
    return value
