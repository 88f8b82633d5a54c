"""Columns of every kind with the values at which codes change, and the codes that Python gives them."""

import datetime as dt
import functools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from dpmosaic.common.data.attributes.attribute import REFUSED, Attribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.party.counting.engines.kinds import Kind

ROWS = 120

NUMBERS = {
    "ages": {"type": "numeric", "min": 0, "max": 120, "bins": 121, "integer": True},
    "runs": {"type": "numeric", "min": -7, "max": 1000, "bins": 13, "integer": True, "nullable": True},
    "real": {"type": "numeric", "min": -3.7, "max": 11.1, "bins": 17, "nullable": True},
    "log": {"type": "numeric", "min": 0.001, "max": 12345.6, "bins": 23, "scale": "log", "atoms": [-1, 0]},
    "cents": {"type": "numeric", "min": 0, "max": 99.9, "bins": 31, "multiple_of": 0.1, "nullable": True},
    "atoms": {
        "type": "numeric",
        "min": 10,
        "max": 20,
        "bins": 4,
        "atoms": [5, 12.5, 20, 999],
        "outside": "missing",
        "nullable": True,
    },
    "strict": {
        "type": "numeric",
        "min": 0,
        "max": 1,
        "bins": 3,
        "outside": "error",
        "unreadable": "missing",
        "nullable": True,
    },
    "open": {"type": "numeric", "bins": "auto", "multiple_of": 0.25},
    "fine": {"type": "numeric", "min": 0, "max": 5, "bins": "auto", "nullable": True},
    "fives": {"type": "numeric", "min": 0, "max": 500, "bins": 20, "multiple_of": 5, "integer": True},
    "blank": {"type": "numeric", "min": 0, "max": 50, "bins": 5, "nullable": True, "missing": ["-9", "NA"]},
    "limits": {
        "type": "numeric",
        "min": 0,
        "max": 50,
        "bins": 5,
        "atoms": [5],
        "texts": ["<5", "n. d.", "ä"],
        "missing": ["NA"],
        "nullable": True,
    },
    "many": {"type": "numeric", "min": 0, "max": 99999, "bins": 100000, "integer": True},
}
LISTED = {
    "codes": 7,
    "words": {
        "type": "categorical",
        "categories": ["a", "B", "ä", "a b", "", "'\"\\%_"],
        "other": "B",
        "missing": ["NA"],
    },
    "mixed": {
        "type": "categorical",
        "categories": [1, 2.5, "01", "x", True, "3"],
        "other": "x",
        "missing": ["NA"],
    },
    "digits": {"type": "categorical", "categories": ["0", "1", "2", "-0", "inf", ""], "other": "2"},
    "yes": {"type": "boolean", "nullable": True},
    "spelled": {
        "type": "boolean",
        "nullable": True,
        "true": ["Y", 1],
        "false": ["N", 0, -1],
        "missing": ["?"],
    },
    "labels": {"type": "categorical", "categories": ["x", "rest"], "other": "rest", "open": True},
}
TIMES = {
    "days": {"type": "date", "min": "1999-12-31", "max": "2024-02-29", "bins": 40, "nullable": True},
    "weeks": {
        "type": "date",
        "min": "2020-01-06",
        "max": "2020-12-28",
        "granularity": "week",
        "bins": 7,
        "atoms": ["2020-03-02"],
    },
    "quarters": {
        "type": "date",
        "min": "1900-01-01",
        "max": "2100-10-01",
        "granularity": "quarter",
        "bins": "auto",
    },
    "seconds": {
        "type": "timestamp",
        "min": "2021-03-01T00:00:00",
        "max": "2021-03-02T12:00:00",
        "bins": 9,
        "outside": "missing",
        "nullable": True,
    },
    "parts": {"type": "date", "min": "2019-05-01", "max": "2021-07-31", "parts": ["weekday", "month"]},
}
KINDS = {
    **{name: (Kind.WHOLE, Kind.SINGLE, Kind.DOUBLE, Kind.DECIMAL, Kind.TEXT) for name in NUMBERS},
    **{
        name: (Kind.WHOLE, Kind.SINGLE, Kind.DOUBLE, Kind.BOOLEAN, Kind.TEXT, Kind.DECIMAL) for name in LISTED
    },
    **{name: (Kind.DATE, Kind.TIMESTAMP) for name in TIMES},
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes:
        attribute: encodes it.
        kind: type in the engine.
        values: for each row what a client of the engine writes; None if it is missing.
        codes: what Python encodes them as.
    """

    attribute: Attribute
    kind: Kind
    values: list[Any]
    codes: np.ndarray


@functools.cache
def columns(seed=0):
    """A column for each attribute and kind of which the domain accepts a value, in random order."""
    rng = np.random.default_rng(seed)
    made = []
    for name, form in (NUMBERS | LISTED | TIMES).items():
        for kind in KINDS[name]:
            label = f"{name} {kind.name.lower()}"
            (attribute,) = Domain.from_json({label: form}).attributes
            values, cells = candidates(name, attribute, kind)
            reading = attribute.read(cells)
            accepted = np.ones(len(values), dtype=bool)
            for rows, _ in reading.refused.values():
                accepted &= ~rows
            if accepted.any():
                picked = rng.permutation(np.resize(rng.permutation(np.flatnonzero(accepted)), ROWS))
                made.append(
                    Column(attribute, kind, [values[place] for place in picked], reading.codes[picked])
                )
    return made


def candidates(name, attribute, kind):
    """Values at, just below and just above everything at which a code may change, as written and as read."""
    if name in TIMES:
        return _times(attribute, kind)
    numbers = {0.0, -0.0, 1.0, -1.0, 2.0, 2.5, 3.0, 0.1, 1e15, -1e15, 16777217.0, 999.0, 1e9 + 0.5}
    if name in NUMBERS:
        for mark in {
            *attribute.cells[:400, 0],
            *attribute.grid[:400],
            *attribute.grid[-2:],
            *attribute.atoms,
        }:
            near = (
                mark,
                np.nextafter(mark, -np.inf),
                np.nextafter(mark, np.inf),
                mark * (1 + 1e-12),
                mark + 1e-8,
            )
            numbers |= {float(number) for number in near}
    numbers = sorted(number for number in numbers if abs(number) < 1e17)
    match kind:
        case Kind.WHOLE:
            wholes = sorted(
                {int(number) for number in numbers if number.is_integer()} | {2**53 + 1, -(2**62)}
            )
            return _with_missing(wholes, np.int64)
        case Kind.BOOLEAN:
            return _with_missing([False, True], np.bool_)
        case Kind.DOUBLE:
            extreme = [1e300, -1.7976931348623157e308, 5e-324, np.inf, -np.inf, np.nan]
            return _with_missing([*numbers, *extreme], np.float64)
        case Kind.SINGLE:
            close = {np.float32(number) for number in numbers}
            close |= {np.nextafter(one, np.float32(to)) for one in close for to in (-np.inf, np.inf)}
            values = [float(one) for one in sorted(close)] + [np.inf, -np.inf, np.nan]
            return _with_missing(values, np.float32)
        case Kind.DECIMAL:
            texts = sorted({f"{Decimal(number):.3f}" for number in numbers if abs(number) < 1e12})
            return [*map(Decimal, texts), None], np.array([*texts, None], dtype=object)
    texts = [repr(number) for number in numbers if 1e-9 < abs(number) < 1e12 or number == 0]
    texts += ["1.", ".5", "-.25", "1e2", "7.50", "1E-3", "01", "1.0", "x", "", "NA"]
    if name in LISTED:
        texts += [
            "a",
            "A",
            "B",
            "ä",
            "a b",
            " a",
            "a ",
            "'\"\\%_",
            "true",
            "TRUE",
            "True",
            "false",
            "Y",
            "y",
            "N",
            "?",
            "zz",
            "ab",
        ]
    else:
        texts = [text for text in texts if text != "x"] + [*attribute.texts]
    return [*texts, None], np.array([*texts, None], dtype=object)


def _times(attribute, kind):
    marks = attribute.unit_moments.at(np.ceil(attribute.units.cells[:400, 0]).astype(np.int64)).astype(
        "datetime64[us]"
    )
    near = {mark.item() + dt.timedelta(microseconds=by) for mark in marks for by in (-1, 0, 1)}
    near |= {dt.datetime(1, 1, 2), dt.datetime(9998, 12, 30, 23, 59, 59), dt.datetime(2020, 3, 4, 5, 6, 7, 8)}
    if kind is Kind.DATE:
        near = {dt.datetime(one.year, one.month, one.day) for one in near}
    cells = np.array([*sorted(near), None], dtype="datetime64[us]")
    written = [one.date() if kind is Kind.DATE else one for one in sorted(near)]
    return [*written, None], cells


def _with_missing(values, dtype):
    cells = np.ma.masked_array(np.array([*values, 0]).astype(dtype), [*(False for _ in values), True])
    return [*values, None], cells


def refusals(attribute, cells):
    """For each cell the key of `REFUSED`, empty if it has a code."""
    found = np.full(len(cells), "", dtype=object)
    for key, (rows, _) in attribute.read(cells).refused.items():
        assert key in REFUSED
        found[rows] = key
    return found
