"""Modes from noisy marginals, and records as vectors of them."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.dp_gan.encoding import Modes, RecordEncoding

AGE = NumericAttribute("age", 0, 100, bins=50, nullable=True)


def test_every_category_is_a_mode_and_has_a_share_whatever_the_noise():
    modes = Modes.of(CategoricalAttribute("kind", ("x", "y", "z")), np.array([60.0, -7.0, 40.0]))
    assert modes.edges.tolist() == [0, 1, 2, 3]
    assert modes.shares[[0, 2]] == pytest.approx([0.6, 0.4], abs=1e-3)
    assert modes.shares[1] > 0
    assert modes.shares.sum() == pytest.approx(1)


def test_a_spike_and_missing_values_are_modes_of_their_own_and_other_bins_share_modes_of_equal_weight():
    counts = np.full(51, 10.0)
    counts[20] = 500.0
    modes = Modes.of(AGE, counts)
    pieces = list(zip(modes.edges[:-1].tolist(), modes.edges[1:].tolist(), strict=True))
    assert (20, 21) in pieces
    assert (50, 51) in pieces
    others = [counts[a:b].sum() for a, b in pieces if (a, b) not in [(20, 21), (50, 51)]]
    assert 7 <= len(others) <= 10
    assert max(others) <= 70


def test_an_atom_is_a_mode_of_its_own_however_rare_it_is():
    gain = NumericAttribute("gain", 0, 100, bins=50, integer=False, atoms=(-1, 50.5))
    modes = Modes.of(gain, np.full(gain.size, 10.0))
    pieces = list(zip(modes.edges[:-1].tolist(), modes.edges[1:].tolist(), strict=True))
    for code in gain.encode([-1, 50.5]).tolist():
        assert (code, code + 1) in pieces


def test_a_number_of_few_bins_has_a_mode_for_each():
    assert Modes.of(NumericAttribute("n", 0, 10, bins=10), np.ones(10)).count == 10


def test_without_positive_counts_all_codes_have_equal_weights():
    assert Modes.of(AGE, np.full(51, -3.0)).weights == pytest.approx(1 / 51)


@pytest.fixture
def encoded():
    domain = Domain((CategoricalAttribute("kind", ("x", "y", "z")), AGE))
    rng = np.random.default_rng(0)
    codes = {"kind": rng.integers(0, 3, 4000), "age": rng.binomial(50, 0.3, 4000)}
    table = Table.from_codes(domain, codes)
    one_way = {name: table.marginal((name,)).astype(float) for name in domain}
    return RecordEncoding.of(domain, one_way), table


def test_a_record_has_one_mode_of_each_attribute(encoded):
    encoding, table = encoded
    vectors = encoding.encode(table)
    assert vectors.shape == (4000, encoding.width)
    start = 0
    for modes, column in zip(encoding.modes, table.columns, strict=True):
        part = vectors[:, start : start + modes.count]
        start += modes.count
        assert (part.sum(axis=1) == 1).all()
        chosen = part.argmax(axis=1)
        assert ((modes.edges[chosen] <= column) & (column < modes.edges[chosen + 1])).all()


def test_decoded_records_keep_their_modes_and_follow_the_marginal_inside(encoded):
    """Every share of 51 is within six of its standard deviations: fails with probability below 10^-6."""
    encoding, table = encoded
    chosen = [
        np.searchsorted(m.edges, c, "right") - 1 for m, c in zip(encoding.modes, table.columns, strict=True)
    ]
    decoded = encoding.decode(chosen, np.random.default_rng(1))
    assert (encoding.encode(decoded) == encoding.encode(table)).all()
    assert decoded.column("kind").tolist() == table.column("kind").tolist()
    found, expected = (t.marginal(("age",)) / 4000 for t in (decoded, table))
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected / 4000) + 1e-3).all()
    assert decoded.column("age").tolist() != table.column("age").tolist()
