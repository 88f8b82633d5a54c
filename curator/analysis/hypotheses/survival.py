"""The log-rank test: whether the times to an event differ between two groups.

With N and Y the events and the records at risk of both groups, e(t) the first group's share of those at risk
and A the cumulated hazard, the test sums, over records of both groups,

    the integral of (g - e(t)) (dN(t) - Y(t) dA(t)),

where g is 1 in the first group. Its expectation is zero if hazards are equal, for any e if A is right, and
for any A if e is right. Both come from the release, so their errors count with their product only.

Source: Mantel (1966); Lin and Wei, The robust inference for the Cox proportional hazards model (1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..conditions import Where
from ..estimators.influence import RealTable
from ..estimators.selection import numbers_of, rows_with
from ..published import Published
from .result import TestResult, score_test
from .samples import two_groups


def log_rank(
    published: Published,
    time: str,
    *,
    event: tuple[str, Any],
    between: tuple[str, Any, Any],
    where: Where | None = None,
) -> TestResult:
    """The log-rank test. The effect is the logarithm of the hazard ratio of the groups, to first order.

    Args:
        published: the release: one row for each subject.
        time: column of times to the event, or to the end of observation.
        event: a column, and its value where the event happened.
        between: a column, and the values of the two groups.
        where: which rows count, see `mean`.

    Raises:
        DataError: an argument does not fit the release.
    """
    places, (first, second), columns = two_groups(published, (time, event[0]), between, where)
    times, happened = numbers_of(places, time), rows_with(places, *event)
    used = (first | second) & ~np.isnan(times)
    times = np.nan_to_num(times)
    held = used & places.own
    moments, place = np.unique(times[held], return_inverse=True)
    events = np.bincount(place, happened[held], len(moments))
    risk = np.bincount(place, minlength=len(moments))[::-1].cumsum()[::-1]
    of_first = np.bincount(place, first[held], len(moments))[::-1].cumsum()[::-1]
    hazard, share = events / risk, of_first / risk
    # At a time between those of the release, both are as at the next; after the last, nobody is at risk.
    until = np.searchsorted(moments, times, side="right")
    cumulated = np.concatenate([[0.0], np.cumsum(hazard)])[until]
    expected = np.concatenate([[0.0], np.cumsum(share * hazard)])[until]
    now = np.append(share, share[-1])[np.searchsorted(moments, times)]
    scores = used * (happened * (first - now) - first * cumulated + expected)
    real = RealTable(places, (time, event[0], *columns))
    found = real.totals(scores[:, None].astype(np.float64))
    information = float((events * share * (1 - share)).sum()) * real.records / real.rows
    effect = float(found.values[0]) / information if information > 0 else float("nan")
    return score_test(f"log-rank: {time} by {between[0]}", found, effect=effect)
