"""Means, shares and regressions: those of the real table without noise; intervals that hold with it."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis import terms as sums
from dpmosaic.curator.analysis.estimators.means import difference, mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear, logistic
from support.surveys import Survey, coded, measured, people, survey, tilted

PEOPLE = people(1)
REAL = tilted(PEOPLE, 2)
OTHER = coded(PEOPLE)


@pytest.fixture
def _exact_sums(monkeypatch):
    """Without noise, sums have to be computed more exactly than noise would make sense of."""
    monkeypatch.setattr(sums, "_RESIDUAL_TOLERANCE", 1e-10)
    monkeypatch.setattr(sums, "_GRADIENT_STEPS", 1000)


@pytest.fixture(scope="module")
def release() -> Survey:
    """Another table than the real one, beside exact measurements of all triples of the real one."""
    return survey(OTHER, measured(coded(REAL), 1e-4, 0, largest=3))


def noisy(seed: int, table=None) -> Survey:
    """The real table's pairs and triples with noise of ten records."""
    return survey(OTHER, measured(coded(REAL) if table is None else table, 10.0, seed, largest=3))


def design(frame: pd.DataFrame) -> pd.DataFrame:
    """Regressors beside the response `income`, with school against its most common category."""
    kept = frame[frame["income"].notna()]
    return pd.DataFrame(
        {
            "intercept": 1.0,
            "age": kept["age"].astype(float),
            "school=low": (kept["school"] == "low").astype(float),
            "school=high": (kept["school"] == "high").astype(float),
            "income": kept["income"].astype(float),
        }
    )


@pytest.mark.parametrize("atom", [-40.0, 13.0, 90.0])
def test_an_interval_reaches_an_atom_wherever_it_lies_and_no_value_that_the_column_cannot_have(atom):
    """Nine of ten values are an atom; at 99.9 %, one test of some hundred fails by chance, of all noise."""
    domain = Domain((NumericAttribute("x", 10, 19, 10, atoms=(atom,)), CategoricalAttribute("g", ("a", "b"))))
    rng = np.random.default_rng(5)
    drawn = np.where(rng.random(500) < 0.9, atom, rng.integers(10, 20, 500))
    real = pd.DataFrame({"x": drawn, "g": rng.choice(["a", "b"], 500)})
    table = coded(real, domain)
    found = mean(survey(table, measured(table, 30.0, 1)), "x", by="g", of="table", level=0.999)
    for level, rows in real.groupby("g"):
        one = found[f"g={level}"]
        assert min(atom, 10) <= one.low <= one.estimate <= one.high <= max(atom, 19)
        assert one.low < rows["x"].mean() < one.high


@pytest.mark.usefixtures("_exact_sums")
def test_without_noise_means_and_shares_are_those_of_the_real_table(release):
    found = mean(release, "income")
    assert found.estimate == pytest.approx(REAL["income"].mean(), rel=1e-3)
    assert found.released == pytest.approx(release.frame["income"].mean())
    assert abs(found.released - found.estimate) > 0.05
    by = mean(release, "income", by="school", of="table")
    for level in ("low", "middle", "high"):
        one = by[f"school={level}"]
        assert one.estimate == pytest.approx(REAL.loc[REAL.school == level, "income"].mean(), rel=1e-3)
        assert one.low < one.estimate < one.high
    assert proportion(release, "owner", "yes", by="rural").estimate == pytest.approx(
        [(REAL.loc[REAL.rural == rural, "owner"] == "yes").mean() for rural in (False, True)], rel=1e-3
    )


@pytest.mark.usefixtures("_exact_sums")
def test_conditions_are_values_lists_ranges_and_missing_values(release):
    def share(where):
        return float(proportion(release, "owner", "yes", where).estimate[0])

    yes = REAL["owner"] == "yes"
    assert share({"school": "low"}) == pytest.approx(yes[REAL.school == "low"].mean(), rel=1e-3)
    assert share({"school": ["low", "high"]}) == pytest.approx(yes[REAL.school != "middle"].mean(), rel=1e-3)
    assert share({"age": (22, 24)}) == pytest.approx(yes[REAL.age.between(22, 24)].mean(), rel=1e-3)
    assert share({"income": None}) == pytest.approx(yes[REAL.income.isna()].mean(), rel=1e-2)
    assert share({"rural": True, "age": (20, 22)}) == pytest.approx(
        yes[REAL.rural & (REAL.age <= 22)].mean(), rel=1e-3
    )
    missing = proportion(release, "income", None)
    assert missing.estimate == pytest.approx(REAL.income.isna().mean(), rel=1e-3)


