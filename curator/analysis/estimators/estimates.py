"""Estimates with their intervals, and what the errors consist of."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from ....common.errors import DataError

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


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with intervals. Arrays have shape (q,).

    Attributes:
        names: of the estimated values.
        estimate: the values in the real table, corrected by the noisy measurements.
        low: lower end of each interval; NaN where none can be given.
        high: upper end; NaN where none can be given.
        released: the values in the synthetic table.
        noise: standard errors by the noise of the measurements.
        unexplained: standard errors by what was not measured.
        sampling: standard errors of the values in a random sample of so many records.
        reach: share of each value's variance that the measurements determine.
        notes: why an interval is missing, or what it is about; "" if there is nothing to say.
        of: what the intervals contain.
        level: share of intervals that contain it.
    """

    names: tuple[str, ...]
    estimate: Array
    low: Array
    high: Array
    released: Array
    noise: Array
    unexplained: Array
    sampling: Array
    reach: Array
    notes: tuple[str, ...]
    of: Target
    level: float

    @property
    def std_error(self) -> Array:
        """Standard errors: noise and what was not measured, and sampling if they are of the population."""
        variance = self.noise**2 + self.unexplained**2
        return np.sqrt(variance + self.sampling**2 if self.of is Target.POPULATION else variance)

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each value."""
        return pd.DataFrame(
            {
                "estimate": self.estimate,
                "low": self.low,
                "high": self.high,
                "std_error": self.std_error,
                "noise": self.noise,
                "unexplained": self.unexplained,
                "sampling": self.sampling,
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
        place = self.names.index(name)
        arrays = (
            self.estimate, self.low, self.high, self.released,
            self.noise, self.unexplained, self.sampling, self.reach,
        )  # fmt: skip
        one = [array[place : place + 1] for array in arrays]
        return Estimates((name,), *one, (self.notes[place],), self.of, self.level)

    def __repr__(self) -> str:
        lines = [
            f"{name}: {self.estimate[i]:.6g} "
            + (f"[{self.low[i]:.6g}, {self.high[i]:.6g}]" if np.isfinite(self.low[i]) else "(no interval)")
            + (f"; {self.notes[i]}" if self.notes[i] else "")
            for i, name in enumerate(self.names)
        ]
        return "\n".join([f"Estimates of the {self.of}, {self.level:.0%} intervals", *lines])

    def _repr_html_(self) -> str:
        shown = self.frame[["estimate", "low", "high", "std_error", "released", "reach", "note"]]
        caption = escape(f"Estimates of the {self.of}, {self.level:.0%} intervals")
        return f"<p>{caption}</p>" + shown.to_html(escape=True, na_rep="", float_format="{:.6g}".format)


def quantile_of(level: float) -> float:
    """The number of standard errors at each side of an interval.

    Raises:
        DataError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise DataError(f"level: expected a number between 0 and 1, got {level}; 0.95 is common")
    return float(norm.ppf((1 + level) / 2))
