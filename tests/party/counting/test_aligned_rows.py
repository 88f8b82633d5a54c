"""Releases over aligned parties whose rows DuckDB holds: byte for byte those over rows in memory."""

from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.counting import spool
from dpmosaic.party.counting.people import People as Columns
from dpmosaic.party.institution.records import records_of
from dpmosaic.party.sources.source import FileSource
from support.aligned import AlignedRelease, People
from support.terms import id_of

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4})
GRID = ["ab c", "abc"]
QUERIES = [Query(View(clique), 50.0, "pairs") for clique in (("a",), ("b", "c"), ("a", "b"), ("a", "b", "c"))]


@pytest.fixture
def in_engine(tmp_path):
    """Makes people whose rows are in DuckDB; closes them at the end."""
    opened = []

    class Held(People):
        def party_table(self, number, place):
            table = super().party_table(number, place)
            path = tmp_path / f"{len(opened)}.parquet"
            with duckdb.connect() as connection:
                columns = {name: table.column(name) for name in table.domain}
                connection.register("codes", columns | {"id": np.arange(table.record_count)})
                connection.execute(f"COPY (SELECT * FROM codes) TO '{path}'")
            people = Columns(None, 1, {"national_id": "id"})
            rows, _, _ = records_of(FileSource(path), table.domain, people, 60.0, tmp_path)
            opened.append(rows)
            return rows

    yield Held
    for rows in opened:
        rows.close()


@pytest.mark.slow
@pytest.mark.parametrize("population", list(Population))
def test_a_release_is_the_same_as_over_rows_in_memory(in_engine, population):
    ours, theirs = (
        AlignedRelease(people(DOMAIN, GRID), population).measurer().measure(QUERIES)
        for people in (in_engine, People)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one.values.tolist() == other.values.tolist()


@pytest.mark.slow
def test_codes_beyond_the_disk_are_refused_with_what_is_needed_before_anything_is_reserved(
    in_engine, monkeypatch
):
    monkeypatch.setattr(spool, "_COLUMN_BYTES", 1 << 20)
    release = AlignedRelease(in_engine(DOMAIN, GRID), granted=Fraction(1, 10), max_disk_mb=6)
    north, ledger = release.links[0][0].party, release.ledgers[0]
    before = ledger.total_reserved()
    terms = encode_terms(replace(release.terms, release_id=id_of("x")))
    with pytest.raises(PolicyError, match=r"need up to 7 MiB .* max_disk_mb of its policy allows 6"):
        north.accept(terms)
    assert ledger.total_reserved() == before
    # A preflight is told the same.
    assert any("need up to 7 MiB" in str(refusal) for refusal in north.review(terms).refusals)
    # The second slice has one party, which opens nothing, but its rows are at positions as well.
    with pytest.raises(PolicyError, match="need up to 10 MiB"):
        release.links[1][0].party.accept(terms)
