"""The compiled selection against one that recomputes every distance."""

import threading

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.dp_select.distances import DISTANCES, Reference, distance
from dpmosaic.curator.mechanisms.dp_select.sections import (
    Selection,
    gumbel,
    parts,
    select,
    select_in_sections,
)

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
CLIQUES = (("a", "b"), ("b", "c"), ("c",))
WEIGHTS = np.array([0.5, 0.3, 0.2])


def random_table(records, seed=0, skew=1.0):
    rng = np.random.default_rng(seed)
    shares = [np.arange(1, n + 1) ** skew for n in DOMAIN.sizes]
    columns = [rng.choice(n, records, p=p / p.sum()) for n, p in zip(DOMAIN.sizes, shares, strict=True)]
    return Table.from_codes(DOMAIN, np.column_stack(columns))


def never(_):
    """Ignores the progress."""


def from_scratch(pool, reference, needed, selection, stream):
    """Algorithm 1, implemented literally: recomputes the distance for every candidate."""
    cells = reference.cells(pool)
    rng, noise = stream.child("candidates").generator(), stream.child("gumbel")
    order, chosen = np.arange(pool.record_count), []
    width = selection.candidates * selection.at_once
    steps = selection.steps(needed)
    uniform, noisy = rng.random((steps, width)), gumbel(noise, (steps, selection.candidates))
    for step in range(steps):
        size = min(selection.at_once, needed - len(chosen))
        remaining = len(order) - len(chosen)
        candidates = min(selection.candidates, remaining // size)
        for place in range(candidates * size):
            other = place + int(uniform[step, place] * (remaining - place))
            order[[place, other]] = order[[other, place]]
        values = []
        for candidate in range(candidates):
            rows = [*chosen, *order[candidate * size : (candidate + 1) * size]]
            counts = np.bincount(cells[rows].ravel(), minlength=len(reference.shares))
            found = distance(selection.distance, reference, counts, len(rows))
            values.append(
                -found if np.isinf(selection.factor) else noisy[step, candidate] - selection.factor * found
            )
        best = int(np.argmax(values))
        picked = order[best * size : (best + 1) * size].tolist()
        for within in range(size - 1, -1, -1):
            place, last = best * size + within, len(order) - len(chosen) - 1
            chosen.append(int(order[place]))
            order[[place, last]] = order[[last, place]]
        assert sorted(chosen[-size:]) == sorted(picked)
    return chosen


@pytest.mark.parametrize("factor", [0.0, 30.0, 500.0, 1e6])
@pytest.mark.parametrize(("candidates", "at_once"), [(5, 1), (3, 4), (7, 50)])
@pytest.mark.parametrize("kind", DISTANCES)
def test_incremental_selection_equals_recomputed_selection(kind, candidates, at_once, factor):
    pool = random_table(130, seed=1, skew=0.3)
    reference = Reference.exact(random_table(60), CLIQUES, WEIGHTS)
    selection = Selection(kind, candidates, at_once, factor)
    chosen = select(pool, reference, 60, selection, RandomStream.from_seed(3), never)
    expected = from_scratch(pool, reference, 60, selection, RandomStream.from_seed(3))
    counts = [np.bincount(reference.cells(pool)[rows].ravel()).tolist() for rows in (chosen, expected)]
    assert counts[0] == counts[1]
    assert len(set(chosen.tolist())) == 60


@pytest.mark.parametrize("kind", DISTANCES)
def test_without_noise_the_selected_come_closer_than_the_pool(kind):
    pool, reference = random_table(3000, 1, 0.0), Reference.exact(random_table(500), CLIQUES, WEIGHTS)
    found = {}
    for factor in (0.0, np.inf):
        chosen = select(
            pool, reference, 500, Selection(kind, 10, 1, factor), RandomStream.from_seed(1), never
        )
        counts = np.bincount(reference.cells(pool)[chosen].ravel(), minlength=len(reference.shares))
        found[factor] = distance(kind, reference, counts, 500)
    assert found[np.inf] < 0.25 * found[0.0]


def test_selects_the_whole_pool_if_all_rows_are_needed():
    pool, reference = random_table(50), Reference.exact(random_table(50), CLIQUES, WEIGHTS)
    chosen = select(pool, reference, 50, Selection("density", 20, 7, 9.0), RandomStream.from_seed(1), never)
    assert sorted(chosen.tolist()) == list(range(50))
    with pytest.raises(ValueError, match="at least as many rows"):
        select(pool, reference, 51, Selection("density", 20, 1, 1.0), RandomStream.from_seed(1), never)


@pytest.mark.slow
def test_one_step_chooses_with_the_probabilities_of_the_exponential_mechanism():
    """A chi-square test at 4000 draws fails with probability 10^-4 for a correct program."""
    domain = Domain.coded({"a": 3})
    pool = Table.from_codes(domain, np.arange(3)[:, None])
    reference = Reference.of([("a",)], np.ones(1), [np.array([0.6, 0.3, 0.1])])
    factor = 1.5
    weights = [np.exp(-factor * distance("density", reference, np.eye(3)[i], 1)) for i in range(3)]
    selection = Selection("density", 3, 1, factor)
    root = RandomStream.from_seed(5)
    chosen = [select(pool, reference, 1, selection, root.child(str(i)), never)[0] for i in range(4000)]
    expected = 4000 * np.array(weights) / np.sum(weights)
    assert chisquare(np.bincount(chosen, minlength=3), expected).pvalue > 1e-4


def test_gumbel_noise_has_the_gumbel_distribution():
    """A Kolmogorov test that fails with probability 10^-4 for a correct program."""
    draws = gumbel(RandomStream.from_seed(2), (200, 100)).ravel()
    assert kstest(draws, lambda x: np.exp(-np.exp(-x))).pvalue > 1e-4


class OneWord(RandomStream):
    def __init__(self, word):
        super().__init__(bytes(32))
        self.word = word

    def words(self, count):
        return np.full(count, self.word, dtype=np.uint64)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_least_and_the_largest_random_words_give_finite_noise(word):
    assert np.isfinite(gumbel(OneWord(word), (1, 1))).all()


def test_parts_cover_everything_once_and_differ_by_one_at_most():
    cut = parts(17, 5)
    assert [i for part in cut for i in range(part.start, part.stop)] == list(range(17))
    assert {part.stop - part.start for part in cut} == {3, 4}


def sectioned(stream, threads=2, report=never):
    pool = random_table(400, seed=1)
    tables = [random_table(40, seed=2 + i, skew=3.0 * i) for i in range(2)]
    references = [Reference.exact(table, CLIQUES, WEIGHTS) for table in tables]
    selection = Selection("density", 10, 1, np.inf)
    return (
        pool,
        references,
        select_in_sections(pool, references, [40, 40], selection, stream, report, threads),
    )


def test_each_section_selects_from_its_part_of_the_pool_rows_close_to_its_part_of_the_table():
    pool, references, chosen = sectioned(RandomStream.from_seed(1))
    assert (chosen[:40] < 200).all()
    assert (chosen[40:] >= 200).all()
    for own, other, rows in ((0, 1, chosen[:40]), (1, 0, chosen[40:])):
        counts = np.bincount(references[own].cells(pool)[rows].ravel(), minlength=len(references[own].shares))
        assert 3 * distance("density", references[own], counts, 40) < distance(
            "density", references[other], counts, 40
        )


def test_the_selection_does_not_depend_on_the_number_of_threads():
    one, two = (sectioned(RandomStream.from_seed(7), threads)[2] for threads in (1, 2))
    assert one.tolist() == two.tolist()


def test_progress_ends_at_one():
    seen = []
    sectioned(RandomStream.from_seed(1), report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_an_interrupt_ends_every_section():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sectioned(RandomStream.from_seed(1), report=interrupted)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("section")]
