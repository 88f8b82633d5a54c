"""What every engine that counts rows keeps."""

import itertools
import threading
import time
from decimal import Decimal

import numpy as np
import pytest

from dpmosaic.common.data.attributes.texts import has_open_categories
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, encode_table
from dpmosaic.common.data.values import compose
from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.party.counting.encoding import encoding_of, label_text
from dpmosaic.party.counting.engines.engine import run
from dpmosaic.party.counting.engines.kinds import Kind, NotExact
from dpmosaic.party.counting.identifiers import order_digest
from dpmosaic.party.counting.people import NOBODY, People, rows_left_out
from dpmosaic.party.counting.rows import CountedRows
from dpmosaic.party.institution.records import kept_rows
from support.encoded import Column, columns

PEOPLE = Domain.from_json(
    {
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": "auto", "integer": True, "nullable": True},
        "job": {"type": "categorical", "categories": ["none", "other"], "other": "other", "open": True},
        "code": 4,
    }
)
JOBS = ("none", "baker", "Baker", "smith", "a name of somebody")
SECRET = "a name of somebody"
TIMEOUT_S = 100.0


def people(rows=300, seed=1):
    """Columns of `PEOPLE`, as written."""
    rng = np.random.default_rng(seed)
    ages = [None if age < 0 else int(age) for age in rng.integers(-9, 105, rows)]
    jobs = [JOBS[place] for place in rng.choice(5, rows, p=[0.4, 0.3, 0.1, 0.195, 0.005])]
    return {
        "age": (Kind.WHOLE, ages),
        "job": (Kind.TEXT, jobs),
        "code": (Kind.WHOLE, rng.integers(0, 4, rows).tolist()),
    }


def encoded(domain, written):
    """The same rows in memory, by Python."""
    return encode_table(domain, {name: values for name, (_, values) in written.items()})


def loaded(rows):
    """All rows in memory, with the codes that a release chose."""
    table, _ = rows.connection.ask(lambda codes: codes.loaded_with_texts(), lambda: None)
    table = table.project(rows.domain.names)
    return table if rows.coding is None else rows.coding.table(table)


