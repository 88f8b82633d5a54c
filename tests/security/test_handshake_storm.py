"""Callers without a certificate can neither crash a party or a curator nor fill its log."""

import time

import pytest

from support.storms import Changing, Stormed, storm

HANDSHAKES = 1500
STOPS = 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["party", "curator"])
def test_survives_a_storm_of_handshakes_also_while_certificates_change(kind):
    """A crash shows as the exit status; it came in most runs when gRPC freed certificates in use."""
    stormed = Stormed(kind)
    answered = storm(stormed.port, HANDSHAKES)
    status, reloads, errors = stormed.stop()
    assert (status, errors) == (0, "")
    assert answered == HANDSHAKES
    assert reloads > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["party", "curator"])
def test_a_stop_while_certificates_change_is_no_change_that_failed(kind):
    """A look after the port was closed was refused, and logged as a failure: in 19 of 20 such stops."""
    for _ in range(STOPS):
        server = Changing(kind, reload_s=0.001)
        server.start()
        time.sleep(0.03)
        server.stop()
        assert {*server.changes} <= {None}
