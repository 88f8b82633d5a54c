"""The plan of a masked release: its ring, its collusions, its observers."""

import itertools
import math
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from support.grids import DOMAIN, EXACT, RECORDS, release, table_of
from support.parties import Link, policy_for, started
from support.terms import RELEASE_ID, terms_of


def test_refuses_a_query_whose_noise_does_not_fit_the_ring_uncharged(ledgers, monkeypatch):
    measurer = release("2x2")
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="noise that fits the plan's ring"):
        measurer.measure([Query(View(("a",)), Fraction(1, 10**16), "test")])
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4


@pytest.mark.parametrize("records", [1, RECORDS, 3000])
@pytest.mark.parametrize("granted", [Fraction(1, 100), Fraction(1), EXACT])
def test_the_ring_holds_three_times_the_records_at_the_finest_noise(granted, records):
    """A score is the distance to a table of as many records, rounded: to one of 2 N, so 3 N at most."""
    plan = release("2x2" if records > 1 else "1x2", granted, table=table_of(records=records))._plan
    sigma = gaussian_sigma(granted, Adjacency.ZERO_OUT)
    assert plan.ring.holds(grid_of(sigma) * 3 * records + plan.noise.largest(sigma))


@pytest.mark.parametrize(
    ("granted", "records"),
    [
        *itertools.product([Fraction(1, 10**5), Fraction(1), EXACT], [1, 3000]),
        # On a grid of 2^21 three times the records fit 32 bits, on one four times as fine the records do not.
        (Fraction(2**41, 300**2), 300),
    ],
)
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_the_ring_holds_an_interaction_of_three_attributes_at_a_quarter_of_the_grant(
    granted, records, adjacency
):
    """A record counts once in a difference, and the noise of eight cells does."""
    grid = "2x2" if records > 1 else "1x2"
    plan = release(grid, granted, table=table_of(records=records), adjacency=adjacency)._plan
    for shape in [(2,), (2, 2), (2, 2, 2), (3, 2, 4), (4, 4, 4), (100, 100, 100)]:
        sigma = gaussian_sigma(granted / 4, adjacency, shape)
        noise = 2 ** len(shape) * plan.noise.largest(sigma)
        assert plan.ring.holds(grid_of(sigma) * records + noise)


def test_an_interaction_that_the_ring_has_no_room_for_gets_more_noise_and_costs_less():
    """On a grid of 2^21 three times the records fit 32 bits, on one four times as fine the records do not."""
    granted, clique = Fraction(2**41, 300**2), ("a", "b", "c")
    measurer = release("1x2", granted, table=table_of(records=300))
    (measured,) = measurer.measure([Query(View(clique, interaction=True), granted, "test")])
    wanted = gaussian_sigma(granted, Adjacency.ZERO_OUT, DOMAIN.shape(clique))
    noise = measurer._plan.noise
    assert noise.total_sigma(wanted) < measured.sigma <= noise.total_sigma(2 * wanted)
    assert measured.sigma == measurer.expected_sigma(View(clique, interaction=True), granted)
    assert granted / 4 <= measurer.accountant.spent < granted


def test_room_for_interactions_does_not_widen_the_ring_of_a_typical_release():
    """A quarter of a million records at rho = 1; with room for as many in each of eight cells they would."""
    plan = release("1x2", Fraction(1), table=table_of(records=250_000))._plan
    assert grid_of(gaussian_sigma(Fraction(1), Adjacency.ZERO_OUT)) * 4 * 250_000 < 2**31
    assert plan.ring == Ring(32)


def test_the_curator_tolerates_one_colluding_party_by_default():
    assert release("1x1")._plan.tolerated == 0
    assert release("2x2")._plan.tolerated == 1
    assert release("2x2", tolerated=3)._plan.tolerated == 3


@pytest.mark.parametrize("tolerated", [-1, 4])
def test_refuses_to_tolerate_the_collusion_of_all_parties(tolerated):
    with pytest.raises(BudgetError, match="tolerated collusions"):
        release("2x2", tolerated=tolerated)


def test_the_observers_see_the_noise_of_all_parties_or_of_all_but_the_tolerated():
    (public, curator, colluders) = release("2x2", tolerated=2).observers
    assert (public.who, public.assumes) == ("the public", "every party adds its noise")
    assert curator.who == "the curator"
    assert "does not collude with a party of the record's slice" in curator.assumes
    assert "up to 2 of the 4 parties" in colluders.who
    assert "at most 2 of the parties collude" in colluders.assumes
    factors = [public.noise_factor, curator.noise_factor, colluders.noise_factor]
    assert factors == [pytest.approx(math.sqrt(2))] * 2 + [1.0]


@pytest.mark.parametrize("grid", ["1x1", "2x2"])
def test_without_tolerated_collusions_observers_are_the_public_and_the_curator(grid):
    observers = release(grid, tolerated=0).observers
    assert [observer.who for observer in observers] == ["the public", "the curator"]
    assert [observer.noise_factor for observer in observers] == [1.0, 1.0]


def test_refuses_terms_without_a_masked_plan():
    table = table_of()
    federation = connect(DOMAIN, started([[table]], policy_for("trusted"), RandomStream.from_seed(1)))
    terms = terms_of(protocol="trusted")
    with pytest.raises(ValueError, match="masked plan"):
        MaskedMeasurer(federation, terms, (), Fraction(1), RandomStream.from_seed(1))


@pytest.mark.parametrize(
    ("grid", "tolerated", "names"),
    [
        ("1x1", None, ()),
        ("1x2", None, ("curator", "party-1-1", "party-1-2")),
        ("2x1", 0, ("curator", "party-1-1", "party-2-1")),
        ("1x3", None, ("party-1-2", "party-1-1", "party-1-3")),
        ("2x2", None, ("party-2-1", "party-1-1", "party-2-2")),
        ("2x2", 2, ()),
    ],
)
def test_the_evaluators_are_three_parties_or_the_dealer_and_two(grid, tolerated, names):
    measurer = release(grid, tolerated=tolerated)
    assert measurer._plan.evaluator_names == names
    assert ("nor with an evaluator" in measurer.observers[1].assumes) == ("curator" in names)
