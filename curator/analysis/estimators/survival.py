"""Curves of Kaplan and Meier with intervals and bands, of the real table or of its population.

The curve S of the release is corrected by the sum, over the real table, of

    psi_t(record) = -S(t) times the integral up to t of (dN - Y dA) / (y (1 - dA)),

where N and Y say of a record whether the event happened then and whether it was at risk, and A and y are the
hazard and the number at risk in the release. Over the release this sum is zero; over the real table it is the
difference of the curves, up to products of two errors. `totals` estimates it with its errors.

Source: Gill and Johansen (1990); Andersen, Borgan, Gill and Keiding, section IV.3 (1993).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.attributes.dates import bins_of
from ....common.errors import DataError
from ....common.showing.printable import printable, printable_lines
from ..conditions import Where
from ..intervals import INFERRED, MEASURED, quantile_of, wald
from ..published import Published
from ..totals import Totals
from .estimates import Target
from .influence import RealTable
from .places import Places
from .selection import Mask, levels_of, numbers_of, rows_at, rows_where, rows_with
from .unseen import reach_of_mean, withheld

Array = NDArray[np.float64]

MOST_TIMES = 24
"""Times of a curve, at most."""

MOST_GROUPS = 20
"""Curves that are estimated together, at most."""

LEAST_SHARE_AT_RISK = 0.05
"""A curve ends when a smaller share of its group is at risk."""

SMALL_GROUP = "no band: with the noise, the group may have no records at all"

_DRAWS = 20_000
"""Draws of a normal process, of whose largest deviation the band has the quantile."""


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """Curves of survival at some times.

    Attributes:
        frame: for each group and time the estimate (`survival`), the ends of the interval at this time alone
            (`low`, `high`), those of the band that holds the whole curve of the group (`band_low`,
            `band_high`), the curve of the synthetic rows (`released`), and the share of the estimate's
            variance that measurements determine (`reach`). Ends are NaN where none can be given.
        notes: group -> why it has no band, or what the band is about; groups without a note are left out.
        of: what intervals and bands contain.
        level: share of intervals, and of bands, that contain it.
        labels: why the curves must not be published; empty if they may be.
    """

    frame: pd.DataFrame
    notes: Mapping[str, str]
    of: Target
    level: float
    labels: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, such as "sex=F"."""
        return tuple(dict.fromkeys(self.frame["group"]))

    @property
    def _title(self) -> str:
        return f"Curves of survival of the {self.of}, {self.level:.0%} bands"

    def __repr__(self) -> str:
        lines = [*self.labels, self._title]
        for group, rows in self.frame.groupby("group", sort=False):
            lines.append(f"{group}: {self.notes[str(group)]}" if str(group) in self.notes else str(group))
            lines += [
                f"  {row.time:.6g}: {row.survival:.4f}"
                + (f" [{row.band_low:.4f}, {row.band_high:.4f}]" if np.isfinite(row.band_low) else "")
                for row in rows.itertuples()
            ]
        return "\n".join(map(printable, lines))

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(f'{group}: {note}')}</p>" for group, note in self.notes.items())
        shown = self.frame.to_html(escape=True, na_rep="", float_format="{:.6g}".format, index=False)
        above = "".join(f"<p>{escape(text)}</p>" for text in (*self.labels, self._title))
        return printable_lines(f"{above}{shown}{notes}")


