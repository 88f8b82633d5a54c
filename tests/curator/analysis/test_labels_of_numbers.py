"""Whatever gives numbers of a release that is not private gives its label with them."""

import inspect

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.curator.analysis.release import Release
from dpmosaic.curator.people.release import PeopleRelease
from support.related import patients
from support.related import release as release_of_people

pytestmark = pytest.mark.slow

NUMBERS = {"Answer", "Estimates", "SurvivalCurves", "TestResult"}
"""What methods of a release give that holds numbers and no rows."""

DOMAIN = {
    "sex": ["f", "m"],
    "arm": ["new", "old"],
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
    "months": {"type": "numeric", "min": 0, "max": 60, "bins": 12, "integer": True},
    "dead": ["yes", "no"],
}
ASKED = {
    "query": ("SELECT sex, COUNT(*) FROM release GROUP BY sex",),
    "mean": ("age",),
    "proportion": ("sex", "f"),
    "difference": ("age", ("arm", "new", "old")),
    "linear": ("age ~ sex",),
    "logistic": ("dead ~ age",),
    "correlation": ("age", "months"),
    "survival": ("months",),
    "test": ("chi-square", "sex", "arm"),
    "infer": (lambda rows: rows["age"].mean(),),
}
OPTIONS = {"survival": {"event": ("dead", "yes")}}
ASKED_OF_PEOPLE = {"query": ("SELECT COUNT(*) FROM patients",), "survival": ("born",)}
OPTIONS_OF_PEOPLE = {"survival": {"event": ("sex", "f")}}


def methods(kind):
    """The methods of a class that give numbers."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name
        for name, method in found
        if name[0] != "_" and inspect.signature(method).return_annotation in NUMBERS
    }


def texts_of(found):
    """All that shows a result."""
    return [repr(found), found._repr_html_()]


@pytest.fixture(scope="module", params=[1, None], ids=["seeded", "private"])
def releases(request):
    rng, rows = np.random.default_rng(1), 2000
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "arm": rng.choice(["new", "old"], rows),
            "age": rng.integers(0, 100, rows),
            "months": rng.integers(0, 61, rows),
            "dead": rng.choice(["yes", "no"], rows),
        }
    )
    made = dpmosaic.synthesize(
        data, 5.0, domain=DOMAIN, mechanism="mst", seed=request.param, progress=False, ledger=False
    )
    people = release_of_people(patients(), 5.0, seed=request.param, ledger=False)
    return made, people


@pytest.mark.parametrize(
    ("place", "kind", "asked", "options"),
    [(0, Release, ASKED, OPTIONS), (1, PeopleRelease, ASKED_OF_PEOPLE, OPTIONS_OF_PEOPLE)],
    ids=["rows", "people"],
)
def test_numbers_have_the_labels_of_their_release_wherever_they_are_shown(
    releases, place, kind, asked, options
):
    release = releases[place]
    assert methods(kind) == set(asked)
    labels = release.certificate.labels
    for name, arguments in asked.items():
        found = getattr(release, name)(*arguments, **options.get(name, {}))
        assert found.labels == labels
        for text in texts_of(found):
            assert ("NOT A RELEASE" in text) == bool(labels), name
