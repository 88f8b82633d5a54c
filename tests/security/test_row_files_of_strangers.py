"""Files of rows that somebody else wrote: few bytes that stand for far more rows or texts are refused."""

import hashlib
import io
import re
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.common.files.kinds import read_other_file
from dpmosaic.common.files.unpacking import check_arrow, check_parquet
from dpmosaic.curator.results.other_files import read_public

pytestmark = pytest.mark.slow

BLOCK = 1 << 24
LONG = "x" * (1 << 20)
WIDE = 1 << 15
"""Cells of which each is that text."""


def one_text(text=LONG):
    """A column in which every cell is one long text."""
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(np.zeros(WIDE, np.int32)), [text])})


def many_rows(path):
    block = pa.table({"a": np.zeros(BLOCK, np.int64), "b": np.zeros(BLOCK, bool)})
    with pq.ParquetWriter(path, block.schema, compression="zstd") as file:
        for _ in range(5):
            file.write_table(block, row_group_size=BLOCK)


def written_arrow(path, blocks, **options):
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, blocks[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer,
    ):
        for block in blocks:
            writer.write_table(block)


def views_of_one_text():
    # A view: the length, the first four characters, the buffer and the place in it.
    view = np.array([len(LONG), int.from_bytes(LONG[:4].encode(), "little"), 0, 0], np.int32)
    buffers = [None, pa.py_buffer(np.tile(view, WIDE).tobytes()), pa.py_buffer(LONG.encode())]
    return pa.table({"a": pa.Array.from_buffers(pa.string_view(), WIDE, buffers)})


def run_of_one_text():
    return pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([WIDE], pa.int32()), pa.array([LONG]))})


PARQUET = {
    "rows": many_rows,
    "texts": lambda path: pq.write_table(one_text(), path, store_schema=False),
    "categories": lambda path: pq.write_table(one_text(), path),
    "lists": lambda path: pq.write_table(pa.table({"a": [[0] * 1000]}), path),
}
ARROW = {
    "rows": lambda path: written_arrow(
        path, [pa.table({"a": np.zeros(BLOCK, np.int64)})] * 9, compression="zstd"
    ),
    "rows of nothing": lambda path: written_arrow(
        path, [pa.table({"a": pa.Array.from_buffers(pa.null(), 1 << 40, [None])})], allow_64bit=True
    ),
    "texts": lambda path: written_arrow(path, [one_text()]),
    "packed texts": lambda path: written_arrow(path, [one_text("x" * BLOCK)] * 2, compression="lz4"),
    "views": lambda path: written_arrow(path, [views_of_one_text()]),
    "runs": lambda path: written_arrow(path, [run_of_one_text()]),
}


def peak_bytes():
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in one]
    return int(line.split()[1]) << 10


@pytest.fixture
def bounded_memory():
    """Gives what begins to count, after which a test fails that takes more than 400 MiB."""
    before = []

    def begin():
        Path("/proc/self/clear_refs").write_text("5")
        before.append(peak_bytes())

    yield begin
    assert before, "it never began"
    assert peak_bytes() - before[0] < 400 << 20


@pytest.mark.parametrize(
    ("suffix", "read", "most", "write"),
    [
        *(
            pytest.param("parquet", read_public, 1 << 20, PARQUET[one], id=f"parquet {one}")
            for one in PARQUET
        ),
        *(
            pytest.param("feather", read_other_file, 2 << 20, ARROW[one], id=f"feather {one}")
            for one in ARROW
        ),
    ],
)
def test_a_file_that_is_a_bomb_ends_in_one_sentence(tmp_path, bounded_memory, suffix, read, most, write):
    path = tmp_path / f"rows.{suffix}"
    write(path)
    assert path.stat().st_size < most
    bounded_memory()
    with pytest.raises(DataError, match=rf"rows\.{suffix}: expected"):
        read(path)


@pytest.mark.parametrize("bomb", ["rows", "texts"])
def test_a_table_that_is_compared_with_the_real_one_is_no_bomb(tmp_path, bounded_memory, bomb):
    real, domain, path = (tmp_path / name for name in ("real.csv", "domain.json", "rows.parquet"))
    real.write_text("a\n" + "f\nm\n" * 50)
    domain.write_text('{"a": ["f", "m"]}')
    PARQUET[bomb](path)
    bounded_memory()
    arguments = ["evaluate", str(real), str(path), "--domain", str(domain)]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, DataError)
    assert "unpacks to far more bytes" in str(done.exception)


SHARED = (
    b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    b'spreadsheetml.sharedStrings+xml"/></Types>'
)


def with_shared_text(path, text, cells):
    """A file of Excel in which so many cells show one text, which is in it once."""
    book, made = openpyxl.Workbook(), io.BytesIO()
    for cell in ("a", *["m"] * cells):
        book.active.append([cell])
    book.save(made)
    with zipfile.ZipFile(made) as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as shared:
        for name in plain.namelist():
            content = plain.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = re.sub(rb't="inlineStr"><is><t>m</t></is>', b't="s"><v>0</v>', content)
            shared.writestr(name, content.replace(b"</Types>", SHARED))
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        shared.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}"><si><t>{text}</t></si></sst>')


