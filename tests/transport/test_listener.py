"""A listener holds the streams of parties, and lends them to releases of the same curator."""

import contextlib
import os
import stat
import threading
from pathlib import Path

import pytest

from dpmosaic.common import errors
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.federation.card import PARTY, Card
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.wire.tls import TlsSide, secure_channel
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import ATTACHED, CuratorHome
from dpmosaic.curator.parties.listener import LentConnection, lender
from dpmosaic.party.serving.attachment import Attachment
from dpmosaic.party.serving.events import silent

SOON = RetryPolicy(call_s=5, tries=1, arrival_s=1.5)


class Waiting:
    """Serves calls that wait until as many are there as wanted."""

    def __init__(self, wanted):
        self._met = threading.Barrier(wanted)

    def serve(self, method, requests, caller):
        list(requests)
        self._met.wait(30)
        yield b"met"


def test_two_releases_ask_at_once(lent):
    party = lent(Waiting(2))
    links = [party.dial(), party.dial()]
    found = []
    asking = [
        threading.Thread(target=lambda link=link: found.extend(link.call("Answer", [b""]))) for link in links
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == [b"met", b"met"]


def test_a_call_that_is_cancelled_does_not_end_the_link_of_another_release(lent):
    over = threading.Event()

    class Serving:
        def serve(self, method, requests, caller):
            list(requests)
            yield b"first"
            over.wait(30)
            yield b"second"

    party = lent(Serving())
    first, second = (party.dial().call("Answer", [b""]) for _ in range(2))
    assert next(first) == next(second) == b"first"
    first.close()
    over.set()
    assert list(second) == [b"second"]


@pytest.mark.slow
def test_the_curator_is_told_who_comes_and_goes(lent):
    party = lent()
    PartyClient(party.dial()).describe()
    assert party.changes == [("north", True)]
    party.attachment.stop()
    for _ in range(1000):
        if len(party.changes) > 1:
            break
        threading.Event().wait(0.03)
    assert party.changes == [("north", True), ("north", False)]


def test_a_party_that_is_not_enrolled_is_refused_with_what_to_do(lent):
    with pytest.raises(errors.ProtocolError, match="'south' is not enrolled with --attached; enroll it"):
        list(lent().dial(SOON, "south").call("Describe", [b""]))


@pytest.mark.slow
def test_a_party_enrolled_after_the_start_is_admitted(arrival, tmp_path):
    curator = CuratorHome.create(tmp_path / "curator", "lab")
    keys = {name: arrival.pair(name) for name in ("north", "south")}
    changes, told = [], threading.Event()

    def enroll(name):
        card = Card.issue(PARTY, name, Identity.generate(), keys[name][1], Domain.coded({"a": 2}))
        curator.enroll(card, ATTACHED)

    def tell(*change):
        changes.append(change)
        told.set()

    enroll("north")
    with contextlib.closing(curator.listener("127.0.0.1:0", tell)) as listener:
        listener.start()
        trusted = curator.keyring.certificate
        own = TlsSide(*keys["south"], (trusted,))
        dialled = f"127.0.0.1:{listener.port}"
        south = Attachment(
            arrival.servicer_of(), lambda: secure_channel(dialled, own, trusted), arrival.dialled, silent
        )
        south.start()
        assert not told.wait(0.3)
        enroll("south")
        with lender(curator.folder) as channel:
            link = LentConnection("south", channel, RetryPolicy(call_s=30, tries=1, arrival_s=30))
            assert PartyClient(link).describe().newest_protocol == NEWEST
        assert (changes, listener.names) == ([("south", True)], {"north", "south"})
        south.stop()


def test_a_second_listener_is_refused(lent):
    lent()
    with pytest.raises(errors.DataError, match="a listener already runs"):
        lent()


def test_only_its_own_user_can_reach_it_and_it_leaves_nothing(lent, tmp_path):
    party = lent()
    named = tmp_path / "listener"
    socket = Path(named.read_text())
    assert stat.S_IMODE(os.stat(named).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(socket.parent).st_mode) == 0o700
    party.stop()
    assert not named.exists()
    assert not socket.parent.exists()


def test_a_listener_that_was_killed_is_not_asked(tmp_path):
    named = tmp_path / "listener"
    named.write_text(str(tmp_path / "gone"))
    named.chmod(0o600)
    with lender(tmp_path) as channel:
        assert channel is None