@pytest.mark.usefixtures("_exact_sums")
def test_a_difference_is_that_of_the_means_of_two_groups(release):
    found = difference(release, "income", ("school", "high", "low"), where={"rural": False})
    means = REAL[~REAL.rural].groupby("school")["income"].mean()
    assert found.estimate == pytest.approx(means["high"] - means["low"], rel=1e-3)
    assert found.low < found.estimate < found.high
    shares = difference(release, "owner", ("rural", True, False), value="yes")
    real = (REAL["owner"] == "yes").groupby(REAL["rural"]).mean()
    assert shares.estimate == pytest.approx(real[True] - real[False], abs=1e-4)


@pytest.mark.usefixtures("_exact_sums")
def test_without_noise_coefficients_are_those_of_least_squares_in_the_real_table(release, sm):
    found = linear(release, "income ~ age + school")
    kept = design(REAL)
    x = kept.drop(columns="income")
    assert found.names == tuple(x.columns)
    expected = sm.OLS(kept["income"], x).fit()
    assert found.estimate == pytest.approx(expected.params.to_numpy(), rel=5e-3)
    assert found.released == pytest.approx(
        sm.OLS((other := design(release.frame))["income"], other.drop(columns="income")).fit().params
    )


@pytest.mark.usefixtures("_exact_sums")
def test_without_noise_coefficients_of_logarithms_and_of_numbers_as_categories_are_those_of_least_squares(
    release, sm
):
    found = linear(release, "log(age) ~ income + C(rural)")
    kept = REAL[REAL["income"].notna()]
    most = bool(kept["rural"].mode()[0])
    other = kept["rural"] != most
    x = pd.DataFrame({"intercept": 1.0, "income": kept["income"].astype(float), "rural": other.astype(float)})
    expected = sm.OLS(np.log(kept["age"].astype(float)), x).fit()
    assert found.names == ("intercept", "income", f"C(rural)={not most}")
    assert found.estimate == pytest.approx(expected.params.to_numpy(), rel=1e-2, abs=1e-4)


@pytest.mark.usefixtures("_exact_sums")
def test_without_noise_coefficients_are_those_of_logistic_regression_in_the_real_table(release, sm):
    found = logistic(release, "owner", ["income", "rural"])
    kept = REAL[REAL["income"].notna()]
    x = pd.DataFrame({"c": 1.0, "income": kept.income, "rural": kept.rural.astype(float)})
    expected = sm.Logit((kept.owner == "yes").astype(float), x).fit(disp=0)
    assert found.names == ("intercept", "income", "rural=True")
    assert found.estimate == pytest.approx(expected.params.to_numpy(), rel=1e-2)


@pytest.mark.usefixtures("_exact_sums")
def test_errors_of_sampling_are_those_of_a_robust_covariance(sm):
    table = coded(REAL)
    same = survey(table, measured(table, 1e-4, 0, largest=3))
    kept = design(REAL)
    expected = sm.OLS(kept["income"], kept.drop(columns="income")).fit(cov_type="HC0")
    found = linear(same, "income", ["age", "school"])
    assert found.errors.sampling == pytest.approx(expected.bse.to_numpy(), rel=1e-3)
    assert found.errors.noise == pytest.approx(0, abs=1e-3)
    income = REAL["income"].dropna()
    spread = income.std(ddof=0) / np.sqrt(len(income))
    assert mean(same, "income").errors.sampling == pytest.approx(spread, rel=1e-3)


@pytest.mark.slow
def test_intervals_of_the_table_hold_with_noise(sm):
    """Of 100 releases, all with the same table and other noise.

    Intervals also allow for what was not measured, so that they hold in 95 % or more. At 95 %, fewer than 89
    of 100 hold with probability 0.4 % for one value, and 3 % for any of seven; the seeds are fixed.
    """
    kept, yes = design(REAL), REAL["owner"] == "yes"
    truth = [
        *(REAL.loc[REAL.school == level, "income"].mean() for level in ("low", "middle", "high")),
        yes[REAL.rural].mean() - yes[~REAL.rural].mean(),
        *sm.OLS(kept["income"], kept.drop(columns="income")).fit().params[1:],
    ]
    held = []
    for seed in range(100):
        one = noisy(seed)
        made = [
            mean(one, "income", by="school", of="table"),
            difference(one, "owner", ("rural", True, False), value="yes", of="table"),
            linear(one, "income", ["age", "school"], of="table"),
        ]
        low = np.concatenate([made[0].low, made[1].low, made[2].low[1:]])
        high = np.concatenate([made[0].high, made[1].high, made[2].high[1:]])
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held, axis=0).min() >= 0.89


