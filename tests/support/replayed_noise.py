"""Releases from two neighbouring tables with the same noisy counts: what leaves must be the same.

A release is a function of public arguments, of noisy counts of a table, and of randomness that no row has a
part in. So it is made twice with the same randomness: from a table, whose noisy counts are noted, and from a
neighbour, whose counts are answered with those that were noted. Whatever then differs, in what is asked or in
what leaves, was read from the rows beside the counts. And the counts of both tables show what each histogram
tells of the row that they differ in.
"""

import contextlib
import secrets
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from unittest import mock

import numpy as np
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy import partition_selection
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.protocols import indicator
from dpmosaic.curator.certificates import issuing
from dpmosaic.party.answerers import scores
from dpmosaic.synthesis.learning import private_counts
from support.auditing import ALPHA
from support.shown import no_second_opinions

_NOISY = (indicator, partition_selection, private_counts)
"""The modules that add noise to counts."""

_NEVER = 1 << 50
"""A value so far below zero is never found to be frequent."""

_drawn = private_counts.noisy_counts


@dataclass(frozen=True, eq=False)
class Answer:
    """A noisy histogram.

    Attributes:
        counts: the exact counts, of whole rows or people.
        sigma: of the noise, in counts.
        noisy: counts and noise, in units of 1/g.
        occurring: whether it counts the values that occur, of which a neighbour may have one more.
        distances: whether it holds scores, each of which one row changes by one and which are charged each.
        parts: of a person, of which rows have some each.
    """

    counts: np.ndarray
    sigma: float
    noisy: np.ndarray
    occurring: bool
    distances: bool = False
    parts: int = 1


class AskedOtherwise(Exception):
    """A release from a neighbour asks for other counts, after the same answers."""


@dataclass(eq=False)
class Answers:
    """The noisy histograms of a release, in order.

    Attributes:
        noted: those of the other table, which are repeated; None for the first release.
        given: those of this one.
    """

    noted: list | None = None
    given: list = field(default_factory=list)
    _occurring: bool = False

    def noisy_counts(self, counts, sigma, stream, parts=1, first=None):
        """In place of `noise.noisy_counts`."""
        in_parts = np.array(counts, dtype=np.int64)
        counts = in_parts / parts
        again = self.noted is not None
        noisy = self._repeated(counts, sigma) if again else _drawn(in_parts, sigma, stream, parts, first)
        self.given.append(Answer(counts, sigma, noisy, self._occurring, parts=parts))
        return noisy

    def noisy_scores(self, distances, sigma, stream, parts=1):
        """The same for scores."""
        noisy = self.noisy_counts(distances, sigma, stream, parts)
        self.given[-1] = replace(self.given[-1], distances=True)
        return noisy

    def frequent(self, counts, *arguments):
        """In place of `PrivateCounts.frequent`."""
        self._occurring = True
        try:
            return _frequent(counts, *arguments)
        finally:
            self._occurring = False

    def _repeated(self, counts, sigma):
        if len(self.given) == len(self.noted):
            raise AskedOtherwise
        noted = self.noted[len(self.given)]
        more = counts.size - noted.counts.size
        if (noted.sigma, noted.occurring) != (sigma, self._occurring) or abs(more) > self._occurring:
            raise AskedOtherwise
        if not more:
            return noted.noisy
        short, long = sorted((noted.counts, counts), key=len)
        place = int(np.argmax(np.append(short, 0) != long))
        return np.insert(noted.noisy, place, -_NEVER) if more > 0 else np.delete(noted.noisy, place)


_frequent = private_counts.PrivateCounts.frequent


@dataclass(frozen=True, eq=False)
class Run:
    """A release.

    Attributes:
        seen: name -> what leaves under this name.
        answers: its noisy histograms.
        stated: scales of the noise that its certificates state; None without a release.
        otherwise: whether it asked for other counts than the first one.
    """

    seen: dict
    answers: list
    stated: Counter | None
    otherwise: bool = False


def run_of(release, answers):
    """Makes a release with fixed randomness.

    Args:
        release: makes it; returns what leaves, by name, and its certificates.
        answers: notes or repeats its noisy counts.
    """
    numbers = count()
    with contextlib.ExitStack() as stack:
        stack.enter_context(no_second_opinions())
        for target, name, instead in (
            (secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}"),
            (secrets, "token_bytes", lambda size: next(numbers).to_bytes(size, "big")),
            (RandomStream, "from_os", lambda: RandomStream.from_seed(5)),
            (issuing, "datetime", mock.Mock(now=lambda zone: datetime(2020, 1, 1, tzinfo=UTC))),
            (private_counts.PrivateCounts, "frequent", lambda *args: answers.frequent(*args)),
            (scores, "noisy_counts", answers.noisy_scores),
            *((module, "noisy_counts", answers.noisy_counts) for module in _NOISY),
        ):
            stack.enter_context(mock.patch.object(target, name, instead))
        try:
            seen, certificates = release()
        except AskedOtherwise:
            return Run({}, answers.given, None, otherwise=True)
    charges = [charge for certificate in certificates for charge in certificate.charges]
    stated = Counter(sigma for charge in charges for each in charge.noise_sigmas_by_slice for sigma in each)
    return Run(seen, answers.given, stated if certificates else None)


def alarms(release, table, neighbour):
    """What is wrong with releases from a table and a neighbour; of a correct program nothing.

    Args:
        release: makes the release from a table; see `run_of`.
        table: a table.
        neighbour: the same with one row more or less.

    Returns:
        A set of: "seen: ...", another thing leaves; "asked", other counts are asked for; "counts", a
        histogram tells more of one row than one cell's; "noise", errors are not those of the noise, which a
        correct program raises with probability `ALPHA` at most; "cost", noise that no certificate states;
        "refused", the first release was refused.
    """
    first = run_of(lambda: release(table), Answers())
    second = run_of(lambda: release(neighbour), Answers(first.answers))
    found = {"asked"} if second.otherwise or len(first.answers) != len(second.answers) else set()
    if not second.otherwise:
        names = {*first.seen, *second.seen}
        found |= {f"seen: {name}" for name in names if first.seen.get(name) != second.seen.get(name)}
    pairs = zip(first.answers, second.answers, strict=False)
    if any(_shift(one, other) > 1 + 1e-9 for one, other in pairs):
        found.add("counts")
    errors = [
        (one.noisy / grid_of(one.sigma, one.parts) - one.counts).ravel() / one.sigma for one in first.answers
    ]
    if any(min(_tails(each)) * len(errors) < ALPHA / 2 for each in errors if each.size):
        found.add("noise")
    if first.stated is None:
        found.add("refused")
    elif Counter(one.sigma for one in first.answers) - first.stated:
        found.add("cost")
    return found


def _tails(errors):
    """The probabilities that so many standard normal errors are smaller, and larger, altogether."""
    square = (errors**2).sum()
    return stats.chi2.cdf(square, errors.size), stats.chi2.sf(square, errors.size)


def _shift(one, other):
    """The squared length of the difference of two histograms; of distances, of each."""
    if one.distances:
        return ((one.counts - other.counts) ** 2).max()
    if one.counts.size == other.counts.size:
        return ((one.counts - other.counts) ** 2).sum()
    short, long = sorted((one.counts, other.counts), key=len)
    place = int(np.argmax(np.append(short, 0) != long))
    return ((short - np.delete(long, place)) ** 2).sum() + long[place] ** 2
