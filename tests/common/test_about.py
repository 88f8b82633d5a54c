"""The reason of a release: days are days, and the last one is included."""

from datetime import date

import pytest

from dpmosaic.common.about import About


def test_a_release_can_be_accepted_on_its_last_day_and_not_after_it():
    about = About(until="2026-06-30")
    assert not about.has_ended(date(2026, 6, 30))
    assert about.has_ended(date(2026, 7, 1))
    assert not About().has_ended(date(9999, 12, 31))


@pytest.mark.parametrize("day", ["2026-02-30", "2026-6-30", "20260630", "2026-W01-1", "tomorrow"])
@pytest.mark.parametrize("field", ["asked", "until"])
def test_refuses_what_is_no_day(field, day):
    with pytest.raises(ValueError, match="day"):
        About(**{field: day})


@pytest.mark.parametrize("field", ["purpose", "contact"])
def test_refuses_a_text_that_is_too_long(field):
    assert getattr(About(**{field: "x" * 2000}), field)
    with pytest.raises(ValueError, match="at most 2000 characters"):
        About(**{field: "x" * 2001})
