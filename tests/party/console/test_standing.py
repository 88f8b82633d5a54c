"""The lifetime budget on the page: spent, reserved, left, and the chart of it."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.party.approvals import Request
from dpmosaic.party.console.standing import HEIGHT, WIDTH, chart_of, standing_of
from dpmosaic.party.decisions import APPROVED, DENIED, Decision
from dpmosaic.party.ledger_rows import ABANDONED, CERTIFIED, OPEN, LedgerSummary
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


def corners(text):
    return [tuple(map(float, corner.split(","))) for corner in text.split()]


def test_spent_reserved_and_left_add_up_to_the_limit():
    standing = standing_of(Fraction(10), SUMMARIES, REQUESTS)
    assert (standing.spent, standing.reserved, standing.left) == (2, 2, 6)
    assert standing.share(standing.left) == 0.6


def test_a_limit_that_was_lowered_below_what_is_spent_leaves_less_than_nothing():
    standing = standing_of(Fraction(3), SUMMARIES, REQUESTS)
    assert standing.left == -1
    assert standing.share(standing.left) == 0
    assert standing.share(100) == 1


def test_a_policy_that_grants_nothing_has_no_shares_and_no_chart():
    standing = standing_of(Fraction(0), SUMMARIES, REQUESTS)
    assert standing.share(standing.spent) == 0
    assert chart_of(standing, NOW) is None


def test_each_release_is_a_step_at_its_last_approval():
    chart = chart_of(standing_of(Fraction(10), SUMMARIES, REQUESTS), NOW)
    assert (chart.first, chart.last) == ("2026-01-01", "2026-01-11")
    heights = {x: 1 - y / HEIGHT for x, y in corners(chart.used)[:-1]}
    assert heights == pytest.approx({0: 0.1, WIDTH * 0.2: 0.1, WIDTH * 0.5: 0.4, WIDTH: 0.4})
    spent = {x: 1 - y / HEIGHT for x, y in corners(chart.spent)[:-1]}
    assert spent == pytest.approx({0: 0.1, WIDTH * 0.2: 0.1, WIDTH * 0.5: 0.2, WIDTH: 0.2})


def test_a_release_whose_request_is_lost_counts_from_the_beginning():
    chart = chart_of(standing_of(Fraction(10), SUMMARIES, REQUESTS[1:]), NOW)
    assert corners(chart.spent)[2] == pytest.approx((0, HEIGHT * 0.9))
    assert chart_of(standing_of(Fraction(10), SUMMARIES, []), NOW) is None


def test_a_chart_of_more_than_the_limit_stays_within_its_frame():
    chart = chart_of(standing_of(Fraction(1), SUMMARIES, REQUESTS), NOW)
    assert all(0 <= y <= HEIGHT for _, y in corners(chart.used))


def test_a_denial_is_no_step():
    denied = Decision(DENIED, "me", "2026-01-09T00:00:00+00:00", "")
    late = Request(
        *[getattr(REQUESTS[0], name) for name in ("terms", "curator", "signature", "at")], (denied,)
    )
    assert standing_of(Fraction(1), SUMMARIES[:1], [late]).parts[0].day == ""
