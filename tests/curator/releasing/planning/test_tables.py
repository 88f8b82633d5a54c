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


WARDS = (
    'belongs_to = { id = "people" }',
    'belongs_to = { id = "people", ward = "wards" }',
    "[tables.codes]",
    '[tables.wards]\npublic = true\nfile = "wards.csv"\nkey = "ward"\n\n[tables.codes]',
)


def test_the_curator_holds_public_tables_whose_keys_a_domain_lists(tmp_path):
    (tmp_path / "wards.csv").write_text("ward,beds,code,price\nx,5,007,7.50\ny,8,1,\nz,7,2,1.25\n")
    tables = load(tmp_path, *WARDS).tables
    assert tables.holds == {"a": ("people",), "b": ("stays", "codes")}
    assert [one.name for one in tables.tables] == ["people", "stays", "codes"]
    assert [(one.table, one.parent) for one in tables.relations][1] == ("stays", "people")
    wards = tables.public["wards"]
    assert wards["ward"].tolist() == ["x", "y", "z"]
    assert wards["beds"].sum() == 20
    assert wards["code"].tolist() == ["007", "1", "2"]
    assert wards["price"].fillna("").tolist() == ["7.50", "", "1.25"]
    assert tables.facts()["public table wards"].endswith("stays.ward refers to it")


def test_how_new_keys_look_is_said_of_a_plan(tmp_path, monkeypatch):
    form = {"type": "identifier", "pattern": "P-{:04d}"}
    monkeypatch.setitem(DOMAINS, "people", DOMAINS["people"] | {"id": form})
    stated = load(tmp_path).tables.facts()
    assert stated == {
        "new keys of people": "'id', the first one is P-0001",
        "new keys of stays": "'stay', the first one is 1",
    }


@pytest.mark.parametrize(
    ("rows", "change", "said"),
    [
        ("ward\nx\nz\n", (), "as the categories of 'ward', and no others, found 'y' in"),
        ("ward\nx\nx\ny\n", (), "wards: expected a key 'ward' in every row"),
        ("wart\nx\ny\n", (), r"expected the column 'ward', found none \(did you mean 'wart'"),
        (None, (), "expected a public table in a file of .csv"),
        ("ward\nx\ny\n", ('file = "wards.csv"\n', ""), "expected the file of a public table"),
        ("ward\nx\ny\n", ('key = "ward"\n', ""), "expected the file of a public table, and its key"),
        ("ward\nx\ny\n", ('key = "ward"\n', 'key = "ward"\norder = "ward"\n'), "no order of a public"),
        ("ward\nx\ny\n", ("public = true\n", ""), "one column in belongs_to beside those of public"),
        ("ward\nx\ny\n", ('key = "id"\n', 'key = "id"\nfile = "a.csv"\n'), "no file of a table that parties"),
    ],
)
def test_public_tables_that_do_not_fit_are_refused(tmp_path, rows, change, said):
    if rows is not None:
        (tmp_path / "wards.csv").write_text(rows)
    with pytest.raises(DataError, match=said):
        load(tmp_path, *WARDS, *change)


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
        (('key = "stay"', 'key = "ward"'), "is an attribute of the domain"),
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
