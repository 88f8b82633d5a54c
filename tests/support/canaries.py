"""Values that occur nowhere else, in rows; and a search for them in whatever participants leave."""

import base64
import io
import json
import zipfile

import numpy as np
import pyarrow.parquet as pq

TEXT = "zqcanary"
"""In each text."""

FRACTION = "4210177359"
"""Of each number, after the point."""


def text(number):
    """The text of this number."""
    return f"{TEXT}{number}"


def number(whole):
    """The number with this whole part, as it is written."""
    return f"{whole}.{FRACTION}"


def found_in(content):
    """What stands in bytes, or in what they hold if they are a zip file or a table; empty for nothing."""
    found = [form for form, sought in _forms().items() if sought in content]
    found += ["a number in binary"] if _binary_numbers(content) else []
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found += [f"{name}: {one}" for name in archive.namelist() for one in found_in(archive.read(name))]
    if content[:4] == b"PAR1":
        rows = pq.read_table(io.BytesIO(content)).to_pylist()
        found += found_in(json.dumps(rows, default=str).encode())
    return found


def _forms():
    """Each way to write a text or a number, and the bytes that it has in it."""
    raw = TEXT.encode()
    # Characters of base64 that hold no bit of what stands before or after the text.
    shifted = [
        base64.b64encode(bytes(shift) + raw)[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        for shift in range(3)
    ]
    return {
        "a text": raw,
        "a text in hexadecimal": raw.hex().encode(),
        "a text in UTF-16": TEXT.encode("utf-16-le"),
        **{f"a text in base64, shifted by {shift}": one for shift, one in enumerate(shifted)},
        # The last digits are rounded differently.
        "a number": f".{FRACTION[:-2]}".encode(),
    }


def _binary_numbers(content):
    """Whether bytes hold a number with this fraction, as a float in any place."""
    for shift in range(8):
        size = (len(content) - shift) // 8
        floats = np.frombuffer(content, "<f8", max(size, 0), shift) if size > 0 else np.empty(0)
        plausible = floats[(np.abs(floats) > 1) & (np.abs(floats) < 1e6)]
        if np.any(np.abs(plausible % 1 - float(f".{FRACTION}")) < 1e-9):
            return True
    return False
