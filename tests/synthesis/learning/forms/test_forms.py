"""Forms of cells: what each cell looks like, in Python and in SQL."""

import contextlib
import re
from datetime import datetime

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmosaic.common.forms.date_lists import SHORT_DAY, SHORT_HOUR
from dpmosaic.synthesis.learning.forms.date_forms import OF_DIGITS
from dpmosaic.synthesis.learning.forms.forms import (
    BY_POINT,
    BY_POINT_ZERO,
    CODES,
    FORMS,
    LONGEST_WORD,
    POINT_ZERO,
    Form,
    place_of,
    shape_sql,
)

MISSING, TEXT, SENTENCE, CODE = Form("missing"), Form("text"), Form("sentence"), Form("code")


def number(notation, decimals=0):
    return Form("number", notation, decimals)


def date(written, detail=0):
    return Form("date", written, detail)


CELLS = {
    "": MISSING,
    "NA": MISSING,
    "NULL": MISSING,
    "-": MISSING,
    "0": number("{}"),
    "5": number("{}"),
    "-17": Form("negative", "{}", 0),
    "-17.50": Form("negative", "{}", 2),
    "-0,5": Form("negative", "{,}", 1),
    "-99": Form("negative", "-99", 0),
    "-9.0": Form("negative", "-9", POINT_ZERO),
    "+5": number("{:+}"),
    "0.5": number("{}", 1),
    ".25": number("{:p}", 2),
    "12.50": number("{}", 2),
    "1.0": number("{}", POINT_ZERO),
    "1.00": number("{}", 2),
    "5.": number("{}"),
    "1.123456789": number("{}", 9),
    "1e5": number("{:e}"),
    "-2.5E-3": number("{:E}", 1),
    "1,50e-10": number("{,e}", 2),
    "1.2345678901e5": number("{:e}", 9),
    "12345678901234567": number("{}"),
    "1,234": number("9,999"),
    "1,234,567": number("{:,}"),
    "1,234.50": number("{:,}", 2),
    "3,5": number("{,}", 1),
    "1.234,50": number("{.,}", 2),
    "96%": number("{}%"),
    "9.5 %": number("{} %", 1),
    "$5": number("${}"),
    "$1,234.50": number("${:,}", 2),
    "12,50 €": number("{,} €", 2),
    "€ 12.50": number("€ {}", 2),
    "$ 1,234.50": number("$ {:,}", 2),
    "70,5mg": number("{,}¤", 1),
    "70xy": number("{}¤"),
    "70kg": number("{}¤"),
    "12.5 mmol/L": number("{} ¤", 1),
    "27 154 Ft": number("{: } ¤"),
    "27\u202f154\u00a0Ft": number("{: } ¤"),
    "1.234,50 Kč": number("{.,} ¤", 2),
    "₩383,946": number("¤{:,}"),
    "Rs. 5": number("¤ {}"),
    "kr 1.234,50": number("¤ {.,}", 2),
    "$-5.00": number("${:=}", 2),
    "€ -5,00": number("€ {=,}", 2),
    "CHF -5": number("CHF {}"),
    "70 kg net": number("{} ¤", 0),
    "70 kg net weight": TEXT,
    "$(1,234.50)": number("${:),}", 2),
    "2nd January 2022": date("%O %B %Y"),
    "1:43 p.m.": date("%I:%M %:p", 2),
    "A 70": TEXT,
    "CHF 20": number("CHF {}"),
    "70 kg": number("{} kg"),
    "1'234": number("{:'}"),
    "-1'234'567.50": number("{:'}", 2),
    "1\u2019234": number("{:\u2019}"),
    "1 234": number("{: }"),
    "1\u202f234.5": number("{:\u202f}", 1),
    "1\u00a0234,5": number("{\u00a0,}", 1),
    "CHF 1'234.50": number("CHF {:'}", 2),
    "1 234,50 €": number("{ ,} €", 2),
    "7.538.341": number("{.,}"),
    "12.345": Form(BY_POINT, "{}"),
    "12.340": Form(BY_POINT_ZERO, "{}"),
    "0.345": number("{}", 3),
    "1.234 €": Form(BY_POINT, "{} €"),
    "R$ 1.230": Form(BY_POINT_ZERO, "¤ {}"),
    "52.1234° N": number("{}¤", 4),
    "$1,234 USD": number("¤{:,} ¤", 0),
    "1-0-1": CODE,
    "1-12-1": CODE,
    "1/1/1": Form("code", "pairs"),
    "82.50 €/MWh": number("{} ¤", 2),
    "1,234/-": number("{:,}¤", 0),
    "36+5": Form("code", "pairs"),
    "0x1F": Form("code", "several"),
    "0x17": Form("code", "several"),
    "€ 1.234,50": number("€ {.,}", 2),
    "1.234,50\u00a0€": number("{.,}\u00a0€", 2),
    "1\u202f234,50\u00a0€": number("{\u202f,}\u00a0€", 2),
    "1\u202f234,50 €": number("{ ,} €", 2),
    "EUR\u00a05": number("EUR {}"),
    "EUR 1.234,50": number("EUR {.,}", 2),
    "¥1,234": number("¥{:,}"),
    "-¥5": number("¥{}"),
    "123-": number("{:-}"),
    "1.234,50-": number("{-.,}", 2),
    "1,234-": number("9,999"),
    "-5-": CODE,
    "\u22125": number("{:\u2212}"),
    "\u22120,5": number("{\u2212,}", 1),
    "($5.00)": number("${:(}", 2),
    "+5.1234": number("{:+}", 9),
    "+5.0": number("{:+}", 1),
    "5\u00a0%": number("{}\u00a0%"),
    "1,5 °C": number("{,} °C", 1),
    "1.5K": number("{}¤", 1),
    "(12)": number("{:(}"),
    "(12.5)": number("{:(}", 1),
    "(1,234)": number("{:(,}"),
    "(1,234.50)": number("{:(,}", 2),
    "(-12)": CODE,
    "((12))": CODE,
    "(12": CODE,
    "1'23": CODE,
    "12 34": TEXT,
    "012 345": TEXT,
    "007": Form("code", "{:03}"),
    "01067": Form("code", "{:05}"),
    "0791234567": Form("code", "{:010}"),
    "00": Form("code", "{:02}"),
    "1610000000123456": number("{}"),
    "4111111111111111": CODE,
    "1999999999999999999": number("{}"),
    "2000000000000000000": CODE,
    "-9223372036854775808": CODE,
    "18446744073709551615.0": CODE,
    "2019-03-20": date("%Y-%m-%d"),
    "2019-03": date("%Y-%m"),
    "20.03.2019": date("%d.%m.%Y"),
    "03/06/2025": date("a/b/%Y"),
    "3/6/2025": date("a/b/%Y", SHORT_DAY),
    "12/31/2025 8:20": date("a/b/%Y %H:%M", SHORT_HOUR),
    "12/1/2025 8:20 AM": date("a/b/%Y %I:%M %p", SHORT_DAY + SHORT_HOUR),
    "03/06/21": date("a/b/%y"),
    "20.03.19": date("%d.%m.%y"),
    "05-Mar-21": date("%d-%b-%y"),
    "5-Mar-2020": date("%d-%b-%Y", SHORT_DAY),
    "05-MAR-2020": date("%d-%N-%Y"),
    "5-DEC-20": date("%d-%N-%y", SHORT_DAY),
    "05-ABC-2020": CODE,
    "12MAR2020:14:05:00": date("%d%N%Y:%H:%M:%S"),
    "12. März 2020": date("%d. %N %Y"),
    "1 févr. 2020": date("%d %N %Y", SHORT_DAY),
    "1 fevr. 2020": date("%d %N %Y", SHORT_DAY),
    "12 de março de 2020": date("%d de %N de %Y"),
    "1er janvier 2021": date("%o %N %Y"),
    "12 marca 2020": date("%d %N %Y"),
    "12-mrt-20": date("%d-%N-%y"),
    "mars-20": date("%N-%y"),
    "12 Foo 2020": TEXT,
    "03.2020": date("%m.%Y"),
    "3.2020": date("%m.%Y", SHORT_DAY),
    "13.2020": number("{}", 4),
    "2020. 3. 12.": date("%Y. %m. %d.", SHORT_DAY),
    "12.03.2020, 14:05": date("%d.%m.%Y, %H:%M"),
    "3/12/2020, 2:05:00 PM": date("a/b/%Y, %I:%M:%S %p", SHORT_DAY + SHORT_HOUR),
    "2020-03-12 14:05:00 UTC": date("%Y-%m-%d %H:%M:%S UTC"),
    "Thu, 12 Mar 2020 14:05:00 GMT": date("%a, %d %b %Y %H:%M:%S GMT"),
    "12/Mar/2020:14:05:00 +0100": date("%d/%b/%Y:%H:%M:%S %z"),
    "05 Mar 2020": date("%d %b %Y"),
    "Mar 5, 2020": date("%b %d, %Y", SHORT_DAY),
    "20210301": date("%Y%m%d"),
    "20210301.0": date("%Y%m%d"),
    "20211301": number("{}"),
    "202103": date("%Y%m"),
    "202113": number("{}"),
    "20210301235959": date("%Y%m%d%H%M%S"),
    "20-45-12": CODE,
    "45.45.2012": CODE,
    "20-03-12": date("a-b-%y"),
    "2020 Jan": date("%Y %b"),
    "2020 Jahre": number("{} ¤"),
    "2019-20": CODE,
    "2019/11": date("%Y/%m"),
    "2019-349": date("%Y-%j"),
    "2019-W07": date("%G-W%V"),
    "KW 07/2019": date("KW %V/%G"),
    "Thu Jan 02 08:30:05 +0100 2020": date("%a %b %d %H:%M:%S %z %Y"),
    "October 15, 2020": date("%B %d, %Y"),
    "2020-01-31 10:05:00": date("%Y-%m-%d %H:%M:%S"),
    "2020-01-31T10:05:00Z": date("%Y-%m-%dT%H:%M:%SZ"),
    "2020-01-31T10:05:00+02:00": date("%Y-%m-%dT%H:%M:%S%:z"),
    "2020-01-31T10:05:00+0200": date("%Y-%m-%dT%H:%M:%S%z"),
    "2020-01-31 10:05:00+02": date("%Y-%m-%d %H:%M:%S%:::z"),
    "2020-01-31 10:05:00,250": date("%Y-%m-%d %H:%M:%S,%f"),
    "2020-01-31_10-05-00": date("%Y-%m-%d_%H-%M-%S"),
    "31-JAN-20 10.05.00.000250 PM": date("%d-%N-%y %I.%M.%S.%f %p"),
    "08:30": date("%H:%M"),
    "8:30": date("%H:%M", SHORT_HOUR),
    "23:59:59": date("%H:%M:%S"),
    "14h05": date("%Hh%M"),
    "130:05": date("%H:%M"),
    "10:75": Form("code", "pairs"),
    "1:2:3": Form("code", "pairs"),
    "\4ab": TEXT,
    "\4:1": CODE,
    "true": Form("word", "true"),
    "Yes": Form("word", "Yes"),
    "FEMALE": Form("word", "FEMALE"),
    "north": TEXT,
    "I21.4": CODE,
    "B12": CODE,
    "10.0.0.1": CODE,
    "1_000": CODE,
    "five kilometres": TEXT,
    "room 12": TEXT,
    "x" * (LONGEST_WORD + 1): SENTENCE,
    "1 2 3 4 5 6": SENTENCE,
}


