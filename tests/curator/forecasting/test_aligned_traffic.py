"""The forecast of traffic over aligned parties, against the bytes that a release moves."""

import itertools
from collections.abc import Iterable
from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.forecasting.traffic import masked_traffic
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.mechanisms.parts.steps import Asks, Step
from support.aligned import AlignedRelease, People
from support.parties import Link

DOMAIN = Domain.coded({"a": 30, "b": 20, "c": 40, "d": 12})
CLIQUES = tuple(itertools.chain.from_iterable(itertools.combinations(DOMAIN.names, k) for k in (1, 2)))


@pytest.fixture
def moved(monkeypatch):
    """Bytes that cross every link, from now on."""
    total, call = [0], Link.call

    def counted(self, method, requests: Iterable[bytes]):
        def sent():
            for request in requests:
                total[0] += len(request)
                yield request

        for reply in call(self, method, sent()):
            total[0] += len(reply)
            yield reply

    monkeypatch.setattr(Link, "call", counted)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", [["ab cd"], ["ab c d"], ["abc d", "abcd"]], ids=" / ".join)
def test_a_release_moves_the_forecast_bytes_and_a_little_more(moved, grid, population):
    people = People(DOMAIN, grid, records=400, dummies=100)
    release = AlignedRelease(people, population, granted=Fraction(1))
    measurer = release.measurer()
    before = moved[0]
    measurer.measure([Query(View(clique), Fraction(1, 100), "pairs") for clique in CLIQUES])
    step = Step("pairs", "All pairs", Asks.MARGINALS, Fraction(1), CLIQUES)
    forecast = masked_traffic(release.terms.masked_plan, [step], {}).total
    assert forecast < moved[0] - before < 1.01 * forecast + 60_000


@pytest.mark.slow
@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", [["ab cd"], ["ab c d"]], ids=" / ".join)
def test_groups_of_four_codes_move_the_forecast_bytes_and_a_little_more(moved, grid, population):
    people = People(DOMAIN, grid, records=400, dummies=100)
    release = AlignedRelease(people, population, granted=Fraction(1))
    measurer = release.measurer()
    fours = {name: tuple(code // 4 for code in range(measurer.domain[name].size)) for name in DOMAIN}
    groups = tuple(measurer.measurable_groups(tuple(fours[name] for name in clique)) for clique in CLIQUES)
    before = moved[0]
    both = zip(CLIQUES, groups, strict=True)
    measurer.measure([Query(View(clique, groups=of), Fraction(1, 100), "pairs") for clique, of in both])
    step = Step("pairs", "All pairs", Asks.MARGINALS, Fraction(1), CLIQUES, groups=groups)
    forecast = masked_traffic(release.terms.masked_plan, [step], {}).total
    assert forecast < moved[0] - before < 1.01 * forecast + 90_000
