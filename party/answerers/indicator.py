"""Answers under the protocol `indicator`: histograms, and indicator vectors record by record.

The parties of a slice hold the same records, so what one of them answers costs the budget of all. They charge
every query jointly: each enters the cost of all answers of the slice in its ledger, and answers only with the
signatures of all of them over the same entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique
from ...common.data.rows import codes_digest
from ...common.errors import ProtocolError
from ...common.protocols.indicator import divide, noisy_indicators
from ...common.queries import AnswerForm, MarginalQuery
from ...common.wire.streams import encode_answer
from ..accounts.account import Account
from ..institution.institution import Institution
from .answerer import Answerer
from .histograms import histogram, word_bytes


class IndicatorAnswerer(Answerer):
    """Answers with noisy histograms, or for a part of a clique with one noisy vector per record.

    Args:
        institution: see `Answerer`.
        account: see `Answerer`.
    """

    forms = frozenset({AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE})

    def __init__(self, institution: Institution, account: Account) -> None:
        super().__init__(institution, account)
        plan = account.terms.plan
        (own,) = (entry for entry in plan.roster if entry.name == institution.name)
        self._slice = [plan.roster[place] for place in plan.members(own.slice)]
        self._place = self._slice.index(own)

    def charge(self, query: MarginalQuery) -> bytes:
        """Charges the answers of all parties of the slice; see `Answerer.charge`."""
        answered = self._own_part(query) is not None
        return self.account.charge_jointly(query, answered=answered)

    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """The frames of a histogram or of indicator vectors, with noise; see `Answerer.answer`.

        A party that is alone in its slice charges the query itself.
        """
        own = self._own_part(query)
        if own is None:
            raise ProtocolError(
                "this party holds no part of the clique; query the parties of its slice that do"
            )
        table, (part, sigma) = self.institution.table, own
        if query.form is AnswerForm.HISTOGRAM:
            return histogram(self.account, table, query, self._noise(query, charges))

        def blocks() -> Iterator[NDArray[np.int64]]:
            noise = self._noise(query, charges)
            # A stream that is cut leaves no digest of the whole answer.
            codes = codes_digest(table, part, range(table.record_count))
            self.account.binding.use("rows under noise", query.query_id, codes)
            return noisy_indicators(table, part, sigma, noise)

        return encode_answer(self.account.answered_in_blocks(query, blocks), word_bytes(1, sigma))

    def _noise(self, query: MarginalQuery, charges: Sequence[bytes]) -> RandomStream:
        """The noise of a query, after this party and all others of the slice charged it."""
        if len(self._slice) == 1:
            return self.account.charge(query)
        identities = [entry.identity for entry in self._slice]
        return self.account.charged_jointly(query, identities, charges)

    def _own_part(self, query: MarginalQuery) -> tuple[Clique, float] | None:
        """This party's part of the clique and the scale of its noise; None if it holds no part.

        Raises:
            ProtocolError: the query does not fit the partition of the slice.
        """
        if query.form is AnswerForm.RECORD_WISE and self.account.terms.unit.parts > 1:
            raise ProtocolError("people with all rows have no indicator vectors; query a histogram")
        if query.form is AnswerForm.RECORD_WISE and not query.view.is_plain:
            raise ProtocolError(
                "indicator vectors have neither boxes nor interactions nor groups; query single cells"
            )
        parts = divide(query.clique, [entry.attributes for entry in self._slice])
        if len(parts) != len(query.sigmas):
            raise ProtocolError(
                "expected one sigma for each party of the slice that holds a part of the clique, and a "
                "histogram only if one party holds it whole, got another query; compare the plan"
            )
        sigmas = dict(zip(parts, query.sigmas, strict=True))
        return (parts[self._place], sigmas[self._place]) if self._place in parts else None
