"""Rows of one person beyond the bound are left out, and parties with the same keys have the same digest."""

import contextlib

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS
from dpmosaic.party.counting.engines.duck import DuckEngine
from dpmosaic.party.counting.identifiers import order_digest
from dpmosaic.party.counting.people import People, rows_left_out
from dpmosaic.party.institution.records import read_records, records_of
from dpmosaic.party.sources.query import QuerySource
from dpmosaic.party.sources.source import FileSource
from dpmosaic.simulations.parties.people import read_people

LAB, CLINIC = Domain.coded({"a": 9}), Domain.coded({"b": 9})
PEOPLE = ("p", "q", "p", "r", "p", "q")


def file_of(folder, name, column, keys=PEOPLE):
    path = folder / f"{name}.csv"
    lines = [f"{key},{number}" for number, key in enumerate(keys)]
    path.write_text("\n".join([f"id,{column}", *lines]) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("most", "kept"), [(1, [0, 1, 3]), (2, [0, 1, 2, 3, 5]), (3, [0, 1, 2, 3, 4, 5])])
def test_all_parties_of_a_slice_leave_out_the_same_rows(tmp_path, most, kept):
    lab, order, _ = read_records(FileSource(file_of(tmp_path, "lab", "a")), LAB, People("id", most, {}))
    file_of(tmp_path, "clinic", "b")
    ordered = QuerySource("SELECT * FROM 'clinic.csv' ORDER BY b", tmp_path)
    clinic, same, _ = read_records(ordered, CLINIC, People("id", most, {}))
    assert lab.column("a").tolist() == clinic.column("b").tolist() == kept
    assert order == same


@pytest.mark.slow
@pytest.mark.parametrize("padded", ["p ", "  p", " p  "])
def test_blanks_around_a_key_name_nobody_else(tmp_path, padded):
    file = FileSource(file_of(tmp_path, "lab", "a", ("p", padded, "q", f"{padded} ", "q")))
    table, order, _ = read_records(file, LAB, People("id", 1))
    engine, same, _ = records_of(file, LAB, People("id", 1), 9, tmp_path)
    everybody, all_keys, _ = records_of(file, LAB, People("id", ALL_ROWS), 9, tmp_path)
    assert table.record_count == engine.record_count == everybody.record_count == 2
    assert order == same == all_keys == order_digest(["p", "q"])
    assert read_people(file, LAB, "id")[1] == ["p", "p", "q", "p", "q"]
    with contextlib.closing(DuckEngine(file)) as rows:
        assert rows_left_out(rows, People("id", 1)) == (3, 5)


@pytest.mark.slow
def test_of_people_with_all_rows_order_and_identifiers_are_those_of_people(tmp_path):
    people = People("id", ALL_ROWS, {"key": "id"})
    rows, order, identifiers = records_of(FileSource(file_of(tmp_path, "lab", "a")), LAB, people, 9, tmp_path)
    assert rows.record_count == 3
    assert rows.person.tolist() == [0, 0, 0, 1, 1, 2]
    assert rows.table.column("a").tolist() == [0, 2, 4, 1, 5, 3]
    assert np.bincount(rows.person, rows.weights).tolist() == [WEIGHT_PARTS] * 3
    assert (order, identifiers.columns) == (None, {"key": ["p", "q", "r"]})
    people = People("id", ALL_ROWS, {"number": "a"})
    _, _, identifiers = records_of(FileSource(tmp_path / "lab.csv"), LAB, people, 9, tmp_path)
    assert identifiers.columns == {"number": ["0", "1", "3"]}
    people = People("id", ALL_ROWS, {})
    _, order, _ = records_of(FileSource(tmp_path / "lab.csv"), LAB, people, 9, tmp_path)
    assert order == order_digest(["p", "q", "r"])


def test_a_row_without_a_person_is_refused_if_all_rows_count(tmp_path):
    path = file_of(tmp_path, "lab", "a", (*PEOPLE, ""))
    with pytest.raises(DataError, match="expected a key in every row"):
        records_of(FileSource(path), LAB, People("id", ALL_ROWS, {"key": "id"}), 9, tmp_path)


def test_another_order_another_key_and_another_cut_of_the_keys_have_other_digests():
    digests = {order_digest(keys) for keys in (["p", "q"], ["q", "p"], ["pq"], ["p", "q", ""], ["p"], [])}
    assert len(digests) == 6


def test_a_row_without_a_key_is_refused_without_showing_others(tmp_path):
    path = file_of(tmp_path, "lab", "a", (*PEOPLE, ""))
    with pytest.raises(DataError, match="expected a key in every row") as refusal:
        read_records(FileSource(path), LAB, People("id", 1, {}))
    assert not any(character.isdigit() for character in str(refusal.value))


def test_rows_that_are_aligned_may_lack_what_names_their_person(tmp_path):
    path = file_of(tmp_path, "lab", "a", ("p", "", "q", "", "p"))
    table, order, identifiers = read_records(
        FileSource(path), LAB, People("id", 1, {"key": "id", "code": "a"})
    )
    assert table.column("a").tolist() == [0, 1, 2, 3]
    assert identifiers.columns == {"key": ["p", "", "q", ""], "code": ["0", "1", "2", "3"]}
    assert order is None


def test_identifiers_need_no_key(tmp_path):
    path = file_of(tmp_path, "lab", "a", ("p", "", "p"))
    table, order, identifiers = read_records(FileSource(path), LAB, People(None, 1, {"national_id": "id"}))
    assert (table.record_count, order, identifiers.columns) == (3, None, {"national_id": ["p", "", "p"]})


def test_rows_without_key_and_identifiers_are_all_used(tmp_path):
    table, order, identifiers = read_records(
        FileSource(file_of(tmp_path, "lab", "a")), LAB, People(None, 1, {})
    )
    assert (table.record_count, order, identifiers.names) == (6, None, ())
