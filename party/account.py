"""One accepted release in a party's ledger: the only way from a query to noise."""

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
    """Charges a release's queries before their noise can be drawn, and keeps what a restart needs.

    Args:
        terms: of the release, which the ledger has accepted.
        ledger: of the party.
        data_digest: of the rows that queries are answered from.
        identity: of the party; signs every entry.
        keys: where noise keys come from; never the same words again.
    """

    def __init__(
        self, terms: ReleaseTerms, ledger: Ledger, data_digest: str, identity: Identity, keys: RandomStream
    ) -> None:
        self.terms = terms
        """Of the release."""
        self.keys = keys
        """Words that never come again, whatever the party's process went through."""
        self._ledger = ledger
        self._data_digest = data_digest
        self._identity = identity

    def charge(self, query: MarginalQuery | ScoreQuery, interaction: Sequence[int] = ()) -> RandomStream:
        """The stream of a query's noise, once its cost is on disk.

        The cost is computed here, from the noise that is added here; the same query again costs nothing and
        has the same noise.

        Args:
            query: what is asked.
            interaction: shape of the marginal where its differences alone are answered; else empty.

        Raises:
            ProtocolError: the id stands for another query or other data, or the release is certified.
            BudgetError: the release's grant does not cover it; nothing is charged.
        """
        if isinstance(query, ScoreQuery):
            cost = score_cost(query.sigma, self.terms.adjacency, len(query.cliques))
        else:
            cost = gaussian_cost(query.sigma, self.terms.adjacency, tuple(interaction))
        fresh = self.keys.bytes(KEY_BYTES).tobytes()
        entry = self._ledger.charge(query, cost, self._data_digest, fresh, self._sign)
        return RandomStream(entry.noise_key)

    def bind(self, query: MarginalQuery | ScoreQuery, values: Mapping[str, str]) -> None:
        """Binds a charged query to the exact values that its noise or masks will hide; see `Ledger.bind`."""
        self._ledger.bind(query, values)

    def secret(self) -> bytes:
        """32 bytes of this release alone, from which the keys shared with other parties come.

        Raises:
            ProtocolError: the data changed after the release was accepted.
        """
        release = self._ledger.release(self.terms.release_id)
        if release.data_digest != self._data_digest:
            raise ProtocolError("the party's data changed after it accepted the release; start a new release")
        return release.secret

    def introduction(self) -> Introduction:
        """What `introduce` kept.

        Raises:
            ProtocolError: nothing was kept yet.
        """
        kept = self._ledger.release(self.terms.release_id).introduction
        if kept is None:
            raise ProtocolError("the release's parties are not known to each other; introduce them first")
        return decode_introduction(kept)

    def introduce(self, introduction: Introduction) -> None:
        """Keeps an introduction; the same again changes nothing.

        Raises:
            ProtocolError: the release was introduced otherwise.
        """
        self._ledger.introduce(self.terms.release_id, encode_introduction(introduction))

    def _sign(self, link: bytes) -> bytes:
        return self._identity.sign(ENTRY, link)
