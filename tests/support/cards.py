"""Cards of parties that hold parts of a table."""

from datetime import UTC, datetime

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.federation.card import PARTY, Card

_CERTIFICATE = self_signed("a", new_tls_key(), datetime.now(UTC))


def cards(**held):
    """A card for each party, by the content of its domain file; `_` in a name stands for a hyphen."""
    return [
        Card.issue(PARTY, name.replace("_", "-"), Identity.generate(), _CERTIFICATE, Domain.from_json(domain))
        for name, domain in held.items()
    ]
