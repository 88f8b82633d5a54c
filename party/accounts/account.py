"""One accepted release in a party's ledger: the only way to obtain noise for a query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.digests import content_digest
from ...common.crypto.identity import Identity, verify
from ...common.crypto.randomness import FreshKeys, RandomStream
from ...common.errors import ProtocolError
from ...common.promises.remaining import REMAINING
from ...common.promises.statement import ENTRY
from ...common.queries import Asked, MarginalQuery
from ...common.terms import ReleaseTerms
from ..policies.allowance import Allowance
from .accepted import AcceptedRelease
from .ledger import Ledger
from .rows import LedgerEntry, Placement

_ANSWER = "answer"


class Account(AcceptedRelease):
    """Charges the queries of a release before their noise can be drawn, and stores what a restart needs.

    Args:
        terms: terms of a release that the ledger has accepted.
        ledger: ledger of the party.
        data_digest: digest of the rows that queries are answered from.
        identity: identity of the party; signs every entry.
        keys: source of noise keys and salts.
        allowance: what the release may use of the machine.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        ledger: Ledger,
        data_digest: str,
        identity: Identity,
        keys: FreshKeys,
        allowance: Allowance,
    ) -> None:
        super().__init__(terms, ledger, data_digest, identity, keys)
        self.allowance = allowance
        """What the release may use of the machine."""

    def charge(self, query: Asked) -> RandomStream:
        """Charges a query and returns the stream of its noise, after the charge is on disk.

        The party computes the cost from the noise that it adds itself. A repeated query costs nothing and has
        the same noise.

        Args:
            query: query to charge.

        Raises:
            ProtocolError: the id was used for another query or other data, the release is closed, or the
                query was charged under another version of the sampler.
            BudgetError: the query exceeds the grant of the release; nothing is charged.
        """
        return RandomStream(self._charge(query, answered=True).noise_key)

    def charge_jointly(self, query: MarginalQuery, *, answered: bool) -> bytes:
        """Charges a query for the noise of all parties of the slice, before any of them answers.

        Args:
            query: query to charge; a repeated query costs nothing.
            answered: whether this party is one of those that answer.

        Returns:
            The party's signature over the link of the entry.

        Raises:
            ProtocolError: see `charge`.
            BudgetError: see `charge`.
        """
        return self._charge(query, answered).signature

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
        entry = self._ledger.charged_entry(query, self._data_digest)
        if len(charges) != len(parties):
            raise ProtocolError(
                f"expected the signatures of all {len(parties)} parties of the slice over their charges, got "
                f"{len(charges)}; charge the query at each of them first"
            )
        for party, charge in zip(parties, charges, strict=True):
            verify(party, ENTRY, entry.link, charge)
        return RandomStream(entry.noise_key)

    def sign_remaining(self, message: bytes) -> bytes:
        """The party's signature over who is in an answer."""
        return self._identity.sign(REMAINING, message)

    def bind_answer(self, query: Asked, answer: NDArray[np.int64]) -> NDArray[np.int64]:
        """The answer to a charged query, after it is bound to it.

        Args:
            query: query charged before.
            answer: its noisy integers, of any shape.

        Raises:
            ProtocolError: the query was answered otherwise before; nothing of this answer may be sent.
        """
        self.binding.use(_ANSWER, query.query_id, content_digest([_octets(answer)]))
        return answer

    def answered_in_blocks(
        self, query: MarginalQuery, blocks: Callable[[], Iterator[NDArray[np.int64]]]
    ) -> Iterator[NDArray[np.int64]]:
        """The blocks of a large answer to a charged query, which is bound to it before the last one is taken.

        An answer that was bound before is computed twice, so that nothing of another one is sent.

        Args:
            query: query charged before.
            blocks: computes the answer from its start.

        Raises:
            ProtocolError: the query was answered otherwise before.
        """
        if self.binding.used(_ANSWER, query.query_id) is not None:
            self.binding.use(_ANSWER, query.query_id, content_digest(map(_octets, blocks())))
        return self._binding(query, blocks())

    def _binding(
        self, query: MarginalQuery, blocks: Iterator[NDArray[np.int64]]
    ) -> Iterator[NDArray[np.int64]]:
        digest = hashlib.sha256()
        last = None
        for block in blocks:
            if last is not None:
                yield last
            digest.update(_octets(block))
            last = block
        self.binding.use(_ANSWER, query.query_id, digest.hexdigest())
        if last is not None:
            yield last

    def place(self, placement: Placement) -> None:
        """Stores the positions of the rows; see `Ledger.place`."""
        self._ledger.place(self.terms.release_id, placement)

    def placement(self, alignment_id: str) -> Placement:
        """The positions of the party's rows.

        Raises:
            ProtocolError: there is no finished alignment of these rows with this id.
        """
        return self._ledger.alignment(alignment_id, self._data_digest).placement

    def _charge(self, query: Asked, answered: bool) -> LedgerEntry:
        cost = query.cost(self.terms)
        fresh = self.keys() if answered else b""
        most = self.allowance.max_queries
        return self._ledger.charge(
            query, cost.zcdp_rho, self._data_digest, fresh, self._sign, most, cost.delta
        )

    def _sign(self, link: bytes) -> bytes:
        return self._identity.sign(ENTRY, link)


def _octets(block: NDArray[np.int64]) -> bytes:
    return block.astype("<i8").tobytes()