def is_part_of_a_year(cell):
    if found := re.fullmatch("[0-9]{4}[-/mM]([0-9]{2})|([0-9]{1,2})/(19|20)[0-9]{2}", cell):
        return 1 <= int(found[1] or found[2]) <= 12
    if found := re.fullmatch("(19|20)[0-9]{2}-([0-9]{3})", cell):
        return int(found[2]) < 400
    return re.fullmatch("(19|20)[0-9]{2}[- ]?Q[1-4]|Q[1-4][-/ ](19|20)[0-9]{2}", cell) is not None


def is_no_date(cell):
    """Three numbers that are a day, a month and a year in no order."""
    found = re.fullmatch("([0-9]{1,2})([-./])([0-9]{1,2})([-./])([0-9]{4}|[0-9]{2})", cell)
    if not found:
        return False
    first, second, third = (int(found[group]) for group in (1, 3, 5))
    orders = [(first, second), (second, first)]
    if len(found[1]) == 2 and len(found[5]) == 2:
        orders.append((third, second))
    return found[2] != found[4] or not any(1 <= day <= 31 and 1 <= month <= 12 for day, month in orders)


_CLOCK = re.compile(
    "[0-9]{1,4}(:[0-5][0-9]){1,2}|[0-9]{1,2}h[0-5][0-9]|(0?[1-9]|1[0-2]):[0-5][0-9] [ap][.]m[.]"
)


