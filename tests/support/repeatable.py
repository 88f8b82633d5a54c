"""Noise that is another in each test, and the same in each run of the suite."""

import contextlib
import hashlib
import os
import secrets
from itertools import count

_from_os = secrets.token_bytes


@contextlib.contextmanager
def noise_of(name):
    """Keys that this process takes from the operating system follow from a name, until it is left.

    A test that looks at noise raises a false alarm in one run of many, and a suite has many such tests: so
    with one commit it fails always or never. A process that is forked has fresh keys, or two parties would
    have the same.

    Args:
        name: a text; others have other keys.
    """
    numbers = count()
    before = secrets.token_bytes

    def token_bytes(size=None):
        return hashlib.shake_256(f"{name} {next(numbers)}".encode()).digest(32 if size is None else size)

    secrets.token_bytes = token_bytes
    try:
        yield
    finally:
        secrets.token_bytes = before


def _fresh():
    secrets.token_bytes = _from_os


os.register_at_fork(after_in_child=_fresh)
