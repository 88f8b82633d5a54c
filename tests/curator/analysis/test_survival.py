"""Curves of survival: without noise those of the textbook; with it, bands that hold as often as they say."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.estimators.survival import survival
from dpmosaic.simulations.evaluation.survival import curve
from support.surveys import DOMAIN, coded, measured, people, survey, tilted

PEOPLE = people(1, missing=0.0)
EVENT = ("owner", "yes")
COLUMNS = ("age", "rural", "owner")


def release(frame, synthetic, sigma, seed, largest=2):
    domain = DOMAIN.project(COLUMNS)
    return survey(coded(synthetic, domain), measured(coded(frame, domain), sigma, seed, largest=largest))


@pytest.fixture(scope="module")
def exact():
    """The real table itself, with all of its triples measured without noise."""
    return release(PEOPLE, PEOPLE, 1e-3, 0, largest=3)


def truth(frame, times):
    return curve(frame["age"].to_numpy(float), (frame["owner"] == "yes").to_numpy()).at(times)


@pytest.mark.slow
def test_without_noise_curves_and_intervals_are_those_of_kaplan_meier_and_greenwood(exact):
    from statsmodels.duration.survfunc import SurvfuncRight

    found = survival(exact, "age", event=EVENT, by="rural")
    assert found.groups == ("rural=False", "rural=True")
    for rural, name in enumerate(found.groups):
        rows = found.frame[found.frame["group"] == name]
        mine = PEOPLE[PEOPLE["rural"] == bool(rural)]
        reference = SurvfuncRight(mine["age"], (mine["owner"] == "yes").astype(float))
        at = np.searchsorted(reference.surv_times, rows["time"], side="right") - 1
        assert np.allclose(rows["survival"], reference.surv_prob[at], atol=1e-4)
        errors = (rows["high"] - rows["low"]) / (2 * 1.96)
        inside = (rows["high"] < 1).to_numpy()
        assert inside.sum() >= 6
        assert np.allclose(errors[inside], reference.surv_prob_se[at][inside], rtol=0.04)
        assert (rows["band_high"] - rows["band_low"] > rows["high"] - rows["low"]).all()
    table = survival(exact, "age", event=EVENT, of="table")
    assert (table.frame["band_high"] - table.frame["band_low"]).max() < 0.02


@pytest.mark.slow
def test_bands_hold_the_whole_curve_95_of_100_times():
    """Of 60 releases with rows of another curve; fails by chance with probability .006."""
    whole = people(999, count=200_000, missing=0.0)
    lost = {"population": 0, "table": 0}
    for seed in range(60):
        frame = people(seed, count=1500, missing=0.0)
        made = release(frame, tilted(frame, seed, size=1.0), 15.0, seed)
        for of, table in (("population", whole), ("table", frame)):
            found = survival(made, "age", event=EVENT, of=of).frame
            real = truth(table, found["time"].to_numpy())
            lost[of] += not ((found["band_low"] <= real) & (real <= found["band_high"])).all()
            # A curve never rises, nor does its band.
            for name in ("survival", "band_low", "band_high"):
                assert (np.diff(found[name]) <= 1e-12).all()
    # At most 5 in 100: more than 8 of 60 with probability .003.
    assert max(lost.values()) <= 8, lost


@pytest.mark.slow
def test_a_time_that_is_missing_without_the_event_is_a_curve_with_until(exact):
    """A summary says when, and is missing where it never was: as for the event's own column."""
    domain = Domain.from_json(
        {
            "when": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True, "nullable": True},
            "until": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True},
        }
    )
    rng = np.random.default_rng(0)
    until, when = rng.integers(3, 10, 3000).astype(float), rng.integers(0, 12, 3000).astype(float)
    frame = people(0, count=3000).assign(until=until, when=np.where(when <= until, when, np.nan))
    rows = coded(frame, domain)
    found = survival(survey(rows, measured(rows, 1e-3, 0)), "when", until="until").frame
    wanted = curve(np.minimum(when, until), when <= until)
    assert np.allclose(found["survival"], wanted.at(found["time"].to_numpy()), atol=1e-4)


@pytest.mark.slow
def test_a_group_that_may_be_noise_has_no_band():
    frame = PEOPLE.assign(rural=np.arange(len(PEOPLE)) < 30)
    found = survival(release(frame, frame, 40.0, 1), "age", event=EVENT, by="rural")
    rows = found.frame[found.frame["group"] == "rural=True"]
    assert rows[["low", "band_low", "band_high"]].isna().all(axis=None)
    assert "no band" in found.notes["rural=True"]
    assert "no band" in repr(found)
    assert "no band" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "either event or until"),
        ({"event": EVENT, "until": "age"}, "either event or until"),
        ({"event": EVENT, "of": "rows"}, "of: expected"),
        ({"event": EVENT, "level": 2}, "level"),
        ({"event": ("owner", "maybe")}, "owner"),
        ({"event": EVENT, "where": {"age": (28, 29), "rural": None}}, "rural|rows of the release"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(exact, options, said):
    with pytest.raises(DataError, match=said):
        survival(exact, "age", **options)
