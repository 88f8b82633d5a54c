import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.parties.partition import Grid, SliceLayout, partition

DOMAIN = Domain.coded({"a": 9, "b": 300, "c": 2})


@st.composite
def tables(draw):
    domain = Domain.coded({f"x{place}": 50 for place in range(draw(st.integers(1, 6)))})
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Table.from_codes(domain, rng.integers(0, 50, (draw(st.integers(1, 30)), len(domain))))


@st.composite
def tables_and_counts(draw):
    """A table, K and S that fit it."""
    table = draw(tables())
    counts = draw(st.integers(1, table.record_count)), draw(st.integers(1, len(table.domain)))
    return table, *counts


def table_of(records):
    return Table.from_codes(DOMAIN, np.column_stack([np.arange(records) % size for size in DOMAIN.sizes]))


def together(domain, pieces):
    """Reassembles a table from its pieces by their column names."""
    slices = []
    for row in pieces:
        columns = [(name, piece.column(name)) for piece in row for name in piece.domain]
        assert sorted(name for name, _ in columns) == sorted(domain.names)
        slices.append(Table.from_codes(domain, dict(columns)))
    return Table.concatenate(slices)


def rows_of(table):
    return sorted(zip(*(column.tolist() for column in table.columns), strict=True))


@pytest.mark.slow
@settings(deadline=None)
@given(tables_and_counts())
def test_even_parts_make_up_the_table_and_differ_in_size_by_at_most_one(drawn):
    table, horizontal, vertical = drawn
    grid = Grid.even(table.domain, table.record_count, horizontal, vertical)
    pieces = partition(table, grid)
    assert together(table.domain, pieces).digest() == table.digest()
    assert [len(row) for row in pieces] == [vertical] * horizontal
    records = [row[0].record_count for row in pieces]
    widths = [len(piece.domain) for piece in pieces[0]]
    assert max(records) - min(records) <= 1
    assert max(widths) - min(widths) <= 1


@pytest.mark.slow
@settings(deadline=None)
@given(tables_and_counts(), st.integers(0, 2**32))
def test_random_parts_make_up_the_rows_of_the_table(drawn, seed):
    table, horizontal, vertical = drawn
    grid = Grid.random(table.domain, table.record_count, horizontal, vertical, seed)
    pieces = partition(table, grid)
    assert rows_of(together(table.domain, pieces)) == rows_of(table)
    assert [len(row) for row in pieces] == [vertical] * horizontal
    assert max(layout.rows for layout in grid.slices) - min(layout.rows for layout in grid.slices) <= 1


@pytest.mark.slow
@settings(deadline=None)
@given(tables(), st.data())
def test_parts_by_attributes_make_up_the_table(table, data):
    names = data.draw(st.permutations(table.domain.names))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(names) - 1)))) if len(names) > 1 else []
    groups = [names[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(names)], strict=True)]
    horizontal = data.draw(st.integers(1, table.record_count))
    pieces = partition(table, Grid.by_attributes(table.domain, table.record_count, horizontal, groups))
    assert together(table.domain, pieces).digest() == table.digest()
    for row in pieces:
        assert [piece.domain.names for piece in row] == [table.domain.canonical(group) for group in groups]


def test_two_by_three_is_even():
    assert Grid.parse(" 2x3 ", DOMAIN, 5) == Grid.even(DOMAIN, 5, 2, 3)
    assert Grid.parse("2 X 3", DOMAIN, 5).slices == (
        SliceLayout(3, (("a",), ("b",), ("c",))),
        SliceLayout(2, (("a",), ("b",), ("c",))),
    )


def test_even_keeps_neighbours_together():
    pieces = partition(table_of(4), Grid.even(DOMAIN, 4, 2, 2))
    assert [[piece.domain.names for piece in row] for row in pieces] == [[("a", "b"), ("c",)]] * 2
    assert [row[0].column("a").tolist() for row in pieces] == [[0, 1], [2, 3]]


def test_a_random_grid_depends_on_its_seed_and_differs_between_slices():
    domain = Domain.coded({f"x{place}": 2 for place in range(12)})
    grid = Grid.random(domain, 40, 4, 3, seed=8)
    assert grid == Grid.random(domain, 40, 4, 3, seed=8)
    assert grid != Grid.random(domain, 40, 4, 3, seed=9)
    assert len({layout.groups for layout in grid.slices}) == 4


def test_a_random_grid_shuffles_the_rows():
    domain = Domain.coded({"a": 1_000})
    table = Table.from_codes(domain, np.arange(1_000)[:, None])
    ((first,), _) = partition(table, Grid.random(domain, 1_000, 2, 1, seed=8))
    # The number of the first 500 rows in the first of two slices has deviation 8.
    assert 170 < np.count_nonzero(first.column("a") < 500) < 330


@pytest.fixture
def file(tmp_path):
    """Writes a grid file and gives its path."""

    def write(text):
        path = tmp_path / "grid.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return str(path)

    return write


def test_reads_a_ragged_grid_from_a_file(file):
    grid = Grid.parse(
        file([{"rows": 2, "groups": [["c", "a"], ["b"]]}, {"rows": 5, "groups": [["a", "b", "c"]]}]),
        DOMAIN,
        7,
    )
    assert grid.slices == (SliceLayout(2, (("a", "c"), ("b",))), SliceLayout(5, (("a", "b", "c"),)))
    table = table_of(7)
    pieces = partition(table, grid)
    assert [len(row) for row in pieces] == [2, 1]
    assert together(DOMAIN, pieces).digest() == table.digest()


