"""Callers without a certificate cannot crash a party, nor fill its log, while it replaces its certificates."""

from support.storms import StormedParty, storm

HANDSHAKES = 1500


def test_a_party_survives_a_storm_of_handshakes_while_its_certificates_change():
    """A crash shows as the exit status: that of the handshakes, or of the certificates' memory freed twice."""
    party = StormedParty(reload_s=0.02)
    answered = storm(party.port, HANDSHAKES)
    status, reloads, errors = party.stop()
    assert status == 0
    assert answered == HANDSHAKES
    assert reloads > 3
    assert errors == ""
