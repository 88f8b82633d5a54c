"""The public description of one of several related tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.unmodelled import WHOLE_NUMBERS, Identifier
from ...common.data.domain import Domain
from ...common.data.related.steps import Steps
from ...common.data.rules import read_rules
from ...common.data.rules.follows import Follows
from ...common.forms.form import Form
from ...common.forms.several import TEXTS, ListOf
from ...common.forms.tables import Key, MapOf, Table
from ...common.forms.values import Anything, Choice, Number, Text, Truth, whole
from ...common.privacy.cost import WEIGHT_PARTS
from ..results.storage import Storage
from .summaries import SUMMARIES, Summary

_LATER = (
    "pattern",
    "alone",
    "series",
    "joins",
    "near",
    "same",
    "rising",
    "once",
    "repeats",
    "counts",
    "quantiles",
    "moves",
    "follows",
)
"""Entries that tables of earlier versions lack."""

_SUMMARY = {"what": Choice(tuple(SUMMARIES)), "name": Text(), "column": Text(), "values": TEXTS}
_ENTRIES: Mapping[str, Form] = {
    "name": Text(),
    "domain": Anything(),
    "key": Text(),
    "joins": TEXTS,
    "pattern": Text(),
    "parent": Text(),
    "foreign": Text(),
    "ordered": Truth(),
    "alone": Truth(),
    "when": Anything(),
    "within": TEXTS,
    "near": Text(),
    "same": TEXTS,
    "rising": TEXTS,
    "once": TEXTS,
    "series": Text(),
    "repeats": MapOf(TEXTS),
    "counts": MapOf(whole(0, 1)),
    "summaries": ListOf(Table({name: Key(form, required=True) for name, form in _SUMMARY.items()})),
    "evened": whole(1, WEIGHT_PARTS),
    "follows": ListOf(Anything()),
    "quantiles": ListOf(ListOf(Number())),
    "moves": ListOf(ListOf(ListOf(Number()))),
    "groups": MapOf(ListOf(whole(0), some=True)),
    "columns": TEXTS,
    "storage": MapOf(Choice(tuple(Storage))),
}
_FORM = Table({name: Key(form, required=name not in _LATER) for name, form in _ENTRIES.items()})


@dataclass(frozen=True)
class Kin:
    """A table and what it belongs to.

    Attributes:
        name: of the table.
        domain: of its own columns, without keys and without the column of the order.
        key: column that names its rows; empty if it has none.
        joins: columns that name them together, where `key` is made of several; empty if it is not.
        pattern: how new keys look; see `Identifier`.
        parent: name of the table to whose rows its rows belong; empty for the root.
        foreign: its column that holds the parent's key; empty for the root.
        ordered: whether the order of the rows of a parent means something.
        alone: whether a parent has one row at most, so that none is before it.
        steps: where in time, or on another scale, they are; None if there is no such column.
        within: columns of the parent between which the order lies; empty for no bound.
        near: column of the parent from which first rows are counted, before or after it; empty for none.
        series: its column that says which rows of a parent are one series; empty for all of them.
        same: columns that are the same in all rows of a parent.
        rising: columns of which no row of a parent has less than the one before.
        once: columns of which no two rows of a parent have the same value: of categories, or the order.
        repeats: columns that repeat what the row above is = the table above, and its column.
        counts: columns that count the rows of each parent = the first number.
        ends: columns that come after the order, each after those that it counts from; the domain has how far.
        follows: rules of columns that follow from the order or from such a column.
        summaries: what a row of the parent says of its rows of this table.
        evened: up to how many rows of a parent all count the same.
        moves: where drawn values of the order move to, in maps one after the other, each of pairs in order;
            see `quantiles`.
        groups: for columns that rows of its children know in groups: the group of each code.
        columns: all columns of the table, in order; empty if it is not released.
        storage: how the columns of a data frame are stored.
    """

    name: str
    domain: Domain | None
    key: str = ""
    joins: tuple[str, ...] = ()
    pattern: str = WHOLE_NUMBERS
    parent: str = ""
    foreign: str = ""
    ordered: bool = False
    alone: bool = False
    steps: Steps | None = None
    within: tuple[str, str] = ("", "")
    near: str = ""
    series: str = ""
    same: tuple[str, ...] = ()
    rising: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    repeats: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    ends: tuple[Attribute, ...] = ()
    follows: tuple[Follows, ...] = ()
    summaries: tuple[Summary, ...] = ()
    evened: int = 1
    moves: tuple[tuple[tuple[float, float], ...], ...] = ()
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    storage: Mapping[str, Storage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for groups in self.groups.values():
            if {*groups} != {*range(len({*groups}))}:
                raise ValueError("groups are numbered from 0 on, and each has a code")

    @property
    def names(self) -> Identifier:
        """The names that new rows get as keys."""
        return Identifier(self.key, self.pattern)

    @property
    def places(self) -> tuple[CategoricalAttribute, ...]:
        """The columns of its parent that say where its rows are in time."""
        return () if self.steps is None else self.steps.places(self.name)

    def to_json(self) -> dict[str, Any]:
        """The table as JSON values."""
        return {
            "name": self.name,
            "domain": None if self.domain is None else self.domain.to_json(),
            "key": self.key,
            "pattern": self.pattern,
            "parent": self.parent,
            "foreign": self.foreign,
            "ordered": self.ordered,
            "alone": self.alone,
            "when": None if self.steps is None else Domain((self.steps.when, *self.ends)).to_json(),
            "within": list(self.within),
            # Without these, as tables were written before there were any.
            **({"joins": list(self.joins)} if self.joins else {}),
            **({"near": self.near} if self.near else {}),
            **({"series": self.series} if self.series else {}),
            **({"same": list(self.same)} if self.same else {}),
            **({"rising": list(self.rising)} if self.rising else {}),
            **({"once": list(self.once)} if self.once else {}),
            **({"repeats": {name: list(one) for name, one in self.repeats.items()}} if self.repeats else {}),
            **({"counts": dict(self.counts)} if self.counts else {}),
            **({"follows": [rule.to_json() for rule in self.follows]} if self.follows else {}),
            "summaries": [summary.to_json() for summary in self.summaries],
            "evened": self.evened,
            "moves": [[list(pair) for pair in one] for one in self.moves],
            "groups": {name: list(groups) for name, groups in self.groups.items()},
            "columns": list(self.columns),
            "storage": {name: storage.value for name, storage in self.storage.items()},
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Kin:
        """Reads a table.

        Raises:
            DataError: a domain is damaged.
            ValueError: another value is.
        """
        if not _FORM.fits(form):
            raise ValueError("it is no description of a table")
        low, high = form["within"]
        near = form.get("near", "")
        repeats = {name: (table, column) for name, (table, column) in form.get("repeats", {}).items()}
        # Version 0.1.0 knew one map.
        moves = form.get("moves", [form.get("quantiles", [])])
        timed = () if form["when"] is None else Domain.from_json(form["when"]).attributes
        return cls(
            name=form["name"],
            domain=None if form["domain"] is None else Domain.part_from_json(form["domain"]),
            key=form["key"],
            joins=tuple(form.get("joins", ())),
            pattern=form.get("pattern", WHOLE_NUMBERS),
            parent=form["parent"],
            foreign=form["foreign"],
            ordered=form["ordered"],
            alone=form.get("alone", False),
            steps=Steps(timed[0], bool(low or near), bool(near)) if timed else None,
            within=(low, high),
            near=near,
            series=form.get("series", ""),
            same=tuple(form.get("same", ())),
            rising=tuple(form.get("rising", ())),
            once=tuple(form.get("once", ())),
            repeats=repeats,
            counts=form.get("counts", {}),
            ends=timed[1:],
            follows=tuple(rule for rule in read_rules(form.get("follows", [])) if isinstance(rule, Follows)),
            summaries=tuple(
                SUMMARIES[one["what"]](one["name"], one["column"], tuple(one["values"]))
                for one in form["summaries"]
            ),
            evened=form["evened"],
            moves=tuple(
                tuple((float(drawn), float(released)) for drawn, released in one) for one in moves if one
            ),
            groups={name: tuple(groups) for name, groups in form["groups"].items()},
            columns=tuple(form["columns"]),
            storage={name: Storage(storage) for name, storage in form["storage"].items()},
        )
