"""Waits for what other threads and processes bring about."""

import time


def wait_until(holds, seconds=120.0):
    """Waits until something holds; what it is then."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)
    return found
