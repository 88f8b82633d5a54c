import pytest

from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.party.drafting.known import is_known, offer_for


def numbers(least, largest, **more):
    return {"type": "numeric", "min": least, "max": largest, "bins": "auto", "integer": True} | more


def listed(*categories, **more):
    return {"type": "categorical", "categories": list(categories)} | more


def offered(name, entry):
    """The offer, which is the entry of a domain file; None if there is none."""
    offer = offer_for(name, entry | {"reviewed": False})
    if offer is None:
        return None
    assert offer.source
    assert read_entry(name, offer.entry).reviewed
    return offer.entry


@pytest.mark.parametrize(
    ("name", "entry", "bounds"),
    [
        ("age", numbers(18, 89), (0, 120)),
        ("patientAge", numbers(18, 89), (0, 120)),
        ("age_at_admission", numbers(18, 89), (0, 120)),
        ("month", listed(*range(1, 12), ordered=True), (1, 12)),
        ("MONTH", listed("", 2, 3), (1, 12)),
        ("hour", numbers(0, 22), (0, 23)),
        ("day", numbers(1, 30), (1, 31)),
        ("weekday", {"type": "codes", "n": 7}, (0, 6)),
        ("weekday", listed(*range(1, 8)), (1, 7)),
        ("year", listed(2013), (1900, 2100)),
        ("Latitude", numbers(40.7, 40.8, integer=False), (-90, 90)),
        ("lng", numbers(-200, 0, integer=False), (-180, 180)),
        ("lon", numbers(-74, -73.9, integer=False), (-180, 180)),
        ("success_pct", numbers(10, 90), (0, 100)),
    ],
)
def test_numbers_of_well_known_columns_have_public_bounds(name, entry, bounds):
    found = offered(name, entry)
    assert (found["min"], found["max"]) == bounds
    assert found["nullable"] is ("" in entry.get("categories", ()))


@pytest.mark.parametrize(
    ("name", "entry", "first", "count"),
    [
        ("sex", listed("male"), "female", 2),
        ("Gender", listed("", "M", "F"), "", 3),
        ("month", listed("Feb", "Jan"), "Jan", 12),
        ("weekday", listed("Friday"), "Monday", 7),
        ("country", listed("DE", "NA"), "AD", 249),
        ("country", listed("DEU", "FRA"), "ABW", 249),
        ("postcode", numbers(10_000, 99_999), "other", 1),
        ("icd10", listed("other", other="other", open=True), "other", 1),
    ],
)
def test_texts_of_well_known_columns_have_public_lists(name, entry, first, count):
    found = offered(name, entry)
    assert (found["categories"][0], len(found["categories"])) == (first, count)


def test_a_text_for_a_missing_value_is_no_sex_and_no_country_but_namibia_is():
    found = offered("sex", listed("female", "male", "NA"))
    assert (found["categories"], found["missing"]) == (["", "female", "male"], ["NA"])
    assert "missing" not in offered("country", listed("DE", "NA"))


def test_yes_and_no_is_public_in_any_column():
    entry = {"type": "boolean", "nullable": True, "true": ["Y"], "false": ["N"]}
    assert offered("consent", entry) == entry


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("age", numbers(0, 400)),
        ("age_group", listed("0-9", "10-19")),
        ("hours_per_week", numbers(1, 40)),
        ("mileage", numbers(0, 100)),
        ("month", listed("Jan", "Brumaire")),
        ("day", listed(0, 1)),
        ("height", numbers(100, 200)),
        ("age", {"type": "numeric", "bins": "auto"}),
        ("age", {"type": "identifier", "pattern": "{:d}"}),
    ],
)
def test_nothing_is_offered_that_the_draft_contradicts_or_the_name_does_not_say(name, entry):
    assert offered(name, entry) is None


def test_how_values_are_written_stays_as_it_was_read():
    entry = numbers(1, 99, format="{}%", missing=["NA"], nullable=True)
    found = offered("percent", entry)
    assert (found["format"], found["missing"], found["nullable"]) == ("{}%", ["NA"], True)


def test_an_entry_in_its_short_form_has_no_offer():
    assert offer_for("age", 7) is None
    assert offer_for("sex", ["f", "m"]) is None


def test_names_say_what_no_key_holds():
    assert is_known("year")
    assert is_known("zip_code") is is_known("zipcode") is True
    assert not is_known("patient")
