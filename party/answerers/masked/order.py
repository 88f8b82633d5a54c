"""Whether the parties of a slice hold the same records in the same order, before anything is opened."""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Iterable, Iterator, Mapping

from ....common.dealing.peers import Peers
from ....common.errors import DataError, DeliveriesLost, ProtocolError

_LABEL = "order of records"
_GUARANTEED = b"guaranteed by other means"


class RecordOrder:
    """Compares the order of a party's records with every other party of its slice.

    Two parties exchange keyed digests of their sequences of record keys. Who relays them learns only whether
    they are equal, from the refusal if they are not. A party without keys states that the order is
    guaranteed, which is equal only to the same statement.

    Args:
        peers: keys shared with the other parties.
        neighbours: name of each other party of the slice, by its index in the roster.
        digest: digest of the key of each row (`order_digest`); None if the policy guarantees the order.
    """

    def __init__(self, peers: Peers, neighbours: Mapping[int, str], digest: bytes | None) -> None:
        self._peers = peers
        self._neighbours = neighbours
        self._content = _GUARANTEED if digest is None else digest
        self._equal: set[int] = set()

    def tag(self, recipient: int) -> Iterator[bytes]:
        """The tag for another party of the slice."""
        self._check_neighbour(recipient)
        yield self._peers.tag_for(recipient, [_LABEL], self._content)

    def compare(self, sender: int, chunks: Iterable[bytes]) -> None:
        """Compares the tag of another party of the slice.

        Raises:
            DataError: the two parties hold other records or another order, or only one compares keys.
        """
        self._check_neighbour(sender)
        sent = b"".join(itertools.islice(chunks, 2))
        if not hmac.compare_digest(sent, self._peers.tag_from(sender, [_LABEL], self._content)):
            raise DataError(
                f"party {self._neighbours[sender]!r} holds other records than this party, or holds them in "
                "another order, or only one of the two compares keys; bring the rows of both into one order, "
                "and name the same key column at both"
            )
        self._equal.add(sender)

    def check(self) -> None:
        """Refuses to open anything before every other party of the slice delivered an equal tag.

        Raises:
            DeliveriesLost: a tag was not delivered since the party was started.
        """
        if self._equal != set(self._neighbours):
            raise DeliveriesLost(
                "the order of the records was not compared with every party of the slice; deliver their tags"
            )

    def _check_neighbour(self, other: int) -> None:
        if other not in self._neighbours:
            raise ProtocolError("expected another party of the same slice; compare the plan")
