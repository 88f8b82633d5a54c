"""Estimates with their intervals, and what the errors consist of."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.errors import DataError
from ....common.showing.printable import printable, printable_lines
from ..totals import Totals

Array = NDArray[np.float64]


class Target(enum.StrEnum):
    """What an interval is to contain."""

    POPULATION = "population"
    """The value in the population from which the real table is a random sample."""

    TABLE = "table"
    """The value that the real table has."""

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target of this name.

        Raises:
            DataError: there is none.
        """
        if text not in list(cls):
            raise DataError(
                f"of: expected {' or '.join(map(repr, map(str, cls)))}, got {text!r}; choose one of them"
            )
        return cls(text)


class Errors(NamedTuple):
    """Standard errors by their causes, each of shape (q,).

    Attributes:
        noise: by the noise of the measurements.
        unexplained: by what was not measured.
        sampling: of the values in a random sample of as many records.
    """

    noise: Array
    unexplained: Array
    sampling: Array

    @classmethod
    def of(cls, found: Totals, directions: Array | None = None) -> Errors:
        """Those of estimated sums, or of linear combinations of them, shape (k, q)."""
        along = np.eye(len(found.values)) if directions is None else directions
        covariances = (found.noise, found.unexplained, found.sampling)
        variances = [np.einsum("ki,ki->k", along @ matrix, along) for matrix in covariances]
        return cls(*(np.sqrt(np.maximum(variance, 0)) for variance in variances))

    @classmethod
    def unknown(cls, count: int) -> Errors:
        """Errors of estimates that do not exist."""
        return cls(*(np.full(count, np.nan) for _ in range(3)))

    def total(self, of: Target) -> Array:
        """Standard errors: without those of sampling if they are of the table."""
        squares = self.noise**2 + self.unexplained**2
        return np.asarray(np.sqrt(squares + self.sampling**2 if of is Target.POPULATION else squares))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with intervals. Arrays have shape (q,).

    Attributes:
        names: of the estimated values.
        estimate: the values in the real table, corrected by the noisy measurements.
        low: lower end of each interval; NaN where none can be given.
        high: upper end; NaN where none can be given.
        released: the values in the synthetic table.
        errors: standard errors by their causes.
        reach: share of each value's variance that the measurements determine.
        notes: why an interval is missing, or what it is about; "" if there is nothing to say.
        of: what the intervals contain.
        level: share of intervals that contain it.
        labels: why the numbers must not be published; empty if they may be.
    """

    names: tuple[str, ...]
    estimate: Array
    low: Array
    high: Array
    released: Array
    errors: Errors
    reach: Array
    notes: tuple[str, ...]
    of: Target
    level: float
    labels: tuple[str, ...] = ()

    @property
    def std_error(self) -> Array:
        """Standard errors of what the estimates are about."""
        return self.errors.total(self.of)

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each value."""
        return pd.DataFrame(
            {
                "estimate": self.estimate,
                "low": self.low,
                "high": self.high,
                "std_error": self.std_error,
                **self.errors._asdict(),
                "released": self.released,
                "reach": self.reach,
                "note": self.notes,
            },
            index=pd.Index(self.names, name="name"),
        )

    def __getitem__(self, name: str) -> Estimates:
        """The estimate of one value.

        Raises:
            DataError: there is none of this name.
        """
        if name not in self.names:
            raise DataError(f"expected one of {', '.join(self.names)}, got {name!r}; fix the name")
        place = [self.names.index(name)]
        return replace(
            self,
            names=(name,),
            estimate=self.estimate[place],
            low=self.low[place],
            high=self.high[place],
            released=self.released[place],
            errors=Errors(*(array[place] for array in self.errors)),
            reach=self.reach[place],
            notes=(self.notes[place[0]],),
        )

    @property
    def _title(self) -> str:
        return f"Estimates of the {self.of}, {self.level:.0%} intervals"

    def __repr__(self) -> str:
        lines = [
            f"{name}: {self.estimate[i]:.6g} "
            + (f"[{self.low[i]:.6g}, {self.high[i]:.6g}]" if np.isfinite(self.low[i]) else "(no interval)")
            + (f"; {self.notes[i]}" if self.notes[i] else "")
            for i, name in enumerate(self.names)
        ]
        return "\n".join(map(printable, [*self.labels, self._title, *lines]))

    def _repr_html_(self) -> str:
        shown = self.frame[["estimate", "low", "high", "std_error", "released", "reach", "note"]]
        above = "".join(f"<p>{escape(text)}</p>" for text in (*self.labels, self._title))
        table = shown.to_html(escape=True, na_rep="", float_format="{:.6g}".format)
        return printable_lines(f"{above}{table}")
