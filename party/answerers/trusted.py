"""Answers of the only party under the protocol `trusted`: histograms, and scores of its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...common.data.rows import Rows
from ...common.errors import ProtocolError
from ...common.queries import AnswerForm, MarginalQuery
from ...common.terms import ReleaseTerms
from ..institution.institution import Institution
from .answerer import Answerer
from .histograms import histogram


class TrustedAnswerer(Answerer):
    """Answers queries from the whole table."""

    forms = frozenset({AnswerForm.HISTOGRAM})

    @classmethod
    def check_terms(cls, terms: ReleaseTerms, institution: Institution) -> None:
        """Refuses a plan with other parties, which would be charged apart for the same records."""
        if len(terms.plan.roster) != 1:
            raise ProtocolError(
                "the protocol 'trusted' is for one party that holds the whole table, got a plan of several; "
                "use another protocol"
            )

    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """The frames of the histogram with noise; see `Answerer.answer`."""
        stream = self.account.charge(query)
        return histogram(self.account, self.institution.table, query, stream)

    def _scored_rows(self) -> Rows:
        return self.institution.table
