"""Who would have to collude, in words, for every choice of dealers and evaluators."""

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.masked.trust import curator_deals, trust_assumption, who_must_collude
from dpmosaic.common.protocols.partition import RosterEntry

DOMAIN = Domain.coded({"a": 2, "b": 3})
WHOLE, SPLIT = [("a", "b")], [("a",), ("b",)]


def plan_of(slices, dealers, evaluators):
    places = [(number, held) for number, parties in enumerate(slices) for held in parties]
    roster = tuple(RosterEntry(f"p{i}", n, held, 7, bytes(32)) for i, (n, held) in enumerate(places))
    entries = tuple(DealerEntry(name, bytes(32)) for name in dealers)
    return MaskedPlan(DOMAIN, roster, 1, Ring(32), evaluators, entries)


@pytest.mark.parametrize(
    ("slices", "dealers", "evaluators", "read", "scored", "holds"),
    [
        (
            [SPLIT, SPLIT],
            ["curator"],
            (1, 0, 3),
            "The curator, which deals itself, for trials, together with a party of a slice",
            "two of the evaluators p1, p0 and p3",
            "the curator does not collude with a party of the record's slice",
        ),
        (
            [SPLIT],
            ["d"],
            (2, 0, 1),
            "D together with a party of a slice",
            "two of the evaluators d, p0 and p1",
            "d does not collude with a party of the record's slice, nor with an evaluator of scores",
        ),
        (
            [SPLIT, SPLIT],
            ["d", "e", "f", "g"],
            (1, 0, 3),
            "Two of d, e and f together with a party of a slice",
            "two of the evaluators p1, p0 and p3",
            "of d, e and f, who deal, no two collude with a party of the record's slice",
        ),
        (
            [SPLIT, WHOLE, WHOLE, WHOLE],
            ["p2", "p3", "p4"],
            (),
            "Two of p2, p3 and p4 together with a party of a slice",
            "",
            "of p2, p3 and p4, who deal, no two collude with a party of the record's slice",
        ),
        ([WHOLE, WHOLE, WHOLE], [], (1, 0, 2), "", "Two of the evaluators p1, p0 and p2", ""),
    ],
    ids=["curator", "one dealer of two parties", "three of four dealers", "parties", "no dealer"],
)
def test_says_who_together_reads_records_and_who_reads_what_is_scored(
    slices, dealers, evaluators, read, scored, holds
):
    plan = plan_of(slices, dealers, evaluators)
    said = who_must_collude(plan)
    assert said.startswith(read)
    assert ("could read the records" in said) == bool(read)
    assert scored in said
    assert trust_assumption(plan) == holds
    assert curator_deals(plan) == (dealers == ["curator"])


def test_without_dealers_and_scores_whoever_colludes_sees_answers_with_noise():
    plan = plan_of([WHOLE, WHOLE], [], ())
    assert who_must_collude(plan).endswith("see only answers with noise.")
    assert trust_assumption(plan) == ""
