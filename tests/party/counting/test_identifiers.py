"""Which rows of a party take part in an alignment, and what is compared of them."""

import pytest

from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.protocols.alignment.match_keys import key_texts
from dpmosaic.party.counting.identifiers import Identifiers, used_rows

COLUMNS = {
    "nid": ["1", "2", "1", "", "", "3"],
    "surname": ["Li", "Roy", "Li", "Roy", "Ortiz", "Kim"],
    "born": ["1970", "1980", "1970", "1980", "", "1990"],
}
MATCH = (("nid:exact",), ("surname:text", "born:year"))
IDENTIFIERS = Identifiers(COLUMNS)


def test_the_first_of_several_rows_of_a_person_is_used():
    assert used_rows([b"x", b"y", b"x", b"z", b"y", b"x"], "first").tolist() == [0, 1, 3]


def test_rows_without_an_identifier_are_of_different_people():
    assert used_rows([b"", b"x", b"", b""], "first").tolist() == [0, 1, 2, 3]
    assert used_rows([b"", b"x", b"", b""], "refuse").tolist() == [0, 1, 2, 3]


def test_a_plan_may_refuse_several_rows_of_a_person_and_the_party_says_no_more():
    with pytest.raises(DataError, match="equal in the first match key") as refusal:
        used_rows([b"x", b"secret", b"secret", b"y"], "refuse")
    assert "secret" not in str(refusal.value)
    assert not any(character.isdigit() for character in str(refusal.value))


def test_the_first_match_key_compares_every_row_that_is_used():
    texts = IDENTIFIERS.match_texts(MATCH, "first")
    assert texts.rows.tolist() == [0, 1, 3, 4, 5]
    every = key_texts(COLUMNS, MATCH[0])
    assert list(texts[0]) == [every[row] for row in texts.rows]


def test_a_later_match_key_compares_nothing_of_rows_that_share_a_text():
    """The two named Roy: the matcher must not see that rows of one party are alike."""
    texts = IDENTIFIERS.match_texts(MATCH, "first")
    every = key_texts(COLUMNS, MATCH[1])
    assert list(texts[1]) == [every[0], b"", b"", b"", every[5]]


def test_a_row_that_is_not_used_makes_no_other_ambiguous():
    """Row 2 is a second row of the person of row 0."""
    assert IDENTIFIERS.match_texts(MATCH, "first")[1][0] != b""


def test_there_are_texts_for_every_match_key():
    texts = IDENTIFIERS.match_texts(MATCH, "first")
    assert len(texts) == len(list(texts)) == 2
    assert {len(level) for level in texts} == {len(texts.rows)}


def test_a_party_refuses_match_keys_of_an_identifier_that_it_lacks():
    IDENTIFIERS.check_match(MATCH)
    with pytest.raises(PolicyError, match="identifier 'postcode', which this party does not have"):
        IDENTIFIERS.check_match((*MATCH, ("surname:text", "postcode:digits")))
    with pytest.raises(PolicyError, match="identifier 'key'"):
        Identifiers().match_texts((("key:exact",),), "first")


def test_a_change_of_an_identifier_is_a_change_of_the_rows():
    digests = {
        Identifiers(columns).digest("ab")
        for columns in (
            {"a": ["p", "q"]},
            {"a": ["q", "p"]},
            {"b": ["p", "q"]},
            {"a": ["pq", ""]},
            {"a": ["p", "q"], "b": ["", ""]},
            {},
        )
    }
    assert len(digests) == 6
    assert Identifiers({"a": ["p"]}).digest("ab") != Identifiers({"a": ["p"]}).digest("cd")
