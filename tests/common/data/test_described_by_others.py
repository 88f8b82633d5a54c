"""Metadata of SDV and domains of dpsynth, read as domain files."""

import json
from copy import deepcopy

import pytest

from dpmosaic import Domain
from dpmosaic.common.bounded import yaml_of
from dpmosaic.common.data.domain_files.others import described_by_others, tables_of_sdv
from dpmosaic.common.errors import DataError

COLUMNS = {
    "guest": {"sdtype": "email", "pii": True},
    "card": {"sdtype": "id", "regex_format": "C-[0-9]{6}"},
    "code": {"sdtype": "id", "regex_format": "[A-Z]{3}"},
    "room": {"sdtype": "categorical"},
    "size": {"sdtype": "categorical", "order": ["S", "M", "L"]},
    "fee": {"sdtype": "numerical", "computer_representation": "Float"},
    "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
    "rewards": {"sdtype": "boolean"},
    "arrived": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
    "paid": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
    "address": {"sdtype": "address"},
    "country": {"sdtype": "country_code", "pii": False},
    "remark": {"sdtype": "unknown"},
}
SINGLE = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "primary_key": "guest", "columns": COLUMNS}
V1 = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {"guests": {"primary_key": "guest", "columns": COLUMNS}},
    "relationships": [],
}
HOTELS = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "hotels": {
            "primary_key": "id",
            "columns": {"id": {"sdtype": "id"}, "city": {"sdtype": "categorical"}},
        },
        "guests": {
            "primary_key": "guest",
            "sequence_index": "arrived",
            "columns": {"hotel": {"sdtype": "id"}, "guest": COLUMNS["guest"], "arrived": COLUMNS["arrived"]},
        },
    },
    "relationships": [
        {
            "parent_table_name": "hotels",
            "parent_primary_key": "id",
            "child_table_name": "guests",
            "child_foreign_key": "hotel",
        }
    ],
}
OF_DPSYNTH = """
age: {clip_to_range: true, dtype: int, max_value: 90.0, min_value: 17.0, type: NumericalAttribute}
pay: {clip_to_range: false, max_value: 9.5, min_value: 0.5}
tier: {description: null, out_of_domain_index: 1, possible_values: [FREE, PRO], type: CategoricalAttribute}
city: {default_value: <OOD>, public_possible_values: [NYC], type: OpenSetCategoricalAttribute}
notes: {max_tokens: 256, type: FreeFormTextAttribute}
"""


@pytest.mark.parametrize("form", [SINGLE, V1], ids=["one table", "V1"])
def test_metadata_of_sdv_is_a_domain(form):
    domain = Domain.from_json(form)
    entries = domain.to_json()
    assert {name for name, entry in entries.items() if entry == {"type": "text", "drop": True}} == {
        "address",
        "remark",
    }
    assert {one.name: one.pattern for one in domain.identifiers} == {
        "guest": "{:d}",
        "card": "C-{:06d}",
        "code": "{:d}",
    }
    assert domain.open == ("room", "fee", "nights", "arrived", "paid", "country")
    assert domain["size"].categories == ("S", "M", "L", "")
    assert domain["size"].ordered
    assert (domain["fee"].integer, domain["nights"].integer) == (False, True)
    assert (entries["arrived"]["type"], entries["arrived"]["format"]) == ("date", "%d %b %Y")
    assert (entries["paid"]["type"], entries["paid"]["format"]) == ("timestamp", "%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("written", "kind", "unit", "first"),
    [
        ("%Y-%m-%d %H:%M:%S", "timestamp", "second", "1900-01-01T00:00:00"),
        ("%d.%m.%Y %H:%M", "timestamp", "minute", "1900-01-01T00:00:00"),
        ("%d.%m.%y", "date", "day", "1969-01-01"),
        ("%b %Y", "date", "month", "1900-01-01"),
        ("%Y", "date", "year", "1900-01-01"),
        (None, "timestamp", "second", "1900-01-01T00:00:00"),
    ],
)
def test_a_date_is_as_fine_as_its_format(written, kind, unit, first):
    column = {"sdtype": "datetime"} if written is None else {"sdtype": "datetime", "datetime_format": written}
    form = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"at": column}}
    entry = described_by_others(form).entries["at"]
    assert (entry["type"], entry["granularity"], entry["min"]) == (kind, unit, first)
    Domain.from_json(form)


def test_one_sentence_says_what_the_metadata_does_not():
    advice = described_by_others(SINGLE).advice
    assert "states no bounds and categories" in advice
    assert "learns those of 'room', 'fee', 'nights', 'country' from its budget" in advice
    assert "'arrived', 'paid' may lie in any year from 1900 to 2099" in advice
    assert "leaves out 'address', 'remark', which may say who somebody is" in advice
    assert "\n" not in advice
    assert "." not in advice


