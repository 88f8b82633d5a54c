"""Tables with a label are as they are described."""

import numpy as np
import pytest
from label_tables import LABEL, TABLES, labelled

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TABLES)
def test_a_name_and_a_seed_determine_the_table(name):
    first, again, other = (labelled(name, seed) for seed in (2, 2, 4))
    assert first.table.record_count == TABLES[name][1]
    assert first.table.digest() == again.table.digest()
    assert first.table.digest() != other.table.digest()


def test_numbers_that_say_little_alone_tell_the_class_of_a_dense_table_together():
    made = labelled("dense", 2)
    numbers = [name for name in made.table.domain if name != LABEL]
    train, test = (
        np.column_stack([t.column(n).astype(float) for n in numbers]) for t in (made.table, made.holdout)
    )
    known, asked = (2.0 * t.column(LABEL) - 1 for t in (made.table, made.holdout))
    alone = [abs(np.corrcoef(train[:, place], known)[0, 1]) for place in range(len(numbers))]
    fitted = np.linalg.lstsq(np.column_stack([train, np.ones(len(train))]), known, rcond=None)[0]
    right = np.mean(np.sign(np.column_stack([test, np.ones(len(test))]) @ fitted) == asked)
    assert max(alone) < 0.6
    assert right > 0.85


def test_days_and_stamps_of_sessions_tell_the_session():
    made = labelled("sessions", 2)
    day, stamp, session = (made.table.column(name) for name in ("day", "stamp", "session"))
    assert (day == stamp).all()
    # 25 sessions have 24 borders, each within one day.
    assert len(np.unique(np.column_stack([day, session]), axis=0)) <= 100 + 24
