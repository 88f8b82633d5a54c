"""One institution: its rows, its policy, its ledger, and the answers that these allow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import __version__
from ..common.crypto.randomness import RandomStream
from ..common.domain import Domain
from ..common.errors import PolicyError, ProtocolError
from ..common.messages import (
    PROTOCOL_VERSION,
    AnswerForm,
    MarginalQuery,
    PartyDescription,
    ReleaseTerms,
)
from ..common.privacy.cost import gaussian_cost, grid_of
from ..common.privacy.noise import TAIL_SIGMAS
from ..common.protocols.indicator import noisy_histogram, noisy_indicators
from ..common.wire.codec import decode_terms, encode_answer
from .ledger import Ledger
from .policy import Policy
from .source import Source

_FORMS = {
    "trusted": {AnswerForm.HISTOGRAM},
    "indicator": {AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE},
}


class Party:
    """Answers a curator's queries within its policy, each charged to its own ledger before noise is drawn.

    Args:
        name: as the federation knows it.
        source: where its rows live.
        domain: of its attributes.
        policy: what its institution allows.
        ledger: what it granted and answered before.
        keys: where noise keys come from; `RandomStream.from_os()` in every release.
    """

    def __init__(
        self, name: str, source: Source, domain: Domain, policy: Policy, ledger: Ledger, keys: RandomStream
    ) -> None:
        self._name = name
        self._table = source.read(domain)
        self._policy = policy
        self._ledger = ledger
        self._keys = keys
        self._digest = self._table.digest()

    def describe(self) -> PartyDescription:
        """What others may know of the party."""
        return PartyDescription(
            name=self._name,
            protocol_version=PROTOCOL_VERSION,
            software_version=__version__,
            domain=self._table.domain,
            record_count=self._table.record_count,
            protocols=tuple(sorted(self._policy.protocols)),
        )

    def accept(self, terms: ReleaseTerms) -> None:
        """Reserves the release's budget, if the policy allows; the same terms again change nothing."""
        if terms.protocol not in _FORMS:
            raise PolicyError(
                f"no party takes part in the protocol {terms.protocol!r}; use one of {sorted(_FORMS)}"
            )
        records = self._table.record_count
        self._ledger.reserve(
            terms, self._digest, lambda reserved: self._policy.check_terms(terms, records, reserved)
        )

    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of a noisy answer; the cost is computed here, from the noise that is added here.

        Raises:
            ProtocolError: an unknown release, attribute or form, or an id used for something else.
            PolicyError: the policy does not allow it.
            BudgetError: the release's grant does not cover it.
        """
        terms = self._ledger.release(query.release_id)
        if terms is None:
            raise ProtocolError(
                "the query is for a release that this party has not accepted; accept it first"
            )
        accepted = decode_terms(terms)
        if query.form not in _FORMS[accepted.protocol]:
            raise ProtocolError(
                f"the protocol {accepted.protocol!r} has no answers of the form {query.form.name}"
            )
        domain = self._table.domain
        unknown = [name for name in query.clique if name not in domain.names]
        if unknown or domain.canonical(query.clique) != query.clique:
            raise ProtocolError("the query's attributes are not attributes of this party in domain order")
        self._policy.check_cells(domain.cells(query.clique))
        cost = gaussian_cost(query.sigma, accepted.adjacency)
        entry = self._ledger.charge(query, cost, self._digest, self._keys.words(4).tobytes())
        stream = RandomStream(entry.noise_key)
        if query.form is AnswerForm.HISTOGRAM:
            largest = self._table.record_count
            blocks = iter([noisy_histogram(self._table, query.clique, query.sigma, stream)])
        else:
            largest = 1
            blocks = noisy_indicators(self._table, query.clique, query.sigma, stream)
        return encode_answer(blocks, _word_bytes(largest, query.sigma))


def _word_bytes(largest_count: int, sigma: float) -> int:
    """Bytes that hold every possible noisy count: the noise ends at a fixed number of sigmas."""
    grid = grid_of(sigma)
    return 4 if grid * (largest_count + (TAIL_SIGMAS + 1) * sigma) < np.iinfo(np.int32).max else 8
