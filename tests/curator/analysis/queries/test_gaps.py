"""Questions about dates that come after others: the gap is asked by its name, the date itself is refused."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.conditions import NOT_MISSING, Condition
from dpmosaic.curator.analysis.queries.answering import answer
from support.small_release import small_release

DOMAIN = Domain.from_json(
    {
        "sex": ["F", "M"],
        "admitted": {"type": "date", "min": "2020-01-01", "max": "2020-01-06", "bins": 6},
        "died": {"type": "date", "after": {"admitted": {"min": 0, "max": 9, "bins": 10}}, "nullable": True},
    }
)
RNG = np.random.default_rng(2)
ADMITTED = np.datetime64("2020-01-01") + RNG.integers(0, 6, 2000)
GAPS = RNG.integers(0, 10, 2000)
DEAD = RNG.random(2000) < 0.5
RELEASE = small_release(
    encode_table(
        DOMAIN,
        {
            "sex": np.array(["F", "M"], dtype=object)[RNG.integers(0, 2, 2000)],
            "admitted": ADMITTED,
            "died": np.where(DEAD, ADMITTED + GAPS, np.datetime64("NaT")),
        },
    )
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT AVG(died - admitted) FROM release", GAPS[DEAD].mean()),
        ("SELECT MEDIAN(Died - Admitted) FROM release", np.median(GAPS[DEAD])),
        ("SELECT COUNT(*) FROM release WHERE died - admitted <= 3", (GAPS[DEAD] <= 3).sum()),
        ("SELECT COUNT(*) FROM release WHERE 3 < (died - admitted)", (GAPS[DEAD] > 3).sum()),
        ("SELECT SHARE(died - admitted BETWEEN 2 AND 4) FROM release", np.isin(GAPS[DEAD], [2, 3, 4]).mean()),
        ("SELECT COUNT(died) FROM release", DEAD.sum()),
        ("SELECT COUNT(*) FROM release WHERE died IS NULL", (~DEAD).sum()),
        (
            "SELECT COUNT(*) FROM release WHERE admitted < '2020-01-03'",
            (ADMITTED < np.datetime64("2020-01-03")).sum(),
        ),
    ],
)
def test_a_gap_is_a_number_of_units(query, expected):
    assert answer(RELEASE, query).value == pytest.approx(expected, abs=0.02)


def test_groups_of_a_gap_are_named_after_the_difference():
    found = answer(RELEASE, "SELECT died - admitted, COUNT(*) AS n FROM release GROUP BY died - admitted")
    assert found.columns == ("died - admitted", "n")
    assert [key for (key, _) in found.cells()] == [*range(10), None]
    assert [round(n.value) for _, n in found.cells()] == [*np.bincount(GAPS[DEAD]), (~DEAD).sum()]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT AVG(died) FROM release",
        "SELECT COUNT(*) FROM release WHERE died < '2020-01-03'",
        "SELECT COUNT(*) FROM release WHERE died = 3",
        "SELECT died, COUNT(*) FROM release GROUP BY died",
    ],
)
def test_the_date_itself_is_refused_with_what_to_ask(query):
    with pytest.raises(DataError, match="holds how many days after: ask for died - admitted or COUNT"):
        answer(RELEASE, query)


@pytest.mark.parametrize("asked", ["admitted - died", "died - sex"])
def test_other_differences_are_refused(asked):
    with pytest.raises(DataError, match="which is not supported"):
        answer(RELEASE, f"SELECT AVG({asked}) FROM release")


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ({"died - admitted": (0, 3)}, [0, 1, 2, 3]),
        ("died - admitted=..1|7", [0, 1, 7]),
        ({"died": None}, [10]),
        ({"died": NOT_MISSING}, list(range(10))),
        ({"died - admitted": [4, None]}, [4, 10]),
    ],
)
def test_a_condition_names_the_difference_or_whether_it_is_missing(where, allowed):
    weights = Condition.of(DOMAIN, where).weights("died", np.full(11, 100))
    assert np.flatnonzero(weights).tolist() == allowed


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"died": ("2020-01-01", "2020-01-03")}, "holds how many days after 'admitted' it is; name"),
        ({"died": 3}, "holds how many days after 'admitted' it is; name 'died - admitted'"),
        ({"died - admitted": "2020-01-01"}, "expected a number"),
        ({"died - admitted": (0, 99)}, "expected values from 0 to 9"),
        ({"died - admitted": 1, "died": NOT_MISSING}, "got another"),
        ({"admitted - died": 1}, "expected an attribute of the release"),
    ],
)
def test_refuses_a_condition_on_the_date_itself(where, problem):
    with pytest.raises(DataError, match=problem):
        Condition.of(DOMAIN, where)
