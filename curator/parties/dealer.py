"""The curator as dealer, for one machine and for trials: it deals in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...common.canonical.terms import decode_terms, terms_digest
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.dealing.dealing import Dealing
from ...common.errors import ProtocolError
from ...common.federation.protocol_versions import NEWEST, OLDEST
from ...common.history import START
from ...common.messages import Acknowledgement, PartyDescription, Verdict
from ...common.promises.acceptance import accept
from ...common.promises.binding import Binding, BindingStore
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.terms import ReleaseTerms
from ...common.version import __version__
from ...common.wire import codec, streams


class CuratorDealer:
    """A connection to the curator's own dealer: its keys follow from the curator's.

    A curator that deals knows all masks. It is trusted to deal as written, and not to collude with a party.

    Args:
        identity: identity of the curator, which signs the acceptance.
        keys: source of the dealer's secret; the same keys deal the same randomness again.
        bindings: where it keeps what it received; as durable as the keys.
    """

    def __init__(self, identity: Identity, keys: RandomStream, bindings: BindingStore) -> None:
        self._identity = identity
        self._keys = keys
        self._binding = Binding(bindings)
        self._terms: ReleaseTerms | None = None
        self._dealing: Dealing | None = None

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests; see `Connection`."""
        match method:
            case "Describe":
                yield codec.encode(self._describe())
            case "Review":
                yield codec.encode(Verdict())
            case "Accept":
                self._terms = decode_terms(codec.decode_request(method, *requests).terms)
                accepted = accept(terms_digest(self._terms), self._identity, self._secret(), START)
                yield codec.encode(accepted)
            case "Introduce":
                introduction = codec.decode_request(method, *requests)
                assert self._terms is not None, "terms are accepted before the introduction"
                place = [each.name for each in self._terms.plan.participants].index(CURATOR_DEALS)
                dealing = Dealing(
                    self._terms,
                    place,
                    self._secret(),
                    introduction.acceptances,
                    self._keys.key,
                    self._binding,
                )
                keys = introduction.keys_digest().hex()
                self._binding.use("keys of all participants", self._terms.release_id, keys)
                self._dealing = dealing
                yield codec.encode(Acknowledgement())
            case "Deal":
                assert self._dealing is not None, "dealers are introduced before they deal"
                yield from streams.encode_payload(self._dealing.deal(codec.decode_request(method, *requests)))
            case "PrepareScores":
                assert self._dealing is not None, "dealers are introduced before they evaluate"
                self._dealing.scores.prepare(codec.decode_request(method, *requests))
                yield codec.encode(Acknowledgement())
            case "Open":
                assert self._dealing is not None, "dealers are introduced before they evaluate"
                yield from streams.encode_payload(self._dealing.open(codec.decode_request(method, *requests)))
            case "Deliver":
                assert self._dealing is not None, "dealers are introduced before they evaluate"
                delivery, chunks = streams.decode_delivery(iter(requests))
                self._dealing.deliver(delivery, chunks)
                yield codec.encode(Acknowledgement())
            case "Abandon":
                self._terms = self._dealing = None
                yield codec.encode(Acknowledgement())
            case _:
                raise ProtocolError(f"a dealer has no method {method!r}; compare versions")

    def _secret(self) -> bytes:
        assert self._terms is not None, "terms are accepted first"
        return self._keys.child_key("dealer secret", self._terms.release_id)

    def _describe(self) -> PartyDescription:
        return PartyDescription(
            CURATOR_DEALS,
            OLDEST,
            __version__,
            None,
            None,
            (),
            self._identity.public,
            newest_protocol=NEWEST,
        )
