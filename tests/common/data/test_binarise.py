import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.binarise import Binarisation
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError


def test_an_attribute_becomes_its_digits_most_significant_first():
    domain = Domain.coded({"one": 1, "two": 2, "five": 5})
    binarisation = Binarisation(domain)
    assert binarisation.domain == Domain.coded(
        {"one": 1, "two.bit0": 2, "five.bit0": 2, "five.bit1": 2, "five.bit2": 2}
    )
    binary = binarisation.encode(Table.from_codes(domain, np.array([[0, 1, 4], [0, 0, 3]])))
    assert np.column_stack(binary.columns).tolist() == [[0, 1, 1, 0, 0], [0, 0, 0, 1, 1]]


@pytest.mark.slow
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6), st.integers(0, 2**32))
def test_decoding_the_digits_gives_the_table_back(sizes, seed):
    domain = Domain.coded({f"a{place}": size for place, size in enumerate(sizes)})
    rng = np.random.default_rng(seed)
    table = Table.from_codes(domain, np.column_stack([rng.integers(0, size, 40) for size in sizes]))
    binarisation = Binarisation(domain)
    assert binarisation.decode(binarisation.encode(table)).digest() == table.digest()
    assert len(binarisation.domain) == sum(max(1, int(np.ceil(np.log2(size)))) for size in sizes)


def test_digits_past_the_last_code_are_clipped_to_it():
    binarisation = Binarisation(Domain.coded({"a": 5}))
    every = np.array([[c >> 2 & 1, c >> 1 & 1, c & 1] for c in range(8)])
    decoded = binarisation.decode(Table.from_codes(binarisation.domain, every))
    assert decoded.column("a").tolist() == [0, 1, 2, 3, 4, 4, 4, 4]


def test_refuses_a_table_of_another_domain():
    table = Table.from_codes(Domain.coded({"b": 5}), np.array([[0]]))
    binarisation = Binarisation(Domain.coded({"a": 5}))
    for refuse in (binarisation.encode, binarisation.decode):
        with pytest.raises(DataError, match="not of the domain"):
            refuse(table)


def test_refuses_equal_names_of_binary_attributes():
    with pytest.raises(DataError, match=r"'a\.bit0' is declared twice"):
        Binarisation(Domain.coded({"a": 4, "a.bit0": 1})).domain  # noqa: B018
