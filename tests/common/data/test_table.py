import itertools

import numpy as np
import pytest

from dpmosaic.common.data import table as table_module
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, check_rows, decode_table, encode_table
from dpmosaic.common.errors import DataError

DOMAIN = Domain.coded({"a": 2, "b": 300, "c": 70_000, "d": 3})


@pytest.fixture
def codes():
    rng = np.random.default_rng(7)
    return np.column_stack([rng.integers(0, size, 500) for size in DOMAIN.sizes])


@pytest.fixture
def table(codes):
    return Table.from_codes(DOMAIN, codes)


def test_codes_are_held_in_the_smallest_type(table):
    assert [column.dtype for column in table.columns] == [np.uint8, np.uint16, np.uint32, np.uint8]


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65_536, "u2"), (65_537, "u4")]
)
def test_the_last_code_fits_the_type(size, dtype):
    column = Table.from_codes(Domain.coded({"a": size}), np.array([[size - 1]])).column("a")
    assert column.dtype == dtype
    assert column.tolist() == [size - 1]


def test_codes_come_as_a_matrix_or_by_name(table, codes):
    named = Table.from_codes(DOMAIN, {name: codes[:, place] for place, name in enumerate(DOMAIN)})
    assert named.digest() == table.digest()
    assert table.record_count == 500
    assert np.array_equal(table.column("c"), codes[:, 2])


def test_rows_and_projections_are_views(table):
    part = table.rows(10, 20)
    assert part.record_count == 10
    assert all(np.shares_memory(p, c) for p, c in zip(part.columns, table.columns, strict=True))
    projected = table.project(["d", "a"])
    assert projected.domain.names == ("a", "d")
    assert np.shares_memory(projected.column("d"), table.column("d"))


def test_taken_rows_are_in_the_order_asked(table, codes):
    places = np.array([5, 3, 3])
    assert np.array_equal(table.take(places).column("b"), codes[places, 1])


def test_joined_tables_hold_the_rows_of_all_in_order(table):
    joined = Table.concatenate([table.rows(0, 123), table.rows(123, 123), table.rows(123, 500)])
    assert joined.digest() == table.digest()


def test_refuses_to_join_tables_of_different_domains(table):
    with pytest.raises(DataError, match="different domains"):
        Table.concatenate([table, table.project(["a"])])
    with pytest.raises(ValueError, match="at least one table"):
        Table.concatenate([])


@pytest.mark.parametrize("rows_at_once", [1, 7, 500, 2**18])
@pytest.mark.parametrize("clique", [("a",), ("a", "d"), ("d", "a"), ("a", "b", "d"), ("c",), ()])
def test_a_marginal_counts_every_combination(monkeypatch, table, codes, clique, rows_at_once):
    monkeypatch.setattr(table_module, "COUNTED_AT_ONCE", rows_at_once)
    columns = [codes[:, DOMAIN.position(name)].tolist() for name in clique]
    found = [tuple(column[row] for column in columns) for row in range(500)]
    cells = list(itertools.product(*(range(size) for size in DOMAIN.shape(clique))))
    expected = dict.fromkeys(cells, 0)
    for cell in found:
        expected[cell] += 1
    marginal = table.marginal(clique)
    assert marginal.dtype == np.int64
    assert marginal.tolist() == [expected[cell] for cell in cells]


def test_a_table_without_rows_has_empty_marginals(table):
    assert table.rows(0, 0).marginal(("a", "d")).tolist() == [0] * 6


def test_different_tables_have_different_digests(table):
    assert table.rows(0, 499).digest() != table.digest()
    assert table.take(np.arange(499, -1, -1)).digest() != table.digest()
    renamed = Table.from_codes(Domain.coded({"x": 2}), {"x": table.column("a")})
    assert renamed.digest() != table.project(["a"]).digest()


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ({"a": [0, 1], "b": [1]}, "column 'b': its number of rows differs"),
        ({"a": [0, 1]}, "expected a column 'b', found none"),
        ({"a": [0, 2], "b": [0, 0]}, "column 'a', row 2: expected a code from 0 to 1"),
        ({"a": [-1, 0], "b": [0, 0]}, "column 'a', row 1: expected a code from 0 to 1"),
        ({"a": [0.0, 1.0], "b": [0, 0]}, "column 'a': expected integer codes, found float64"),
        (np.zeros((2, 3), dtype=int), r"expected codes of shape \(records, 2\)"),
        (np.zeros(2, dtype=int), r"expected codes of shape \(records, 2\)"),
    ],
)
def test_refuses_codes_that_do_not_fit_the_domain(codes, reason):
    with pytest.raises(DataError, match=reason):
        Table.from_codes(Domain.coded({"a": 2, "b": 2}), codes)


def test_columns_are_checked_however_the_table_is_made():
    domain = Domain.coded({"a": 2})
    with pytest.raises(DataError, match="row 1: expected a code"):
        Table(domain, (np.array([2], dtype=np.uint8),))
    with pytest.raises(DataError, match="expected 1 columns"):
        Table(domain, ())
    with pytest.raises(TypeError, match="expected uint8, found int64"):
        Table(domain, (np.array([1]),))


def test_raw_columns_are_encoded_by_name_and_others_ignored():
    domain = Domain.from_json({"a": ["x", "y"], "b": {"type": "numeric", "min": 0, "max": 9, "bins": 10}})
    table = encode_table(domain, {"other": ["?"], "b": ["9", "3"], "a": np.array(["y", "x"])})
    assert [column.tolist() for column in table.columns] == [[1, 0], [9, 3]]


def test_refuses_to_encode_missing_columns_and_ragged_columns():
    domain = Domain.coded({"a": 2, "b": 2})
    with pytest.raises(DataError, match="expected a column 'b', found none"):
        encode_table(domain, {"a": [1]})
    with pytest.raises(DataError, match="column 'b': its number of rows differs"):
        encode_table(domain, {"a": [1], "b": [1, 0]})


def test_an_empty_table_is_refused_where_the_number_of_rows_is_public():
    check_rows(1)
    with pytest.raises(DataError, match=r"a\.csv has no rows; an empty table has nothing to release"):
        check_rows(encode_table(Domain.coded({"a": 2}), {"a": []}).record_count, "a.csv")


def test_decoding_gives_raw_columns_that_encode_to_the_table():
    domain = Domain.from_json(
        {"a": ["x", ""], "b": {"type": "numeric", "min": 0, "max": 1.5, "bins": 4, "nullable": True}, "c": 3}
    )
    rng = np.random.default_rng(3)
    table = Table.from_codes(domain, np.column_stack([rng.integers(0, size, 100) for size in domain.sizes]))
    columns = decode_table(table, rng)
    assert list(columns) == ["a", "b", "c"]
    assert encode_table(domain, columns).digest() == table.digest()