def test_a_text_in_many_cells_of_a_sheet_is_counted_as_often(tmp_path, bounded_memory):
    path = tmp_path / "rows.xlsx"
    with_shared_text(path, "few", 10)
    assert read_other_file(path).rows.to_pydict() == {"a": ["few"] * 10}
    with_shared_text(path, LONG, 5_000)
    assert path.stat().st_size < 1 << 20
    bounded_memory()
    with pytest.raises(DataError, match="unpacks to far more bytes"):
        read_other_file(path)


def with_shared_text_of_stata(path, text, rows):
    """A file of Stata in which so many rows show one text, which is in it once."""
    pd.DataFrame({"a": [text]}).to_stata(path, version=118, convert_strl=["a"], write_index=False)
    whole = path.read_bytes()
    start, end, places = whole.index(b"<data>") + 6, whole.index(b"</data>"), whole.index(b"<map>") + 5
    more = (end - start) * (rows - 1)
    parts = [part + more * (part >= end) for part in struct.unpack_from("<14Q", whole, places)]
    longer = bytearray(whole[:start] + whole[start:end] * rows + whole[end:])
    struct.pack_into("<14Q", longer, places, *parts)
    struct.pack_into("<Q", longer, whole.index(b"<N>") + 3, rows)
    path.write_bytes(longer)


def test_a_text_in_many_rows_of_stata_is_counted_as_often(tmp_path):
    path = tmp_path / "rows.dta"
    with_shared_text_of_stata(path, "few", 5)
    assert read_other_file(path).rows.to_pydict() == {"a": ["few"] * 5}
    with_shared_text_of_stata(path, LONG, 20_000)
    assert path.stat().st_size < 2 << 20
    with pytest.raises(DataError, match="unpacks to far more bytes"):
        read_other_file(path)


@pytest.mark.filterwarnings("ignore::dpmosaic.common.errors.MosaicWarning")
@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("people", [False, True])
def test_a_release_whose_rows_are_a_bomb_ends_in_one_sentence(tmp_path, bounded_memory, kind, people):
    rows = pd.DataFrame({"id": range(600), "sex": ["f", "m"] * 300})
    stays = pd.DataFrame({"id": [*range(600)] * 2, "ward": ["a", "b", "c"] * 400})
    if people:
        tables, options = {"patients": rows, "stays": stays}, {"relations": {"stays": {"id": "patients"}}}
        at, load = f"tables/stays.{kind}", lambda path: dpmosaic.load_people(path).tables
    else:
        tables, options = rows[["sex"]], {"mechanism": "independent"}
        at, load = f"synthetic.{kind}", lambda path: dpmosaic.load(path).table
    dpmosaic.synthesize(tables, epsilon=9.0, ledger=False, **options).save(tmp_path / "whole", kind)
    load(tmp_path / "whole")
    folder = shutil.copytree(tmp_path / "whole", tmp_path / "bomb")
    (PARQUET if kind == "parquet" else ARROW)["rows"](folder / at)
    # Whoever passes it on makes the certificate that names it.
    named = hashlib.sha256((tmp_path / "whole" / at).read_bytes()).hexdigest()
    written = hashlib.sha256((folder / at).read_bytes()).hexdigest()
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text().replace(named, written))
    assert written in (folder / "certificate.json").read_text()
    bounded_memory()
    with pytest.raises(DataError, match="unpacks to far more bytes"):
        load(folder)


def test_a_damaged_file_of_arrow_is_read_or_refused_in_one_sentence(tmp_path):
    rows = pd.DataFrame({"a": ["f", "m", None] * 50, "b": range(150)}).astype({"a": "category"})
    rng = np.random.default_rng(1)
    for options in ({}, {"compression": "zstd"}, {"compression": "lz4"}):
        path = tmp_path / "rows.arrow"
        written_arrow(path, [pa.Table.from_pandas(rows.assign(c=rows["a"].astype(str)))] * 2, **options)
        whole, refused = path.read_bytes(), 0
        for _ in range(400):
            damaged = bytearray(whole)
            for place in rng.integers(0, len(whole), 2):
                damaged[place] = rng.integers(0, 256)
            path.write_bytes(damaged[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.1 else damaged)
            try:
                read_other_file(path)
            except DataError:
                refused += 1
        assert refused > 20


def test_files_as_other_programs_write_them_pass(tmp_path):
    rows = pl.DataFrame(
        {"a": ["x", None, "y"] * 9, "b": range(27), "c": pl.Series(["p", "q", "r"] * 9, dtype=pl.Categorical)}
    )
    for kind in ("uncompressed", "lz4", "zstd"):
        rows.write_ipc(tmp_path / "rows.arrow", compression=kind)
        assert read_other_file(tmp_path / "rows.arrow").rows.num_rows == 27
    feather.write_feather(rows.to_pandas(), str(tmp_path / "rows.feather"))
    check_arrow(tmp_path / "rows.feather")
    assert read_other_file(tmp_path / "rows.feather").rows.column_names == ["a", "b", "c"]
    constant = pd.DataFrame({"a": np.zeros(1 << 22, np.int8), "b": pd.Categorical(["x"] * (1 << 22))})
    constant.to_parquet(tmp_path / "rows.parquet")
    check_parquet(tmp_path / "rows.parquet")
