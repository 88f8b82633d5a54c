"""Grouped marginals, interactions and scores are those of a table whose columns were mapped to the groups."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import group_sums, grouped_shape
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, MosaicError
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.protocols.masked import products
from dpmosaic.curator.measurers import products as sent
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import NoJournal
from dpmosaic.simulations.contracts.trial import Trial
from support.aligned import AlignedRelease, People
from support.parties import random_table

pytestmark = pytest.mark.slow

DOMAIN = Domain.coded({"a": 4, "b": 3, "c": 5, "d": 4})
GROUPS = {"a": (0, 1, 1, 0), "b": (), "c": (1, 0, 0, 2, 1), "d": (0, 0, 0, 1)}
CLIQUES = [("a",), ("a", "c"), ("b", "c"), ("a", "c", "d"), ("a", "b", "c", "d")]
EXACT = Fraction(10**9)
PARTITIONS = [("trusted", "1x1"), ("masked", "1x1"), ("masked", "1x2"), ("masked", "2x2"), ("masked", "1x3")]


def table_of(domain=DOMAIN, records=60):
    return random_table(domain, records)


def groups_of(clique):
    return tuple(GROUPS[name] for name in clique)


def mapped(table, groups):
    """The table with the groups in place of the codes."""
    codes = [
        np.asarray(groups[name])[table.column(name)] if groups[name] else table.column(name)
        for name in table.domain
    ]
    sizes = {name: max(groups[name], default=table.domain[name].size - 1) + 1 for name in table.domain}
    return Table.from_codes(Domain.coded(sizes), np.stack(codes, axis=1).astype(np.int64))


def measurer_of(protocol, grid, granted, table, seed=3):
    return Trial(granted, protocol, grid, seed=seed).measurer(table)


@pytest.mark.parametrize(("protocol", "grid"), PARTITIONS)
@pytest.mark.parametrize("alone", [False, True])
def test_marginals_are_those_of_the_mapped_table(protocol, grid, alone):
    """At a budget at which noise is far below half a record."""
    table = table_of()
    measurer = measurer_of(protocol, grid, len(CLIQUES) * EXACT, table)
    found = measurer.measure(
        [Query(View(c, groups=groups_of(c), interaction=alone), EXACT, "test") for c in CLIQUES]
    )
    for clique, measurement in zip(CLIQUES, found, strict=True):
        shape = grouped_shape(DOMAIN.shape(clique), groups_of(clique))
        exact = mapped(table, GROUPS).marginal(clique).astype(float)
        np.testing.assert_allclose(
            measurement.values, interaction(exact, shape) if alone else exact, atol=0.5
        )
        assert measurement.view.groups == groups_of(clique)


@pytest.mark.parametrize(("protocol", "grid"), [*PARTITIONS, ("indicator", "1x2")])
@pytest.mark.parametrize("alone", [False, True])
def test_charges_are_those_of_the_mapped_table(protocol, grid, alone):
    """The cost, the noise and the shape; the partition of attributes is the same."""
    charges = []
    for table, groups in [(table_of(), GROUPS), (mapped(table_of(), GROUPS), dict.fromkeys(GROUPS, ()))]:
        measurer = measurer_of(protocol, grid, Fraction(1), table)
        measurer.measure(
            [
                Query(View(c, groups=tuple(groups[n] for n in c), interaction=alone), Fraction(1, 9), "test")
                for c in CLIQUES
            ]
        )
        charges.append([(c.zcdp_rho, c.sigmas, c.interaction) for c in measurer.accountant.charges])
    assert charges[0] == charges[1]


@pytest.mark.parametrize("grid", ["1x1", "1x2", "2x2"])
def test_indicator_vectors_are_multiplied_before_their_cells_are_grouped(grid):
    """At a budget at which the noise of 60 products of two indicators stays below half a record."""
    table = table_of()
    measurer = measurer_of("indicator", grid, 2 * EXACT, table)
    (found,) = measurer.measure([Query(View(("a", "c"), groups=groups_of(("a", "c"))), EXACT, "test")])
    np.testing.assert_allclose(found.values, mapped(table, GROUPS).marginal(("a", "c")), atol=0.5)


@pytest.mark.parametrize("alone", [False, True])
def test_the_deviation_of_indicators_is_that_of_the_sums_over_groups(alone):
    """2,000 sums of 4 cells; a sample deviation is off by more than 12 % in fewer than 1 of 10^6 runs.

    The products' tails are heavier than a Gaussian's; the rate was bounded by a fourth moment of 4.
    """
    domain = Domain.coded({"a": 80, "b": 100})
    table = Table.from_codes(domain, np.zeros((50, 2), dtype=np.int64))
    groups = tuple(tuple(np.arange(n) // 2) for n in domain.sizes)
    groups = tuple(tuple(map(int, labels)) for labels in groups)
    measurer = measurer_of("indicator", "1x2", Fraction(1), table)
    (found,) = measurer.measure(
        [Query(View(("a", "b"), groups=groups, interaction=alone), Fraction(1), "test")]
    )
    assert found.sigma == measurer.expected_sigma(
        View(("a", "b"), groups=groups, interaction=alone), Fraction(1)
    )
    exact = np.zeros(2000)
    exact[0] = 50
    noise = found.values - (interaction(exact, (40, 50)) if alone else exact)
    freedom = 39 * 49 / 2000 if alone else 1
    assert np.sqrt(np.mean(noise**2) / freedom) == pytest.approx(found.sigma, rel=0.12)


@pytest.mark.parametrize(("protocol", "grid"), PARTITIONS)
@pytest.mark.parametrize("alone", [False, True])
def test_the_expected_deviation_is_that_of_the_grouped_measurement(protocol, grid, alone):
    clique, rho = ("a", "c", "d"), Fraction(1, 3)
    measurer = measurer_of(protocol, grid, Fraction(1), table_of())
    (found,) = measurer.measure(
        [Query(View(clique, groups=groups_of(clique), interaction=alone), rho, "test")]
    )
    assert found.sigma == measurer.expected_sigma(
        View(clique, groups=groups_of(clique), interaction=alone), rho
    )


@pytest.mark.parametrize(("protocol", "grid"), PARTITIONS)
def test_scores_are_distances_of_the_grouped_marginals(protocol, grid):
    """One of the cliques has no groups; at a budget at which noise is far below half a record."""
    table = table_of()
    measurer = measurer_of(protocol, grid, EXACT, table)
    groups = [groups_of(clique) for clique in CLIQUES[:-1]] + [()]
    counts = [mapped(table, GROUPS).marginal(clique) for clique in CLIQUES[:-1]]
    counts.append(table.marginal(CLIQUES[-1]))
    references = [np.arange(count.size, dtype=np.int64) for count in counts]
    found = measurer.score([*map(View, CLIQUES, groups)], references, EXACT, "scores")
    expected = [np.abs(c - r).sum() for c, r in zip(counts, references, strict=True)]
    np.testing.assert_allclose(found.values, expected, atol=0.5)


@pytest.mark.parametrize(("protocol", "grid"), PARTITIONS)
def test_groups_that_do_not_fit_are_refused_before_anything_is_charged(protocol, grid):
    measurer = measurer_of(protocol, grid, Fraction(1), table_of())
    wrong = ((0, 1, 1),)
    with pytest.raises(DataError, match="a group for each of 4 codes"):
        measurer.measure([Query(View(("a",), groups=wrong), Fraction(1, 2), "test")])
    with pytest.raises(DataError, match="a group for each of 4 codes"):
        measurer.score([View(("a",), wrong)], [np.zeros(2, dtype=np.int64)], Fraction(1, 2), "scores")
    assert measurer.accountant.charges == ()


@pytest.mark.parametrize(("protocol", "grid"), [("trusted", "1x1"), ("masked", "1x2")])
def test_nothing_has_the_size_of_the_cells_of_single_codes(protocol, grid):
    """Four attributes of 1,000 codes have 10^12 cells, more than any memory; of two groups each, 16."""
    domain = Domain.coded(dict.fromkeys("wxyz", 1000))
    table = random_table(domain, 50)
    halves = tuple(int(code >= 500) for code in range(1000))
    measurer = measurer_of(protocol, grid, EXACT, table)
    (found,) = measurer.measure([Query(View(domain.names, groups=(halves,) * 4), EXACT, "test")])
    exact = mapped(table, dict.fromkeys("wxyz", halves)).marginal(domain.names)
    np.testing.assert_allclose(found.values, exact, atol=0.5)


ALIGNED = [["abcd"], ["ac bd"], ["ab c d", "abcd"]]
HUGE = Fraction(10**7)


def with_absent(groups):
    """The groups of each attribute with `absent` as the last group, alone."""
    return {name: (*labels, max(labels) + 1) if labels else () for name, labels in groups.items()}


def counted(people, population, clique, groups):
    """Exact counts of groups: sums over those of codes."""
    absent = int(population is Population.ANYWHERE)
    exact = people.anywhere(clique) if absent else people.everywhere(clique)
    shape = tuple(people.domain[name].size + absent for name in clique)
    grouped = tuple(groups[name] for name in clique)
    return group_sums(exact, shape, grouped), grouped


@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", ALIGNED, ids=" / ".join)
@pytest.mark.parametrize("alone", [False, True])
def test_aligned_parties_count_groups_of_the_same_people(population, grid, alone):
    people = People(DOMAIN, grid)
    groups = with_absent(GROUPS) if population is Population.ANYWHERE else GROUPS
    measurer = AlignedRelease(people, population, HUGE).measurer()
    expected, queries = [], []
    for clique in CLIQUES[:-1]:
        counts, grouped = counted(people, population, clique, groups)
        shape = grouped_shape(measurer.domain.shape(clique), grouped)
        expected.append(interaction(counts.astype(float), shape) if alone else counts)
        queries.append(Query(View(clique, groups=grouped, interaction=alone), HUGE / 4, "test"))
    for measurement, exact in zip(measurer.measure(queries), expected, strict=True):
        np.testing.assert_allclose(measurement.values, exact, atol=0.3)


@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", ALIGNED, ids=" / ".join)
def test_scores_of_groups_over_aligned_parties_leave_out_people_with_nothing(population, grid):
    people = People(DOMAIN, grid)
    groups = with_absent(GROUPS) if population is Population.ANYWHERE else GROUPS
    measurer = AlignedRelease(people, population, HUGE).measurer()
    found = [counted(people, population, clique, groups) for clique in CLIQUES[:-1]]
    references = [np.arange(counts.size, dtype=np.int64) for counts, _ in found]
    scores = measurer.score(
        [*map(View, CLIQUES[:-1], [grouped for _, grouped in found])], references, HUGE / 2, "test"
    )
    for (counts, _), reference, score in zip(found, references, scores.values, strict=True):
        differences = np.abs(counts - reference)
        expected = differences[:-1].sum() if population is Population.ANYWHERE else differences.sum()
        assert round(score) == expected


@pytest.mark.parametrize("labels", [(0, 1, 1, 0, 0), (1, 0, 0, 2, 1), (2, 1, 1, 2, 0)])
@pytest.mark.parametrize("grid", [["abcd"], ["ac bd"]], ids=" / ".join)
def test_groups_in_which_absent_is_not_alone_and_last_are_refused_and_can_be_mended(labels, grid):
    people = People(DOMAIN, grid)
    measurer = AlignedRelease(people, Population.ANYWHERE, HUGE).measurer()
    with pytest.raises(DataError, match="set it apart"):
        measurer.measure([Query(View(("a",), groups=(labels,)), HUGE / 4, "test")])
    with pytest.raises(DataError, match="set it apart"):
        measurer.score([View(("a",), (labels,))], [np.zeros(3, dtype=np.int64)], HUGE / 4, "test")
    assert measurer.accountant.charges == ()
    mended = measurer.measurable_groups((labels,))
    (found,) = measurer.measure([Query(View(("a",), groups=mended), HUGE / 4, "test")])
    exact = group_sums(people.anywhere(("a",)), (5,), mended)
    assert np.rint(found.values).tolist() == exact.tolist()


@pytest.mark.parametrize("labels", [(0, 1, 1, 0, 0), (2, 1, 1, 2, 0)])
@pytest.mark.parametrize("grid", [["abcd"], ["ac bd"]], ids=" / ".join)
def test_a_party_refuses_groups_in_which_absent_is_not_alone(labels, grid, monkeypatch):
    """Asked by a curator that does not check."""
    people = People(DOMAIN, grid)
    release = AlignedRelease(people, Population.ANYWHERE, HUGE)
    measurer = release.measurer()
    monkeypatch.setattr(measurer, "_check", lambda view: None)
    with pytest.raises(MosaicError, match="set it apart"):
        measurer.measure([Query(View(("a",), groups=(labels,)), HUGE / 4, "test")])
    with pytest.raises(MosaicError, match="set it apart"):
        measurer.score(
            [View(("a",), (labels,))], [np.zeros(max(labels) + 1, dtype=np.int64)], HUGE / 4, "test"
        )


def test_elsewhere_any_groups_are_measurable():
    measurer = measurer_of("masked", "1x2", Fraction(1), table_of())
    assert measurer.measurable_groups(((1, 0, 0, 0),)) == ((1, 0, 0, 0),)


def test_openings_have_as_many_columns_as_there_are_groups(monkeypatch):
    """Of the parts of both parties; a part of the same groups is opened once."""
    widths, opening = [], products.opening

    def opened(matrix, mask):
        widths.append(matrix.shape[1])
        return opening(matrix, mask)

    monkeypatch.setattr(products, "opening", opened)
    measurer = measurer_of("masked", "1x2", EXACT, table_of())
    groups = groups_of(("a", "b", "c", "d"))
    measurer.measure([Query(View(DOMAIN.names, groups=groups), EXACT / 2, "test")])
    assert sorted(widths) == [6, 6]
    measurer.measure([Query(View(DOMAIN.names, groups=groups, interaction=True), EXACT / 2, "test")])
    assert len(widths) == 2


def test_products_of_many_columns_are_asked_in_several_messages(monkeypatch):
    """Each with at most 40 bytes of names: a column of c with its groups has 12, one of a 10."""
    asked, multiply = [], PartyClient.multiply

    def multiplied(client, request):
        asked.append(sum(len(name) for chain in request.chains for part in chain for name in part))
        multiply(client, request)

    monkeypatch.setattr(PartyClient, "multiply", multiplied)
    monkeypatch.setattr(sent, "_MOST_NAMED", 40)
    table, pairs = table_of(), [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
    measurer = measurer_of("masked", "1x2", EXACT, table)
    found = measurer.measure([Query(View(c, groups=groups_of(c)), EXACT / 4, "test") for c in pairs])
    for clique, measurement in zip(pairs, found, strict=True):
        np.testing.assert_allclose(measurement.values, mapped(table, GROUPS).marginal(clique), atol=0.5)
    assert len(asked) > 2
    assert max(asked) <= 40


@pytest.mark.parametrize("grid", ["1x1", "1x2"])
@pytest.mark.parametrize("protocol", ["indicator", "masked"])
def test_an_answer_is_recalled_only_for_the_same_groups(protocol, grid):
    """Also where the curator adds up the cells, so that parties get the same query."""
    described = []

    class Answers(NoJournal):
        def keep(self, query_id, query, answered):
            described.append(query)

    table, clique = table_of(), ("a", "c")
    for groups in [groups_of(clique), ((0, 0, 1, 1), ()), (), groups_of(clique)]:
        measurer = measurer_of(protocol, grid, Fraction(1), table)
        measurer._asking = Asking(Answers())
        measurer.measure([Query(View(clique, groups=groups), Fraction(1), "test")])
    assert len(set(described)) == 3
    assert described[0] == described[-1]


@pytest.mark.parametrize("grid", ["1x2", "1x3", "2x2"])
def test_a_mask_hides_one_matrix_only_whatever_the_groups(grid, monkeypatch):
    hidden, opening = {}, products.opening

    def opened(matrix, mask):
        assert hidden.setdefault(mask.tobytes(), matrix.tobytes()) == matrix.tobytes()
        return opening(matrix, mask)

    monkeypatch.setattr(products, "opening", opened)
    measurer = measurer_of("masked", grid, Fraction(1), table_of())
    clique = ("a", "c", "d")
    several = [groups_of(clique), (), ((0, 1, 1, 0), (), ()), ((1, 0, 0, 1), (), ()), ((0, 1, 0, 1), (), ())]
    for groups in several:
        measurer.measure([Query(View(clique, groups=groups), Fraction(1, 9), "test")])
    # Four ways to count a, and two to count (c, d).
    assert len(hidden) >= 6
