import numpy as np
import pandas as pd
import pytest

from dpmosaic.curator.results.csv_files import cells, header, join_cells, write_csv


def write(path, *blocks):
    """Writes blocks of rows of data frames."""

    def lines(block):
        return join_cells([cells(block[name].to_numpy()) for name in block], alone=len(block.columns) == 1)

    write_csv(path, header([*blocks[0]]), map(lines, blocks))


def columns(rng):
    bits = rng.integers(0, 2**63, 2000).view(np.float64)
    finite = bits[np.isfinite(bits)]
    texts = np.array(['say "hi"', "a,b", "a\nb", "plain", "", None, "NA"], dtype=object)
    return {
        "float": finite[:1000],
        "Float": np.round(rng.normal(size=1000) * 100, 2),
        "missing": np.where(rng.random(1000) < 0.5, np.nan, rng.random(1000)),
        "whole": rng.integers(-(2**62), 2**62, 1000),
        "boolean": rng.random(1000) < 0.5,
        "a,b": texts[rng.integers(0, len(texts), 1000)],
        "mixed": np.array([1, 2.5, True, "x", None] * 200, dtype=object),
        "": np.arange(1000.0),
    }


@pytest.mark.parametrize("rows", [1, 1000])
def test_writes_every_kind_of_column_as_pandas_does(tmp_path, rows):
    table = pd.DataFrame(columns(np.random.default_rng(1))).iloc[:rows]
    write(tmp_path / "table.csv", table)
    assert (tmp_path / "table.csv").read_bytes() == table.to_csv(index=False).encode("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def decimals(rng):
    steps = rng.integers(-(2**16), 2**16, 5000)
    return {
        "tenths": steps / 10,
        "positive": np.abs(steps) / 1e5,
        "missing": np.where(rng.random(5000) < 0.1, np.nan, steps / 1e3),
        "none": np.full(5000, np.nan),
        "whole": np.abs(steps) * 1.0,
        "too far": steps * 10.0 + 0.5,
        "at last another": np.append(np.abs(steps[1:]) / 100, 1 / 3),
        "minus zero": np.where(steps == steps[0], -0.0, steps / 100),
        "infinite": np.append(steps[1:] / 10, np.inf),
    }


@pytest.mark.parametrize("name", [*decimals(np.random.default_rng(0))])
def test_writes_numbers_of_few_places_as_python_does(tmp_path, name):
    numbers = decimals(np.random.default_rng(2))[name]
    write(tmp_path / "table.csv", pd.DataFrame({name: numbers, "other": numbers}))
    lines = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()[1:]
    texts = ["" if np.isnan(number) else repr(number) for number in numbers.tolist()]
    assert lines == [f"{text},{text}" for text in texts]


def test_keeps_the_order_of_many_rows(tmp_path):
    table = pd.DataFrame({"number": np.arange(500_000)})
    write(
        tmp_path / "table.csv", *(table.iloc[first : first + 90_000] for first in range(0, 500_000, 90_000))
    )
    assert pd.read_csv(tmp_path / "table.csv")["number"].tolist() == list(range(500_000))


@pytest.mark.parametrize("cells", [[1.5, np.nan, 2.0], ["red", None, "blue"], ["red", "", 'a "b"']])
def test_a_missing_cell_of_a_single_column_is_no_empty_line(tmp_path, cells):
    table = pd.DataFrame({"cell": pd.Series(cells, dtype=float if 2.0 in cells else object)})
    write(tmp_path / "table.csv", table)
    assert (tmp_path / "table.csv").read_bytes() == table.to_csv(index=False).encode("utf-8")
    assert pd.read_csv(tmp_path / "table.csv")["cell"].isna().sum() == 1


@pytest.mark.parametrize("other", ["two", None])
@pytest.mark.parametrize(
    "mark", [",", '"', "\n", "\r", "\r\n", "\x0b", "\x1c", "\x85", "\u2028", "'", " ", ""]
)
def test_a_name_comes_back_whatever_stands_in_it(tmp_path, mark, other):
    names = [f"one{mark}", *filter(None, [other])]
    write(tmp_path / "table.csv", pd.DataFrame([["a"] * len(names)], columns=names))
    read = pd.read_csv(tmp_path / "table.csv", dtype=str)
    assert [*read.columns] == names
    assert read.iloc[0].tolist() == ["a"] * len(names)
