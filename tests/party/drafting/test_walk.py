import json

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app

AGE = {"type": "numeric", "min": 18, "max": 89, "bins": "auto", "integer": True, "reviewed": False}
SEX = {"type": "categorical", "categories": ["f", "m"], "reviewed": False}
BORN = {"type": "date", "min": "1950-01-01", "max": "2000-12-31", "bins": "auto", "reviewed": False}
REVIEWED = {"town": ["A", "B"], "name": {"type": "identifier", "pattern": "P-{:d}"}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps({"age": AGE, "sex": SEX, "born": BORN, **REVIEWED}))
    return path


def review(path, *answers):
    """What is printed, and the domain file afterwards."""
    done = CliRunner().invoke(app, ["domain", "review", str(path)], input="".join(f"{a}\n" for a in answers))
    assert done.exit_code == 0, done.output
    return done.output, json.loads(path.read_text())


def without_mark(entry, **more):
    return {key: value for key, value in entry.items() if key != "reviewed"} | more


def test_each_unreviewed_entry_is_accepted_or_takes_the_offer_or_is_dropped(path):
    shown, form = review(path, "o", "a", "d")
    assert form["age"] == without_mark(AGE, min=0, max=120, nullable=False)
    assert form["sex"] == without_mark(SEX)
    assert list(form) == ["age", "sex", "town", "name"]
    assert "Every entry is reviewed." in shown
    assert "public knowledge" in shown
    assert review(path)[1] == form


def test_bounds_and_categories_are_edited(path):
    _, form = review(path, "e", "0", "110", "e", '["f", "m", "d"]', "e", "1900-01-01", "2024-12-31")
    assert (form["age"]["min"], form["age"]["max"]) == (0, 110)
    assert form["sex"]["categories"] == ["f", "m", "d"]
    assert (form["born"]["min"], form["born"]["max"]) == ("1900-01-01", "2024-12-31")
    assert not any("reviewed" in entry for entry in form.values() if isinstance(entry, dict))


def test_a_wrong_answer_is_explained_and_asked_again(path):
    shown, form = review(path, "x", "e", "zero", "110", "e", "50", "20", "a", "q")
    assert "expected one of a, o, e, d, s, q" in shown
    assert "expected a number" in shown
    assert form["age"] == without_mark(AGE)


def test_each_decision_is_saved_at_once_and_the_rest_waits(path):
    shown, form = review(path, "a", "s", "q")
    assert ("reviewed" in form["age"], form["sex"], form["born"]) == (False, SEX, BORN)
    assert "entries left to review: 2" in shown
    done = CliRunner().invoke(app, ["domain", "review", str(path)], input="a\n")
    assert done.exit_code != 0
    assert json.loads(path.read_text())["sex"] == without_mark(SEX)
