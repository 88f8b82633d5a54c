"""What normalisations do is signed by name: these examples must never change."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.protocols.alignment.normalise import NORMALISATIONS

pytestmark = pytest.mark.slow

EXAMPLES = {
    "exact": {" A-1 \t": "A-1", "a  b": "a  b", "\u3000\u00a0": "", "": ""},
    "text": {
        "O'Neill, Seán": "oneillsean",
        "Müller-Lüdenscheid": "mullerludenscheid",
        "Weiß": "weiss",
        "WEISS": "weiss",
        "Sørensen": "sorensen",
        "Łukasz Đorđe": "lukaszdorde",
        "IŞIK": "isik",
        "Işık": "isik",
        "İpek": "ipek",
        "van  der\u00a0Æsch": "vanderaesch",
        "ｶﾞ": "\u30ab\u3099",
        "が": "\u304b\u3099",
        "Ἀλέξανδρος": "αλεξανδροσ",
        "मीरा": "मीरा",
        "１２Ａ": "12a",
        "-- .": "",
    },
    "digits": {"007-12 b": "00712", "０７": "07", "٠٧": "07", "no 5²": "5", "none": ""},
    "date": {
        "1970-01-31": "1970-01-31",
        " 1970-1-31 ": "1970-01-31",
        "19700131": "1970-01-31",
        "１９７０-01-31": "1970-01-31",
        "1970-01-31 00:00:00": "1970-01-31",
        "1970-01-31T23:59:59.5+01:00": "1970-01-31",
        "1970-01-31T00:00:00Z": "1970-01-31",
        "1970-02-30": "",
        "31.01.1970": "",
        "1970-01": "",
        "0000-01-01": "",
    },
    "date-dmy": {
        "31.01.1970": "1970-01-31",
        "3/4/1970": "1970-04-03",
        "03-04-1970": "1970-04-03",
        "1970-04-03": "1970-04-03",
        "19700403": "1970-04-03",
        "4.31.1970": "",
        "3.4/1970": "",
        "03041970": "",
        "3.4.70": "",
    },
    "date-mdy": {"4/3/1970": "1970-04-03", "1970-04-03": "1970-04-03", "31/01/1970": ""},
    "year": {
        "1970": "1970",
        "1970-01-31": "1970",
        "31.1.1970": "1970",
        "19700131": "1970",
        "1970-01-31 00:00:00": "1970",
        "70": "",
        "1970 or 1971": "",
        "5": "",
    },
    # From the leaflet of the National Archives, and from Knuth, "Sorting and Searching", section 6.
    "soundex": {
        "Washington": "W252",
        "Lee": "L000",
        "Gutierrez": "G362",
        "Pfister": "P236",
        "Jackson": "J250",
        "Tymczak": "T522",
        "VanDeusen": "V532",
        "Ashcraft": "A261",
        "Robert": "R163",
        "Rupert": "R163",
        "Rubin": "R150",
        "Euler": "E460",
        "Ellery": "E460",
        "Knuth": "K530",
        "Kant": "K530",
        "Lloyd": "L300",
        "Lukasiewicz": "L222",
        "Łukasiewicz": "L222",
        "O'Hara": "O600",
        "Müller": "M460",
        "李": "",
        "42": "",
    },
    "initial": {"Émile": "e", " -x": "x", "...": ""},
}  # fmt: skip
CASES = [(name, value, wanted) for name, values in EXAMPLES.items() for value, wanted in values.items()]


@pytest.mark.parametrize(("name", "value", "wanted"), CASES)
def test_a_normalisation_does_what_its_name_is_signed_for(name, value, wanted):
    assert NORMALISATIONS[name](value) == wanted


def test_every_normalisation_has_examples():
    assert EXAMPLES.keys() == NORMALISATIONS.keys()


@given(st.sampled_from(sorted(NORMALISATIONS.keys() - {"soundex"})), st.text())
def test_normalising_again_changes_nothing(name, value):
    once = NORMALISATIONS[name](value)
    assert NORMALISATIONS[name](once) == once


@given(st.text())
def test_a_soundex_is_a_letter_and_three_digits(value):
    code = NORMALISATIONS["soundex"](value)
    assert not code or (
        code[0] in string.ascii_uppercase and set(code[1:]) <= set("0123456") and len(code) == 4
    )


@given(st.text())
def test_case_does_not_matter_to_text(value):
    normalise = NORMALISATIONS["text"]
    assert normalise(value.upper()) == normalise(value.lower()) == normalise(value)


@given(st.text(string.printable))
def test_texts_of_ascii_are_read_as_all_others(value):
    """They take a shorter way, which the letter ø in front does not."""
    for name in ("text", "digits"):
        normalise = NORMALISATIONS[name]
        assert normalise(f"ø{value}") == normalise("ø") + normalise(value)
