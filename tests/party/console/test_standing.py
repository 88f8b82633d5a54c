"""The lifetime budget on the page: spent, reserved, left, and the chart of it."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.party.accounts.rows import (
    ABANDONED,
    CERTIFIED,
    OPEN,
    LedgerCharge,
    LedgerEvents,
    LedgerSummary,
)
from dpmosaic.party.approving.approvals import Request
from dpmosaic.party.approving.decisions import APPROVED, DENIED, Decision
from dpmosaic.party.console.standing import CHART_HEIGHT, CHART_WIDTH, chart_of, standing_of
from support.terms import id_of, terms_of

NOW = datetime(2026, 1, 11, tzinfo=UTC)


def summary(label, granted, spent, state):
    return LedgerSummary(id_of(label), Fraction(granted), Fraction(spent), 1, state)


def request(label, *days):
    decisions = [Decision(APPROVED, "me", f"2026-01-{day:02}T00:00:00+00:00", "") for day in days]
    return Request(
        terms_of(id_of(label)), b"c" * 32, b"s" * 64, "2026-01-01T00:00:00+00:00", tuple(decisions)
    )


SUMMARIES = [summary("a", 2, 1, CERTIFIED), summary("b", 3, 1, OPEN), summary("c", 4, 0, ABANDONED)]
REQUESTS = [request("a", 1), request("b", 2, 6), request("c", 3), request("waits")]


EVENTS = [LedgerEvents(id_of(label), 1, closed, None) for label, closed in (("a", 2), ("b", None), ("c", 3))]
CHARGES = [LedgerCharge(id_of(label), "q", Fraction(1), None) for label in "ab"]


def on(day):
    return int(datetime(2026, 1, day, tzinfo=UTC).timestamp())


def standing(lifetime=10, summaries=SUMMARIES, requests=REQUESTS, events=EVENTS, charges=CHARGES):
    return standing_of(Fraction(lifetime), summaries, requests, events, charges)


def heights_of(points):
    return {x: 1 - y / CHART_HEIGHT for x, y in corners(points)[:-1]}


def corners(text):
    return [tuple(map(float, corner.split(","))) for corner in text.split()]


def test_spent_reserved_and_left_add_up_to_the_limit():
    now = standing()
    assert (now.spent, now.reserved, now.left) == (2, 2, 6)
    assert now.share(now.left) == 0.6


def test_a_limit_that_was_lowered_below_what_is_spent_leaves_less_than_nothing():
    now = standing(3)
    assert now.left == -1
    assert now.share(now.left) == 0
    assert now.share(100) == 1


def test_a_policy_that_grants_nothing_has_no_shares_and_no_chart():
    now = standing(0)
    assert now.share(now.spent) == 0
    assert chart_of(now, NOW) is None


def test_what_has_no_time_is_a_step_at_the_last_approval_of_its_release():
    chart = chart_of(standing(), NOW)
    assert (chart.first, chart.last) == ("2026-01-01", "2026-01-11")
    assert heights_of(chart.used) == pytest.approx(
        {0: 0.1, CHART_WIDTH * 0.2: 0.1, CHART_WIDTH * 0.5: 0.4, CHART_WIDTH: 0.4}
    )
    assert heights_of(chart.spent) == pytest.approx(
        {0: 0.1, CHART_WIDTH * 0.2: 0.1, CHART_WIDTH * 0.5: 0.2, CHART_WIDTH: 0.2}
    )


def test_what_has_a_time_is_a_step_then():
    events = [LedgerEvents(id_of("a"), 1, 4, None, on(1), on(9))]
    charges = [LedgerCharge(id_of("a"), q, Fraction(1, 2), on(day)) for q, day in (("q", 3), ("r", 6))]
    chart = chart_of(standing(summaries=SUMMARIES[:1], events=events, charges=charges), NOW)
    reserved = {
        0: 0.2,
        CHART_WIDTH * 0.2: 0.2,
        CHART_WIDTH * 0.5: 0.2,
        CHART_WIDTH * 0.8: 0.1,
        CHART_WIDTH: 0.1,
    }
    assert heights_of(chart.used) == pytest.approx(reserved)
    spent = {0: 0, CHART_WIDTH * 0.2: 0.05, CHART_WIDTH * 0.5: 0.1, CHART_WIDTH * 0.8: 0.1, CHART_WIDTH: 0.1}
    assert heights_of(chart.spent) == pytest.approx(spent)


def test_a_release_that_was_open_when_its_ledger_was_restored_counts_in_full():
    restored = [summary("a", 2, 2, ABANDONED)]
    events = [LedgerEvents(id_of("a"), 1, 4, None, on(1), on(6))]
    chart = chart_of(standing(summaries=restored, events=events, charges=CHARGES[:1]), NOW)
    assert heights_of(chart.spent) == pytest.approx({0: 0.1, CHART_WIDTH * 0.5: 0.2, CHART_WIDTH: 0.2})
    assert heights_of(chart.used) == pytest.approx({0: 0.2, CHART_WIDTH * 0.5: 0.2, CHART_WIDTH: 0.2})


def test_a_release_whose_request_is_lost_counts_from_the_beginning():
    chart = chart_of(standing(requests=REQUESTS[1:]), NOW)
    assert corners(chart.spent)[2] == pytest.approx((0, CHART_HEIGHT * 0.9))
    assert chart_of(standing(requests=[]), NOW) is None


def test_a_chart_of_more_than_the_limit_stays_within_its_frame():
    chart = chart_of(standing(1), NOW)
    assert all(0 <= y <= CHART_HEIGHT for _, y in corners(chart.used))


def test_a_denial_is_no_step():
    denied = Decision(DENIED, "me", "2026-01-09T00:00:00+00:00", "")
    late = Request(
        *[getattr(REQUESTS[0], name) for name in ("terms", "curator", "signature", "at")], (denied,)
    )
    assert standing(1, SUMMARIES[:1], [late], EVENTS[:1]).parts[0].day == ""


def test_what_is_left_is_what_the_ledger_counts_not_the_sum_of_the_releases():
    """Releases under several adjacencies count under the strictest one, and a restored ledger counts more."""
    assert replace(standing(), counted=9.5).left == 0.5
