"""A party that listens on loopback, and the certificates of its callers."""

from datetime import UTC, datetime

import numpy as np
import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.wire.tls import TlsSide, secure_channel
from dpmosaic.curator.parties.attached import Admitted, AttachedConnection, AttachmentServer
from dpmosaic.curator.parties.connection import RetryPolicy, dial
from dpmosaic.curator.parties.listener import LentConnection, Listener, lender
from dpmosaic.party.policies.direct import NO_DIRECT
from dpmosaic.party.serving.attachment import Attachment
from dpmosaic.party.serving.health import Health
from dpmosaic.party.serving.server import PartyServer
from dpmosaic.party.serving.servicer import PartyServicer
from support.parties import party_of, policy_for
from support.waiting import wait_until

TABLE = Table.from_codes(Domain.coded({"a": 40, "b": 3}), np.array([[7, 1], [30, 2], [7, 0]]))
POLICY = policy_for("indicator")
DIALLED = b"identity of the dialled curator"
HASTY = RetryPolicy(call_s=120, tries=2, first_pause_s=0.01, arrival_s=60)


def pair(name, **changes):
    """A key, and a certificate of it."""
    key = new_tls_key()
    return key, self_signed(name, key, changes.pop("now", datetime.now(UTC)), **changes)


def servicer_of(table=TABLE, policy=POLICY):
    return PartyServicer(party_of("north", table, policy, identity=Identity.from_seed(bytes(31) + b"1")))


class Loopback:
    """One listening party; `party` and `curator` are keys and certificates, `pinned` those it accepts."""

    def __init__(self, servicer=None, party=None, curator=None, checks=None, direct=NO_DIRECT):
        self.direct = direct
        self.party, self.curator = party or pair("north"), curator or pair("curator")
        self.pinned = [self.curator[1]]
        self.identities = {}
        self.events = []
        self.health = Health(checks or {}, self.events.append, every_s=0.05)
        self.server = PartyServer(
            servicer or servicer_of(),
            self.side,
            "127.0.0.1:0",
            self.health,
            self.events.append,
            reload_s=0.02,
        )
        self.address = self.server.address
        self.connections = []
        self.server.start()

    def side(self):
        return self.direct.side(TlsSide(*self.party, tuple(self.pinned), self.identities))

    def wait_for_reload(self):
        """Waits until connections get changed certificates."""
        wait_until(lambda: any(event.event == "reload" for event in self.events))

    def dial(self, curator=None, certificate=None, retry_policy=HASTY, address=None):
        key, shown = curator or self.curator
        expected = certificate or self.party[1]
        own = TlsSide(key, shown, (expected,))
        self.connections.append(dial("north", address or self.address, own, expected, retry_policy))
        return self.connections[-1]

    def stop(self):
        for connection in self.connections:
            connection.close()
        self.server.stop(0.2)


@pytest.fixture
def loopback():
    """Starts parties that listen, and stops them after the test."""
    started = []

    def start(*arguments, **changes):
        started.append(Loopback(*arguments, **changes))
        return started[-1]

    start.pair = pair
    start.servicer_of = servicer_of
    yield start
    for one in started:
        one.stop()


class Arrival:
    """A party that dials out, and the curator's attachments; those of a listener if it has a folder."""

    def __init__(self, servicer=None, enrolled=None, expected=None, folder=None, proxy=None):
        self.party, self.curator = pair("north"), pair("curator")
        self.events, self.connections, self.changes, self.folder = [], [], [], folder
        shown = TlsSide(*self.curator, ((enrolled or self.party)[1],))
        names = {(enrolled or self.party)[1].fingerprint: "north"}

        self.admitted = Admitted(shown, names)

        def told(*change):
            self.changes.append(change)

        if folder is None:
            self.attachments = AttachmentServer(lambda: self.admitted, "127.0.0.1:0", told)
        else:
            self.attachments = Listener(folder, lambda: self.admitted, "127.0.0.1:0", told)
        self.attachments.start()
        address = f"127.0.0.1:{self.attachments.port}"
        trusted = expected or self.curator[1]
        own = TlsSide(*self.party, (trusted,))
        self.attachment = Attachment(
            servicer or servicer_of(),
            lambda: secure_channel(address, own, trusted, proxy),
            DIALLED,
            self.events.append,
        )
        self.attachment.start()

    def dial(self, retry_policy=None, party="north"):
        if self.folder is None:
            return AttachedConnection(party, self.attachments, retry_policy or HASTY)
        lent = lender(self.folder)
        self.connections.append(lent)
        return LentConnection(party, lent.__enter__(), retry_policy or HASTY)

    def stop(self):
        for lent in self.connections:
            lent.__exit__(None, None, None)
        self.attachment.stop()
        self.attachments.close()


@pytest.fixture
def arrival():
    """Starts parties that dial out, and stops them after the test."""
    started = []

    def start(*arguments, **changes):
        started.append(Arrival(*arguments, **changes))
        return started[-1]

    start.pair = pair
    start.dialled = DIALLED
    start.servicer_of = servicer_of
    yield start
    for one in started:
        one.stop()


@pytest.fixture
def lent(arrival, tmp_path):
    """Starts parties that dial a listener, and stops them after the test."""
    return lambda *arguments, **changes: arrival(*arguments, **changes, folder=tmp_path)
