"""A lower bound on epsilon from releases of two neighbouring tables, by bets on which table each came from.

A fair coin chooses the table of each release. Whatever a release under epsilon shows, each table is then
its origin with probability at most p = e^epsilon / (1 + e^epsilon). Wealth multiplies by c / p if a guess of
confidence c > p is right, and by (1 - c) / (1 - p) if it is wrong, on average by 1 at most. So it ever
reaches 1 / alpha with probability alpha at most, whatever was learned from the releases before. A release
under (epsilon, delta) is one under epsilon, or with probability delta one that may tell all.

Source: sequential audits, Gonzalez et al., "Sequentially Auditing Differential Privacy", NeurIPS 2025; what
tells the tables apart is learned from outputs, Bichsel et al., "DP-Sniper", IEEE S&P 2021.
"""

import numpy as np

ALPHA = 1e-5
"""A bound of a correct program is above its epsilon with probability ALPHA + delta times releases at most."""

EPSILONS = np.array(
    [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
)
"""What a bound can be. The same stake is bet against each of these."""

_FEW = 3
"""An answer that fewer releases give teaches nothing."""

_MOST_LIMITS = 16
_FOR_A_LIMIT = 12
"""Numbers are compared with one limit for so many releases, of which each teaches little."""


def lower_bound(shown, neighbour, alpha=ALPHA):
    """A lower bound on epsilon.

    Args:
        shown: what each release shows, as numbers by name; a name may be missing.
        neighbour: whether each is of the neighbour, by a fair coin.
        alpha: see `ALPHA`.

    Returns:
        The largest of `EPSILONS` that the releases contradict, 0 if none is contradicted. An epsilon bounds
        what all bets against it and larger ones win together, so a bound that is not below the true epsilon
        has the probability of `ALPHA`.
    """
    neighbour = np.array(neighbour)
    chance = _chances(_questions(shown), neighbour)
    right = ((chance > 0.5) == neighbour)[:, None]
    confidence = np.maximum(chance, 1 - chance)[:, None]
    odds = np.maximum(1 / (1 + np.exp(-EPSILONS)), 0.5)
    factors = np.where(right, confidence / odds, (1 - confidence) / (1 - odds))
    wealth = np.cumprod(np.where(confidence > odds, factors, 1.0), axis=0) / len(EPSILONS)
    together = np.cumsum(wealth[:, ::-1], axis=1)[:, ::-1].max(axis=0)
    return float(EPSILONS[together >= 1 / alpha].max(initial=0))


def _chances(answers, neighbour):
    """For each release the probability that it is of the neighbour, learned from the releases before.

    It is a Bayesian mixture over the questions; each counts the releases of both tables with the same answer.

    Args:
        answers: to each question, shape (releases, questions).
        neighbour: see `lower_bound`.
    """
    if not answers.size:
        return np.full(len(neighbour), 0.5)
    every = np.arange(answers.shape[1])
    counts = np.zeros((2, answers.max() + 1, len(every)))
    evidence, found = np.zeros(len(every)), []
    for answer, origin in zip(answers, neighbour.astype(int), strict=True):
        alike = counts[:, answer, every]
        chances = (alike[1] + 0.5) / (alike.sum(0) + 1)
        weights = np.exp(evidence - evidence.max())
        found.append(weights @ chances / weights.sum())
        evidence += np.log(chances if origin else 1 - chances)
        counts[origin, answer, every] += 1
    return np.array(found)


def _questions(shown):
    """Answers that split the releases, shape (releases, questions); equal columns are one.

    For each name: whether it occurs, whether its number is at most some that were seen, whether it is one
    that often was, and in which of some bins it is.
    """
    found = {}
    for numbers in _different(shown):
        values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        if counts.sum() < _FEW:
            continue
        for answers in _asked(numbers, values, counts):
            if answers.dtype != bool:
                answers = np.unique(answers, return_inverse=True)[1]
            if np.sort(np.bincount(answers, minlength=2))[-2] >= _FEW:
                answers = answers.astype(np.int8)
                found[(answers if answers.max() > 1 else answers ^ answers[0]).tobytes()] = answers
    return np.column_stack([*found.values()]) if found else np.zeros((len(shown), 0), dtype=np.int8)


def _different(shown):
    """All rankings of releases by the number of a name, NaN where it is missing, without ties of all.

    Questions compare the numbers of a name with each other alone.
    """
    places = {name: place for place, name in enumerate(sorted(set().union(*shown)))}
    numbers = np.full((len(places), len(shown)), np.nan)
    for release, one in enumerate(shown):
        numbers[[places[name] for name in one], release] = [*one.values()]
    numbers = numbers[~(numbers == numbers[:, :1]).all(axis=1)]
    order = np.argsort(numbers, axis=1)
    ordered = np.take_along_axis(numbers, order, axis=1)
    steps = ordered[:, 1:] > ordered[:, :-1]
    ranks = np.zeros(numbers.shape)
    np.put_along_axis(ranks, order[:, 1:], np.cumsum(steps, axis=1), axis=1)
    ranks[np.isnan(numbers)] = np.nan
    return {row.tobytes(): row for row in ranks}.values()


def _asked(numbers, values, counts):
    held = ~np.isnan(numbers)
    yield held
    limits = min(_MOST_LIMITS, len(numbers) // _FOR_A_LIMIT)
    for limit in values[np.unique(np.linspace(0, len(values) - 1, limits + 2).astype(int))[:-1]]:
        yield numbers <= limit
    for value in values[counts >= max(_FEW, len(numbers) / _MOST_LIMITS)]:
        yield numbers == value
    if limits > _FEW and len(values) > 2:
        inner = np.quantile(numbers[held], np.linspace(0, 1, limits + 1)[1:-1])
        yield np.where(held, np.searchsorted(inner, numbers), -1)