def shape(cell):
    """The shape of a cell as the module defines it, cut where no form needs more of it."""
    if len(cell) > LONGEST_WORD:
        return "\0"
    for digits, (form, detail) in OF_DIGITS.items():
        text, written = cell.removesuffix(".0"), form.replace("%m", "%-m") if detail else form
        with contextlib.suppress(ValueError):
            usual = re.fullmatch(r"(19|20)[0-9]+|[0-9]{1,2}\.(19|20)[0-9]{2}", text)
            if usual and f"{datetime.strptime(text, form):{written}}" == text:
                return digits
    if cell.removesuffix(".0") in CODES:
        return f"\x0e{cell}"
    nines = "".join("9" if "1" <= mark <= "9" else mark for mark in cell)
    if is_part_of_a_year(cell):
        return "\6" + nines
    if is_no_date(cell):
        return "x" + nines
    if re.fullmatch(r"[-+]?([2-9][0-9]{18}|[0-9]{20,40})([.]0)?|[2-9][0-9]{15}", cell):
        return "\5"
    clock = "\4" if _CLOCK.fullmatch(cell) else ""
    if any("0" <= mark <= "9" for mark in cell):
        return clock + nines
    return cell if len(cell) <= 12 else "~"


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_has_the_form_of_what_is_written_in_it(cell):
    assert FORMS[place_of(shape(cell))] == CELLS[cell]


