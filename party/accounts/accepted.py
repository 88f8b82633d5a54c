"""One accepted release in a ledger: its secret, and what a restart needs."""

from __future__ import annotations

from ...common.canonical.introductions import decode_introduction, encode_introduction
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import FreshKeys
from ...common.errors import ProtocolError
from ...common.messages import Introduction
from ...common.promises.binding import Binding
from ...common.terms import ReleaseTerms
from .ledger import Ledger


class AcceptedRelease:
    """What the ledger of a party or dealer keeps of one release.

    Args:
        terms: terms of a release that the ledger has accepted.
        ledger: the ledger.
        data_digest: digest of the data that it was accepted for; empty without data.
        identity: identity of the ledger's owner.
        keys: source of keys and salts.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        ledger: Ledger,
        data_digest: str,
        identity: Identity,
        keys: FreshKeys,
    ) -> None:
        self.terms = terms
        """Terms of the release."""
        self.keys = keys
        """Source of keys and salts that never repeat, also after a restart of the process."""
        self.binding = Binding(LedgerBindings(ledger, terms.release_id))
        """What the secrets of the release hide."""
        self._ledger = ledger
        self._data_digest = data_digest
        self._identity = identity

    def secret(self) -> bytes:
        """32 bytes of this release only, from which the keys shared with other participants are derived.

        Raises:
            ProtocolError: the data changed after the release was accepted.
        """
        release = self._ledger.release(self.terms.release_id)
        if release.data_digest != self._data_digest:
            raise ProtocolError("the party's data changed after it accepted the release; start a new release")
        return release.secret

    def introduction(self) -> Introduction:
        """The introduction stored by `introduce`.

        Raises:
            ProtocolError: there is none yet.
        """
        kept = self._ledger.release(self.terms.release_id).introduction
        if kept is None:
            raise ProtocolError("the parties of the release are not introduced yet; introduce them first")
        return decode_introduction(kept)

    def introduce(self, introduction: Introduction) -> None:
        """Stores an introduction; repeating it has no effect.

        Raises:
            ProtocolError: the release has another introduction, or another participant's ledger was restored
                from an old copy.
        """
        own = self._identity.public
        signed = zip(self.terms.plan.participants, introduction.acceptances, strict=True)
        self._ledger.introduce(
            self.terms.release_id,
            encode_introduction(introduction),
            introduction.keys_digest(),
            {entry.identity: (entry.name, one.mark) for entry, one in signed if entry.identity != own},
        )


class LedgerBindings:
    """The bindings of one release in a ledger; see `BindingStore`.

    Args:
        ledger: the ledger.
        release_id: id of an accepted release.
    """

    def __init__(self, ledger: Ledger, release_id: str) -> None:
        self._ledger = ledger
        self._release_id = release_id

    def bind(self, kind: str, of: str, digest: str) -> str:
        """See `Ledger.bind`."""
        return self._ledger.bind(self._release_id, kind, of, digest)

    def bound(self, kind: str, of: str) -> str | None:
        """See `Ledger.bound`."""
        return self._ledger.bound(self._release_id, kind, of)
