"""What learning costs: whatever noise says, a column spends less than its share, and bins have a rest."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning import of_numbers, of_texts, of_times
from dpmosaic.synthesis.learning.asking import ZOOMS, Rows
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.learning import learn

ROWS = 3000
DRAWN = np.random.default_rng(1)
DAYS = pd.Timestamp("2021-01-01") + pd.to_timedelta(DRAWN.integers(0, 300, ROWS), unit="D")
COLUMNS = {
    "few": np.resize([0.0, 1, 2, 3, 5.5], ROWS),
    "few with a tail": np.floor(DRAWN.exponential(2, ROWS)),
    "far from zero": 2013 + DRAWN.random(ROWS) / 1000,
    "masses": np.where(DRAWN.random(ROWS) < 0.5, 0, DRAWN.lognormal(7, 2, ROWS).round(2)),
    "identifiers": DRAWN.permutation(ROWS),
    "dates": DAYS.strftime("%d/%m/%Y"),
    "times": DAYS.strftime("%Y-%m-%d %H:%M:%S+02:00"),
    "months in German": [f"{day.day}. {'März' if day.month < 6 else 'Mai'} {day.year}" for day in DAYS],
    "months and days in German": [
        f"{'Mo' if day.month < 6 else 'Di'}, {day.day}. {'März' if day.month < 6 else 'Mai'} {day.year}"
        for day in DAYS
    ],
    "digits of times": [f"{number // 60:02d}{number % 60:02d}" for number in DRAWN.integers(0, 1440, ROWS)],
    "several numbers": [f"{number} {'kg' if number % 3 else 'lb'}" for number in DRAWN.integers(0, 90, ROWS)],
    "a unit": [f"{number} mmHg" for number in DRAWN.integers(0, 300, ROWS)],
    "several units": [f"{k} {unit}" for k, unit in enumerate(DRAWN.choice(["kg", "lb"], ROWS))],
    "numbers and texts": np.where(
        DRAWN.random(ROWS) < 0.65,
        DRAWN.integers(0, 9, ROWS).astype(str),
        [f"text {place} of many" for place in range(ROWS)],
    ),
}


def test_the_steps_of_each_kind_together_cost_less_than_a_column_may():
    numbers = (
        of_numbers.ROUNDING_SHARE + of_numbers.MAGNITUDES + of_numbers.DIFFERENT_NUMBERS + of_numbers.REST
    )
    closer = ZOOMS * of_numbers.CLOSER + of_numbers.MASSES
    asked = (
        max(of_times.ORDER, of_times.MONTHS)
        # Times with a distance from UTC or with fractions have no names of days.
        + max(of_times.MONTHS, of_times.OFFSET + of_times.SECOND_ZEROS)
        + of_times.FINEST_UNIT
        + of_times.NO_DATE
        + of_times.COARSE
    )
    times = asked + ZOOMS * of_times.CLOSER
    assert closer <= of_numbers.REST
    # Columns that looked like texts at first were asked for their different ones too.
    assert of_texts.DIFFERENT_TEXTS + max(numbers, times) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("zcdp_rho", [1.0, 0.01, 0.001])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_never_spends_more_than_its_share(private_counts, name, zcdp_rho):
    raw = raw_table(pd.DataFrame({name: COLUMNS[name]}))
    for seed in range(3):
        counts = private_counts(zcdp_rho, seed)
        with closing(Cells.of(raw.source, raw.timezones)) as cells:
            found = learn(cells, counts, Rows(ROWS), zcdp_rho, 1e-9)
        # Texts have no bins.
        if found.columns and found.reading.open:
            assert counts.left > 0.03 * 0.85 * zcdp_rho
