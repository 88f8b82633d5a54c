"""A release answers estimates, functions and copies, with the types of its table."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from support.surveys import DOMAIN, people

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def release():
    real = people(1).astype({"age": "int16", "school": "category"})
    return dpmosaic.synthesize(real, domain=DOMAIN, epsilon=20.0, seed=1)


def test_estimates_are_methods(release):
    assert isinstance(release.mean("income", by="school"), dpmosaic.Estimates)
    assert np.isfinite(release.mean("age", "income=2..4").low[0])
    assert release.proportion("owner", "yes", {"age": (None, 24)}).estimate < 0.5
    assert release.difference("income", ("school", "high", "low")).estimate > 0.5
    assert release.linear("income ~ age + school").frame.loc["age", "estimate"] > 0.1
    assert release.logistic("owner ~ income")["income"].estimate > 0.2


@pytest.mark.slow
def test_functions_and_copies_have_the_types_of_the_table(release):
    seen = []

    def mean_age(frame: pd.DataFrame) -> float:
        seen.append((frame["age"].dtype, frame["school"].dtype))
        return float(frame["age"].mean())

    found = release.infer(mean_age, ["age", "school"])
    assert set(map(str, seen[0])) == {"int64", "category"}
    assert found.low[0] < found.estimate[0] < found.high[0]
    made = release.copies(3, seed=1)
    assert all(list(copy.dtypes) == list(release.table.dtypes) for copy in made)
    combined = dpmosaic.combine([copy["age"].mean() for copy in made])
    assert combined.low < combined.estimate < combined.high
