"""Random sequences of operations on parties with files: every promise holds after each operation.

Kills, restarts, old copies of a ledger, a full disk, other versions of the sampler, closed and concurrent
releases come in random order. A failing test names its seed: `shrunk(drawn(seed), seed)` gives a short
sequence that fails as well, and `tests/soak/operations.py` runs any number of operations.
"""

from collections import Counter

import pytest

from dpmosaic.common.history import Mark
from dpmosaic.party.accounts import answers as ledger_answers
from dpmosaic.party.accounts.ledger import Ledger
from support.operations import operations
from support.operations.disk import Broken
from support.operations.sequences import LENGTH, drawn, failure, run, shrunk

SEQUENCES = 68
"""Of 150 operations each, which makes more than 10,000."""

PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_promise_holds_after_every_operation(part):
    done = Counter()
    for seed in range(part, SEQUENCES, PARTS):
        try:
            done.update(run(drawn(seed), seed))
        except Exception as error:
            raise AssertionError(f"sequence {seed} of {LENGTH} operations: {error!r}") from error
    # Each operation was not only refused.
    assert set(done) == {operation.__name__ for operation in operations.OPERATIONS}


def one_noise_key(patch):
    charge = Ledger.charge
    patch.setattr(
        Ledger,
        "charge",
        lambda self, query, rho, rows, key, *rest: charge(self, query, rho, rows, bytes(32), *rest),
    )


def after_each_charge(patch, statement):
    charge = Ledger.charge

    def charged(self, query, *given):
        entry = charge(self, query, *given)
        self._database.execute("PRAGMA foreign_keys = OFF")
        self._database.execute(statement, (query.release_id,))
        return entry

    patch.setattr(Ledger, "charge", charged)


def charges_that_are_lost(patch):
    after_each_charge(patch, "DELETE FROM answer WHERE release_id = ?")


def spent_that_does_not_grow(patch):
    after_each_charge(patch, "UPDATE release SET spent = '0' WHERE release_id = ?")


def keys_that_stay_in_the_log(patch):
    patch.setattr(Ledger, "_truncate", lambda self: None)


def a_sampler_that_is_not_compared(patch):
    patch.setattr(ledger_answers, "_check_sampler", lambda version: None)
    patch.setattr(Ledger, "bind", lambda self, release_id, kind, of, digest: digest)


def an_old_copy_that_the_party_accepts(patch):
    patch.setattr(Ledger, "check_contains", lambda self, mark: None)


def an_old_copy_that_others_accept(patch):
    patch.setattr(Mark, "check_follows", lambda self, seen, party: None)


def first_broken(promise, sequences=20):
    """The seed and the error of the first sequence in which this promise does not hold."""
    for seed in range(100, 100 + sequences):
        error = failure(drawn(seed), seed)
        if isinstance(error, Broken) and promise in str(error):
            return seed, error
    raise AssertionError(f"all sequences kept the promise: {promise}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        (one_noise_key, "one noise key for two queries"),
        (charges_that_are_lost, "left before its charge was on disk"),
        (spent_that_does_not_grow, "spent differs from the sum of entries"),
        (keys_that_stay_in_the_log, "keys of a closed release are left"),
        (a_sampler_that_is_not_compared, "one query got two answers"),
        (an_old_copy_that_the_party_accepts, "a curator did not notice"),
        (an_old_copy_that_others_accept, "another party did not notice"),
    ],
)
def test_a_planted_fault_breaks_its_promise_within_a_few_sequences(fault, promise, monkeypatch):
    fault(monkeypatch)
    _, error = first_broken(promise)
    assert promise in str(error)


@pytest.mark.slow
def test_a_failing_sequence_is_shrunk_to_the_operations_that_matter(monkeypatch):
    """A release has to be accepted and asked twice before one noise key hides two queries."""
    one_noise_key(monkeypatch)
    seed, error = first_broken("one noise key for two queries")
    short = shrunk(drawn(seed), seed)
    assert str(failure(short, seed)) == str(error)
    assert 2 <= len(short) <= 6
