"""Answers about the labels of open categories: alike in every protocol, since one party has their texts.

The parties of a slice hold the same records, so the labels that one of them states cost the budget of all.
They charge the query jointly, as in the protocol `indicator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import MOST_LABELS, has_open_categories
from ...common.errors import ProtocolError
from ...common.labels import LabelSearch, encode_labels
from ...common.privacy.partition_selection import frequent
from ...common.queries import MarginalQuery
from ...common.terms import ReleaseTerms
from ...common.wire.streams import encode_answer
from ..accounts.account import Account
from ..institution.held import check_texts, unlisted_texts
from ..institution.institution import Institution

_WORD_BYTES = 8


def check_search(terms: ReleaseTerms, institution: Institution) -> None:
    """Refuses a release that looks for labels of an attribute that is no open category here.

    Raises:
        ProtocolError: it does.
        DataError: the table has the codes of an open category without its texts.
    """
    search, table = terms.purpose.labels, institution.table
    domain = table.domain
    if search is None:
        return
    if not set(search.attributes) <= set(terms.plan.domain.names):
        raise ProtocolError("the release looks for labels of an attribute that its plan lacks; plan it again")
    for name in search.attributes:
        if name in domain.names and not has_open_categories(domain[name]):
            raise ProtocolError(
                f"the release looks for labels of {name!r}, whose categories this party's domain file lists; "
                "use the same domain file"
            )
        if name in domain.names:
            check_texts(table, name)


class LabelAnswers:
    """One party's answers about labels in one accepted release.

    Args:
        institution: institution whose rows it answers from.
        account: account of the release.
    """

    def __init__(self, institution: Institution, account: Account) -> None:
        plan = account.terms.plan
        (own,) = (entry for entry in plan.roster if entry.name == institution.name)
        self._slice = [plan.roster[place] for place in plan.members(own.slice)]
        self._own = own
        self._table = institution.table
        self._account = account

    def charge(self, query: MarginalQuery) -> bytes:
        """Charges the labels that one party of the slice will state.

        Returns:
            The party's signature over the entry in its ledger.

        Raises:
            ProtocolError: the release does not look for these labels, or the id was used before.
            BudgetError: it exceeds the grant of the release.
        """
        self._check(query)
        return self._account.charge_jointly(query, answered=query.clique[0] in self._own.attributes)

    def answer(self, query: MarginalQuery, charges: Sequence[bytes]) -> Iterator[bytes]:
        """The frames of the labels, after they are charged; a repeated query gets the same labels.

        Args:
            query: query for the labels of one attribute of this party.
            charges: what `charge` returned at each party of the slice; empty if the party is alone.

        Raises:
            ProtocolError: see `charge`; or this party does not hold the attribute, or a charge is missing.
            BudgetError: it exceeds the grant of the release.
        """
        search = self._check(query)
        (name,) = query.clique
        if name not in self._own.attributes:
            raise ProtocolError("this party does not hold the attribute; ask the party that does")
        if len(self._slice) == 1:
            stream = self._account.charge(query)
        else:
            identities = [entry.identity for entry in self._slice]
            stream = self._account.charged_jointly(query, identities, charges)
        texts, counts = unlisted_texts(self._table, name, self._used())
        multiple = self._account.terms.unit.multiple
        stated = frequent(counts, query.sigma, search.delta_each, multiple, MOST_LABELS, stream)
        words = encode_labels(texts[place] for place in stated)
        return encode_answer([self._account.bind_answer(query, words)], _WORD_BYTES)

    def _used(self) -> NDArray[np.bool_] | None:
        """The rows that count: of aligned rows, one of each person; None for all."""
        alignment = self._account.terms.plan.alignment
        if alignment is None:
            return None
        return self._account.placement(alignment.alignment_id).positions >= 0

    def _check(self, query: MarginalQuery) -> LabelSearch:
        """The search of the release, of which this is the only query for its attribute."""
        search = self._account.terms.purpose.labels
        (name,) = query.clique
        if search is None or query.query_id != search.query_id(name):
            raise ProtocolError("the release looks for no labels under this id; compare the plan")
        return search
