import numpy as np
import pytest

from dpmosaic.common.data.attributes.inside_bins import Cut, divide
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.binning.scale import Scale

DRAWS = 40_000
REALS = NumericAttribute("x", 1.0, 101.0, 5, integer=False)
WHOLE = NumericAttribute("x", 0, 59, 6, integer=True)
KINDS = {
    "real numbers": REALS,
    "whole numbers": WHOLE,
    "on a logarithmic scale": NumericAttribute("x", 1.0, 10_000.0, 4, integer=False, scale=Scale.LOG),
    "on a symmetric scale": NumericAttribute("x", -500.0, 500.0, 4, integer=False, scale=Scale.SYMLOG),
    "with atoms": NumericAttribute("x", 0.0, 100.0, 4, integer=False, atoms=(0.0, 33.0, 200.0)),
    "multiples": NumericAttribute("x", 0.0, 10.0, 4, multiple_of=0.25),
    "nullable": NumericAttribute("x", 0.0, 10.0, 4, True, False),
}
COUNTS = np.array([400, 900, 200, 100, 300, 50, 80, 20])


@pytest.mark.parametrize("bins", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("after", [False, True])
def test_pieces_have_the_shares_means_and_variances_of_what_decoding_draws(bins, after):
    # Some 300 comparisons at 5 standard errors: together 2e-4 false alarms. Drawn real numbers are rounded
    # down by at most a thousandth of their bin, or of themselves.
    rounded = 1e-3 if bins.lattice is None else 1e-9
    counts = COUNTS[: bins.size]
    reach = bins.reach
    inside = np.quantile(reach, [0.21, 0.5, 0.83])
    cuts = [Cut(float(number), after) for number in inside]
    pieces = divide(bins, counts, cuts)
    rng = np.random.default_rng(5)
    for code in range(len(bins.cells)):
        drawn = np.asarray(bins.decode(np.full(DRAWS, code), rng, counts), dtype=float)
        intervals = sum((drawn > cut.number) | ((drawn == cut.number) & (not after)) for cut in cuts)
        for piece in np.flatnonzero(pieces.codes == code):
            among = drawn[intervals == pieces.intervals[piece]]
            share = pieces.shares[piece]
            assert abs(len(among) / DRAWS - share) <= 5 * np.sqrt(share * (1 - share) / DRAWS) + rounded
            if len(among) < 100:
                continue
            deviation = among.std()
            # The ranks at which a piece is evaluated are 1/256 of it apart.
            step = np.ptp(among) / 256
            assert abs(among.mean() - pieces.means[piece]) <= 5 * deviation / np.sqrt(len(among)) + step
            assert pieces.variances[piece] ** 0.5 == pytest.approx(deviation, rel=0.05, abs=2 * step)


@pytest.mark.parametrize("bins", KINDS.values(), ids=KINDS)
def test_the_pieces_of_a_cell_add_up_to_it(bins):
    cuts = [Cut(3.0, False), Cut(3.0, True), Cut(37.5, False)]
    pieces = divide(bins, COUNTS[: bins.size], cuts)
    assert np.bincount(pieces.codes, pieces.shares) == pytest.approx(1)
    assert np.all(np.diff(pieces.means) > 0)


def test_without_cuts_each_cell_is_one_piece():
    pieces = divide(WHOLE, COUNTS[:6], [])
    assert pieces.codes.tolist() == list(range(6))
    assert pieces.intervals.tolist() == [0] * 6
    assert pieces.shares.tolist() == [1] * 6


def test_a_cut_at_an_edge_divides_no_bin():
    for cut in (Cut(20, False), Cut(19, True), Cut(19.5, False)):
        pieces = divide(WHOLE, COUNTS[:6], [cut])
        assert pieces.intervals.tolist() == [0, 0, 1, 1, 1, 1]


def test_one_whole_number_between_two_cuts_has_its_value_and_no_variance():
    pieces = divide(WHOLE, COUNTS[:6], [Cut(37, False), Cut(37, True)])
    single = np.flatnonzero(pieces.intervals == 1)
    assert pieces.means[single] == pytest.approx([37])
    assert pieces.variances[single] == pytest.approx([0])
    assert 0.03 < pieces.shares[single][0] < 0.3


def test_an_atom_is_above_a_cut_before_it_and_below_a_cut_after_it():
    bins = KINDS["with atoms"]
    atom = int(bins.encode(np.array([33.0]))[0])
    assert divide(bins, COUNTS, [Cut(33.0, False)]).intervals[atom] == 1
    assert divide(bins, COUNTS, [Cut(33.0, True)]).intervals[atom] == 0


@pytest.mark.parametrize(("number", "interval"), [(-1e6, 1), (1e6, 0), (np.inf, 0), (-np.inf, 1)])
def test_cuts_beyond_the_bounds_divide_nothing(number, interval):
    pieces = divide(REALS, COUNTS[:5], [Cut(number, False)])
    assert pieces.intervals.tolist() == [interval] * 5


def test_seconds_since_1970_keep_their_variance():
    start = 1_700_000_000
    bins = NumericAttribute("x", start, start + 599, 2, integer=True)
    pieces = divide(bins, np.array([10, 10]), [])
    assert pieces.variances == pytest.approx((300**2 - 1) / 12, rel=1e-3)
