"""The form of a domain file: the entries of columns, and the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...forms.several import TEXTS, Either, ListOf
from ...forms.tables import Key, MapOf, Table
from ...forms.values import POSITIVE, SHARE, Anything, Choice, Null, Number, Scalar, Text, Truth, whole
from ..attributes.clock import FORMATS
from ..attributes.date_parts import Part
from ..attributes.granularity import Granularity
from ..attributes.numeric import AUTO, OUTSIDE, UNREADABLE
from ..binning.rhythm import MINUTES
from ..binning.scale import Scale

_BINS = Key(
    Either((Choice((AUTO,)), whole(1))), "Number of bins; auto for a release to choose.", required=True
)
_BOUND = Key(Number(), required=True)
_TIME = Key(Text(), "As ISO 8601 writes it.", required=True)
_EDGES = "The bounds of all bins."

_ANY = {
    "reviewed": Key(Truth(), "false: read from private rows, and nobody has reviewed it."),
    "computed": Key(Text(), "SQL by which the column follows from others; no model holds it."),
    "measured": Key(Truth(), "true: a model holds it beside, and the SQL names the value that is drawn."),
}
_COMMON = {"missing": Key(TEXTS, "Texts that stand for a missing value."), **_ANY}
_COUNTED = {
    "nullable": Key(Truth(), "Whether values may be missing."),
    "outside": Key(Choice(tuple(OUTSIDE)), "Values beyond the bounds."),
    "unreadable": Key(Choice(tuple(UNREADABLE)), "Values that cannot be read."),
    "format": Key(Text(), "How values are written."),
    **_COMMON,
}
_TEXTS = {"texts": Key(TEXTS, "Texts with codes of their own beside the values, such as <5.")}
_ROUNDED = Table(
    {
        "from": Key(Number(), "The values are at least so far from zero.", required=True),
        "units": Key(ListOf(POSITIVE), "Such as 1 and 0.1, decreasing.", required=True),
        "shares": Key(
            ListOf(Number()),
            "The share of values that are multiples of each and of none before.",
            required=True,
        ),
    }
)
_NUMERIC = {
    "integer": Key(Either((Truth(), Null())), "Whether all values are whole numbers."),
    "scale": Key(Choice(tuple(Scale)), "The scale on which bins are of equal width."),
    "atoms": Key(ListOf(Number()), "Values of their own beside the bins."),
    "decimals": Key(whole(0, 15), "Decimal places of all values; excludes multiple_of."),
    "multiple_of": Key(Either((POSITIVE, Null())), "A number of which all values are multiples."),
    "rounded": Key(ListOf(_ROUNDED), "How round values are, by their size."),
    "among": Key(ListOf(Number()), "Values among which those of a bin are drawn, if it holds some."),
    **_TEXTS,
    **_COUNTED,
}
_GRANULARITY = {"granularity": Key(Choice(tuple(Granularity)), "The unit of time that matters.")}
_MOMENTS = {
    **_GRANULARITY,
    "months": Key(TEXTS, "Names of the twelve months, if not in English."),
    "also": Key(TEXTS, "Other formats that are read; values are written in the first."),
    "days": Key(TEXTS, "Names of the seven days of the week from Monday on, if not in English."),
    **_COUNTED,
}
_RHYTHM = Table(
    {
        "weekdays": Key(ListOf(Number()), "The shares of the days of a week, from Monday on."),
        "hours": Key(
            ListOf(Number()), "The shares of the hours of a day, of times that are not at midnight."
        ),
        "midnight": Key(Number(), "The share of times at midnight."),
        "minutes": Key(
            Table({str(one): Key(Number()) for one in MINUTES}),
            "The share of times, beside those at midnight, at multiples of so many minutes and of no more.",
        ),
        "monthdays": Key(
            Table({one: Key(Number()) for one in (*map(str, range(1, 32)), "last")}),
            "The share of times on some days of a month, on its last one as well; others are even.",
        ),
        "gaps": Key(
            MapOf(Number()),
            "Of gaps between rows of one person that are about so long, the share that are exactly: "
            '{"1 month": 0.9, "14 days": 0.5}.',
        ),
    }
)
_WHEN = {"rhythm": Key(_RHYTHM, "When in a week and in a day values are.")}
_TIMED = {"timezone": Key(Text(), "The zone in which times are told."), **_MOMENTS}
_OF_CLOCK = Key(Text(), "Hours and minutes, 8:30; by default the whole day.")
_TIME_ATOMS = {"atoms": Key(TEXTS, "Times of their own beside the bins."), **_TEXTS}
_CLOCK = {
    **_GRANULARITY,
    **_TIME_ATOMS,
    **_WHEN,
    **_COUNTED,
    "format": Key(Choice(FORMATS), "How values are written.", required=True),
}
_GAP = Table(
    {
        "min": Key(Number(), "Least number of units after the other column."),
        "max": Key(Number(), "Largest number of units."),
        "bins": Key(_BINS.form, _BINS.about),
        "edges": Key(ListOf(Number()), _EDGES),
        "scale": _NUMERIC["scale"],
        "atoms": _NUMERIC["atoms"],
    }
)


def _moments(keys: Mapping[str, Key]) -> Mapping[str, Table]:
    bounds = {"min": _TIME, "max": _TIME}
    bins = {"bins": Key(_BINS.form, _BINS.about)}
    parts = {"parts": Key(ListOf(Choice(tuple(Part))), "Parts that are modelled.", required=True)}
    after = MapOf(_GAP, "another column's name with the bins of the gap", some=True)
    return {
        "after": Table(
            {"after": Key(after, "The column that it comes after.", required=True), **_WHEN, **keys}
        ),
        "edges": Table({"edges": Key(TEXTS, _EDGES, required=True), **_TIME_ATOMS, **_WHEN, **keys}),
        "parts": Table({**bounds, **parts, **keys}),
        "bins": Table({**bounds, **bins, **_TIME_ATOMS, **_WHEN, **keys}),
    }


VARIANTS: Mapping[str, Mapping[str, Table]] = {
    "codes": {"": Table({"n": Key(whole(1), "Number of codes.", required=True), **_ANY})},
    "categorical": {
        "": Table(
            {
                "categories": Key(
                    ListOf(Scalar()), "The values, in the order of their codes.", required=True
                ),
                "other": Key(Either((Scalar(), Null())), "The category of all that are not listed."),
                "ordered": Key(Truth(), "Whether the order has a meaning."),
                "open": Key(Truth(), "A release finds further categories."),
                "prefixes": Key(Truth(), "Other texts count as the longest category that they begin with."),
                "nearest": Key(
                    Truth(), "Other texts of numbers count as the category with the nearest ones."
                ),
                **_COMMON,
            }
        )
    },
    "numeric": {
        "edges": Table({"edges": Key(ListOf(Number()), _EDGES, required=True), **_NUMERIC}),
        "unbounded": Table({"bins": Key(Choice((AUTO,)), required=True), **_NUMERIC}),
        "bins": Table({"min": _BOUND, "max": _BOUND, "bins": _BINS, **_NUMERIC}),
    },
    "boolean": {
        "": Table(
            {
                "nullable": _COUNTED["nullable"],
                "true": Key(ListOf(Scalar()), "How true is written."),
                "false": Key(ListOf(Scalar()), "How false is written."),
                **_COMMON,
            }
        )
    },
    "date": _moments(_MOMENTS),
    "timestamp": _moments(_TIMED),
    "clock": {
        "edges": Table({"edges": Key(TEXTS, _EDGES, required=True), **_CLOCK}),
        "bins": Table({"min": _OF_CLOCK, "max": _OF_CLOCK, "bins": Key(_BINS.form, _BINS.about), **_CLOCK}),
    },
    "identifier": {
        "": Table(
            {
                "pattern": Key(Text(), "A name with one number, P-{:06d}.", required=True),
                "empty": Key(SHARE, "Share of the rows without a name."),
                "reviewed": Key(Truth(), "false: nobody has reviewed the share, and all rows get a name."),
            }
        )
    },
    "text": {"": Table({"drop": Key(Truth(), "true: no release holds the column.")})},
}
"""By type, the keys of a column's entry beside "type", for each of the ways to write it."""


def entry_schema() -> dict[str, Any]:
    """The JSON schema of the entry of one column."""
    short = [{"type": "integer", "minimum": 1}, {"type": "array", "items": Scalar().schema(), "minItems": 1}]
    typed = [_schema_of(kind, table) for kind, ways in VARIANTS.items() for table in ways.values()]
    return {"anyOf": [*short, *typed]}


def domain_schema() -> dict[str, Any]:
    """The JSON schema of a domain file, in its short and its long form."""
    from ..rules.rule_form import RULE

    columns = {"type": "object", "additionalProperties": {"$ref": "#/$defs/entry"}, "minProperties": 1}
    rules = {"type": "array", "items": {"$ref": "#/$defs/rule"}}
    long = {
        "type": "object",
        "properties": {"attributes": columns, "rules": rules, "suggested_rules": Anything().schema()},
        "required": ["attributes"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "domain.json",
        "$defs": {"entry": entry_schema(), "rule": RULE.schema()},
        "anyOf": [long, columns],
    }


def _schema_of(kind: str, table: Table) -> dict[str, Any]:
    schema = table.schema()
    schema["properties"] = {"type": {"const": kind}, **schema["properties"]}
    schema["required"] = ["type", *schema["required"]]
    return schema
