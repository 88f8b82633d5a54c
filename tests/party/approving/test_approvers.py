"""Who approves a release, and how many people have to."""

import contextlib
import itertools
import random

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.approving.approvers import Approvers
from dpmosaic.party.approving.decisions import APPROVED, DENIED, PENDING
from dpmosaic.party.policies.form import approvers_of
from support.terms import terms_of

TERMS = terms_of()


def check(approvals):
    approvals.check(TERMS, b"c" * 32, b"s" * 64)


@pytest.fixture
def asked(tmp_path):
    """Opens the file of a party that one release is asked of."""
    with contextlib.ExitStack() as stack:

        def open_for(*names, needed):
            party = Identity.from_seed(b"p" * 32)
            made = Approvals(tmp_path / "requests.sqlite", party, approvers=Approvers(names, needed))
            stack.callback(made.close)
            with pytest.raises(PolicyError, match="waits"):
                check(made)
            return made

        yield open_for


def decide(approvals, verdict, by):
    return approvals.decide(TERMS.release_id, verdict, by, "as discussed", accepted=False).state


def test_only_those_whom_the_policy_names_approve(asked):
    approvals = asked("alice", "bob", needed=1)
    with pytest.raises(DataError, match=r"approvers of policy.toml \(alice, bob\)"):
        decide(approvals, APPROVED, "root")
    assert decide(approvals, APPROVED, "bob") == APPROVED
    check(approvals)


def test_anybody_denies(asked):
    assert decide(asked("alice", needed=1), DENIED, "root") == DENIED


def test_two_different_people_approve_where_the_policy_asks_for_two(asked):
    approvals = asked(needed=2)
    assert decide(approvals, APPROVED, "alice") == PENDING
    assert approvals.waiting() == {TERMS.release_id}
    with pytest.raises(PolicyError, match="waits"):
        check(approvals)
    with pytest.raises(DataError, match="expected another approver"):
        decide(approvals, APPROVED, "alice")
    assert decide(approvals, APPROVED, "bob") == APPROVED
    check(approvals)


def test_a_denial_takes_earlier_approvals_back(asked):
    approvals = asked(needed=2)
    for verdict, by, state in (
        (APPROVED, "alice", PENDING),
        (DENIED, "bob", DENIED),
        (APPROVED, "bob", PENDING),
        (APPROVED, "alice", APPROVED),
    ):
        assert decide(approvals, verdict, by) == state


def test_an_approval_that_another_party_signed_counts_for_nothing(asked, tmp_path):
    approvals = asked(needed=2)
    decide(approvals, APPROVED, "alice")
    decide(approvals, APPROVED, "bob")
    approvals._database.execute("UPDATE decision SET by = 'carol' WHERE by = 'alice'")
    with pytest.raises(PolicyError, match="not signed by this party"):
        check(approvals)


@pytest.mark.slow
def test_no_order_of_decisions_lets_fewer_people_approve(asked):
    """Against a set of names that starts anew with each denial, over random decisions."""
    rng = random.Random(5)
    approvals = asked("a", "b", "c", needed=2)
    held, state = set(), PENDING
    for verdict, by in itertools.islice(
        iter(lambda: (rng.choice((APPROVED, APPROVED, DENIED)), rng.choice("abcd")), None), 300
    ):
        with contextlib.suppress(DataError):
            decide(approvals, verdict, by)
        if verdict == DENIED:
            held, state = set(), DENIED
        elif state != APPROVED and by != "d":
            held.add(by)
            state = APPROVED if len(held) >= 2 else PENDING
        assert approvals.request(TERMS.release_id).state == state


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"approvers": ["a"], "approvals": 2}, "names 1"),
        ({"approvers": ["a", "a"], "approvals": 2}, "names 1"),
        ({"approval": False, "approvals": 2}, "take one of the two out"),
        ({"approval": False, "approvers": ["a"]}, "take one of the two out"),
    ],
)
def test_a_policy_that_nobody_can_satisfy_is_refused(policy, reason):
    with pytest.raises(DataError, match=reason):
        approvers_of(policy)