def test_what_the_noise_hides_has_no_interval_and_says_why():
    rare = people(3)
    rare.loc[rare.index[20:], "school"] = np.where(rare["age"][20:] > 23, "high", "middle")
    rare.loc[rare.index[:20], "school"] = "low"
    table = coded(rare)
    one = survey(table, measured(table, 40.0, 1))
    groups = mean(one, "age", by="school")
    assert np.isnan(groups["school=low"].low)
    assert groups["school=low"].notes[0].startswith("no interval")
    assert np.isfinite(groups["school=high"].low)
    coefficients = linear(one, "age ~ school")
    assert np.isnan(coefficients["school=low"].low)
    assert coefficients["school=low"].notes[0].startswith("no interval")
    assert np.isfinite(coefficients["school=middle"].low) or np.isfinite(coefficients["school=high"].low)


def test_a_group_in_which_all_rows_agree_has_no_interval():
    agreeing = people(3)
    agreeing.loc[agreeing["school"] == "low", "owner"] = "no"
    one = survey(coded(agreeing), measured(coded(REAL), 5.0, 1))
    found = proportion(one, "owner", "yes", by="school")
    assert found["school=low"].released == 0
    assert np.isnan(found["school=low"].low)
    assert "a query answers it" in found["school=low"].notes[0]
    assert np.isfinite(found["school=high"].low)


def test_groups_need_a_value_that_occurs_in_the_release():
    missing = people(3)
    missing["income"] = np.nan
    one = survey(coded(missing), measured(coded(REAL), 5.0, 1))
    with pytest.raises(DataError, match="by: expected a column with values"):
        mean(one, "age", by="income")


def test_what_was_not_measured_has_no_interval():
    one = survey(OTHER, measured(coded(REAL), 1.0, 0, largest=1))
    found = linear(one, "income ~ age")
    assert np.isnan(found["age"].low)
    assert found["age"].notes[0].startswith("no interval")
    assert np.isfinite(mean(one, "age").low)


def test_a_category_with_one_response_is_left_out_and_named(release):
    frame = people(4)
    frame.loc[frame["school"] == "high", "owner"] = "yes"
    table = coded(frame)
    found = logistic(survey(table, measured(table, 1.0, 0)), "owner ~ school + rural")
    assert np.isnan(found["school=high"].estimate)
    assert "same response" in found["school=high"].notes[0]
    assert np.isfinite(found["rural=True"].low)


def test_shows_estimates_as_a_frame_and_escaped_html(release):
    found = mean(release, "income", by="school")
    assert list(found.frame.index) == ["school=low", "school=middle", "school=high"]
    assert found.frame.loc["school=low", "low"] == found.low[0]
    assert "school=low" in found._repr_html_()
    assert "95%" in repr(found)
    with pytest.raises(DataError, match="expected one of school=low"):
        found["school=none"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: mean(r, "school"), "expected numbers"),
        (lambda r: mean(r, "wage"), "unknown attribute"),
        (lambda r: mean(r, "age", of="sample"), "expected 'population' or 'table'"),
        (lambda r: mean(r, "age", level=95), "level between 0 and 1"),
        (lambda r: mean(r, "age", {"school": "university"}), "expected one of 'low', 'middle', 'high'"),
        (lambda r: mean(r, "age", {"rural": "perhaps"}), "expected true or false"),
        (lambda r: mean(r, "age", {"age": "old"}), "expected a number"),
        (lambda r: mean(r, "age", {"age": (25, 22)}), "an empty one"),
        (lambda r: mean(r, "age", {"school": ("low", "high")}), "a range, which categories"),
        (lambda r: mean(r, "age", {"school": "low", "age": (29, 29)}), "rows of the release satisfy"),
        (lambda r: difference(r, "age", ("school", "low")), "a column and two values"),
        (lambda r: linear(r, "age"), "formula"),
        (lambda r: linear(r, "age", []), "at least one other column"),
        (lambda r: linear(r, "age ~ income + income"), "once"),
        (lambda r: linear(r, "school ~ age"), "two categories, got 3"),
        (lambda r: logistic(r, "age ~ income"), "two values"),
        (lambda r: linear(r, "age ~ school", where={"school": "low"}), "two or more values"),
        (lambda r: mean(Survey(r.rows, r.frame, None), "age"), "evidence.npz"),
    ],
)
def test_refuses_what_does_not_fit(release, ask, message):
    with pytest.raises(DataError, match=message):
        ask(release)
