"""Noisy counts of one table's rows: each is charged before its noise is drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.boxes import box_sums
from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.measurement import Measurement, mean_by_precision
from ...common.privacy.budget import Accountant, Charge
from ...common.privacy.cost import PrivacyUnit, gaussian_cost, gaussian_sigma, grid_of
from ...common.privacy.noise import noisy_counts
from ...common.privacy.partition_selection import threshold
from ...curator.mechanisms.bins import boxes_of, resolutions_of
from ...curator.parties.journal import Answers, NoJournal
from ...simulations.stopping import running

Count = Callable[[], NDArray[np.int64]]
"""Counts rows; called after its charge."""

FIRST = "first-"
"""What the ids of questions of a first step begin with."""

_GRAIN = 2**80


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy counts of disjoint sets of rows.

    Attributes:
        values: shape (sets,), in records.
        sigma: standard deviation of the noise of each.
    """

    values: NDArray[np.float64]
    sigma: float

    def average_with(self, other: Noisy) -> Noisy:
        """The average with other counts of the same sets, by their precision."""
        return Noisy(*mean_by_precision((self.values, self.sigma), (other.values, other.sigma)))

    def above_noise(self, deviations: float) -> NDArray[np.float64]:
        """The counts that exceed so many deviations of their noise; zero in place of the others."""
        return np.where(self.values > deviations * self.sigma, self.values, 0.0)


