"""The form of a rule in a domain file."""

from __future__ import annotations

from ...forms.several import Either, ListOf
from ...forms.tables import Key, MapOf, Table
from ...forms.values import Choice, Null, Number, Scalar, Text, Truth
from .condition import COMPARISONS
from .elapsed import ELAPSED
from .follows import PARTS

_CONDITION = Either(
    (
        ListOf(Either((Scalar(), Null())), some=True, like="a list of values"),
        Table({name: Key(Either((Number(), Text()))) for name in COMPARISONS}),
    )
)
_CONDITIONS = MapOf(_CONDITION, "columns and conditions", some=True)
_COLUMN = Key(Text(), required=True)
_COLUMNS = Key(ListOf(Text()), required=True)
_ADDENDS = Key(ListOf(Either((Text(), Number()))), required=True)
_STEPS = Key(ListOf(Either((Number(), Text())), some=True), required=True)
_VALUES = Key(ListOf(Scalar(), some=True), required=True)

RULE = Either(
    (
        Table({"impossible": Key(_CONDITIONS, required=True)}),
        Table(
            {
                "determines": Key(Table({"from": _COLUMN, "to": _COLUMN}), required=True),
                "map": Key(MapOf(Scalar(), "values and values")),
            }
        ),
        Table({"at_most": _COLUMNS}),
        Table({"sum": _COLUMN, "of": _ADDENDS}),
        Table({"product": _COLUMN, "of": _ADDENDS}),
        Table(
            {
                "part": Key(Choice(PARTS), required=True),
                "column": _COLUMN,
                "of": _COLUMN,
                "map": Key(MapOf(Scalar(), "values and values")),
            }
        ),
        Table({"steps": _COLUMN, "of": _COLUMN, "at": _STEPS, "values": _VALUES}),
        *(Table({unit: _COLUMN, "from": _COLUMN, "to": _COLUMN}) for unit in ELAPSED),
        Table({"null": _COLUMN, "when": Key(_CONDITIONS, required=True), "only": Key(Truth())}),
    )
)
"""One rule."""
