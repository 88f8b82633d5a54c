"""Whatever is written in a form is seen to be in it, read, and written again as the same text."""

import re
from datetime import datetime, timedelta

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.granularity import Granularity
from dpmosaic.common.data.attributes.moments import Moments
from dpmosaic.common.data.values import read_numbers
from dpmosaic.common.forms.date_formats import has_offset, readings, short, unit_of
from dpmosaic.common.forms.date_lists import SHORT_DAY
from dpmosaic.common.forms.day_names import WEEKS
from dpmosaic.common.forms.month_names import CALENDARS
from dpmosaic.common.forms.notation import Notation
from dpmosaic.synthesis.learning.cells import _number_sql
from dpmosaic.synthesis.learning.forms.date_forms import (
    CLOCKS,
    DATES,
    LAST_DATES,
    LATE_DATES,
    RARE_DATES,
    ZERO_FIRST,
    clock_of,
    time_sql,
)
from dpmosaic.synthesis.learning.forms.forms import (
    BY_POINT,
    BY_POINT_ZERO,
    FORMS,
    PLACES,
    WITHOUT_SIGN,
    Form,
    place_of,
    shape_sql,
)
from dpmosaic.synthesis.learning.forms.read_in import KNOWN, READ_IN
from dpmosaic.synthesis.learning.kinds import formats_read_in

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


def asked(connection, sql, text):
    return connection.execute(f"SELECT {sql.replace('cell', '$1')}", [text]).fetchone()[0]


def written(number, decimals, pattern):
    """A number as people write it in a notation: independent of `Notation`."""
    before, inside, after = pattern.partition("{")[0], *pattern.partition("{")[2].split("}")
    exponent = inside[-1:] if inside[-1:] in ("e", "E") else ""
    inside = inside.removesuffix(exponent).removesuffix(":p")
    comma = inside.endswith(",") and not inside.startswith(":")
    marks = inside[:-1] if comma else inside.removeprefix(":")
    sign = marks[:1] if marks[:1] and marks[0] in "(-+=)\u2212" else ""
    mark = marks.removeprefix(sign)
    whole, _, fraction = f"{abs(number):.{decimals}f}".partition(".")
    groups = []
    while mark and len(whole) > (size := 2 if mark == ",," and groups else 3):
        whole, groups = whole[:-size], [whole[-size:], *groups]
    digits = mark[:1].join([whole, *groups]) + ("," if comma else ".") * bool(fraction) + fraction
    if exponent:
        digits = f"{abs(number):.{decimals}{exponent}}".replace(".", "," if comma else ".")
    if pattern == "{:p}":
        digits = digits.removeprefix("0") if decimals else digits
    signs = {"(": "({})", ")": "({})", "-": "{}-", "\u2212": "\u2212{}"}
    marked = signs.get(sign, "-{}") if number < 0 else "+{}" if sign == "+" and number else "{}"
    outside = re.match("[A-Z]{0,3}[$€£¥₩₹]", before) and marked != "{}-" and sign not in ("=", ")")
    if outside or (sign == "(" and number < 0):
        return marked.format(before + digits + after)
    return before + marked.format(digits) + after


UNITS = (
    ("₩", "US$", "₹", "HUF", "kr.", "Rs"),
    ("Ft", "Kč", "kr.", "mg/dl", "mmHg", "歳", "₽", "y", "°F", "Mio"),
)
"""Before and behind numbers."""


@settings(deadline=None)
@given(
    st.sampled_from(list(KNOWN)),
    st.sampled_from([0, 1, 2, 4]),
    st.integers(-(10**9), 10**9),
    st.sampled_from(UNITS[0]),
    st.sampled_from(UNITS[1]),
)
def test_numbers_come_back_in_every_notation(connection, form, decimals, units, before, after):
    unit = before if form.startswith("¤") else after
    # Letters without a blank are before no number, and no letters on both sides of one. Reals of a thousand
    # without decimals are in another notation, that of a unit which is not listed.
    letters = "HUF" if form.startswith("¤{") else ""
    letters = "HUF US$" if form.count("¤") == 2 else letters
    assume(form != "R$ {.,}" or decimals)
    pattern = form.replace("¤", "₩" if before in letters.split() else unit)
    notation, number = Notation(pattern).with_decimals(decimals), round(units / 10**decimals, decimals)
    if notation.exponent:
        number = float(f"{number:.{decimals}e}")
    text = written(number, decimals, pattern)
    place = place_of(asked(connection, shape_sql("cell"), text))
    # Four digits may be a time of day.
    assume(FORMS[place].family != "date")
    if FORMS[place].family in (BY_POINT, BY_POINT_ZERO):
        place = PLACES[Form("number", FORMS[place].name, 3)]
    assert WITHOUT_SIGN.get(place, place) in READ_IN[form][0]
    assert asked(connection, _number_sql("cell", pattern), text) == number
    numbers, unreadable = read_numbers("x", [text], notation)
    assert (numbers.tolist(), unreadable.any()) == ([number], False)
    assert notation.texts_of(numbers).tolist() == [text]


FIRST, LAST = datetime(1970, 1, 1), datetime(2068, 12, 31, 23, 59, 59)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(
        [one for one in (*DATES, *RARE_DATES, *LATE_DATES, *LAST_DATES) if not one[0].endswith("Z")]
    ),
    st.datetimes(FIRST, LAST),
    st.integers(0, 2),
    st.sampled_from(CALENDARS),
    st.sampled_from(WEEKS),
)
def test_dates_come_back_in_every_form(connection, formed, time, order, months, days):
    form, detail = formed
    time = time.replace(microsecond=time.microsecond // 1000 * 1000 if "%L" in form else time.microsecond)
    # Short numbers with points between them, such as 1.2.3, are of versions.
    orders = [form] if form.startswith("%d.%m.%y") and detail & SHORT_DAY else list(readings(form))
    named = orders[order % len(orders)]
    if form in CLOCKS:
        moments, of_day = (
            clock_of(form, detail, seconds="%S" in form),
            timedelta(hours=time.hour, minutes=time.minute),
        )
        time = FIRST + of_day + timedelta(seconds=time.second, microseconds=time.microsecond)
    elif has_offset(form):
        return
    else:
        months, named = (months, named.replace("%N", "%b")) if "%N" in form else ((), named)
        days, named = (days, named.replace("%K", "%a")) if "%K" in form else ((), named)
        named = named.replace("%Z", "CEST")
        timed = "%H" in form or "%I" in form
        granularity = Granularity.MICROSECOND if timed else Granularity(unit_of(form))
        moments = Moments(timed, granularity, short(named, detail), months=months, days=days)
    # A format leaves out what it does not write.
    [text] = moments.texts_of(np.array([time], dtype="datetime64[us]")).astype(str).tolist()
    there = FORMS[place_of(asked(connection, shape_sql("cell"), text))]
    assert there.name in formats_read_in(form)
    # Days in French have no leading zeros, and digits alone may.
    assert there.detail & ~(detail | SHORT_DAY * ("%o" in form) | ZERO_FIRST) == 0
    read, unreadable = moments.read("x", np.array([text], dtype=object))
    assert not unreadable.any()
    found = asked(connection, f"({time_sql('cell', named, moments.months, moments.days)})::TIMESTAMP", text)
    assert np.datetime64(found) == read[0]
    assert moments.texts_of(read).astype(str).tolist() == [text]