def test_keys_and_relationships_of_several_tables_are_relations():
    found = tables_of_sdv(HOTELS)
    assert found.relations == {"guests": {"hotel": "hotels.id"}}
    assert list(found.tables["hotels"].entries) == ["id", "city"]
    assert list(found.tables["guests"].entries) == ["guest", "arrived"]
    assert found.tables["guests"].order == "arrived"


def test_a_key_of_its_own_is_an_identifier_in_the_form_that_is_stated_and_alone_it_is_no_domain():
    form = deepcopy(HOTELS)
    form["tables"]["hotels"]["columns"]["id"]["regex_format"] = "H-[0-9]{3}"
    assert tables_of_sdv(form).tables["hotels"].entries["id"] == {"type": "identifier", "pattern": "H-{:03d}"}
    del form["tables"]["hotels"]["columns"]["city"]
    assert tables_of_sdv(form).tables["hotels"].entries == {}


def test_a_sequence_has_a_key_and_an_order():
    form = SINGLE | {"sequence_key": "guest", "sequence_index": "arrived", "primary_key": None}
    found = described_by_others(form)
    assert (found.key, found.order) == ("guest", "arrived")
    assert found.entries["guest"]["type"] == "identifier"


def test_a_domain_of_dpsynth_is_a_domain():
    domain = Domain.from_json(yaml_of(OF_DPSYNTH))
    assert [one.name for one in domain.unmodelled] == ["notes"]
    age, pay = domain["age"], domain["pay"]
    assert (age.minimum, age.maximum, age.integer, age.outside) == (17, 90, True, "clip")
    assert (pay.minimum, pay.maximum, pay.integer, pay.outside) == (0.5, 9.5, False, "missing")
    assert (domain["tier"].categories, domain["tier"].other) == (("FREE", "PRO", ""), "PRO")
    assert (domain["city"].categories, domain["city"].other) == (("NYC", "<OOD>", ""), "<OOD>")
    assert domain["city"].open
    assert described_by_others(yaml_of(OF_DPSYNTH)).advice == ""


def test_files_of_both_are_read_where_a_domain_file_is(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps(SINGLE))
    (tmp_path / "domain.yaml").write_text(OF_DPSYNTH)
    assert Domain.load(tmp_path / "metadata.json") == Domain.from_json(SINGLE)
    assert Domain.load(tmp_path / "domain.yaml").names == ("age", "pay", "tier", "city")


def test_an_own_domain_file_stays_what_it_is():
    for form in (
        {"type": 2, "sex": ["f", "m"]},
        {"age": {"type": "numeric", "min": 0, "max": 9, "bins": 10}},
    ):
        assert described_by_others(form) is None


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (
            SINGLE | {"METADATA_SPEC_VERSION": "V9"},
            "version V1, SINGLE_TABLE_V1, MULTI_TABLE_V1, got another",
        ),
        (SINGLE | {"columns": {"a": {}}}, "column 'a': expected an sdtype"),
        (HOTELS, "expected SDV's metadata of one table, got 2"),
    ],
)
def test_other_metadata_is_refused(form, said):
    with pytest.raises(DataError, match=said):
        Domain.from_json(form)


@pytest.mark.parametrize(
    "form",
    [
        SINGLE | {"columns": 3},
        SINGLE | {"columns": {"a": {"sdtype": "id", "regex_format": 3}}},
        SINGLE | {"columns": {"a": {"sdtype": "datetime", "datetime_format": 3}}},
        SINGLE | {"alternate_keys": 3},
        V1 | {"tables": [1]},
        {"a": {"type": "CategoricalAttribute"}},
        {"a": {"possible_values": [], "out_of_domain_index": 0}},
        {"a": {"min_value": "x", "max_value": 3, "dtype": "int"}},
        {"a": {"min_value": 1, "max_value": None}},
    ],
)
def test_what_the_other_package_would_not_write_is_refused(form):
    with pytest.raises(DataError):
        Domain.from_json(form)


def test_relationships_to_no_table_are_refused():
    (link,) = HOTELS["relationships"]
    with pytest.raises(DataError, match="a part missing or of another type"):
        tables_of_sdv(HOTELS | {"relationships": [link | {"parent_table_name": "hotel"}]})


def test_keys_of_several_columns_are_refused():
    (link,) = HOTELS["relationships"]
    with pytest.raises(DataError, match="guests: expected a key of one column, got several"):
        tables_of_sdv(HOTELS | {"relationships": [link | {"parent_primary_key": ["id", "city"]}]})


@pytest.mark.parametrize(
    "text", ["a: &x [1]\nb: *x", "a: 2020-01-01", "a: .inf", "{", "\xff".encode("latin-1")]
)
def test_yaml_is_read_within_bounds(text):
    with pytest.raises(ValueError, match=r"aliases|JSON has not|no number|utf-8"):
        yaml_of(text)
