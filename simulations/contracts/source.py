"""What every source of a party's rows keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ...common.data.domain import Domain
from ...common.errors import DataError
from ...party.sources.source import Source

DOMAIN = Domain.from_json({"kind": ["x", "y", ""], "code": 4})
ROWS = [("y", 3), ("x", 0), ("", 2), ("x", 0), ("y", 1)]
SECRET = "a value of somebody"


class SourceContract:
    """Inherit it, and make sources of given rows."""

    def source(self, folder: Path, names: Sequence[str], rows: Sequence[Sequence[object]]) -> Source:
        """A source of these rows, in this order; "" stands for a missing value.

        Args:
            folder: for files.
            names: of the columns.
            rows: text or whole numbers.
        """
        raise NotImplementedError

    @pytest.fixture
    def people(self, tmp_path: Path) -> Source:
        """Five rows of two columns."""
        return self.source(tmp_path, ("kind", "code"), ROWS)

    def test_it_names_its_columns_in_order(self, people: Source) -> None:
        """The names, and nothing of the rows."""
        assert people.columns() == ("kind", "code")

    def test_it_reads_rows_in_their_order(self, people: Source) -> None:
        """Codes of the domain, row by row."""
        table = people.read(DOMAIN)
        assert table.domain == DOMAIN
        assert table.column("kind").tolist() == [1, 0, 2, 0, 1]
        assert table.column("code").tolist() == [3, 0, 2, 0, 1]

    def test_it_reads_the_same_rows_again(self, people: Source) -> None:
        """A release may be resumed after the party's process ended."""
        assert people.read(DOMAIN).digest() == people.read(DOMAIN).digest()

    def test_it_reads_the_columns_of_the_domain_in_the_domains_order(self, people: Source) -> None:
        """A party may publish some of its columns only."""
        table = people.read(Domain((DOMAIN["code"],)))
        assert table.domain.names == ("code",)
        assert table.column("code").tolist() == [3, 0, 2, 0, 1]

    def test_it_reads_texts_of_the_same_rows(self, people: Source) -> None:
        """Columns that are not in the domain may name the person of each row; a missing value is empty."""
        table, texts = people.read_with_texts(Domain((DOMAIN["kind"],)), ("code", "kind"))
        assert table.digest() == people.read(table.domain).digest()
        assert {name: list(cells) for name, cells in texts.items()} == {
            "code": ["3", "0", "2", "0", "1"],
            "kind": ["y", "x", "", "x", "y"],
        }

    def test_it_refuses_a_column_of_texts_that_it_lacks(self, people: Source) -> None:
        """The error names the column."""
        with pytest.raises(DataError, match="absent"):
            people.read_with_texts(DOMAIN, ("absent",))

    def test_it_refuses_a_domain_with_a_column_that_it_lacks(self, people: Source) -> None:
        """The error names the column."""
        with pytest.raises(DataError, match="absent"):
            people.read(Domain.from_json({"kind": ["x", "y", ""], "absent": 4}))

    def test_it_refuses_a_value_outside_the_domain_and_does_not_show_it(self, tmp_path: Path) -> None:
        """The error names the column and the row."""
        source = self.source(tmp_path, ("kind", "code"), [("x", 1), (SECRET, 2)])
        with pytest.raises(DataError, match="'kind', row 2") as caught:
            source.read(DOMAIN)
        assert SECRET not in str(caught.value)

    def test_it_refuses_to_read_no_rows(self, tmp_path: Path) -> None:
        """An empty table has nothing to release."""
        with pytest.raises(DataError, match="no row"):
            self.source(tmp_path, ("kind", "code"), []).read(DOMAIN)
