"""How much rows of people count in views in which they weigh by length, and do not add up to one record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups
from ...common.data.people import ByLength
from ...common.data.view import View
from ...common.measurement import mean_by_precision

Numbers = NDArray[np.float64]

_ALIKE = np.linspace(0, 1, 129)
"""Shares of rows that have what another row of their person has by more than chance."""

_GUESSED = 0.1
"""Relative deviation of how much rows count in several columns, as far as single ones say it."""

_NEAR, _OTHERS = 0.15, 0.2
"""How near columns are in this to one that is typical for a table, and the part of those that are not."""


class Lengths:
    """How much all rows of all people count in a view, relative to weights that add up.

    The more cells the rows of a person lie in, the more they count. Two rows of a person are said to agree in
    a column with some probability, and by chance otherwise. Numbers of rows and this probability say how long
    people are, and the sum of a noisy marginal says the probability.

    Args:
        rule: how rows weigh.
        numbers: of rows of people, drawn from their released distribution, shape (people,).
        of_first: for columns of which the first row of a person has a code that no other one has: the code.
    """

    def __init__(
        self, rule: ByLength, numbers: NDArray[np.int64], of_first: Mapping[str, int] | None = None
    ) -> None:
        self._rule, self._of_first = rule, of_first or {}
        some = numbers[numbers > 0]
        held, counts = np.unique(some if some.size else np.ones(1), return_counts=True)
        self._numbers, self._counts = held.astype(np.float64), counts.astype(np.float64)
        self._shares: dict[str, Numbers] = {}
        self._likelihoods: dict[str, Numbers] = {}
        self._alike: dict[str, float] = {}
        self._measured: dict[tuple[Clique, Groups], tuple[float, float]] = {}
        near = np.exp(-(((_ALIKE[:, None] - _ALIKE) / _NEAR) ** 2) / 2)
        # Shape (typical, of a column).
        self._kernel = (1 - _OTHERS) * near / near.sum(axis=1, keepdims=True) + _OTHERS / len(_ALIKE)

    def adds_up(self, view: View) -> bool:
        """Whether rows of a person count as where weights add up."""
        return view.adds_up or self._rule.varying.isdisjoint(view.clique)

    def needs(self, view: View, noise: float) -> bool:
        """Whether the sum of a noisy marginal would say how rows count in it, which nothing said so far.

        Args:
            view: a marginal.
            noise: standard deviation of the noise of its sum, relative to the number of records.
        """
        if self.adds_up(view):
            return False
        if len(view.clique) == 1:
            return view.clique[0] not in self._likelihoods
        return noise < _GUESSED / 4 and (view.clique, view.groups) not in self._measured

    def factor(self, view: View, domain: Domain) -> float:
        """What values and noise of a view are multiplied by to be those of as many records."""
        if self.adds_up(view):
            return 1.0
        found = [
            self._agreeing(name, labels, domain, np.array([self._alike_in(name)]))
            for name, labels in view.groupings
            if name in self._rule.varying
        ]
        # Of two columns rows agree at least as often as if one said nothing of the other.
        least, most = np.prod(found, axis=0), np.min(found, axis=0)
        added = float(self._sums(np.sqrt(least * most), view, domain)[0])
        measured = self._measured.get((view.clique, view.groups))
        if measured is not None:
            added, _ = mean_by_precision((added, _GUESSED * added), measured)
        return 1 / added

    def learn(self, view: View, counts: Numbers, sigma: float, records: float, domain: Domain) -> None:
        """Learns how rows count from the sum of a noisy marginal, and how often those of a person agree.

        Args:
            view: the marginal.
            counts: noisy, shape (size,).
            sigma: standard deviation of the noise of each.
            records: the number of records, by weights that add up.
            domain: of the records.
        """
        noise = sigma * math.sqrt(counts.size)
        if len(view.clique) > 1:
            # No less than where weights add up.
            measured = max(1.0, float(counts.sum()) / records)
            self._measured[view.clique, view.groups] = measured, noise / records
            return
        ((name, labels),) = view.groupings
        shares = np.maximum(counts, 0) + 1e-9
        if labels:
            shares = shares[np.array(labels)] / np.bincount(labels)[np.array(labels)]
        self._shares[name] = shares
        agreeing = self._agreeing(name, labels, domain, _ALIKE)
        away = counts.sum() - records * self._sums(agreeing, view, domain)
        likelihood = -(away**2) / (2 * noise**2)
        self._likelihoods[name] = np.exp(likelihood - likelihood.max())
        self._alike.clear()

    def _alike_in(self, name: str) -> float:
        """How often two rows of a person have the same in a column by more than chance, by all columns."""
        if name in self._alike:
            return self._alike[name]
        own = self._likelihoods.get(name, np.ones_like(_ALIKE))
        others = [self._kernel @ one for other, one in self._likelihoods.items() if other != name]
        logs = sum(map(np.log, others), np.log1p(1e-9 - _ALIKE))
        typical = np.exp(logs - logs.max())
        posterior = own * (typical / typical.sum() @ self._kernel)
        self._alike[name] = float(posterior @ _ALIKE / posterior.sum())
        return self._alike[name]

    def _agreeing(self, name: str, labels: Sequence[int], domain: Domain, alike: Numbers) -> Numbers:
        """How often rows of a person have one code or group of a column, shape (2, alike).

        First of two rows that are not the first of the person, then of the first one and another.
        """
        shares = self._shares.get(name, np.ones(domain[name].size)).copy()
        first = self._of_first.get(name)
        if first is not None:
            shares[first] = 0
        held = np.bincount(labels or np.arange(len(shares)), shares / shares.sum())
        agreeing = alike + (1 - alike) * float(held @ held)
        if first is None:
            return np.stack([agreeing, agreeing])
        return np.stack([agreeing, np.full_like(alike, held[labels[first] if labels else first])])

    def _sums(self, agreeing: Numbers, view: View, domain: Domain) -> Numbers:
        """How much rows count, relative to weights that add up, by how often those of a person agree."""
        n, evened = self._numbers, self._rule.evened
        others, first = agreeing[..., None]
        length = np.sqrt(n + (n - 1) * ((n - 2) * others + 2 * first))
        share = self._rule.share(view.clique, view.shape(domain))
        divided = np.maximum(np.minimum(n, length / max(share, 1e-9)), evened)
        added: Numbers = (n / divided) @ self._counts / ((n / np.maximum(n, evened)) @ self._counts)
        return added
