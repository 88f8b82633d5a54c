"""Fields of the canonical form: written fields are read back, other bytes are refused."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.canonical.form import Reader, flag, integer, items, octets, real, record, text
from dpmosaic.common.errors import ProtocolError

pytestmark = pytest.mark.slow

KIND, VERSION = "a kind", 3


def reader(*fields):
    """A reader that has read the kind and the version."""
    return Reader(record(KIND, VERSION, fields), KIND, VERSION)


def test_every_field_has_the_bytes_that_the_form_says():
    assert text("aé") == b"\x01" + b"\0\0\0\x03" + "aé".encode()
    assert octets(b"ab") == b"\x02" + b"\0\0\0\x02" + b"ab"
    assert integer(258) == b"\x03" + bytes(6) + b"\x01\x02"
    assert real(1.5) == b"\x04" + b"\x3f\xf8" + bytes(6)
    assert (flag(False), flag(True)) == (b"\x05\0", b"\x05\x01")
    assert items([integer(1), integer(2)]) == b"\x06" + b"\0\0\0\x02" + integer(1) + integer(2)
    assert record("k", 2, [flag(True)]) == text("k") + integer(2) + flag(True)


@given(st.text(), st.binary(), st.integers(0, 2**64 - 1), st.lists(st.text(max_size=3)))
def test_fields_are_read_as_they_were_written(words, some, number, several):
    read = reader(text(words), octets(some), integer(number), items(map(text, several)))
    assert (read.text(), read.octets(), read.integer()) == (words, some, number)
    assert read.items(read.text) == tuple(several)
    read.end()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_to_the_last_bit(value):
    if value == 0 and math.copysign(1, value) < 0:
        value = 0.0
    assert struct.pack(">d", reader(real(value)).real()) == struct.pack(">d", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0])
def test_a_float_without_a_canonical_form_is_neither_written_nor_read(value):
    with pytest.raises(ValueError, match="finite floats"):
        real(value)
    with pytest.raises(ProtocolError, match="without a canonical form"):
        reader(b"\x04" + struct.pack(">d", value)).real()


@pytest.mark.parametrize("value", [-1, 2**64])
def test_a_number_below_zero_or_past_64_bits_is_not_written(value):
    with pytest.raises(ValueError, match="0 to 64 bits"):
        integer(value)


FIELDS = {"text": text("a"), "octets": octets(b"a"), "integer": integer(1), "real": real(1.0)}
FIELDS["items"] = items([text("a")])


@pytest.mark.parametrize("asked", FIELDS)
@pytest.mark.parametrize("came", [*FIELDS, "flag"])
def test_a_field_of_another_kind_is_refused(asked, came):
    read = reader(flag(True) if came == "flag" else FIELDS[came])
    ask = (lambda: read.items(read.text)) if asked == "items" else getattr(read, asked)
    if asked == came:
        ask()
        read.end()
        return
    with pytest.raises(ProtocolError, match="in the canonical form of version 3, got another field"):
        ask()


@pytest.mark.parametrize("octets_of_text", [b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80"])
def test_text_that_is_not_utf_8_is_refused(octets_of_text):
    """Also an overlong zero and a surrogate, which other decoders accept."""
    data = b"\x01" + len(octets_of_text).to_bytes(4, "big") + octets_of_text
    with pytest.raises(ProtocolError, match="not UTF-8"):
        reader(data).text()


def test_bytes_after_the_last_field_are_refused():
    read = reader(integer(1), b"\0")
    read.integer()
    with pytest.raises(ProtocolError, match="bytes after its end"):
        read.end()


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_cut_is_refused(field):
    for size in range(len(FIELDS[field])):
        read = reader(FIELDS[field][:size])
        with pytest.raises(ProtocolError, match=r"fewer bytes|a length beyond its end"):
            read.items(read.text) if field == "items" else getattr(read, field)()
