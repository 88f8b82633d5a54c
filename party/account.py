"""One accepted release in a party's ledger: the only way to obtain noise for a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..common.canonical.introductions import decode_introduction, encode_introduction
from ..common.crypto.identity import Identity
from ..common.crypto.randomness import KEY_BYTES, RandomStream
from ..common.errors import ProtocolError
from ..common.messages import Introduction, MarginalQuery, ReleaseTerms, ScoreQuery
from ..common.privacy.cost import gaussian_cost, score_cost
from ..common.statement import ENTRY
from .ledger import Ledger


class Account:
    """Charges the queries of a release before their noise can be drawn, and stores what a restart needs.

    Args:
        terms: terms of a release that the ledger has accepted.
        ledger: ledger of the party.
        data_digest: digest of the rows that queries are answered from.
        identity: identity of the party; signs every entry.
        keys: source of noise keys; never repeats its words.
    """

    def __init__(
        self, terms: ReleaseTerms, ledger: Ledger, data_digest: str, identity: Identity, keys: RandomStream
    ) -> None:
        self.terms = terms
        """Terms of the release."""
        self.keys = keys
        """Stream of words that never repeat, also after a restart of the process."""
        self._ledger = ledger
        self._data_digest = data_digest
        self._identity = identity

    def charge(self, query: MarginalQuery | ScoreQuery, interaction: Sequence[int] = ()) -> RandomStream:
        """Charges a query and returns the stream of its noise, after the charge is on disk.

        The party computes the cost from the noise that it adds itself. A repeated query costs nothing and has
        the same noise.

        Args:
            query: query to charge.
            interaction: shape of the marginal if only its differences are answered; else empty.

        Raises:
            ProtocolError: the id was used for another query or other data, or the release is certified.
            BudgetError: the query exceeds the grant of the release; nothing is charged.
        """
        if isinstance(query, ScoreQuery):
            cost = score_cost(query.sigma, self.terms.unit, len(query.cliques))
        else:
            cost = gaussian_cost(query.sigma, self.terms.unit, tuple(interaction))
        fresh = self.keys.bytes(KEY_BYTES).tobytes()
        entry = self._ledger.charge(query, cost, self._data_digest, fresh, self._sign)
        return RandomStream(entry.noise_key)

    def bind(self, query: MarginalQuery | ScoreQuery, values: Mapping[str, str]) -> None:
        """Binds a charged query to the exact values that its noise or masks hide; see `Ledger.bind`."""
        self._ledger.bind(query, values)

    def secret(self) -> bytes:
        """32 bytes of this release only, from which the keys shared with other parties are derived.

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
            ProtocolError: the release has another introduction.
        """
        self._ledger.introduce(self.terms.release_id, encode_introduction(introduction))

    def _sign(self, link: bytes) -> bytes:
        return self._identity.sign(ENTRY, link)
