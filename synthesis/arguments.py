"""Kinds of arguments of `synthesize`: whatever is of another is refused before anything is read or spent."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from ..common.data.domain import Domain
from ..common.data.rules import Rule
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.forms.values import POSITIVE, whole
from ..common.privacy.cost import Adjacency
from ..party.drafting.draft import Draft
from .unfinished import Unfinished

Fits = Callable[[Any], bool]
"""Whether an argument is of a kind."""

_PATH = (str, os.PathLike)


def _of(*kinds: type) -> Fits:
    return lambda value: isinstance(value, kinds)


def _texts(value: Any) -> bool:
    # An array without a dimension is a collection, too.
    held = isinstance(value, Collection) and getattr(value, "ndim", 1) == 1
    return held and all(isinstance(one, str) for one in value)


def _list_of_texts(value: Any) -> bool:
    return _texts(value) and not isinstance(value, (str, Mapping))


def _pairs(value: Any) -> bool:
    return isinstance(value, Sequence) and all(map(_list_of_texts, value))


def _by_table(fits: Fits) -> Fits:
    return lambda value: isinstance(value, Mapping) and all(map(fits, value.values()))


def _either(*forms: Fits) -> Fits:
    return lambda value: any(fits(value) for fits in forms)


def _one_of(*values: Any) -> Fits:
    # Not by ==, to which 0, 1 and cells of other libraries answer otherwise.
    return lambda value: any(value is one for one in values)


def _bound(value: Any) -> bool:
    return isinstance(value, Sequence) and all(one is None or isinstance(one, str) for one in value)


_ORDER = _either(_of(str), _one_of(True, None))

_KINDS: Mapping[str, tuple[Fits, str]] = {
    "key": (_of(str), "the name of a column"),
    "relations": (_by_table(_by_table(_of(str))), 'such as {"stays": {"id": "patients"}}'),
    "public": (_list_of_texts, "a list of names of tables"),
    "order": (_either(_ORDER, _by_table(_ORDER)), "a column, True, or one of these for each table"),
    "series": (_either(_of(str), _by_table(_of(str))), "a column, or one for each table"),
    "near": (_by_table(_of(str)), 'such as {"visits": "enrolled"}'),
    "same": (_by_table(_list_of_texts), 'such as {"admissions": ["ethnicity"]}'),
    "rising": (
        _either(_list_of_texts, _by_table(_list_of_texts)),
        "a list of columns, or one for each table",
    ),
    "once": (_either(_list_of_texts, _by_table(_list_of_texts)), "a list of columns, or one for each table"),
    "repeats": (_by_table(_by_table(_of(str))), 'such as {"stays": {"sex": "patients"}}'),
    "counts": (
        _either(_by_table(whole(0, 1).fits), _by_table(_by_table(whole(0, 1).fits))),
        'such as {"line": 1}, or one for each table',
    ),
    "within": (_by_table(_bound), 'such as {"stays": ("born", "died")}'),
    "drop_incomplete": (_either(_of(bool), _list_of_texts), "True, False or a list of names of tables"),
    "summaries": (_by_table(_by_table(_of(Mapping))), 'such as {"stays": {"surgery": {"ward": ["S"]}}}'),
    "per_person": (_texts, "a list of names of columns"),
    "releases": (whole().fits, "a whole number"),
    "continues": (_of(*_PATH), "the path of a folder"),
    "domain": (
        lambda value: isinstance(value, (*_PATH, Mapping, Domain, Draft)) or hasattr(value, "to_dict"),
        "a Domain, its content or the path of its file",
    ),
    "adjacency": (_of(str, Adjacency), f"one of {', '.join(Adjacency)}"),
    "mechanism": (
        lambda value: isinstance(value, str) or hasattr(value, "granted"),
        "a name or a mechanism",
    ),
    "time_limit": (POSITIVE.fits, "a number of seconds above 0"),
    "rules": (
        lambda value: isinstance(value, Sequence) and all(isinstance(one, (Rule, Mapping)) for one in value),
        "a list of rules",
    ),
    "target": (_of(str), "the name of a column"),
    "workload": (
        _either(_of(str, Workload), _pairs, _by_table(_pairs)),
        "a name, a file, a Workload, or pairs of columns",
    ),
    "seed": (whole().fits, "a whole number"),
    "header": (_of(bool), "True or False"),
    "checks": (_of(Executor), "an executor"),
    "out": (_of(*_PATH, Unfinished), "the path of a folder"),
}
"""For each argument whether a value that is not None is of its kind, and the kind in words."""

_NEEDED = frozenset({"public", "drop_incomplete", "per_person", "adjacency", "mechanism", "rules"})
"""Arguments that are never None."""


def check_kinds(arguments: Mapping[str, Any]) -> None:
    """Refuses arguments of other kinds.

    Raises:
        DataError: names the first one.
    """
    for name, value in arguments.items():
        fits, words = _KINDS[name]
        if value is None and name not in _NEEDED:
            continue
        if not fits(value):
            raise DataError(f"{name}: expected {words}, got another value; give such a one")
