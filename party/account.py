"""One accepted release in a party's ledger: the only way to obtain noise for a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ..common.canonical.introductions import decode_introduction, encode_introduction
from ..common.crypto.identity import Identity, verify
from ..common.crypto.randomness import KEY_BYTES, RandomStream
from ..common.errors import ProtocolError
from ..common.messages import Introduction, MarginalQuery, ReleaseTerms, ScoreQuery
from ..common.privacy.cost import gaussian_cost, score_cost
from ..common.statement import ENTRY
from .ledger import Ledger
from .ledger_rows import LedgerEntry


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
        return RandomStream(self._charged(query, interaction, answered=True).noise_key)

    def charge_jointly(self, query: MarginalQuery, interaction: Sequence[int], *, answered: bool) -> bytes:
        """Charges a query for the noise of all parties of the slice, before any of them answers.

        Args:
            query: query to charge; a repeated query costs nothing.
            interaction: see `charge`.
            answered: whether this party is one of those that answer.

        Returns:
            The party's signature over the link of the entry.

        Raises:
            ProtocolError: see `charge`.
            BudgetError: see `charge`.
        """
        return self._charged(query, interaction, answered).signature

    def charged_jointly(
        self, query: MarginalQuery, parties: Sequence[bytes], charges: Sequence[bytes]
    ) -> RandomStream:
        """The stream of the noise of a query, if it was charged here and all these parties charged the same.

        Guarantee: the ledgers of all parties have this entry after the same entries, since the link that they
            signed is a digest of all of them.

        Args:
            query: query charged by `charge_jointly`.
            parties: identities of all parties of the slice.
            charges: their signatures over the link of the entry.

        Raises:
            ProtocolError: the query was not charged here, or not all of them signed the charge.
        """
        entry = self._ledger.charged(query, self._data_digest)
        if len(charges) != len(parties):
            raise ProtocolError(
                f"expected the signatures of all {len(parties)} parties of the slice over their charges, got "
                f"{len(charges)}; charge the query at each of them first"
            )
        for party, charge in zip(parties, charges, strict=True):
            verify(party, ENTRY, entry.link, charge)
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

    def _charged(
        self, query: MarginalQuery | ScoreQuery, interaction: Sequence[int], answered: bool
    ) -> LedgerEntry:
        unit = self.terms.unit
        if isinstance(query, ScoreQuery):
            cost = score_cost(query.sigma, unit, len(query.cliques))
        else:
            # Several parties with noise of their own answer for the same records.
            costs = (gaussian_cost(sigma, unit, tuple(interaction)) for sigma in query.sigmas)
            cost = sum(costs, Fraction(0))
        fresh = self.keys.bytes(KEY_BYTES).tobytes() if answered else b""
        return self._ledger.charge(query, cost, self._data_digest, fresh, self._sign)

    def _sign(self, link: bytes) -> bytes:
        return self._identity.sign(ENTRY, link)
