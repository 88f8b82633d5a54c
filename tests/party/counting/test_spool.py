"""Codes of rows on disk, in ranges of a few rows, against the same rows in memory."""

import gc
import stat

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, code_dtype
from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.private_folders import empty
from dpmosaic.party.counting.codes import Codes
from dpmosaic.party.counting.engines.duck import DuckEngine
from dpmosaic.party.counting.placed import PlacedSpool, placed_bytes
from dpmosaic.party.counting.rows import CountedRows
from dpmosaic.party.counting.spool import Spool, spool_bytes, spooled_rows
from dpmosaic.party.sources.source import FileSource

DOMAIN = Domain.coded({"a": 3, "b": 300})


def table(rows):
    rng = np.random.default_rng(rows)
    return Table.from_codes(DOMAIN, {name: rng.integers(0, DOMAIN[name].size, rows) for name in DOMAIN})


def ranges(rows, sizes):
    """The columns of a table, cut into ranges of these sizes."""
    start = 0
    for size in sizes:
        part = rows.rows(start, start + size)
        yield {"k0": part.columns[0], "k1": part.columns[1]}
        start += size


def files(folder):
    return sorted(folder.rglob("*.parquet"))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 20), st.integers(0, 20))
def test_rows_are_the_same_whatever_ranges_they_are_cut_in(tmp_path_factory, sizes, start, more):
    held = table(sum(sizes))
    spool = Spool(tmp_path_factory.mktemp("spool"), DOMAIN, ranges(held, sizes))
    rows = spooled_rows(spool, DOMAIN.names, None)
    asked = (("b", "a"), min(start, held.record_count), start + more, ())
    assert rows.cell_codes(*asked).tolist() == held.cell_codes(*asked).tolist()


def test_only_the_owner_can_read_the_files(tmp_path):
    spool = Spool(tmp_path, DOMAIN, ranges(table(6), [3, 3]))
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in files(tmp_path)] == [0o600, 0o600]
    assert spool.starts == [0, 3, 6]


@pytest.mark.slow
def test_few_ranges_are_in_memory(tmp_path):
    rows = spooled_rows(Spool(tmp_path, DOMAIN, ranges(table(50), [5] * 10)), DOMAIN.names, None)
    for start in range(0, 50, 4):
        rows.cell_codes(("a",), start, start + 4, ())
    assert len(rows._ranges) == 2


def test_codes_that_cannot_be_written_are_refused_and_deleted(tmp_path):
    def failing():
        yield from ranges(table(3), [3])
        raise duckdb.IOException("of the disk, with its secrets")

    with pytest.raises(DataError, match="expected codes of rows that can be written") as refused:
        Spool(tmp_path, DOMAIN, failing())
    assert "secrets" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_is_refused(tmp_path):
    rows = spooled_rows(Spool(tmp_path, DOMAIN, ranges(table(3), [3])), DOMAIN.names, None)
    files(tmp_path)[0].unlink()
    with pytest.raises(DataError, match="leave the party's temporary files alone"):
        rows.cell_codes(("a",), 0, 2, ())


def test_a_new_party_deletes_what_a_killed_one_left(tmp_path):
    folder = tmp_path / "codes"
    empty(folder)
    (folder / "dpmosaic-rows-left").mkdir()
    (folder / "dpmosaic-rows-left" / "000000.parquet").write_bytes(b"codes")
    folder.chmod(0o755)
    (folder / "of somebody else").touch()
    empty(folder)
    assert [path.name for path in folder.iterdir()] == ["of somebody else"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_a_living_process_holds_is_not_deleted(tmp_path):
    spool = Spool(tmp_path, DOMAIN, ranges(table(6), [3, 3]))
    empty(tmp_path)
    assert spool.table(1, ["a"]).record_count == 3


@pytest.mark.slow
def test_releases_share_one_spool_which_goes_with_the_last_of_them(tmp_path, monkeypatch):
    held, written, spooled = table(40), [], Codes.spool
    monkeypatch.setattr(Codes, "spool", lambda *asked: written.append(1) or spooled(*asked))
    with duckdb.connect() as connection:
        connection.register("codes", dict(zip(DOMAIN.names, held.columns, strict=True)))
        connection.execute(f"COPY (SELECT * FROM codes) TO '{tmp_path / 'held.parquet'}'")
    spools = tmp_path / "rows"
    empty(spools)
    source = FileSource(tmp_path / "held.parquet")
    rows = CountedRows.from_engine(lambda: DuckEngine(source), DOMAIN, 60.0, spools)
    releases = [rows.with_check(lambda: None), rows.with_check(lambda: None)]
    assert files(spools) == []
    for release in releases:
        assert release.cell_codes(("b",), 30, 50).tolist() == held.column("b")[30:].tolist()
    assert (len(files(spools)), written) == (1, [1])
    releases.pop()
    del release
    gc.collect()
    assert len(files(spools)) == 1
    releases.pop()
    gc.collect()
    assert files(spools) == []
    rows.close()


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [{"a": 2}, {"a": 256, "b": 70_000, "c": 300}])
def test_codes_take_no_more_room_than_is_reserved_for_them(tmp_path, sizes):
    domain, rows = Domain.coded(sizes), 200_000
    rng = np.random.default_rng(1)
    columns = {
        f"k{place}": rng.integers(0, one.size, rows).astype(code_dtype(one.size))
        for place, one in enumerate(domain.attributes)
    }
    halves = [{name: codes[at] for name, codes in columns.items()} for at in (slice(0, 10), slice(10, None))]
    order = rng.permutation(rows).astype(np.int32)
    spool = Spool(tmp_path, domain, halves)
    at_positions = PlacedSpool(tmp_path, domain, halves, lambda start, stop: order[start:stop], rows)
    sizes = [sum(path.stat().st_size for path in one._folder.path.iterdir()) for one in (spool, at_positions)]
    assert rows * len(domain) / 8 < sizes[0] < spool_bytes(domain, rows)
    assert sizes[0] < sizes[1] < placed_bytes(domain, rows)
