"""Labels of open categories over the parties of a federation, alike in every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.queries import encode_asked
from ...common.data.attributes.texts import MOST_LABELS, are_unlisted, has_open_categories
from ...common.data.view import View
from ...common.errors import DataError, DeliveriesLost, ProtocolError
from ...common.labels import LabelSearch, decode_labels, encode_labels
from ...common.privacy.budget import Charge
from ...common.privacy.cost import gaussian_cost, gaussian_sigma
from ...common.queries import AnswerForm, MarginalQuery
from ...common.terms import ReleaseTerms
from ..parties.asking import Asking
from ..parties.federation import Federation, Member


class LabelFinder:
    """Asks the party of each slice that holds an open category for its labels.

    All parties of a slice charge the query, also those that do not hold the attribute, before one answers.

    Args:
        federation: the parties, which accepted the terms.
        terms: terms of the release.
        asking: recalls answers and retries.
    """

    def __init__(self, federation: Federation, terms: ReleaseTerms, asking: Asking) -> None:
        self._federation = federation
        self._terms = terms
        self._asking = asking

    def charge(self, attribute: str, zcdp_rho: Fraction, step: str) -> Charge:
        """The exact cost of an attribute's labels: that of a marginal with the same noise.

        Raises:
            DataError: the terms of the release do not name the attribute.
        """
        if attribute not in self._search().attributes:
            raise DataError(f"the release looks for no labels of {attribute!r}; plan it again")
        sigma = gaussian_sigma(zcdp_rho, self._terms.unit)
        sigmas = ((sigma,),) * len(self._federation.slices)
        return Charge(step, (attribute,), gaussian_cost(sigma, self._terms.unit), sigmas, labels=True)

    def labels(self, charge: Charge) -> tuple[str, ...]:
        """The labels that any slice states, sorted, so that their order tells nothing.

        Args:
            charge: what `charge` returned, charged.

        Raises:
            ProtocolError: a party's answer is not a list of labels, or lists a category of the domain.
            PartyUnavailable: a party does not answer.
        """
        (attribute,) = charge.clique
        terms, form = self._terms, AnswerForm.LABELS
        query_id = self._search().query_id(attribute)
        query = MarginalQuery(terms.release_id, query_id, form, View(charge.clique), charge.sigmas[0][0])

        def ask_members() -> NDArray[np.float64]:
            return np.concatenate([self._answer(members, query) for members in self._federation.slices])

        words = self._asking.ask(query_id, encode_asked(query), ask_members, nothing_delivered)
        found = tuple(sorted(set(decode_labels(words.astype(np.int64)))))
        domain = self._federation.domain[attribute]
        if not has_open_categories(domain) or not all(are_unlisted(domain, found)):
            raise ProtocolError(f"a party stated a category of {attribute!r} as a label; compare versions")
        return found

    def _answer(self, members: Sequence[Member], query: MarginalQuery) -> NDArray[np.float64]:
        """The labels of one slice as words, checked."""
        client = next(m.client for m in members if query.clique[0] in m.attributes)
        charges = [member.client.charge(query) for member in members] if len(members) > 1 else []
        labels = client.labels(query, charges)
        if len(labels) > MOST_LABELS or labels != sorted(set(labels)):
            raise ProtocolError(
                f"expected at most {MOST_LABELS} labels of a party, sorted, got others; compare versions"
            )
        return encode_labels(labels).astype(np.float64)

    def _search(self) -> LabelSearch:
        search = self._terms.purpose.labels
        if search is None:
            raise DataError("the terms of the release look for no labels; plan it with open categories")
        return search


def nothing_delivered(lost: DeliveriesLost) -> None:
    """No reset before a retry: labels need nothing that is delivered."""
