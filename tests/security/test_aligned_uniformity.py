"""What parties of a slice open to each other over an alignment is uniform, whoever is where.

About 200 tests reject at p < 1e-6, so a correct program would fail for fewer than 1 in 5,000 choices of the
seeds, which are fixed.
"""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.alignment.alignment import Population
from dpmosaic.common.protocols.masked.presence import is_presence
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.openings import Openings
from support.aligned import AlignedRelease, People
from support.forgetting import forget
from support.words import ALPHA, likeness, rejected, uniformity

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
CLIQUES = [("a",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
GRIDS = {"two parties": ["ab c"], "three parties": ["a b c"]}
PEOPLE = 300


def views_of(grid, population, monkeypatch, absent=0.3, seed=1):
    """The words that parties get of each other and of the dealer, and those of one sender compared.

    Returns:
        Name of a view -> key of its message -> words, shape (positions, columns).
    """
    people = People(DOMAIN, grid, records=PEOPLE, absent=absent, dummies=60, seed=seed)
    release = AlignedRelease(people, population, granted=Fraction(1), seed=seed)
    seen, put = [], Openings.put

    def noted(self, key, rows, cells, chunks):
        chunks = list(chunks)
        seen.append((id(self), key, np.frombuffer(b"".join(chunks), dtype="<u4").reshape(rows, cells)))
        put(self, key, rows, cells, chunks)

    with monkeypatch.context() as patched:
        patched.setattr(Openings, "put", noted)
        measurer = release.measurer()
        assert measurer._plan.ring == Ring(32)
        measurer.measure([Query(clique, release.granted / len(CLIQUES), "test") for clique in CLIQUES])
    places = {store: number for number, store in enumerate(dict.fromkeys(store for store, *_ in seen))}
    views, by_sender, by_chain = defaultdict(dict), defaultdict(dict), defaultdict(list)
    for store, key, words in seen:
        name = "dealt" if key[0] is DeliveryKind.DEALT_ROWS else "opened"
        views[name][places[store], *key] = words
        if name == "opened":
            by_sender[key[0]][key[1]] = words.ravel()
            by_chain[places[store], key[1]].append(words)
    for sender, held in by_sender.items():
        for one, other in itertools.combinations(sorted(held), 2):
            size = min(held[one].size, held[other].size)
            views["of one sender, less one another"][sender, one, other] = (
                held[one][:size] - held[other][:size]
            )
    for key, matrices in by_chain.items():
        if len(matrices) > 1:
            views["of one matrix, added up"][key] = sum(matrices)
    return views


@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_openings_over_an_alignment_are_uniform(grid, population, monkeypatch):
    views = views_of(grid, population, monkeypatch)
    assert {"opened", "of one sender, less one another"} <= set(views)
    assert rejected(views) == set()


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_openings_do_not_show_who_is_everywhere(grid, monkeypatch):
    none, half = (
        views_of(grid, Population.EVERYWHERE, monkeypatch, absent=absent, seed=seed)
        for absent, seed in ((0.0, 1), (0.5, 2))
    )
    for name in none:
        assert none[name].keys() == half[name].keys()
        for key in none[name]:
            assert likeness(none[name][key], half[name][key]) > ALPHA


def test_a_presence_that_is_opened_without_a_mask_is_detected(monkeypatch):
    forget(monkeypatch, "mask", parts={1})
    views = views_of(["ab c"], Population.EVERYWHERE, monkeypatch)
    seen = {chain: words for (*_, chain), words in views["opened"].items()}
    assert {uniformity(words) < ALPHA for chain, words in seen.items() if len(chain) == 1} == {True}
    assert any(is_presence(part) for (part, *others) in seen if not others)
