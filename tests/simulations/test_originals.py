"""A real table and the distributions of its numbers, read in one pass."""

import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.source import FileSource
from dpmosaic.simulations.originals import read_original

DOMAIN = Domain(
    (
        CategoricalAttribute("kind", ("x", "y")),
        NumericAttribute("gain", 0, 100, 4, nullable=True),
        NumericAttribute("loss", 0, 10, 5),
    )
)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "real.csv").write_text("kind,gain,loss\nx,0,1\ny,10,2.5\nx,,2.5\ny,10,150\n")
    return FileSource(tmp_path / "real.csv")


def test_the_table_is_that_of_the_source(source):
    assert read_original(source, DOMAIN).table.digest() == source.read(DOMAIN).digest()


def test_numbers_are_described_within_their_bounds(source):
    found = read_original(source, DOMAIN).numbers
    assert sorted(found) == ["gain", "loss"]
    assert (found["gain"].points.tolist(), found["gain"].ends.tolist()) == ([0, 10], [1, 3])
    assert (found["gain"].mean, found["gain"].zeros) == (pytest.approx(20 / 3), 0.25)
    assert (found["loss"].points.tolist(), found["loss"].ends.tolist()) == ([1, 2.5, 10], [1, 3, 4])


def test_a_file_without_rows_is_refused(tmp_path):
    (tmp_path / "real.csv").write_text("kind,gain,loss\n")
    with pytest.raises(DataError, match="has no rows"):
        read_original(FileSource(tmp_path / "real.csv"), DOMAIN)


def test_a_value_without_a_code_is_refused_with_its_column(source):
    other = Domain((CategoricalAttribute("kind", ("x", "z")),))
    with pytest.raises(DataError, match="kind"):
        read_original(source, other)
