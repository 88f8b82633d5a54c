"""What a participant takes of another one under the same labels, and when it is bound."""

import pytest

from dpmosaic.common.canonical.terms import terms_digest
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import START
from dpmosaic.common.promises.acceptance import accept
from dpmosaic.common.promises.binding import Binding, BindingsInMemory
from support.masked import identity, plan_of, terms_of
from support.terms import id_of

NORTH, EAST, WEST = range(3)
WHAT = ["opening", "0", "1", "a"]


class Pair:
    """North sends to east, in a release of these terms; `bindings` are those of east."""

    def __init__(self, bindings=None, terms=None):
        self.terms = terms or terms_of(plan_of())
        digest = terms_digest(self.terms)
        names = [entry.name for entry in self.terms.plan.participants]
        secrets = [RandomStream.from_seed(1).child_key(name) for name in names]
        accepted = [accept(digest, identity(n), s, START) for n, s in zip(names, secrets, strict=True)]
        salts = RandomStream.from_seed(2).key
        self.bindings = bindings or BindingsInMemory()
        self.north, self.east, self.west = (
            Peers(self.terms, place, secrets[place], accepted, salts, Binding(self.bindings))
            for place in (NORTH, EAST, WEST)
        )

    def sent(self, payload, what=WHAT):
        """The payload, as east has it."""
        return b"".join(self.east.unseal(NORTH, what, self.north.seal(EAST, what, [payload])))


@pytest.fixture
def pair():
    return Pair()


def test_a_message_may_come_again_with_another_salt(pair):
    for _ in range(3):
        assert pair.sent(b"words") == b"words"


@pytest.mark.parametrize("other", [b"wordz", b"word", b"words and more", b""])
def test_another_message_under_the_same_labels_is_refused_at_its_end(pair, other):
    pair.sent(b"words")
    for one in (pair, Pair(pair.bindings)):
        with pytest.raises(
            ProtocolError, match=r"same content as before, got another \(opening from north\)"
        ):
            one.sent(other)
        assert one.sent(b"words") == b"words"


def test_a_message_of_which_the_end_did_not_come_is_not_bound(pair):
    salt, _ = pair.north.seal(EAST, WHAT, [b"words"])
    with pytest.raises(ProtocolError, match="has no frame"):
        list(pair.east.unseal(NORTH, WHAT, [salt]))
    assert pair.east.digest_received(NORTH, WHAT) is None
    assert pair.sent(b"other words") == b"other words"


def test_other_labels_senders_and_releases_have_messages_of_their_own(pair):
    pair.sent(b"words")
    assert pair.sent(b"other", ["opening", "1", "1", "a"]) == b"other"
    by_west = pair.west.seal(EAST, WHAT, [b"other"])
    assert b"".join(pair.east.unseal(WEST, WHAT, by_west)) == b"other"
    assert Pair(pair.bindings, terms_of(plan_of(), release_id=id_of("s"))).sent(b"other") == b"other"
