import json

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.drafting.draft import NOT_PRIVATE, Draft

AGE = {"type": "numeric", "min": 18, "max": 89, "bins": "auto", "integer": True, "reviewed": False}
SEX = {"type": "categorical", "categories": ["f", "m"], "reviewed": False}
NAME = {"type": "identifier", "pattern": "P-{:03d}"}
RULES = [
    {"impossible": {"age": {"below": 20}, "sex": ["m"]}},
    {"determines": {"from": "sex", "to": "town"}},
]


@pytest.fixture
def draft():
    town = {"type": "categorical", "categories": ["A", "B"]}
    return Draft({"age": AGE, "sex": SEX, "town": town, "name": NAME}, RULES, [("age", "a remark")])


def test_entries_read_from_rows_are_unreviewed_until_they_are_confirmed(draft):
    assert draft.unreviewed == draft.domain.unreviewed == ("age", "sex")
    draft.confirm("sex")
    assert draft.unreviewed == ("age",)
    draft.confirm()
    assert draft.unreviewed == draft.domain.unreviewed == ()


def test_a_changed_key_leaves_the_rest_of_the_entry_to_be_confirmed(draft):
    draft.set("age", min=0, max=120)
    assert draft["age"] == AGE | {"min": 0, "max": 120}
    draft.set("age", integer=None)
    assert "integer" not in draft["age"]
    assert "age" in draft.unreviewed


