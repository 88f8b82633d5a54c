"""Text of others on a terminal."""

import pytest

from dpmosaic.common.printable import printable


@pytest.mark.parametrize(
    ("came", "shown"),
    [
        ("clinic north, 10 % über [bold]", "clinic north, 10 % über [bold]"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[2K\x1b[1A", r"\x1b[2K\x1b[1A"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("no\u00adbreak\u00a0\u3000\u2028", r"no\xadbreak\xa0\u3000\u2028"),
        ("\ud800\U000e0041", r"\ud800\U000e0041"),
    ],
)
def test_characters_that_a_terminal_obeys_or_hides_are_escaped(came, shown):
    assert printable(came) == shown
