import duckdb
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.party.counting.engines.duck import DuckEngine
from dpmosaic.party.counting.engines.kinds import Kind
from dpmosaic.party.sources.query import QuerySource
from support.counting import CountingContract, loaded

TYPES = {
    Kind.WHOLE: "BIGINT",
    Kind.SINGLE: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(20, 3)",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TEXT: "VARCHAR COLLATE NOCASE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


class TestDuckDB(CountingContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.path = tmp_path / "rows.duckdb"

    def engine(self, name):
        return DuckEngine(QuerySource(f"SELECT * FROM {name} ORDER BY place", self.path.parent, self.path))

    def write(self, name, written):
        with duckdb.connect(str(self.path)) as made:
            columns = ", ".join(f'"{column}" {TYPES[kind]}' for column, (kind, _) in written.items())
            made.execute(f"CREATE OR REPLACE TABLE {name} (place BIGINT, {columns})")
            rows = list(zip(*(values for _, values in written.values()), strict=True))
            marks = ", ".join("?" for _ in range(len(written) + 1))
            if rows:
                made.executemany(
                    f"INSERT INTO {name} VALUES ({marks})", [(n, *row) for n, row in enumerate(rows)]
                )

    def ask_slowly(self, engine):
        return engine._query("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) % 7 = 1")

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [Kind.DATE, Kind.TEXT])
    def test_a_date_that_comes_after_another_is_counted_from_it(self, kind):
        gap = {"type": "date", "after": {"first": {"min": 0, "max": 9, "bins": 10}}, "nullable": True}
        first = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12}
        domain = Domain.from_json({"second": gap, "first": first})
        days = ["2020-01-01", "2020-02-28", "2020-12-31"], ["2020-01-01", "2020-03-01", None]
        written = {"first": (kind, days[0]), "second": (kind, days[1])}
        expected = encode_table(domain, dict(zip(("first", "second"), days, strict=True)))
        assert loaded(self.rows(written, domain)).digest() == expected.digest()