@pytest.mark.parametrize("cell", CELLS)
def test_the_database_gives_a_cell_the_same_shape(connection, cell):
    assert connection.execute(f"SELECT {shape_sql('$1')}", [cell]).fetchone() == (shape(cell),)


def test_no_cell_is_missing(connection):
    [found] = connection.execute(f"SELECT {shape_sql('NULL::VARCHAR')}").fetchone()
    assert FORMS[place_of(found)] == MISSING


def test_every_form_has_one_place():
    assert len(set(FORMS)) == len(FORMS)


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LIKE_NUMBERS = st.text("0123456789.,-+/: eE%$€TZAM", max_size=30) | st.from_regex(
    "[0-9]{1,4}[-./Mm][0-9]{1,3}([-./][0-9]{2,4})?", fullmatch=True, alphabet="0123456789-./mM"
)


@pytest.mark.slow
@settings(max_examples=150)
@given(cell=ANY | LIKE_NUMBERS)
@example(cell="٣")
@example(cell="1\n")
@example(cell="é" * 13)
@example(cell="\49:99")
@example(cell="👩‍👩‍👧" * 9)
def test_any_text_has_exactly_one_form_in_python_and_in_the_database(connection, cell):
    [found] = connection.execute(f"SELECT {shape_sql('$1')}", [cell]).fetchone()
    assert found == shape(cell)
    assert 0 <= place_of(found) < len(FORMS)
    if FORMS[place_of(found)].family in ("number", "code"):
        assert any("0" <= mark <= "9" for mark in cell)
