"""The related tables of a plan, and who holds them."""

import json

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.releasing.planning.plan import ReleasePlan

DOMAINS = {
    "people": {"sex": ["f", "m"]},
    "stays": {"day": {"type": "numeric", "min": 0, "max": 9, "bins": 2, "integer": True}, "ward": ["x", "y"]},
    "codes": {"code": ["p", "q"]},
}
TEXT = """
[release]
rho = 1.0
rows_per_person = "all"

[tables.people]
domain = "people.json"
key = "id"

[tables.stays]
domain = "stays.json"
key = "stay"
belongs_to = { id = "people" }
order = "day"

[tables.codes]
domain = "codes.json"
belongs_to = { stay = "stays" }

[alignment]
rho = 0.002

[[slice]]
parties = ["a", "b"]
holds = { a = ["people"], b = ["stays", "codes"] }
"""


def load(folder, *change, text=TEXT):
    for name, domain in DOMAINS.items():
        (folder / f"{name}.json").write_text(json.dumps(domain))
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    (folder / "plan.toml").write_text(text)
    return ReleasePlan.load(folder / "plan.toml")


def test_a_plan_says_who_holds_which_tables(tmp_path):
    plan = load(tmp_path)
    assert plan.domain.names == ("people.sex", "stays.day", "stays.ward", "codes.code")
    assert plan.tables.holds == {"a": ("people",), "b": ("stays", "codes")}
    assert [(one.table, one.parent, one.order) for one in plan.tables.relations] == [
        ("people", "", ""),
        ("stays", "people", "day"),
        ("codes", "stays", ""),
    ]
    assert plan.tables.tables[1].columns == ("stay", "id", "day", "ward")
    plan.tables.check_held({"a": ("people.sex",), "b": ("codes.code", "stays.day", "stays.ward")})
    with pytest.raises(DataError, match="party 'a': expected the columns of people"):
        plan.tables.check_held({"a": ("stays.day",)})


def test_a_party_alone_in_its_slice_holds_all_tables(tmp_path):
    whole = TEXT.split("[alignment]")[0] + '[[slice]]\nparties = ["a"]\n[[slice]]\nparties = ["b"]\n'
    names = ("people", "stays", "codes")
    assert load(tmp_path, text=whole).tables.holds == {"a": names, "b": names}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('rows_per_person = "all"', ""), "people with all rows"),
        (("rho = 1.0", 'rho = 1.0\ndomain = "people.json"'), "either domain in .release. or .tables.NAME."),
        (
            ("rho = 1.0", 'rho = 1.0\nprotocol = "indicator"'),
            "where one party of each slice holds all of them",
        ),
        (("rho = 1.0", 'rho = 1.0\ntarget = "sex"'), "target in .release. goes with a single table"),
        (("[alignment]\nrho = 0.002", ""), "aligned by their keys"),
        (('a = ["people"]', 'a = ["people", "codes"]'), "hold each of people, stays, codes once"),
        (
            ('a = ["people"], b = ["stays", "codes"]', 'a = ["people", "codes"], b = ["stays"]'),
            "keep a branch",
        ),
        (('a = ["people"], b', 'c = [], a = ["people"], b'), "is no party of it"),
        (('belongs_to = { stay = "stays" }', 'belongs_to = { stay = "none" }'), "are a tree"),
        (('key = "stay"\n', ""), "expected a key, to which 'codes' belongs"),
        (('order = "day"', 'order = "ward"'), "numbers, dates or timestamps"),
        (('key = "stay"', 'key = "ward"'), "to be no attribute"),
        (('domain = "people.json"\n', ""), "that of people, with a domain"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, said):
    with pytest.raises(DataError, match=said):
        load(tmp_path, *change)


def test_holds_is_of_related_tables(tmp_path):
    text = '[release]\ndomain = "people.json"\nrho = 1.0\n[[slice]]\nparties = ["a"]\nholds = { a = ["x"] }\n'
    with pytest.raises(DataError, match="holds goes with"):
        load(tmp_path, text=text)
