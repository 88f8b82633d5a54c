"""Releases for programs that are written for SmartNoise's synthesizers.

    from dpmosaic.synthesis.styles.smartnoise import Synthesizer  # in place of snsynth's

Source: opendp/smartnoise-sdk, `synth/snsynth/base.py`: the names and arguments of `Synthesizer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd

from ...common.errors import BudgetError, DataError
from ...curator.mechanisms.catalogue import mechanism_named, mechanism_names
from ...simulations.tables.frames import DomainLike
from .synthesizer import Synthesizer as Releasing

Rows: TypeAlias = pd.DataFrame | np.ndarray[Any, Any] | list[Any]
"""A data frame, an array with a row for each record, or a list of tuples."""


class Synthesizer:
    """What SmartNoise's class of that name does, by releases of this package.

    It differs where SmartNoise's promise does not hold, or is another one: categories are never read from the
    rows without noise, and the number of rows is private.

    Args:
        epsilon: privacy budget of `fit`, all of it: what `preprocessor_eps` allows is a part.
        options: see `dpmosaic.Synthesizer`.
    """

    def __init__(self, epsilon: float, **options: Any) -> None:
        self._releasing = Releasing(epsilon, **options)
        self._back: Any = None

    @classmethod
    def create(
        cls, synth: str | None = None, epsilon: float | None = None, *, verbose: bool = False, **options: Any
    ) -> Self:
        """A synthesizer by the name of its mechanism.

        Args:
            synth: one of `list_synthesizers`, in letters of any case.
            epsilon: see the class.
            verbose: whether to show progress.
            options: see the class.

        Raises:
            DataError: there is no such mechanism.
            BudgetError: there is no epsilon.
        """
        if epsilon is None:
            raise BudgetError("epsilon: expected a privacy budget, got none; state one, such as epsilon=1.0")
        mechanism = mechanism_named((synth or "mosaic").lower())
        return cls(float(epsilon), mechanism=mechanism, progress=verbose or None, **options)

    @staticmethod
    def list_synthesizers() -> list[str]:
        """The names of the mechanisms."""
        return list(mechanism_names())

    def fit(
        self,
        data: Rows,
        *ignore: object,
        transformer: DomainLike | None = None,
        categorical_columns: Sequence[str | int] = (),
        ordinal_columns: Sequence[str | int] = (),
        continuous_columns: Sequence[str | int] = (),
        preprocessor_eps: float = 0.0,
        nullable: bool = False,
    ) -> None:
        """Releases a table.

        Args:
            data: the real rows.
            ignore: nothing; it is there as in SmartNoise.
            transformer: the domain of the columns; without one, a part of epsilon learns what they hold.
            categorical_columns: hints that a release does not need, as are the next two and `nullable`.
            ordinal_columns: see there.
            continuous_columns: see there.
            preprocessor_eps: without a transformer, what learning the columns may take of epsilon. The
                release chooses that part; any number between 0 and epsilon allows it.
            nullable: see `categorical_columns`.

        Raises:
            BudgetError: columns have to be learned, and `preprocessor_eps` does not allow it.
            DataError: see `synthesize`.
        """
        epsilon = self._releasing.epsilon
        if transformer is None and not 0 < preprocessor_eps < epsilon:
            raise BudgetError(
                f"preprocessor_eps: expected a number above 0 and below epsilon {epsilon:g}, since a part "
                f"of epsilon has to learn what the columns hold, got {preprocessor_eps:g}; state one, or a "
                "domain as transformer"
            )
        frame, self._back = _frame_of(data)
        self._releasing.set_params(domain=transformer).fit(frame)

    def sample(self, n_rows: int) -> Any:
        """Synthetic rows, as the kind of rows that was given.

        Raises:
            DataError: nothing was fitted, or see `Release.generate`.
        """
        drawn = self._releasing.generate(n_rows)
        return self._back(drawn)

    def fit_sample(self, data: Rows, *ignore: object, **how: Any) -> Any:
        """Releases a table, and returns the synthetic one.

        It has about as many rows: their number is private.

        Args:
            data: the real rows.
            ignore: see `fit`.
            how: see `fit`.

        Raises:
            BudgetError: see `fit`.
            DataError: see `fit`.
        """
        self.fit(data, **how)
        return self._back(self._releasing.generate())


def _frame_of(data: Rows) -> tuple[pd.DataFrame, Any]:
    """Rows as a data frame, and what turns such a frame into the kind of rows that was given."""
    if isinstance(data, pd.DataFrame):
        return data, lambda drawn: drawn
    if not isinstance(data, (np.ndarray, list)):
        raise DataError(
            "expected a data frame of pandas, an array or a list of tuples, got "
            f"{type(data).__name__}; make one of it"
        )
    if isinstance(data, list) and len({len(row) for row in data}) > 1:
        raise DataError("expected tuples of one length, got others; fill what is missing with None")
    # Of objects, pandas would find types that suit all cells, so that one decides how others are read.
    typed = isinstance(data, np.ndarray) and data.dtype != object
    frame = pd.DataFrame(data, dtype=None if typed else object)
    frame.columns = [f"column{place}" for place, _ in enumerate(frame.columns, 1)]
    if isinstance(data, np.ndarray):
        return frame, pd.DataFrame.to_numpy
    return frame, lambda drawn: list(drawn.itertuples(index=False, name=None))
