"""Answers of parties whose rows an engine counts, and what is charged when it fails."""

import threading
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.counting.engines.duck import DuckEngine
from dpmosaic.party.counting.engines.engine import Lost
from dpmosaic.party.counting.rows import CountedRows
from dpmosaic.party.sources.source import FileSource
from support.grids import EXACT, release
from support.lone_party import DOMAIN, QUERY, asked, started
from support.parties import random_table
from support.terms import RELEASE_ID, terms_for

pytestmark = pytest.mark.slow

SMALL = Fraction(1, 100)
TABLE = random_table(DOMAIN, 700)


def opened(rows, ledger):
    """A party in an accepted release by the protocol `indicator`."""
    party = started(rows, ledger)
    party.accept(encode_terms(terms_for(party, granted_rho=1e8)))
    return party


class Held:
    """Pieces of a table in files, whose connections a test can break."""

    def __init__(self, folder):
        self.folder, self.made, self.slow, self.lost, self.loaded = folder, [], None, 0, 0

    def __call__(self, table):
        path = self.folder / f"{len(self.made)}.parquet"
        with duckdb.connect() as connection:
            connection.register("codes", dict(zip(table.domain.names, table.columns, strict=True)))
            connection.execute(f"COPY (SELECT * FROM codes) TO '{path}'")
        held = self

        class Engine(DuckEngine):
            def fetch(self, query):
                if held.lost:
                    held.lost -= 1
                    raise Lost("the connection is gone")
                if held.slow is not None and "cell" in query.named_selects:
                    held.slow()
                    return self._query("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) % 7 = 1")
                return super().fetch(query)

            def batches(self, rows):
                held.loaded += 1
                return super().batches(rows)

        made = CountedRows.from_engine(lambda: Engine(FileSource(path)), table.domain, self.timeout_s)
        self.made.append(made)
        return made

    timeout_s = 60.0


@pytest.fixture
def held(tmp_path):
    made = Held(tmp_path)
    yield made
    for rows in made.made:
        rows.close()


@pytest.mark.parametrize(("grid", "loads"), [("4x1", 0), ("1x1", 0), ("2x2", 4)])
def test_a_release_is_the_same_as_over_rows_in_memory(held, grid, loads):
    queries = [Query(View(clique), EXACT, "pairs") for clique in (("a",), ("b", "d"), ("a", "c", "e"))]
    ours, theirs = (release(grid, 9 * EXACT, held=how).measure(queries) for how in (held, None))
    for one, other in zip(ours, theirs, strict=True):
        assert np.array_equal(one.values, other.values)
    assert held.loaded == loads


def test_a_connection_that_is_lost_once_is_made_again(held):
    measurer = release("4x1", held=held)
    held.lost = 1
    (measured,) = measurer.measure([Query(View(("a",)), SMALL, "s")])
    assert len(measured.values) == 2


def test_rows_that_changed_are_refused_when_the_connection_is_made_again(held, ledger):
    party = opened(held(TABLE), ledger)
    other = Held(held.folder)
    other(random_table(TABLE.domain, 700, seed=9))
    held.lost = 1
    with pytest.raises(DataError, match="rows changed since the party was started"):
        party.answer(QUERY)
    assert ledger.cost_of(RELEASE_ID) == 0
    other.made[0].close()


def test_a_query_is_not_charged_while_the_engine_cannot_be_reached(held, ledger):
    party = opened(held(TABLE), ledger)
    held.lost = 9
    with pytest.raises(DataError, match="connection is gone"):
        party.answer(QUERY)
    assert ledger.cost_of(RELEASE_ID) == 0
    held.lost = 0
    assert np.isfinite(asked(party, QUERY)).all()


def test_a_share_is_not_charged_if_the_engine_is_too_slow_or_the_release_ends(held, ledgers):
    measurer = release("4x1", held=held)
    for rows in held.made:
        rows.connection.timeout_s = 0.5
    held.slow = lambda: None
    with pytest.raises(PolicyError, match="longer than timeout_s"):
        measurer.measure([Query(View(("a",)), SMALL, "s")])
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4


def test_a_count_ends_with_its_release(held, ledger):
    party = opened(held(TABLE), ledger)
    held.slow = lambda: threading.Timer(0.5, ledger.abandon, [RELEASE_ID]).start()
    with pytest.raises(ProtocolError, match="abandoned"):
        list(party.answer(QUERY))


def test_a_query_that_failed_after_its_charge_is_repeated_without_another(held, ledger):
    party = opened(held(TABLE), ledger)
    (rows,) = held.made
    # Long enough for what comes before the count, which is charged first.
    rows.connection.timeout_s, held.slow = 2.0, lambda: None
    with pytest.raises(PolicyError, match="longer than timeout_s"):
        party.answer(QUERY)
    rows.connection.timeout_s, held.slow = 60.0, None
    spent = ledger.cost_of(RELEASE_ID)
    assert np.isfinite(asked(party, QUERY)).all()
    assert ledger.cost_of(RELEASE_ID) == spent > 0
