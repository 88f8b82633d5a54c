"""CASE expressions: the code of a value, found in as many comparisons as the logarithm of the codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from .engines.kinds import NotExact
from .pieces import Pieces, as_datetime

_MOST_LEAVES = 20_000
_LEAST_STEPS = 4
"""Number of adjacent whole numbers with adjacent codes from which on arithmetic replaces comparisons."""


def case(branches: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    """CASE WHEN ... THEN ... ELSE ... END; what is otherwise, if there are no branches."""
    if not branches:
        return otherwise
    return exp.Case(ifs=[exp.If(this=test, true=then) for test, then in branches], default=otherwise)


def whole(number: int | np.integer[Any]) -> exp.Expr:
    """A whole number."""
    found: exp.Expr = exp.Literal.number(abs(int(number)))
    return exp.Neg(this=found) if number < 0 else found


def double(number: float) -> exp.Expr:
    """A number of float64, exactly: engines take a literal with a point as a decimal number."""
    return exp.cast(exp.Literal.string(repr(float(number))), "double")


def text(value: str) -> exp.Expr:
    """A text.

    Raises:
        NotExact: no literal can hold it.
    """
    if "\0" in value or not value.isprintable() or any(0xD800 <= ord(c) < 0xE000 for c in value):
        raise NotExact("it lists a text with a character that is not printable")
    return exp.Literal.string(value)


def code_of_number(value: exp.Expr, pieces: Pieces, literal: Any = double) -> exp.Expr:
    """The code of a number in pieces.

    Args:
        value: a column of numbers.
        pieces: the function.
        literal: how a start is written.

    Raises:
        NotExact: there are too many pieces.
    """
    starts, leaves = _leaves(value, pieces)
    return _tree(value, [literal(start) for start in starts], leaves)


def code_of_time(value: exp.Expr, pieces: Pieces) -> exp.Expr:
    """The code of a time in pieces; see `code_of_number`."""
    literals = [None, *(_timestamp(start) for start in pieces.starts[1:])]
    return _tree(value, literals, [whole(code) for code in pieces.codes])


def code_of_text(value: exp.Expr, codes: Mapping[str, int], otherwise: exp.Expr) -> exp.Expr:
    """The code of a text.

    Args:
        value: a column of texts that are compared byte by byte.
        codes: of each text.
        otherwise: of all others.

    Raises:
        NotExact: there are too many texts, or one that no literal can hold.
    """
    # UTF-8 keeps the order of code points.
    known = sorted(codes)
    leaves = [case([(value.copy().eq(text(key)), whole(codes[key]))], exp.null()) for key in known]
    return (
        exp.func("COALESCE", _tree(value, [text(key) for key in known], leaves), otherwise)
        if known
        else otherwise
    )


def _leaves(value: exp.Expr, pieces: Pieces) -> tuple[list[float], list[exp.Expr]]:
    """Starts and codes; runs of adjacent whole numbers with adjacent codes are one leaf with arithmetic."""
    starts, codes = pieces.starts, pieces.codes
    step = np.zeros(len(starts), dtype=np.bool_)
    if pieces.steps:
        step[1:] = (np.diff(starts) == 1) & (np.diff(codes) == 1) & (codes[:-1] >= 0)
    first: list[float] = []
    leaves: list[exp.Expr] = []
    place = 0
    while place < len(starts):
        end = place + 1
        while end < len(starts) and step[end]:
            end += 1
        # The last of a run may go on beyond the next whole number.
        closed = end < len(starts) and starts[end] <= starts[end - 1] + 1
        stop = end if closed else end - 1
        if stop - place >= _LEAST_STEPS:
            first.append(float(starts[place]))
            leaves.append(_shift(value, int(starts[place]) - int(codes[place])))
            place = stop
            continue
        first.append(float(starts[place]))
        leaves.append(whole(codes[place]))
        place += 1
    return first, leaves


def _shift(value: exp.Expr, by: int) -> exp.Expr:
    number = exp.cast(value.copy(), "bigint")
    return exp.Paren(this=exp.Sub(this=number, expression=whole(by))) if by else number


def _tree(value: exp.Expr, starts: Sequence[Any], leaves: Sequence[exp.Expr]) -> exp.Expr:
    if len(leaves) > _MOST_LEAVES:
        raise NotExact(f"it has more than {_MOST_LEAVES} thresholds or texts")
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    below, above = (
        _tree(value, starts[:middle], leaves[:middle]),
        _tree(value, starts[middle:], leaves[middle:]),
    )
    return case([(exp.LT(this=value.copy(), expression=starts[middle]), below)], above)


def _timestamp(time: Any) -> exp.Expr:
    return exp.cast(exp.Literal.string(f"{as_datetime(time):%Y-%m-%d %H:%M:%S.%f}".zfill(26)), "timestampntz")
