"""The terms of a formula such as "log(income) ~ age + C(district) + since", and their numbers at rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.clock import Clock
from ....common.data.attributes.dates import DateAttribute
from ....common.errors import DataError
from .places import Rows
from .selection import is_numeric, numbers_of

_CALL = re.compile(r"(log|C)\(\s*(.+?)\s*\)")

_SECONDS_OF_DAY = 86_400


class Term(NamedTuple):
    """A term of a formula.

    Attributes:
        name: as it is written, and as its coefficients are called.
        column: on which it depends.
        function: "log", "C" for categories, or "" for the column as it is.
    """

    name: str
    column: str
    function: str = ""

    @classmethod
    def of(cls, text: str, names: Sequence[str]) -> Term:
        """The term in a text; a column may be called like a function.

        Args:
            text: of the term.
            names: of all columns.
        """
        found = None if text in names else _CALL.fullmatch(text)
        return cls(text, text) if found is None else cls(text, found[2], found[1])


def read_formula(y: str, x: Sequence[str] | None, names: Sequence[str]) -> tuple[Term, tuple[Term, ...]]:
    """The response and the regressors.

    Args:
        y: a term, or a formula such as "income ~ age + education" if there is no x.
        x: terms.
        names: of all columns.

    Raises:
        DataError: it cannot be read, or names a column twice.
    """
    if x is None:
        response, separator, right = y.partition("~")
        terms = tuple(name.strip() for name in right.split("+"))
        if not separator:
            raise DataError(
                f"expected a formula such as 'income ~ age + education', or x, got {y!r}; name the columns"
            )
        y = response.strip()
    else:
        terms = (x,) if isinstance(x, str) else tuple(x)
    if not y or not terms or not all(terms):
        raise DataError("expected a response and at least one other column, got fewer; name the columns")
    found = [Term.of(text, names) for text in (y, *terms)]
    if len({term.name for term in found}) < len(found) or found[0].column in {
        one.column for one in found[1:]
    }:
        raise DataError("expected each column once, got one twice; name it once")
    return found[0], tuple(found[1:])


def is_number(places: Rows, term: Term) -> bool:
    """Whether a regression takes a term as a number rather than as categories."""
    if term.function:
        return term.function == "log"
    return _is_date(places, term) or is_numeric(places, term.column)


def numbers_at(places: Rows, term: Term, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A term as numbers, shape (rows,); NaN where the column is missing.

    A value in a bin is the one that was drawn in it: a logarithm is that of the drawn value, so that its mean
    over a bin is that of logarithms of values that are spread as decoding spreads them. Dates are days since
    the first day of the column's bounds.

    Args:
        places: the rows.
        term: one for which `is_number`, or a column of true and false.
        used: rows that count, shape (rows,).

    Raises:
        DataError: the column holds no numbers, or a logarithm is asked where they are not above zero.
    """
    if _is_date(places, term):
        return _days_of(places, term.column)
    numbers = numbers_of(places, term.column)
    if term.function != "log":
        return numbers
    below = ~(numbers > 0) & ~np.isnan(numbers)
    if (below & used).any():
        raise DataError(
            f"{term.name}: expected numbers above zero, and the column {term.column!r} may have others; "
            f"leave them out with where, or use {term.column!r} itself"
        )
    return np.log(np.where(below, np.nan, numbers))


def _is_date(places: Rows, term: Term) -> bool:
    attribute = places.domain[term.column]
    dated = isinstance(attribute, DateAttribute) and not isinstance(attribute.moments, Clock)
    return dated and not attribute.texts and not term.function


def _days_of(places: Rows, name: str) -> NDArray[np.float64]:
    attribute = places.domain[name]
    assert isinstance(attribute, DateAttribute)
    first = attribute.moments.at(np.array([attribute.units.minimum or 0], dtype=np.int64))[0]
    begun = np.datetime64(first, "D").astype("datetime64[s]")
    times = places.frame[name].to_numpy(dtype="datetime64[s]")
    days: NDArray[np.float64] = (times - begun).astype(np.float64) / _SECONDS_OF_DAY
    days[np.isnat(times)] = np.nan
    return days
