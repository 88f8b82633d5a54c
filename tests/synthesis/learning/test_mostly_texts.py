"""Columns of which most cells hold one text, such as "present", and the others numbers or dates."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.party.drafting.inference import draft_file

ROWS = 5000
RNG = np.random.default_rng(1)
DAYS = [datetime(2020, 1, 1) + timedelta(days=int(day)) for day in RNG.integers(0, 1000, ROWS)]

KINDS = {
    "dates": ("present", [f"{day:%m/%d/%Y}" for day in DAYS], DateAttribute),
    "timestamps": ("open", [f"{day:%d.%m.%Y %H:%M}" for day in DAYS], DateAttribute),
    "numbers": ("not done", [f"{number:.1f}" for number in RNG.normal(50, 9, ROWS)], NumericAttribute),
    "amounts": ("none given", [f"${number:,.2f}" for number in RNG.lognormal(8, 1, ROWS)], NumericAttribute),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.55, 0.8, 0.9])
@pytest.mark.parametrize("zcdp_rho", [0.05, 1e8])
def test_values_beside_a_text_of_most_rows_are_values(learned, tmp_path, kind, share, zcdp_rho):
    text, values, expected = KINDS[kind]
    often = np.random.default_rng(2).random(ROWS) < share
    rows = pd.DataFrame({"x": np.where(often, text, values), "y": "a"})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    drafted = read_entry("x", draft_file(tmp_path / "rows.csv").entries["x"])
    for attribute in (learned(rows, zcdp_rho=zcdp_rho).columns["x"].reading, drafted):
        assert isinstance(attribute, expected)
        assert attribute.texts == (text,)


@pytest.mark.parametrize("share", [0.7, 0.9])
def test_few_values_beside_many_texts_leave_these_texts(learned, share):
    words = ["".join(RNG.choice([*"abcdefgh"], 6)) for _ in range(ROWS // 4)] * 4
    often = np.random.default_rng(2).random(ROWS) < share
    rows = pd.DataFrame({"x": np.where(often, words, [f"{day:%Y-%m-%d}" for day in DAYS]), "y": "a"})
    assert isinstance(learned(rows).columns["x"].reading, CategoricalAttribute)
