"""Rows of people in DuckDB against the same rows read into memory: the same codes, order and identifiers."""

import contextlib
import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.protocols.alignment.plan import FIRST
from dpmosaic.party.accounts.rows import Placement
from dpmosaic.party.counting import placed
from dpmosaic.party.counting.engines import duck
from dpmosaic.party.counting.people import People
from dpmosaic.party.institution.held import place_rows as at_positions
from dpmosaic.party.institution.held import unlisted_texts
from dpmosaic.party.institution.records import read_records, records_of
from dpmosaic.party.sources.source import FileSource

DOMAIN = Domain.from_json(
    {
        "a": 3,
        "job": {"type": "categorical", "categories": ["none", "other"], "other": "other", "open": True},
        "b": 300,
    }
)
LABELS = Coding({}, {"job": ("baker", "Ärztin")})
JOBS = ("none", "baker", "Ärztin", "absent", "a name of somebody")
CLIQUES = ((), ("a",), ("b", "job"), ("job", "a"), ("a", "job", "b"))
TIMEOUT_S = 60.0

keys = st.sampled_from(["p", "q", "é", "P", " p", "p'", "10", "010"])
rows = st.lists(
    st.tuples(
        keys | st.just(""),
        st.integers(0, 2),
        st.sampled_from(JOBS),
        st.integers(0, 299),
        st.sampled_from(["", "x", "X"]),
    ),
    min_size=1,
    max_size=12,
)


def written(folder, held):
    path = folder / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("key", "a", "job", "b", "other_id"), *held])
    return FileSource(path)


@contextlib.contextmanager
def in_engine(source, people, folder):
    """The rows, order and identifiers of a party whose rows DuckDB holds."""
    rows, order, identifiers = records_of(source, DOMAIN, people, TIMEOUT_S, folder)
    try:
        yield rows, order, identifiers
    finally:
        rows.close()


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch):
    monkeypatch.setattr(duck, "_ROWS", 5)
    monkeypatch.setattr(placed, "_POSITIONS_AT_ONCE", 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("people")


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(rows.filter(lambda held: all(row[0] for row in held)), st.integers(1, 3))
def test_rows_with_a_key_are_those_in_memory(folder, held, most):
    source, people = written(folder, held), People("key", most)
    table, order, _ = read_records(source, DOMAIN, people)
    with in_engine(source, people, folder) as (rows, same, identifiers):
        assert (rows.record_count, same, identifiers.names) == (table.record_count, order, ())
        for clique in CLIQUES:
            assert rows.marginal(clique).tolist() == table.marginal(clique).tolist()
            ours, theirs = (one.cell_codes(clique, 0, table.record_count) for one in (rows, table))
            assert ours.tolist() == theirs.tolist()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(rows, st.sampled_from([None, "key"]))
def test_rows_with_identifiers_have_the_digest_and_the_texts_of_those_in_memory(folder, held, key):
    source, people = written(folder, held), People(key, 1, {"national_id": "key", "code": "other_id"})
    table, _, named = read_records(source, DOMAIN, people)
    match = (("national_id:exact",), ("code:text",))
    with in_engine(source, people, folder) as (rows, order, identifiers):
        assert order is None
        assert rows.digest() == table.digest()
        assert identifiers.digest(rows.digest()) == named.digest(table.digest())
        ours, theirs = (one.match_texts(match, FIRST) for one in (identifiers, named))
        assert ours.rows.tolist() == theirs.rows.tolist()
        assert [list(texts) for texts in ours] == [list(texts) for texts in theirs]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(rows, st.data(), st.booleans(), st.booleans())
def test_rows_at_positions_are_those_in_memory(folder, held, data, absent, chosen):
    source, people = written(folder, held), People(None, 1, {"national_id": "key"})
    table, _, _ = read_records(source, DOMAIN, people)
    size = data.draw(st.integers(len(held), 30))
    order = data.draw(st.permutations(range(size)))
    used = data.draw(st.lists(st.booleans(), min_size=len(held), max_size=len(held)))
    positions = np.where(used, np.array(order[: len(held)]), -1).astype(np.int32)
    with in_engine(source, people, folder) as (rows, _, _):
        theirs, ours = (LABELS.table(table), rows.with_coding(LABELS)) if chosen else (table, rows)
        domain = theirs.domain.with_absent() if absent else theirs.domain
        placement = Placement(size, (), positions)
        one, other = (at_positions(held, "id", placement, domain, absent) for held in (ours, theirs))
        start = data.draw(st.integers(0, size))
        for clique in CLIQUES:
            groups = tuple(tuple(code % 2 for code in range(domain[name].size)) for name in clique)
            for grouped in ((), () if absent else groups):
                asked = (clique, start, data.draw(st.integers(start, size)), grouped)
                assert one.cell_codes(*asked).tolist() == other.cell_codes(*asked).tolist()
                assert one.marginal(clique, grouped).tolist() == other.marginal(clique, grouped).tolist()
        if not chosen:
            for which in (None, positions >= 0):
                found, expected = (unlisted_texts(held, "job", which) for held in (rows, table))
                assert found[0] == expected[0]
                assert found[1].tolist() == expected[1].tolist()


def test_a_row_without_a_key_is_refused_without_showing_others(tmp_path):
    source = written(tmp_path, [("p", 0, "none", 1, ""), ("", 0, "none", 1, "")])
    with pytest.raises(DataError, match="expected a key in every row") as refusal:
        records_of(source, DOMAIN, People("key"), TIMEOUT_S, tmp_path)
    assert not any(character.isdigit() for character in str(refusal.value))


@pytest.mark.slow
def test_releases_share_the_rows_at_positions_which_go_with_the_last_of_them(tmp_path):
    spools = tmp_path / "spools"
    spools.mkdir()
    source = written(tmp_path, [("p", 0, "none", 1, ""), ("q", 2, "none", 299, "")])
    placement = Placement(9, (), np.array([8, 3], dtype=np.int32))
    with in_engine(source, People(None, 1, {"national_id": "key"}), spools) as (rows, _, _):
        releases = [at_positions(rows, "id", placement, DOMAIN, False) for _ in range(2)]
        for release in releases:
            assert release.cell_codes(("b",), 0, 9).tolist() == [-1, -1, -1, 299, -1, -1, -1, -1, 1]
        assert len(list(spools.rglob("*.parquet"))) == 3
        releases.clear()
        del release
        assert list(spools.rglob("*.parquet")) == []
    assert list(spools.iterdir()) == []