def test_a_whole_entry_that_a_person_states_is_reviewed(draft):
    draft["age"] = {"type": "numeric", "min": 0, "max": 120, "bins": 12}
    draft["sex"] = ["f", "m", "d"]
    draft["town"] = 4
    assert draft.unreviewed == ()
    assert draft.domain["sex"].size == 3
    draft.set("sex", ordered=True)
    draft.set("town", n=5)
    assert (draft["sex"]["ordered"], draft["town"]["n"]) == (True, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda draft: draft.set("agee", min=0), r"unknown attribute 'agee' \(did you mean 'age'\?\)"),
        (lambda draft: draft.confirm("sexx"), r"did you mean 'sex'"),
        (lambda draft: draft.drop("towns"), r"did you mean 'town'"),
        (lambda draft: draft["nam"], r"did you mean 'name'"),
        (lambda draft: draft.set("age", min="x"), "min: expected a number"),
        (lambda draft: draft.set("age", ordered=True), "unknown keys ordered"),
        (lambda draft: draft.set("age", min=200), "minimum|min"),
        (lambda draft: draft.set("age", min=np.int64(3)), "lists; write dates as text"),
        (lambda draft: draft.__setitem__("age", {"type": "numerical"}), "did you mean 'numeric'"),
        (lambda draft: draft.accept_offers("town"), "nothing is publicly known"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(draft, change, message):
    before = draft.to_json()
    with pytest.raises(DataError, match=message):
        change(draft)
    assert draft.to_json() == before


def test_an_entry_that_is_read_cannot_be_changed_behind_the_checks(draft):
    with pytest.raises(TypeError):
        draft["age"]["min"] = "x"


def test_a_dropped_column_takes_its_rules_along(draft):
    draft.drop("age", "name")
    assert list(draft) == ["sex", "town"]
    assert draft.suggested_rules == RULES[1:]
    assert draft.domain.columns == ("sex", "town")


def test_an_offer_is_taken_only_when_it_is_accepted_and_needs_no_mark(draft):
    assert (draft["age"]["max"], set(draft.offers)) == (89, {"age", "sex"})
    draft.accept_offers("age")
    assert draft["age"] == {key: value for key, value in AGE.items() if key != "reviewed"} | {
        "min": 0,
        "max": 120,
        "nullable": False,
    }
    draft.accept_offers()
    assert draft.unreviewed == ()
    assert draft.offers == {}


def test_a_saved_draft_is_a_domain_file_that_is_loaded_again(draft, tmp_path):
    path = tmp_path / "draft.json"
    draft.rules, draft.suggested_rules = RULES[1:], RULES[:1]
    draft.save(path)
    assert Domain.load(path) == draft.domain
    again = Draft.load(path)
    assert again.to_json() == draft.to_json() == json.loads(path.read_text())
    assert [one.name for one in tmp_path.iterdir()] == ["draft.json"]


def test_a_short_domain_file_is_a_draft_too(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text('{"a": 3, "b": ["x"]}')
    draft = Draft.load(path)
    assert (len(draft), "a" in draft, draft.unreviewed, draft.to_json()) == (
        2,
        True,
        (),
        {"a": 3, "b": ["x"]},
    )


def test_a_draft_that_cannot_be_read_or_written_is_refused(draft, tmp_path):
    with pytest.raises(DataError, match="cannot write"):
        draft.save(tmp_path / "none" / "draft.json")
    path = tmp_path / "draft.json"
    path.write_text('{"a": {"type": "numerical"}}')
    with pytest.raises(DataError, match="did you mean 'numeric'"):
        Draft.load(path)


def test_the_draft_says_that_it_is_not_private_while_an_entry_is_unreviewed(draft):
    assert "private rows" in NOT_PRIVATE
    for shown in (" ".join(repr(draft).split()), draft._repr_html_()):
        assert "show it to nobody" in shown
        assert "2 rules" in shown
    draft.confirm()
    assert "show it to nobody" not in repr(draft)
    assert "Every entry is reviewed." in repr(draft)


ROWS_OF_EACH = 400


def kinds():
    """Cells of most kinds that a draft tells apart, as texts."""
    rng, places = np.random.default_rng(1), np.arange(ROWS_OF_EACH)
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, ROWS_OF_EACH)
    return {
        "names": [f"P-{place:06d}" for place in rng.permutation(places)],
        "addresses": [f"{place:x}@mail.example" for place in places],
        "uuids": [f"{place:08x}-0000-4000-8000-000000000000" for place in places],
        "notes": [
            f"pain in the left knee since {place} days, worse at night and in the cold" for place in places
        ],
        "numbers": rng.integers(0, 90, ROWS_OF_EACH).astype(str).tolist(),
        "amounts": [f"{amount:.2f}" for amount in rng.lognormal(3, 1, ROWS_OF_EACH)],
        "words": rng.choice(["yes", "no"], ROWS_OF_EACH).tolist(),
        "wards": rng.choice(["a", "b", "c"], ROWS_OF_EACH).tolist(),
        "days": days.astype(str).tolist(),
        "hours": [f"{place % 24:02d}:{place % 60:02d}" for place in places],
        "codes": [f"{place % 7:04d}" for place in places],
        "pairs": [f"{100 + place % 80}/{60 + place % 40}" for place in places],
    }


def some(cells):
    """The cells, of which three in ten are missing."""
    return ["" if place % 10 < 3 else cell for place, cell in enumerate(cells)]


def test_what_a_draft_says_unmarked_is_the_form_of_names_and_what_is_left_out():
    rows = pd.DataFrame(
        {
            **kinds(),
            **{f"{name} or none": some(cells) for name, cells in kinds().items()},
        }
    )
    drafted = dpmosaic.draft(rows)
    unmarked = {name: dict(drafted[name]) for name in drafted if name not in drafted.unreviewed}
    assert {"names", "addresses", "notes"} <= unmarked.keys()
    assert {key for entry in unmarked.values() for key in entry} == {"type", "pattern", "drop"}
    assert drafted["names or none"]["empty"] == 0.3
    assert "names or none" in drafted.unreviewed
    # Of what nobody has reviewed, no certificate would speak.
    assert {one.empty for one in drafted.domain.identifiers} == {0.0}
    drafted.confirm("names or none")
    assert {one.empty for one in drafted.domain.identifiers} == {0.0, 0.3}
