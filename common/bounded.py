"""Files that somebody else wrote, read within bounds: of their bytes before, of their parts and depth after.

Every JSON, TOML and YAML text is read here, so that none costs more memory than `LONGEST_TEXT_BYTES` of it
can, and none has a value that the code behind does not expect: a number that no float holds, a name twice,
a text that cannot be written as UTF-8.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from .extras import require_extra

LONGEST_TEXT_BYTES = 1 << 25
"""Longest text that is read."""

DEEPEST = 32
"""Lists and objects inside each other."""

_TEXT_PARTS = 1 << 19
"""Lists and objects of a text: each takes some twenty times as many bytes in memory."""

_MOST_BYTES_OF_TOML = 1 << 20
"""People write TOML and YAML; reading these takes some hundred times as long as JSON."""

_LONGEST_NUMBER = 1000
"""Characters of a number in YAML, which may have a base of 60."""

_LONG_KEY = re.compile(rf"""(?<![\w"'.-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")
"""A key of so many keys, whose time of reading grows with their square."""

_FRACTION = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
"""Powers of ten, which Python reads too, take any memory."""

_TOO_DEEP = f"it has more than {DEEPEST} lists or objects inside each other"


def read_bytes(path: str | Path, most: int = LONGEST_TEXT_BYTES) -> bytes:
    """The content of a file.

    Args:
        path: of the file; what a shell writes for a command, such as /dev/fd/63, is read too.
        most: the longest content that is read.

    Raises:
        OSError: it cannot be read, or is a named pipe, which nobody may ever write.
        ValueError: it is longer.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        content = file.read(most + 1)
    _check_length(content, most)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file, and no named pipe."""
    if not hasattr(os, "set_blocking"):
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    named = not os.path.realpath(path).startswith(("/dev/", "/proc/"))
    if named and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is a named pipe", path)
    os.set_blocking(descriptor, True)
    return descriptor


def json_of(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON in UTF-8, or beyond a bound; says which without a text of it.
    """
    whole = _decode_text(text, LONGEST_TEXT_BYTES)
    if whole.count("[") + whole.count("{") > _TEXT_PARTS:
        raise ValueError(f"it has more than {_TEXT_PARTS} lists and objects")
    try:
        value = json.loads(
            whole, object_pairs_hook=_named_once, parse_constant=_no_number, parse_float=_finite
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check(value)
    return value


def toml_of(text: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: it is not TOML in UTF-8, or beyond a bound.
    """
    whole = _decode_text(text, _MOST_BYTES_OF_TOML)
    if _LONG_KEY.search(whole):
        raise ValueError(_TOO_DEEP)
    try:
        value = tomllib.loads(whole)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check(value)
    return value


def yaml_of(text: bytes | str) -> Any:
    """The value of a YAML text, of the kinds that JSON has too.

    Raises:
        ValueError: it is not YAML in UTF-8, has values of other kinds or aliases, or is beyond a bound.
        MissingExtraError: the package that reads YAML is not installed.
    """
    require_extra("files")
    import yaml

    whole = _decode_text(text, _MOST_BYTES_OF_TOML)
    try:
        return json_of(json.dumps(yaml.load(whole, _bounded_loader())))
    except (yaml.YAMLError, TypeError, ArithmeticError):
        raise ValueError("it is no YAML, or has values that JSON has not") from None


@cache
def _bounded_loader() -> Any:
    """What reads YAML within the bounds, and stops where it is beyond one.

    Its time grows with the square of the depth, and of the digits of a number.
    """
    import yaml

    class Bounded(yaml.SafeLoader):  # type: ignore[misc]
        """Raises ValueError for a text beyond a bound."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            # A few aliases of aliases stand for any number of values.
            if self.check_event(yaml.AliasEvent):
                raise ValueError("it has aliases; write what they stand for")
            self.depth += 1
            if self.depth > DEEPEST + 1:
                raise ValueError(_TOO_DEEP)
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_scalar(self, node: Any) -> Any:
            if len(node.value) > _LONGEST_NUMBER and node.tag != "tag:yaml.org,2002:str":
                raise ValueError(f"it has a number of more than {_LONGEST_NUMBER} characters")
            return super().construct_scalar(node)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            found = super().construct_mapping(node, deep)
            if len(found) < len(node.value):
                raise ValueError("a name stands twice in one place; name each once")
            return found

    return Bounded


def fraction_of(text: str) -> Fraction:
    """The number of a text such as 3/4, as the text of a `Fraction` is.

    Raises:
        ValueError: it is another text.
    """
    if not _FRACTION.fullmatch(text):
        raise ValueError("it is no fraction of whole numbers")
    return Fraction(text)


def _decode_text(text: bytes | str, most: int) -> str:
    _check_length(text, most)
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _check_length(text: bytes | str, most: int) -> None:
    if len(text) > most:
        raise ValueError(f"it is longer than {most >> 10} KiB")


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1000 else []
        raise ValueError(f"named twice in one JSON object: {', '.join(repeated[:5])}; name each once")
    return entries


def _no_number(name: str) -> Any:
    raise ValueError(f"it has {name}, which is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("it has a number that no float holds")
    return value


def _check(value: Any) -> None:
    """Raises ValueError for a value that is deep, or that a float or UTF-8 cannot hold."""
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                _check_scalars(one)
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        _check_scalars(inner)
        level = [one for one in inner if isinstance(one, (dict, list))]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _check_scalars(values: Any) -> None:
    for one in values:
        if isinstance(one, str):
            if not one.isascii():
                one.encode("utf-8")
        elif isinstance(one, int):
            if one.bit_length() > 1000:
                raise ValueError("it has a whole number of more than 300 digits")
