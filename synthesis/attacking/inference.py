"""What a release says of one column of a person beyond what it says without the person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...common.data.table import Table
from .residuals import Residuals

Array = NDArray[np.float64]

_POWERS = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)


@dataclass(frozen=True)
class Inferred:
    """Guesses of one column from all others of a person.

    Attributes:
        name: the column.
        values: number of its values.
        common: share that a guess of the most common value has right.
        without: share that is right by the release as it would be without the person.
        with_person: the same by the release; None without published measurements.
        held_out: share that is right of people who are not in the table, by the released rows; None of none.
        members: the same of people who are.
    """

    name: str
    values: int
    common: float
    without: float
    with_person: float | None
    members: float
    held_out: float | None

    @property
    def gain(self) -> float:
        """What the person's record adds: by measurements if there are some, else by the released rows."""
        if self.with_person is not None:
            return self.with_person - self.without
        return 0.0 if self.held_out is None else self.members - self.held_out


def inferences(
    released: Table, trial: Table, residuals: Residuals | None, members: Table, held_out: Table | None
) -> list[Inferred]:
    """Guesses of every column.

    The guess without the person is by the released rows: the most likely value given all other columns, each
    by itself (naive Bayes), with their evidence taken to a power, since columns partly say the same. The
    guess with the person is by one who knows all other rows too, and adds the likelihood of the published
    measurements under each value. Both are compared under the same noise: the measurements of the table
    without the person are those of the release minus the person's contribution.

    Args:
        released: the synthetic rows.
        trial: some of them, from which is learned how far the other columns are to be trusted together.
        residuals: errors of the published measurements; None if there are none.
        members: real rows to guess.
        held_out: other rows; None of none.
    """
    return [
        _inference_of(name, released, trial, residuals, members, held_out) for name in released.domain.varied
    ]


def _inference_of(
    name: str,
    released: Table,
    trial: Table,
    residuals: Residuals | None,
    members: Table,
    held_out: Table | None,
) -> Inferred:
    truth = members.column(name).astype(np.intp)
    power = max(_POWERS, key=lambda power: _likelihood(_by_rows(name, released, trial, power), trial, name))
    by_rows = _by_rows(name, released, members, power)
    right = _right(by_rows, truth)
    without, found = right, None
    if residuals is not None:
        by_noise = by_rows + residuals.scores_by_value(name, members.columns)
        without = _right(by_noise, truth)
        found = _right(by_noise + residuals.gains(name, truth), truth)
    counts = released.marginal((name,))
    common = float((truth == int(np.argmax(counts))).mean())
    other = None
    if held_out is not None:
        other = _right(_by_rows(name, released, held_out, power), held_out.column(name).astype(np.intp))
    return Inferred(name, released.domain[name].size, common, without, found, right, other)


def _right(scores: Array, truth: NDArray[np.intp]) -> float:
    return float((scores.argmax(axis=1) == truth).mean())


def _likelihood(scores: Array, asked: Table, name: str) -> float:
    truth = asked.column(name).astype(np.intp)
    return float((scores[np.arange(len(truth)), truth] - logsumexp(scores, axis=1)).mean())


def _by_rows(name: str, released: Table, asked: Table, power: float) -> Array:
    """Log posterior of each value of a column given the others, up to a constant, shape (N, values)."""
    domain = released.domain
    own = released.marginal((name,)) + 1.0
    found = np.broadcast_to(np.log(own / own.sum()), (asked.record_count, len(own))).copy()
    for other in domain.varied:
        if other == name:
            continue
        pair = domain.canonical((name, other))
        cells = released.marginal(pair).reshape(domain.shape(pair)) + 0.5
        cells = cells if pair[0] == name else cells.T
        found += power * np.log(cells / cells.sum(axis=1, keepdims=True))[:, asked.column(other)].T
    return found
