import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.texts import LONGEST_LABEL, TextColumn, is_label
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.source import read_table

JOBS = ("clerk", "nurse", "clerk", "king", "other", "nurse", "clerk")
OPEN = Domain.from_json(
    {"job": {"type": "categorical", "categories": ["other", "clerk"], "other": "other", "open": True}}
)


def texts(column):
    return [column.known[place] for place in column.places]


def test_a_table_keeps_the_texts_of_open_categories_beside_their_codes():
    table = encode_table(OPEN, {"job": JOBS})
    assert table.column("job").tolist() == [1, 0, 1, 0, 0, 0, 1]
    assert texts(table.texts["job"]) == list(JOBS)


def test_a_table_read_from_a_file_keeps_the_texts_too(tmp_path):
    (tmp_path / "jobs.csv").write_text("job\n" + "\n".join(JOBS) + "\n")
    assert texts(read_table(tmp_path / "jobs.csv", OPEN).texts["job"]) == list(JOBS)


def test_texts_follow_the_rows_of_their_table():
    table = encode_table(OPEN, {"job": JOBS})
    assert texts(table.rows(1, 4).texts["job"]) == ["nurse", "clerk", "king"]
    assert texts(table.take(np.array([3, 0])).texts["job"]) == ["king", "clerk"]
    joined = Table.concatenate([table.rows(5, 7), table.rows(0, 1)])
    assert texts(joined.texts["job"]) == ["nurse", "clerk", "clerk"]
    assert texts(table.project(["job"]).texts["job"]) == list(JOBS)


def test_a_table_without_the_column_has_no_texts_of_it():
    domain = Domain(OPEN.attributes + Domain.coded({"a": 2}).attributes)
    table = encode_table(domain, {"job": ["clerk", "king"], "a": [0, 1]})
    assert table.project(["a"]).texts == {}


def test_tables_that_differ_only_in_texts_have_different_digests():
    one, other = (encode_table(OPEN, {"job": jobs}) for jobs in (["king", "clerk"], ["queen", "clerk"]))
    assert one.column("job").tolist() == other.column("job").tolist()
    assert one.digest() != other.digest()
    assert one.digest() == encode_table(OPEN, {"job": ["king", "clerk"]}).digest()


def test_listed_texts_and_texts_that_are_no_labels_are_not_looked_for():
    column = TextColumn.read("job", [*JOBS, "a\tb", "x" * 200, "absent", "king"])
    found, counts = column.unlisted_texts(OPEN["job"])
    assert found == ["king", "nurse"]
    assert counts.tolist() == [2, 2]


def test_texts_of_rows_that_were_left_out_are_not_looked_for():
    column = TextColumn.read("job", JOBS).take(np.array([0, 1]))
    found, counts = column.unlisted_texts(OPEN["job"])
    assert (found, counts.tolist()) == (["nurse"], [1])


def test_numbers_that_a_category_matches_are_not_looked_for():
    attribute = CategoricalAttribute("size", ("other", 1), other="other", open=True)
    found, _ = TextColumn.read("size", ["1", "1.0", "2"]).unlisted_texts(attribute)
    assert found == ["2"]


@pytest.mark.parametrize("text", ["", "a\nb", "\x1b[31m", "a" * (LONGEST_LABEL + 1), "\u202eevil", "absent"])
def test_texts_that_a_terminal_would_obey_or_that_are_too_long_are_no_labels(text):
    assert not is_label(text)


@pytest.mark.parametrize("text", ["nurse", "Ärztin", "=1+1", "a" * LONGEST_LABEL, "12"])
def test_other_texts_may_become_labels(text):
    assert is_label(text)


def test_chosen_labels_recode_the_rows_and_the_rest_stays_other():
    table = encode_table(OPEN, {"job": JOBS})
    chosen = Coding(labels={"job": ("nurse",)}).table(table)
    assert chosen.domain["job"].categories == ("other", "clerk", "nurse")
    assert not chosen.domain.open
    decoded = chosen.domain["job"].decode(chosen.column("job"), np.random.default_rng(0))
    assert decoded.tolist() == ["clerk", "nurse", "clerk", "other", "other", "nurse", "clerk"]
    assert not chosen.texts


def test_codes_without_their_texts_cannot_be_recoded():
    table = Table.from_codes(OPEN, np.array([[0], [1]]))
    with pytest.raises(DataError, match="texts of its open categories"):
        Coding(labels={"job": ("nurse",)}).table(table)


def test_a_missing_value_keeps_its_category():
    domain = Domain.from_json(
        {"job": {"type": "categorical", "categories": ["", "other"], "other": "other", "open": True}}
    )
    table = encode_table(domain, {"job": ["nurse", None, "king"]})
    chosen = Coding(labels={"job": ("king",)}).table(table)
    assert chosen.column("job").tolist() == [1, 0, 2]