@pytest.mark.parametrize("text", ["", "2", "2x", "x3", "2x3x1", "-1x2", "two by three", "missing.json", "\0"])
def test_refuses_text_that_is_not_a_grid_and_names_both_forms(text):
    with pytest.raises(DataError, match=r"expected KxS such as 2x2, or a JSON file"):
        Grid.parse(text, DOMAIN, 5)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "7",
        "null",
        '["rows"]',
        [{"rows": 5}],
        [{"groups": [["a"]]}],
        [{"rows": 7, "groups": ["a", "b", "c"]}],
        [{"rows": "many", "groups": []}],
        [{"rows": None, "groups": []}],
        [{"rows": 4.5, "groups": []}],
        '[{"rows": 1e999, "groups": []}]',
        [{"rows": 5, "groups": None}],
        [{"rows": 5, "groups": [[["a"]]]}],
    ],
)
def test_refuses_a_file_that_is_not_a_grid_and_names_both_forms(file, content):
    with pytest.raises(DataError, match=r"expected KxS such as 2x2, or a JSON file"):
        Grid.parse(file(content), DOMAIN, 5)


def test_refuses_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "grid.json"
    path.write_bytes(b'[{"rows": 5, "groups": [["\xe9"]]}]')
    with pytest.raises(DataError, match="expected KxS"):
        Grid.parse(str(path), DOMAIN, 5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0x2", "expected at least 1 x 1 parties, got 0 x 2"),
        ("2x0", "expected 1 to 3 parties in a slice, .* got 0"),
        ("2x4", "expected 1 to 3 parties in a slice, .* got 4"),
        ("2x99999999999999999999", "expected 1 to 3 parties in a slice"),
        ("6x2", "at most one slice per record, got 6 slices"),
        ("99999999999999999999x2", "at most one slice per record"),
    ],
)
def test_refuses_a_grid_that_the_table_is_too_small_for(text, reason):
    with pytest.raises(DataError, match=reason):
        Grid.parse(text, DOMAIN, 5)


@pytest.mark.parametrize("make", [Grid.even, lambda *counts: Grid.random(*counts, seed=1)])
def test_even_and_random_grids_refuse_the_same_as_the_command_line(make):
    with pytest.raises(DataError, match="parties in a slice"):
        make(DOMAIN, 5, 2, 4)
    with pytest.raises(DataError, match="one slice per record"):
        make(DOMAIN, 5, 6, 3)


@pytest.mark.parametrize(
    ("horizontal", "groups", "reason"),
    [
        (0, [["a", "b", "c"]], "got 0 x 1"),
        (2, [], "got 2 x 0"),
        (6, [["a", "b", "c"]], "at most one slice per record"),
        (1, [["a", "b"], ["z"]], "unknown attribute 'z'"),
        (1, [["a", "a"], ["b", "c"]], "attributes named twice: a"),
    ],
)
def test_refuses_groups_that_are_not_a_grid(horizontal, groups, reason):
    with pytest.raises(DataError, match=reason):
        Grid.by_attributes(DOMAIN, 5, horizontal, groups)


def test_refuses_a_file_with_an_unknown_attribute_by_name(file):
    with pytest.raises(DataError, match="unknown attribute 'z'"):
        Grid.parse(file([{"rows": 5, "groups": [["a", "b", "c", "z"]]}]), DOMAIN, 5)


WHOLE = (("a",), ("b", "c"))


@pytest.mark.parametrize(
    ("layouts", "reason"),
    [
        ([], "do not add up"),
        ([(4, WHOLE)], "do not add up"),
        ([(4, WHOLE), (2, WHOLE)], "do not add up"),
        ([(5, WHOLE), (0, WHOLE)], "slice 2 or one of its parties is empty"),
        ([(7, WHOLE), (-2, WHOLE)], "slice 2 or one of its parties is empty"),
        ([(3, WHOLE), (2, (("a", "b", "c"), ()))], "slice 2 or one of its parties is empty"),
        ([(3, WHOLE), (2, (("a", "b"), ("b", "c")))], "slice 2 do not cover every attribute exactly once"),
        ([(3, WHOLE), (2, (("a",), ("c",)))], "slice 2 do not cover every attribute exactly once"),
        ([(3, WHOLE), (2, ())], "slice 2 do not cover every attribute exactly once"),
        ([(3, (*WHOLE, ("z",))), (2, WHOLE)], "slice 1 do not cover every attribute exactly once"),
    ],
)
def test_refuses_a_grid_that_does_not_fit_the_table(layouts, reason):
    grid = Grid(tuple(SliceLayout(rows, groups) for rows, groups in layouts))
    with pytest.raises(DataError, match=reason):
        partition(table_of(5), grid)


def test_refuses_a_grid_that_divides_columns_of_which_one_comes_after_the_other():
    first = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12}
    second = {"type": "date", "after": {"first": {"min": 0, "max": 9, "bins": 10}}}
    domain = Domain.from_json({"sex": ["f", "m"], "first": first, "second": second})
    with pytest.raises(DataError, match="'second' comes after 'first', which its party of slice 1 does not"):
        Grid.parse("1x3", domain, 10)
    assert Grid.parse("2x1", domain, 10).slices[0].groups == (domain.names,)
