"""The signature of SmartNoise's synthesizers."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic import BudgetError, DataError
from dpmosaic.synthesis.styles.smartnoise import Synthesizer
from dpmosaic.synthesis.styles.synthesizer import Synthesizer as Releasing

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")]

DOMAIN = {"sex": ["f", "m"], "age": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True}}
RNG = np.random.default_rng(0)
REAL = pd.DataFrame({"sex": RNG.choice(["f", "m"], 3000, p=[0.8, 0.2]), "age": RNG.integers(0, 10, 3000)})


def create(name="independent", **options):
    return Synthesizer.create(name, epsilon=2.0, ledger=False, **options)


def test_a_program_for_smartnoise_runs():
    made = Synthesizer.create("MST", epsilon=3.0, verbose=False, ledger=False)
    made.fit(
        REAL, transformer=DOMAIN, categorical_columns=["sex"], continuous_columns=["age"], nullable=False
    )
    drawn = made.sample(500)
    assert list(drawn.columns) == ["sex", "age"]
    assert len(drawn) == 500
    # 0.8 within five deviations of 500 rows, and noise that is much smaller: wrong once in 10^6 runs.
    assert (drawn["sex"] == "f").mean() == pytest.approx(0.8, abs=0.1)


def test_what_learns_the_columns_is_a_part_of_epsilon():
    made = create()
    made.fit(REAL, preprocessor_eps=0.5)
    assert made._releasing.release_.certificate.promise.epsilon <= 2.0


@pytest.mark.parametrize("allowed", [0.0, -1.0, 2.0, 3.0])
def test_columns_are_not_learned_without_a_budget_for_it(allowed):
    with pytest.raises(BudgetError, match="preprocessor_eps: expected a number above 0 and below epsilon 2"):
        create().fit(REAL, preprocessor_eps=allowed)


def test_a_synthesizer_needs_epsilon():
    with pytest.raises(BudgetError, match="epsilon: expected a privacy budget"):
        Synthesizer.create("mosaic")


def test_networks_of_smartnoise_are_none_of_ours():
    assert "mosaic" in Synthesizer.list_synthesizers()
    with pytest.raises(DataError, match="dpctgan"):
        create("dpctgan")


@pytest.mark.parametrize("kind", [np.ndarray, list])
def test_the_same_kind_of_rows_comes_back_and_their_number_is_private(kind):
    rows = REAL.to_numpy() if kind is np.ndarray else list(REAL.itertuples(index=False, name=None))
    domain = {"column1": DOMAIN["sex"], "column2": DOMAIN["age"]}
    drawn = create().fit_sample(rows, transformer=domain)
    assert isinstance(drawn, kind)
    # Noise of a few rows: off by 300 never, and exactly 3,000 in all of two runs less than once in 100.
    assert abs(len(drawn) - 3000) < 300
    assert {row[0] for row in drawn} == {"f", "m"}


def test_other_rows_are_refused():
    with pytest.raises(
        DataError, match="expected a data frame of pandas, an array or a list of tuples, got str"
    ):
        create().fit("table.csv", transformer=DOMAIN)


@pytest.mark.parametrize("odd", [None, "none", 1.5, 2**70, True, float("nan")])
@pytest.mark.parametrize("kind", [list, object], ids=["tuples", "array"])
def test_no_cell_decides_how_those_of_others_are_read(kind, odd, monkeypatch):
    given = []
    monkeypatch.setattr(Releasing, "fit", lambda self, frame: given.append(frame))
    for rows in ([(1, "a"), (2, "b")], [(1, "a"), (2, "b"), (odd, odd)]):
        create().fit(rows if kind is list else np.array(rows, dtype=object), transformer=DOMAIN)
    one, other = given
    assert one.dtypes.equals(other.dtypes)
    assert [*map(repr, one.to_numpy().ravel())] == [*map(repr, other.to_numpy()[:2].ravel())]


@pytest.mark.parametrize("odd", [(1,), (1, "a", 2)])
def test_tuples_of_several_lengths_are_refused(odd):
    with pytest.raises(DataError, match="tuples of one length"):
        create().fit([(1, "a"), odd], transformer=DOMAIN)