def survival(
    published: Published,
    time: str,
    *,
    event: tuple[str, Any] | None = None,
    until: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> SurvivalCurves:
    """Curves of Kaplan and Meier, with intervals and bands.

    Without noise and at times that bins tell apart, they are the estimator of Kaplan and Meier of the real
    table. Times are ends of bins. A band contains a whole curve with the stated probability; each group has a
    band of its own.

    Args:
        published: the release: one row for each subject.
        time: column of times to the event, or to the end of observation.
        event: a column, and its value where the event happened; None if it happened where the time is not
            missing, as of a summary that says when.
        until: without an event, the column of times up to which each subject was observed.
        by: a column, of whose values each has a curve.
        where: which rows count, see `means.mean`.
        of: "population" or "table", see `Target`.
        level: share of intervals, and of bands, that are to contain the curve.

    Raises:
        DataError: an argument does not fit the release.
    """
    target = Target.parse(of)
    z = quantile_of(level)
    if (event is None) == (until is None):
        raise DataError("survival: expected either event or until, which say whether it happened; give one")
    ending = until if event is None else event[0]
    assert ending is not None, "one of them is given"
    columns = (time, ending, *(() if by is None else (by,)))
    places = Places.of(published, columns, where)
    selected = rows_where(places, where)
    times, happened = _observations(places, time, event, until)
    groups = _groups(published, places, by, selected.rows & ~np.isnan(times))
    ends = _ends_of_bins(published, time)
    real = RealTable(places, (*columns, *selected.columns))
    known = withheld(published, (time, *(() if until is None else (until,))))
    frames, notes = [], {}
    for name, mask in groups.items():
        made = _Curve.of(places, times, happened, mask, real.records / real.rows, ends)
        found = real.totals(np.column_stack([made.influence, mask.astype(np.float64)]))
        frame, note = _band_of(made, found, target, level, z)
        if known or note == SMALL_GROUP:
            frame[["low", "high", "band_low", "band_high"]] = np.nan
        selecting = (ending, *columns[2:], *selected.columns)
        rows = np.ones(int((mask & places.own).sum()))
        less, more = reach_of_mean(published, time, rows, real.rows, selecting, True)
        for low, high in (("low", "high"), ("band_low", "band_high")):
            frame[low], frame[high] = (frame[low] - less).clip(0, 1), (frame[high] + more).clip(0, 1)
        frames.append(frame.assign(group=name))
        if note := known or note:
            notes[name] = note
    order = ["group", "time", "survival", "low", "high", "band_low", "band_high", "released", "reach"]
    return SurvivalCurves(pd.concat(frames, ignore_index=True)[order], notes, target, level)


def _observations(
    places: Places, time: str, event: tuple[str, Any] | None, until: str | None
) -> tuple[Array, Mask]:
    """Up to when each row was observed, NaN if that is unknown, and whether the event happened then."""
    times = numbers_of(places, time)
    if event is not None:
        return times, rows_with(places, *event) & ~np.isnan(times)
    assert until is not None, "the arguments were checked"
    followed = numbers_of(places, until)
    happened = ~np.isnan(times) & ~(times > followed)
    return np.where(happened, times, followed), happened


def _groups(published: Published, places: Places, by: str | None, used: Mask) -> dict[str, Mask]:
    """The rows of each group that has some in the release."""
    levels = [None] if by is None else levels_of(published, by)
    if len(levels) > MOST_GROUPS:
        raise DataError(
            f"by: expected a column of at most {MOST_GROUPS} values, got {len(levels)}; choose another one"
        )
    found = {
        "all" if by is None else f"{by}={level}": used if by is None else used & rows_at(places, by, level)
        for level in levels
    }
    found = {name: mask for name, mask in found.items() if (mask & places.own).any()}
    if not found:
        raise DataError("where: expected a condition that rows of the release satisfy, got none; relax it")
    return found


def _ends_of_bins(published: Published, time: str) -> Array:
    """The largest value of each bin of a column of times, increasing."""
    bins = bins_of(published.domain[time])
    if bins is None:
        return np.unique(numbers_of(published, time))
    return np.unique(bins.written(bins.reach[:, 1]))


@dataclass(frozen=True, eq=False)
class _Curve:
    """The curve of a group in the release.

    Attributes:
        times: shape (k,).
        survival: shape (k,).
        influence: of what is at each place on the curve, shape (places, k).
    """

    times: Array
    survival: Array
    influence: Array

    @classmethod
    def of(
        cls, places: Places, times: Array, happened: Mask, mask: Mask, weight: float, ends: Array
    ) -> _Curve:
        """The curve, at those ends of bins up to which enough are at risk.

        Args:
            places: where functions are evaluated.
            times: up to when each was observed, shape (places,).
            happened: whether the event happened then, shape (places,).
            mask: the group.
            weight: records of the real table for each row of the release.
            ends: ends of bins.
        """
        own = mask & places.own
        moments, place = np.unique(times[own], return_inverse=True)
        events = np.bincount(place, happened[own], len(moments))
        risk = np.bincount(place, minlength=len(moments))[::-1].cumsum()[::-1].astype(np.float64)
        hazard = events / risk
        # Where all that are left have the event, the curve is zero whatever else is so.
        left = np.maximum(1 - hazard, 0.5 / risk)
        shares = np.append(1.0, np.cumprod(1 - hazard))
        last = moments[np.flatnonzero(risk >= LEAST_SHARE_AT_RISK * risk[0])[-1]]
        chosen = _some_of(ends[(ends >= moments[0]) & (ends <= last)])
        if not len(chosen):
            chosen = np.array([last])
        # At a time between those of the release, both are as at the next one.
        at = np.minimum(np.searchsorted(moments, times), len(moments) - 1)
        scale = 1 / (weight * risk * left)
        jump = np.where(happened & mask, scale[at], 0.0)
        summed = np.append(0.0, np.cumsum(hazard * scale))
        until = np.searchsorted(moments, np.where(mask, times, -np.inf), side="right")
        influence = np.empty((len(times), len(chosen)))
        for k, (when, share) in enumerate(
            zip(chosen, shares[np.searchsorted(moments, chosen, "right")], strict=True)
        ):
            most = np.searchsorted(moments, when, side="right")
            seen = np.where(np.nan_to_num(times, nan=np.inf) <= when, jump, 0.0)
            influence[:, k] = share * (summed[np.minimum(until, most)] - seen)
        return cls(chosen, shares[np.searchsorted(moments, chosen, "right")], influence)


def _some_of(ends: Array) -> Array:
    places = np.linspace(0, max(len(ends) - 1, 0), min(len(ends), MOST_TIMES))
    return ends[np.unique(np.round(places).astype(np.int64))]


def _band_of(made: _Curve, found: Totals, target: Target, level: float, z: float) -> tuple[pd.DataFrame, str]:
    """A curve with its ends, and what is to be said of it."""
    k = len(made.times)
    covariance = found.covariance(target is Target.POPULATION)
    size, error = found.values[k], np.sqrt(max(float((found.noise + found.unexplained)[k, k]), 0.0))
    estimate = made.survival + found.values[:k]
    errors = np.sqrt(np.maximum(np.diagonal(covariance)[:k], 0))
    low, high = wald(estimate, errors**2, level)
    most = _largest_deviation(covariance[:k, :k], level, z)
    # A curve that never rises is in the band if it is in these.
    band_high = np.minimum.accumulate(estimate + most * errors)
    band_low = np.maximum.accumulate((estimate - most * errors)[::-1])[::-1]
    falling = (np.minimum.accumulate(estimate) + np.maximum.accumulate(estimate[::-1])[::-1]) / 2
    columns = {"survival": falling, "low": low, "high": high, "band_low": band_low, "band_high": band_high}
    frame = pd.DataFrame({"time": made.times, **{name: np.clip(one, 0, 1) for name, one in columns.items()}})
    reach = found.reach[:k]
    note = SMALL_GROUP if size <= 2 * error else INFERRED if (reach < MEASURED).any() else ""
    return frame.assign(released=made.survival, reach=reach), note


def _largest_deviation(covariance: Array, level: float, z: float) -> float:
    """The quantile of the largest deviation of a normal vector, in units of each component's own."""
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    known = errors > 0
    if not known.any():
        return z
    sizes, axes = np.linalg.eigh(covariance[np.ix_(known, known)] / np.outer(errors[known], errors[known]))
    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(sizes)))
    drawn = draws @ (axes * np.sqrt(np.maximum(sizes, 0))).T
    return max(z, float(np.quantile(np.abs(drawn).max(axis=1), level)))
