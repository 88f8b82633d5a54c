"""A party that opens one record with a weight, so that the answer shows the record in spite of the noise."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.evaluator import ScoreEvaluator
from dpmosaic.common.errors import ProtocolError
from dpmosaic.curator.measurers.measurer import Query
from support.taps import Curator
from support.terms import RELEASE_ID

DOMAIN = Domain.coded({"a": 4, "b": 8})
RECORDS, VICTIM, OTHER = 2000, 17, 1234
REFUSED = "a party did not follow the protocol"
GRANTED = Fraction(1, 20_000)
"""Its noise has a standard deviation of 141 counts."""


def table():
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, size, RECORDS) for size in DOMAIN.sizes]
    codes[0][[VICTIM, OTHER]] = 0
    codes[1][[VICTIM, OTHER]] = 3, 5
    return Table.from_codes(DOMAIN, np.column_stack(codes))


def release(weights=None, granted=GRANTED):
    """A release over two parties, of which the first multiplies rows of its indicators by weights."""
    curator = Curator(table(), "1x2", granted)
    measurer = curator.measurer()
    session = curator.links[0].connection.party._releases.of(RELEASE_ID)._introduced_session()
    matrix = session._matrices._matrix

    def weighted(chain, rows, within=None):
        start = 0
        for block in matrix(chain, rows, within):
            for record, weight in (weights or {}).items():
                if start <= record < start + len(block):
                    block[record - start] *= block.dtype.type(weight % 2**32)
            start += len(block)
            yield block

    session._matrices._matrix = weighted
    return measurer


def measured(weights=None, granted=GRANTED, **changes):
    (found,) = release(weights, granted).measure([Query(View(DOMAIN.names, **changes), granted, "attack")])
    return found.values


@pytest.mark.parametrize("weight", [1 << 18, -(1 << 18), 1 << 24])
def test_an_answer_that_holds_one_heavy_record_is_refused(weight):
    with pytest.raises(ProtocolError, match=REFUSED):
        measured({VICTIM: weight})


@pytest.mark.parametrize(
    "changes", [{"boxes": (((0, 1), (0, 4)), ((0, 1), (4, 8)))}, {"interaction": True}], ids=str
)
def test_sums_over_boxes_and_interactions_of_one_heavy_record_are_refused(changes):
    with pytest.raises(ProtocolError, match=REFUSED):
        measured({VICTIM: 1 << 18}, **changes)


def test_cells_within_bounds_that_hold_too_many_records_together_are_refused():
    """With weight four every cell is far below the number of records, and the total is far above it."""
    with pytest.raises(ProtocolError, match=REFUSED):
        measured(dict.fromkeys(range(RECORDS), 4), granted=Fraction(1, 20))


def test_a_refused_answer_names_no_value_and_stays_charged():
    measurer = release({VICTIM: 1 << 18})
    with pytest.raises(ProtocolError) as refused:
        measurer.measure([Query(View(DOMAIN.names), GRANTED, "attack")])
    assert not any(character.isdigit() for character in str(refused.value))
    assert measurer.accountant.spent > 0


def test_weights_that_cancel_are_not_found_so_parties_must_open_their_own_records():
    """Documents what bounds cannot find: the noise hides +1000 and -999, and both records are read.

    Each is read wrongly with probability below 1e-8: it is seven deviations above the other cells.
    """
    cells = measured({VICTIM: 1000, OTHER: -999}).reshape(DOMAIN.shape(DOMAIN.names))[0]
    assert (np.argmax(cells), np.argmin(cells)) == (3, 5)


def test_honest_answers_are_not_refused():
    for changes in ({}, {"boxes": (((0, 1), (0, 8)),)}, {"interaction": True}):
        assert measured(**changes).size > 0


def scored(monkeypatch, shift):
    """A score to which one evaluator adds a number of records."""
    scores = ScoreEvaluator.scores.fget

    def shifted(self):
        return scores(self) + np.uint32(shift % 2**32 if self.role == 1 else 0)

    monkeypatch.setattr(ScoreEvaluator, "scores", property(shifted))
    references = [np.full(DOMAIN.cells(DOMAIN.names), RECORDS // 32, dtype=np.int64)]
    return release().score([View(DOMAIN.names)], references, GRANTED, "scores")


@pytest.mark.parametrize("shift", [1 << 20, -(1 << 20)])
def test_a_score_that_no_table_has_is_refused(shift, monkeypatch):
    with pytest.raises(ProtocolError, match=REFUSED):
        scored(monkeypatch, shift)


def test_an_honest_score_is_not_refused(monkeypatch):
    assert scored(monkeypatch, 0).values.size == 1
