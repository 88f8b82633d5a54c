"""Tests of hypotheses by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from ....common.errors import DataError
from ....common.forms.nearest import hint
from ..published import Published
from .effects import coefficients, effect
from .result import TestResult
from .samples import chi_square, mann_whitney, t_test
from .survival import log_rank

TESTS: Mapping[str, Callable[..., TestResult]] = {
    "t": t_test,
    "mann-whitney": mann_whitney,
    "chi-square": chi_square,
    "log-rank": log_rank,
    "coefficients": coefficients,
    "effect": effect,
}


def run_test(published: Published, name: str, *columns: Any, **options: Any) -> TestResult:
    """A test by its name; see its function for arguments.

    Raises:
        DataError: there is none of this name, or an argument is missing, unknown or does not fit.
    """
    if name not in TESTS:
        raise DataError(
            f"test: expected one of {', '.join(TESTS)}, got {name!r}{hint(name, TESTS)}; choose one"
        )
    try:
        signature(TESTS[name]).bind(published, *columns, **options)
    except TypeError as cause:
        raise DataError(
            f"test {name!r}: expected the arguments of its function, got others: {cause}"
        ) from cause
    return TESTS[name](published, *columns, **options)
