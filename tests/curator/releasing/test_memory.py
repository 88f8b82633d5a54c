from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.mechanisms.parts.steps import Asks, Step
from dpmosaic.curator.releasing.memory import check_memory, machine_bytes, needed_bytes

DOMAIN = Domain.coded({"a": 4, "b": 5, "icd": 90_000, "zip": 100_000})
ONE_WAY = Step("one-way", "One-way", Asks.MARGINALS, Fraction(1, 2), (("a",), ("b",)))


def pairs(asks=Asks.MARGINALS, cliques=(("a", "b"),), **changes):
    return Step("pairs", "Pairs", asks, Fraction(1, 2), cliques, **changes)


def test_every_measured_cell_counts():
    assert needed_bytes(DOMAIN, [ONE_WAY]) == 16 * 9
    assert needed_bytes(DOMAIN, [ONE_WAY, pairs(times=3)]) == 16 * (9 + 3 * 20)


def test_scores_are_kept_for_one_round_and_only_the_largest_marginals_that_are_asked_for_count():
    assert needed_bytes(DOMAIN, [pairs(Asks.SCORES, times=5)]) == 16 * 20
    two = pairs(cliques=(("a", "b"), ("a",)), at_once=1)
    assert needed_bytes(DOMAIN, [two]) == 16 * 20


def test_groups_of_codes_count_in_place_of_codes():
    grouped = pairs(groups=(((0, 0, 1, 1), ()),))
    assert needed_bytes(DOMAIN, [grouped]) == 16 * 10


def test_what_does_not_fit_is_refused_in_mib():
    step = pairs(cliques=(("icd", "zip"),))
    with pytest.raises(ModelError, match="need up to 137,329 MiB, and this machine has 1,024"):
        check_memory(DOMAIN, [step], available=2**30)
    assert check_memory(DOMAIN, [ONE_WAY], available=16 * 9) == 16 * 9
    assert machine_bytes() > 2**27