class PrivateCounts:
    """Counts rows of one table with discrete Gaussian noise, within one grant.

    Each row lies in one set of a histogram, so a histogram has the sensitivity of a marginal.

    Guarantee: the accountant's spent rho-zCDP under the adjacency of the unit.

    Args:
        granted: upper limit of all costs, zCDP.
        unit: which tables are neighbours.
        stream: randomness of the noise.
        answers: keeps what was answered, before anybody sees it; what it knows is not asked again.
    """

    def __init__(
        self, granted: Fraction, unit: PrivacyUnit, stream: RandomStream, answers: Answers | None = None
    ) -> None:
        self.accountant = Accountant(granted)
        for spending in running():
            spending.measure(self, 1.0)
        self._unit = unit
        self._stream = stream
        self._answers = NoJournal() if answers is None else answers
        self._asked = self._drawn = 0

    @property
    def left(self) -> float:
        """What is left of the grant, zCDP."""
        return float(self.accountant.remaining)

    def total(self, step: str, rows: int, rho: float) -> tuple[float, float]:
        """The noisy number of rows, and the variance of its noise.

        Args:
            step: what it is for, in the certificate.
            rows: the number.
            rho: its cost, zCDP.
        """
        sigma = self._charge(step, [()], rho)
        (noisy,) = self._recall_or_draw([step, sigma], 1, lambda: [self._add_noise(np.array([rows]), sigma)])
        return float(noisy[0]), sigma**2

    def histograms(
        self, step: str, asked: Mapping[str, Count], rho: float, first: int | None = None
    ) -> dict[str, Noisy]:
        """One noisy histogram of each column.

        Args:
            step: what they are for, in the certificate.
            asked: for each column, what counts its rows.
            rho: cost of each, zCDP.
            first: see `noisy_counts`.
        """
        if not asked:
            return {}
        sigma = self._charge(step, [(name,) for name in asked], rho)
        noisy = self._recall_or_draw(
            [step, sigma, *asked],
            len(asked),
            lambda: (self._add_noise(count(), sigma, first) for count in asked.values()),
        )
        return {name: Noisy(values, sigma) for name, values in zip(asked, noisy, strict=True)}

    def ladders(
        self, step: str, asked: Mapping[str, tuple[int, Count]], rho: float
    ) -> dict[str, list[Measurement]]:
        """Noisy histograms of each column at several resolutions, of neighbouring cells; see `Bins`.

        Few cells are counted at one resolution, with less noise.

        Args:
            step: what they are for, in the certificate.
            asked: for each column its number of cells, and what counts the rows of each.
            rho: cost of all resolutions of a column together, zCDP.
        """
        levels = {name: resolutions_of(cells) for name, (cells, _) in asked.items()}
        sigmas = {name: self._charge(step, [(name,)] * n, rho / n) for name, n in levels.items()}
        boxes = {
            name: [boxes_of(cells, n) for n in range(levels[name])] for name, (cells, _) in asked.items()
        }

        def draw_boxes() -> Iterator[NDArray[np.float64]]:
            for name, (cells, count) in asked.items():
                counts = count()
                for each in boxes[name]:
                    sums = box_sums(counts, (cells,), each) if each else counts
                    yield self._add_noise(sums, sigmas[name])

        question = [step, *([name, asked[name][0], levels[name], sigmas[name]] for name in asked)]
        noisy = iter(self._recall_or_draw(question, sum(levels.values()), draw_boxes))
        return {
            name: [
                Measurement(View((name,), boxes=each), next(noisy), sigmas[name], rho / levels[name])
                for each in boxes[name]
            ]
            for name in asked
        }

    def frequent(
        self, step: str, name: str, count: Count, rho: float, delta: float
    ) -> tuple[NDArray[np.intp], Noisy]:
        """The values of a column that many rows have, and their noisy counts, by partition selection.

        Args:
            step: what it is for, in the certificate.
            name: the column.
            count: rows of each value that occurs, at least 1, in an order that follows from the values.
            rho: its cost, zCDP.
            delta: probability with which a value that one row alone has may be found.

        Returns:
            Places among the values, and the noisy counts of these.
        """
        if self._unit.parts > 1:
            raise ValueError("labels are found among whole rows, not among rows of weights")
        sigma = self._charge(step, [(name,)], rho, labels=True)
        least = threshold(sigma, delta) / grid_of(sigma)

        def draw_frequent() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            noisy = self._add_noise(count(), sigma)
            found = np.flatnonzero(noisy >= least)
            return found.astype(np.float64), noisy[found]

        places, noisy = self._recall_or_draw([step, name, sigma, delta], 1, draw_frequent)
        return places.astype(np.intp), Noisy(noisy, sigma)

    def findable(self, rho: float, delta: float) -> float:
        """How many rows a value needs about to be found by `frequent`."""
        return threshold(self._sigma(rho), delta) / grid_of(self._sigma(rho))

    def _sigma(self, rho: float) -> float:
        return gaussian_sigma(Fraction(math.floor(rho * _GRAIN), _GRAIN), self._unit)

    def _charge(self, step: str, cliques: Sequence[Clique], rho: float, labels: bool = False) -> float:
        """Charges a histogram of each of these; the scale of their noise, in records."""
        sigma = self._sigma(rho)
        cost = gaussian_cost(sigma, self._unit)
        charges = (Charge(step, clique, cost, ((sigma,),), labels=labels) for clique in cliques)
        self.accountant = self.accountant.charge(*charges)
        return sigma

    def _recall_or_draw(
        self, question: Sequence[Any], draws: int, drawn: Callable[[], Iterable[NDArray[np.float64]]]
    ) -> list[NDArray[np.float64]]:
        """The answers to a charged question, which are kept together before any of them is used.

        Args:
            question: what the answers depend on beside the rows.
            draws: how often noise is drawn for them.
            drawn: draws them.
        """
        self._asked += 1
        query_id, query = f"{FIRST}{self._asked:06d}", json.dumps(question).encode()
        known = self._answers.recall(query_id, query)
        if known is None:
            answers = list(drawn())
            self._answers.keep(query_id, query, _pack(answers))
            return answers
        self._drawn += draws
        return _unpack(known)

    def _add_noise(
        self, counts: NDArray[np.int64], sigma: float, first: int | None = None
    ) -> NDArray[np.float64]:
        self._drawn += 1
        parts, stream = self._unit.parts, self._stream.child(str(self._drawn))
        noisy = noisy_counts(counts.astype(np.int64), sigma, stream, parts, first)
        return noisy / grid_of(sigma, parts)


def _pack(answers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Answers as one: how many there are, the length of each, their values."""
    return np.concatenate([[len(answers)], [len(one) for one in answers], *answers])


def _unpack(packed: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    stop = 1 + int(packed[0])
    return np.split(packed[stop:], np.cumsum(packed[1:stop]).astype(np.intp)[:-1]) if stop > 1 else []