class CountingContract:
    """Inherit it, write rows into the engine, and connect to them."""

    loads = True
    """Whether columns that SQL cannot encode are encoded by Python."""

    composes = True
    """Whether decomposed texts are composed; otherwise they are refused."""

    every = 1
    """One column of so many is compared code by code."""

    def engine(self, name):
        """A new connection to a table.

        Args:
            name: of the table, whose column `place` orders its rows.
        """
        raise NotImplementedError

    def write(self, name, written):
        """Creates a table of columns, or replaces it, with a column `place` of the row's number.

        Args:
            name: of the table.
            written: name -> kind and values, None where one is missing.
        """
        raise NotImplementedError

    def execute(self, statement):
        """Changes a table."""
        raise NotImplementedError

    slow = ""
    """A query that takes minutes."""

    def rows(self, written, domain=PEOPLE, name="people", people=NOBODY):
        self.write(name, written)
        made = CountedRows.from_engine(lambda: self.engine(name), domain, TIMEOUT_S, people=people)
        self.opened.append(made)
        return made

    @pytest.fixture(autouse=True)
    def _closed(self):
        self.opened = []
        yield
        for made in self.opened:
            made.close()

    def exact(self, made: list[Column]):
        """The columns whose codes SQL gives."""
        self.write("kinds", {"x": (Kind.WHOLE, [1])})
        engine = self.engine("kinds")
        found = []
        for column in made:
            try:
                cells = engine.column(column.attribute.name)
                encoding_of(column.attribute, column.kind, cells, "k", engine)
                if has_open_categories(column.attribute):
                    label_text(column.attribute, column.kind, cells, engine)
                found.append(column)
            except NotExact:
                pass
        engine.close()
        return found

    @pytest.mark.slow
    def test_every_code_is_the_one_that_python_gives(self):
        made = columns()[:: self.every]
        if not self.loads:
            exact = self.exact(made)
            assert len(exact) > 0.8 * len(made)
            made = exact
        for start in range(0, len(made), 40):
            some = made[start : start + 40]
            written = {column.attribute.name: (column.kind, column.values) for column in some}
            rows = self.rows(written, Domain(tuple(column.attribute for column in some)), "wide")
            table = loaded(rows)
            wrong = [
                column.attribute.name
                for column in some
                if table.column(column.attribute.name).tolist() != column.codes.tolist()
            ]
            assert wrong == []

    @pytest.mark.slow
    def test_marginals_are_those_of_the_rows_in_memory(self):
        written = people()
        rows, table = self.rows(written), encoded(PEOPLE, written)
        names = PEOPLE.names
        cliques = [c for n in range(4) for c in itertools.combinations(names, n)] + [
            ("code", "age"),
            ("job", "code"),
        ]
        for ours, theirs in zip(rows.marginals(cliques), table.marginals(cliques), strict=True):
            assert ours.tolist() == theirs.tolist()
        grouped = [(tuple(code // 30 for code in range(PEOPLE["age"].size)), (), (0, 1, 1, 0))]
        ours, theirs = (held.marginals([names], grouped)[0] for held in (rows, table))
        assert ours.tolist() == theirs.tolist()
        assert rows.project(["code"]).marginal(["code"]).tolist() == table.marginal(["code"]).tolist()
        assert (rows.record_count, rows.domain) == (table.record_count, table.domain)

    @pytest.mark.slow
    def test_codes_that_a_release_chose_are_counted(self):
        written = people()
        coding = Coding({"age": (0, 10, 47, PEOPLE["age"].size - 1)}, {"job": ("baker", "Baker")})
        rows, table = self.rows(written).with_coding(coding), coding.table(encoded(PEOPLE, written))
        assert rows.domain == table.domain
        for clique in (("age",), ("job",), ("age", "job")):
            assert rows.marginal(clique).tolist() == table.marginal(clique).tolist()
        groups = ((0, 0, 1, 1), (0, 1, 0, 1))
        assert (
            rows.marginal(("age", "job"), groups).tolist() == table.marginal(("age", "job"), groups).tolist()
        )
        assert all(map(np.array_equal, loaded(rows).columns, table.columns))
        asked = (("age", "job"), 17, 40, groups)
        assert rows.cell_codes(*asked).tolist() == table.cell_codes(*asked).tolist()

    @pytest.mark.slow
    def test_labels_are_found_among_the_texts(self):
        written = people()
        texts, counts = self.rows(written).unlisted_texts("job")
        table = encoded(PEOPLE, written)
        theirs, numbers = table.texts["job"].unlisted_texts(PEOPLE["job"])
        assert (texts, counts.tolist()) == (theirs, numbers.tolist())

    def test_names_and_labels_are_composed_whoever_wrote_them(self):
        domain = Domain.from_json(
            {
                "caf\u00e9": {"type": "categorical", "categories": ["\u00e9", "n", 1], "other": "n"},
                "job": {"type": "categorical", "categories": ["n"], "other": "n", "open": True},
            }
        )
        texts = ["\u00e9", "e\u0301", "n", "1.0", "\u212b"]
        written = {"cafe\u0301": (Kind.TEXT, texts), "job": (Kind.TEXT, texts)}
        if not self.composes:
            with pytest.raises(DataError, match="SQL and Python may read differently"):
                self.rows(written, domain)
            written = {name: (kind, [*map(compose, cells)]) for name, (kind, cells) in written.items()}
        rows = self.rows(written, domain)
        assert rows.marginal(("caf\u00e9",)).tolist() == [2, 2, 1]
        found, counts = rows.unlisted_texts("job")
        assert (found, counts.tolist()) == (["1.0", "\u00c5", "\u00e9"], [1, 1, 2])

    @pytest.mark.slow
    def test_single_rows_come_in_their_order(self):
        written = people()
        rows, table = self.rows(written), encoded(PEOPLE, written)
        asked = (("age", "code"), 17, 40)
        assert rows.cell_codes(*asked).tolist() == table.cell_codes(*asked).tolist()
        assert isinstance(loaded(rows), Table)
        assert loaded(rows).texts["job"].known == table.texts["job"].known

    @pytest.mark.slow
    @pytest.mark.parametrize("most", [1, 2, 300])
    def test_rows_of_a_person_beyond_the_first_ones_are_left_out(self, most):
        written, table = people(), encoded(PEOPLE, people())
        keys = [f"p{number}" for number in np.random.default_rng(2).integers(0, 150, 300)]
        rows = self.rows(written | {"key": (Kind.TEXT, keys)}, people=People("key", most))
        kept = table.take(kept_rows(keys, most))
        assert rows.record_count == kept.record_count
        assert rows.marginal(("age", "job")).tolist() == kept.marginal(("age", "job")).tolist()
        asked = (("age", "code"), 17, 90)
        assert rows.cell_codes(*asked).tolist() == kept.cell_codes(*asked).tolist()
        assert rows.connection.order() == order_digest(keys[place] for place in kept_rows(keys, most))
        engine = self.engine("people")
        assert rows_left_out(engine, People("key", most)) == (300 - kept.record_count, 300)
        engine.close()

    @pytest.mark.slow
    def test_the_digest_tells_changed_and_exchanged_rows(self):
        written = people(40)
        first = self.rows(written).digest()
        assert self.rows(written).digest() == first
        exchanged = {
            name: (kind, [values[1], values[0], *values[2:]]) for name, (kind, values) in written.items()
        }
        longer = {name: (kind, [*values, values[0]]) for name, (kind, values) in written.items()}
        changed = written | {"code": (Kind.WHOLE, [(code + 1) % 4 for code in written["code"][1]])}
        renamed = written | {"job": (Kind.TEXT, ["cook", *written["job"][1][1:]])}
        digests = [self.rows(other).digest() for other in (exchanged, longer, changed, renamed)]
        assert first not in digests
        assert len(set(digests)) == 4

    @pytest.mark.parametrize("value", [None, 4, -1])
    def test_refuses_a_cell_without_a_code_and_does_not_show_it(self, value):
        written = people(30)
        written["code"] = (Kind.WHOLE, [value, *written["code"][1][1:]])
        written["job"] = (Kind.TEXT, [SECRET, *written["job"][1][1:]])
        with pytest.raises(DataError, match="'code'") as refused:
            self.rows(written)
        assert SECRET not in str(refused.value)

    def test_decimal_numbers_are_read_as_numbers_whatever_the_domain_says_of_texts(self):
        cost = {
            "type": "numeric",
            "min": 0,
            "max": 2000,
            "bins": 40,
            "format": "{,.3f}",
            "multiple_of": 0.001,
        }
        domain = Domain.from_json({"cost": cost})
        values = ["1.234", "0.500", "1234.000", "17.125"]
        rows = self.rows({"cost": (Kind.DECIMAL, [Decimal(value) for value in values])}, domain, "costs")
        expected = domain["cost"].encode(np.array([float(value) for value in values]))
        assert loaded(rows).column("cost").tolist() == expected.tolist()

    def test_refuses_a_table_without_rows_or_without_a_column(self):
        with pytest.raises(DataError, match="no rows"):
            self.rows({name: (kind, []) for name, (kind, _) in people(1).items()})
        written = people(5)
        del written["code"]
        with pytest.raises(DataError, match="column 'code'"):
            self.rows(written)

    @pytest.mark.slow
    def test_a_slow_statement_is_ended(self):
        engine = self.slow_engine()
        began = time.monotonic()
        with pytest.raises(PolicyError, match="longer than timeout_s"):
            run(engine, lambda: self.ask_slowly(engine), lambda: None, 0.5)
        assert time.monotonic() - began < 60
        engine.check_alive()
        engine.close()

    @pytest.mark.slow
    def test_a_statement_is_ended_when_nobody_waits_for_it(self):
        engine, ended = self.slow_engine(), threading.Event()

        def check():
            if ended.is_set():
                raise ProtocolError("the release is abandoned")

        threading.Timer(0.5, ended.set).start()
        with pytest.raises(ProtocolError, match="abandoned"):
            run(engine, lambda: self.ask_slowly(engine), check, TIMEOUT_S)
        engine.check_alive()
        engine.close()

    def slow_engine(self):
        self.write("people", people(5))
        return self.engine("people")

    def ask_slowly(self, engine):
        """Asks something that takes minutes."""
        raise NotImplementedError
