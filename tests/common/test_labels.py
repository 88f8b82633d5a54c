import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.texts import LONGEST_LABEL, is_label
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.labels import LabelSearch, decode_labels, encode_labels

PRINTABLE = st.characters(exclude_categories=["C", "Z"], include_characters=" ")
LABELS = st.lists(st.text(PRINTABLE, min_size=1, max_size=LONGEST_LABEL).filter(is_label))


@pytest.mark.slow
@given(LABELS, LABELS)
def test_labels_come_back_also_from_the_answers_of_several_parties(one, other):
    assert decode_labels(np.concatenate([encode_labels(one), encode_labels(other)])) == one + other


@pytest.mark.parametrize(
    "words", [[97], [0], [97, 10, 98, 0], [-1, 0], [0x110000, 0], [2**40, 0], [0xD800, 0], [97] * 200 + [0]]
)
def test_words_that_are_no_labels_are_refused(words):
    with pytest.raises(ProtocolError, match="expected labels"):
        decode_labels(np.array(words, dtype=np.int64))


@pytest.mark.parametrize(
    ("attributes", "delta"),
    [((), 1e-9), (("a", "a"), 1e-9), (("a",), 0.0), (("a",), 0.2), (("a",), float("nan"))],
)
def test_a_search_without_attributes_or_delta_is_refused(attributes, delta):
    with pytest.raises(ValueError, match=r"attributes|delta"):
        LabelSearch(attributes, delta)


def test_attributes_share_delta_and_have_a_query_each():
    search = LabelSearch(("job", "drug"), 1e-6)
    assert search.delta_each == 5e-7
    assert [search.query_id(name) for name in search.attributes] == ["labels 1", "labels 2"]
    with pytest.raises(ProtocolError, match="looks for no labels"):
        search.query_id("zip")
