import itertools
import math

import networkx as nx
import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.mechanisms.absyn.batch_selection import Candidates, select_batch

RECORDS = 1000


def domain_of(sizes):
    return Domain.coded({f"x{place}": int(size) for place, size in enumerate(sizes)})


def candidates(domain, shares, rho):
    """Pairs whose R-scores are these shares of the largest, and their noise by its closed form."""
    largest = {p: 2 * (min(domain.shape(p)) - 1) / min(domain.shape(p)) for p in shares}
    return Candidates(
        {pair: RECORDS * share * largest[pair] for pair, share in shares.items()},
        {pair: domain.cells(pair) / math.sqrt(math.pi * rho) for pair in shares},
        RECORDS,
    )


def select(domain, shares, rho, tau=10**6, size_mb=100.0, difference=False):
    return select_batch(
        domain,
        candidates(domain, shares, rho),
        max_clique_cells=tau,
        max_model_mb=size_mb,
        difference=difference,
    )


def total_error(domain, shares, rho, selected, difference):
    """Noise at the budgets of Equation 11, plus CR-scores by a search over all paths."""
    parts = {pair: domain.cells(pair) ** (2 / 3) for pair in selected}
    error = 0.0
    for pair, part in parts.items():
        error += domain.cells(pair) * math.sqrt(1 / (math.pi * rho * part / sum(parts.values())))
    graph = nx.Graph([(a, b, {"share": shares[a, b]}) for a, b in selected])
    for a, b in set(shares) - set(selected):
        best = 0.0
        if a in graph and b in graph:
            for path in nx.all_simple_paths(graph, a, b):
                best = max(best, math.prod(graph.edges[step]["share"] for step in itertools.pairwise(path)))
        smaller = min(domain.shape((a, b)))
        left = shares[a, b] - best if difference else shares[a, b] * (1 - best)
        error += RECORDS * 2 * (smaller - 1) / smaller * left
    return error


def triangulated(domain, pairs):
    """The pairs of the triangulation with the fewest cells, by trying all orders of elimination."""
    best = math.inf, frozenset(), 0
    for order in itertools.permutations(domain.names):
        graph = nx.Graph(pairs)
        graph.add_nodes_from(domain.names)
        cliques = []
        for name in order:
            around = sorted(graph[name])
            cliques.append(frozenset([name, *around]))
            graph.remove_node(name)
            graph.add_edges_from(itertools.combinations(around, 2))
        cells = [domain.cells(c) for c in cliques if not any(c < other for other in cliques)]
        edges = frozenset(
            domain.canonical(pair) for clique in cliques for pair in itertools.combinations(clique, 2)
        )
        best = min(best, (sum(cells), edges, max(cells)), key=lambda found: found[0])
    return best


def greedy(domain, shares, rho, tau, difference):
    """Algorithm 3, implemented literally."""
    selected, error = frozenset(), total_error(domain, shares, rho, (), difference)
    while True:
        found = []
        for pair in set(shares) - selected:
            _, edges, largest = triangulated(domain, selected | {pair})
            if largest <= tau:
                found.append((total_error(domain, shares, rho, edges, difference), edges))
        if not found or min(found, key=lambda f: f[0])[0] >= error:
            return selected
        error, selected = min(found, key=lambda f: f[0])


@pytest.mark.slow
def test_selects_the_same_pairs_as_the_paper_s_greedy_search():
    counts = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        domain = domain_of(rng.permutation([2, 3, 5, 7, 11])[:4])
        shares = {pair: rng.random() for pair in itertools.combinations(domain.names, 2)}
        rho = 10 ** rng.uniform(-3, 0)
        tau = int(rng.choice([60, 10**6]))
        for difference in (False, True):
            wanted = greedy(domain, shares, rho, tau, difference)
            assert set(select(domain, shares, rho, tau, difference=difference)) == wanted
            counts.add(len(wanted))
    assert len(counts) >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "difference"), [(205, False), (404, True)])
def test_selects_the_same_pairs_where_the_triangulation_matters(seed, difference):
    rng = np.random.default_rng(seed)
    domain = domain_of(rng.permutation([2, 3, 5, 7, 11]))
    shares = {pair: 0.4 + 0.6 * rng.random() for pair in itertools.combinations(domain.names, 2)}
    rho = 10 ** rng.uniform(-3, -1)
    wanted = greedy(domain, shares, rho, 10**6, difference)
    assert set(select(domain, shares, rho, difference=difference)) == wanted


@pytest.mark.parametrize(("factor", "count"), [(0.99, 1), (1.01, 2)])
def test_selects_a_pair_whose_missing_information_exceeds_its_noise_at_the_best_split(factor, count):
    """The noise of pairs of c cells at the split of Equation 11 is (sum of c^(2/3))^(3/2) / sqrt(pi rho)."""
    rho = 0.01
    both = (4 ** (2 / 3) + 121 ** (2 / 3)) ** 1.5
    added = (both - 121) / math.sqrt(math.pi * rho)
    shares = {("x0", "x1"): factor * added / RECORDS, ("x2", "x3"): 0.99}
    assert len(select(domain_of([2, 2, 11, 11]), shares, rho)) == count


def random_case(seed, count=9):
    rng = np.random.default_rng(seed)
    domain = domain_of(rng.integers(2, 9, count))
    return domain, {pair: rng.random() ** 3 for pair in itertools.combinations(domain.names, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("tau", [100, 1000])
def test_the_selected_pairs_are_a_triangulated_graph_with_cliques_up_to_tau(tau):
    for seed in range(5):
        domain, shares = random_case(seed)
        graph = nx.Graph(select(domain, shares, 0.5, tau))
        assert nx.is_chordal(graph)
        cells = [domain.cells(clique) for clique in nx.find_cliques(graph)]
        assert tau / 8 < max(cells) <= tau


def test_the_whole_model_stays_within_its_limit():
    for seed in range(3):
        domain, shares = random_case(seed)
        graph = nx.Graph(select(domain, shares, 0.5, size_mb=600 * 8 / 2**20))
        graph.add_nodes_from(domain.names)
        assert 300 < sum(domain.cells(clique) for clique in nx.find_cliques(graph)) <= 600


def test_a_triangulation_adds_no_pair_that_is_no_candidate():
    domain = domain_of([3, 3, 3, 3])
    square = [("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x0", "x3")]
    found = select(domain, dict.fromkeys(square, 0.9), rho=10.0)
    assert len(found) == 3
    assert set(found) < set(square)


@pytest.mark.parametrize(("rho", "count"), [(1e-6, 0), (1e6, 6)])
def test_selects_no_pair_under_large_noise_and_all_without_noise(rho, count):
    shares = dict.fromkeys(itertools.combinations(["x0", "x1", "x2", "x3"], 2), 0.5)
    assert len(select(domain_of([3, 3, 3, 3]), shares, rho)) == count


@pytest.mark.parametrize("difference", [False, True])
def test_a_pair_that_two_others_explain_is_not_selected(difference):
    """The example of the paper's Figure 1: x1 and x2 depend on each other mostly through x0."""
    domain = domain_of([4, 4, 4])
    shares = {("x0", "x1"): 0.95, ("x0", "x2"): 0.95, ("x1", "x2"): 0.9}
    alone = {("x1", "x2"): 0.9}
    assert select(domain, shares, 0.01, difference=difference) == [("x0", "x1"), ("x0", "x2")]
    assert select(domain, alone, 0.01, difference=difference) == [("x1", "x2")]


def test_handles_attributes_of_one_category_and_a_domain_without_pairs():
    assert select(domain_of([1, 4]), {("x0", "x1"): 0.0}, 1.0) == []
    assert select(domain_of([4]), {}, 1.0) == []
