"""Synthetic tables that differ as the real table may differ from the release, and how to combine them.

Each copy has the pairs of one draw from the distribution of the real table's, given the noisy measurements.
Before them, each cell of a marginal has the release's count w, give or take sqrt(N) kappa sqrt(w), as in
`totals`, but no more than three times w; the measurement then pulls it as far as its noise allows. What was
not measured keeps all of that error. Cells are drawn from gamma distributions, which are not negative. Rows
of the synthetic table are changed until they have the drawn pairs.

Combining m copies: if each is such a draw, the mean of an estimate over copies estimates it for the real
table, with variance (1 + 1/m) B for the variance B between copies, and a t distribution with m - 1 degrees of
freedom. For the population, the mean of the copies' own variances is added.

Source: Raghunathan, Reiter and Rubin, Multiple imputation for statistical disclosure limitation (2003), the
    draws and their combination; Räisä, Jälkö, Kaski and Honkela, Noise-aware statistical inference with
    differentially private synthetic data (2023), draws given noisy marginals.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique, Domain
from ...common.data.interactions import interaction
from ...common.data.table import Table
from ...common.errors import DataError
from ...common.files.writing import told_if_unwritable, write_text
from ...common.forms.values import whole
from ..certificates.verify import WARNING
from ..pgm.rows.refinement import LARGEST_ADJUSTED, refined
from ..pgm.structure.zeros import zeros_of
from ..results.evidence import Evidence, Known
from ..results.frames import typed_frame
from ..results.outputs import warning_of, write_table
from ..results.table_format import TableFile
from .asked_numbers import check_memory
from .published import Published, evidence_of
from .unmeasured.variation import ALONE, kappa_of

Array = NDArray[np.float64]

MOST_COPIES = 10_000
"""More have no other result; 10 to 20 are usual."""

_LARGEST_ERROR = 3.0
"""Before a measurement, no cell of the release is off by more than so many times its count."""

_MARGIN_ROUNDS = 10
"""Rounds in which a drawn pair is brought to the drawn margins."""


def copies(published: Published, m: int, seed: int | None = None) -> list[pd.DataFrame]:
    """Synthetic tables that differ as the real table may differ from the release.

    Args:
        published: the release.
        m: number of copies, at least 2; 10 to 20 are usual.
        seed: makes them reproducible.

    Raises:
        DataError: there are too few or too many, or the release has no noisy measurements.
    """
    check_count(m)
    check_memory("m", m, published.rows.record_count * len(published.columns))
    tables, columns, values = _tables(published, m, seed)
    return [typed_frame(table, columns, values) for table in tables]


def write_copies(
    published: Published, m: int, folder: Path, table_file: TableFile, seed: int | None = None
) -> None:
    """Writes copies into a new folder, as 1.csv, 2.csv and so on; the folder is complete or absent.

    Args:
        published: the release; its labels are written beside the copies.
        m: number of copies, at least 2.
        folder: the folder.
        table_file: how each is written.
        seed: makes them reproducible.

    Raises:
        DataError: as `copies`, or the folder exists or cannot be written.
    """
    check_new(folder)
    tables, columns, values = _tables(published, m, seed)
    with told_if_unwritable(folder, "choose another folder"):
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.absolute().parent) as made:
            whole = Path(made) / folder.name
            whole.mkdir()
            if published.certificate.labels:
                write_text(whole / WARNING, warning_of(published.certificate))
            for number, table in enumerate(tables, 1):
                path = whole / f"{number}.{table_file.table_format.value}"
                write_table(path, table, values, columns, table_file, labels=published.storage.labels)
            whole.rename(folder)


def check_count(m: int) -> None:
    """Refuses a number of copies that no variance can be computed from, or that nobody needs.

    Raises:
        DataError: there are too few, or too many.
    """
    if not whole(2, MOST_COPIES).fits(m):
        raise DataError(f"m: expected at least 2 copies and at most {MOST_COPIES}; 10 to 20 are usual")


def check_new(folder: Path) -> None:
    """Refuses a folder of copies that exists, before any work is done.

    Raises:
        DataError: it exists.
    """
    if folder.exists():
        raise DataError(f"{folder} already exists; choose another folder or remove it")


def _tables(
    published: Published, m: int, seed: int | None
) -> tuple[Iterator[Table], list[str], np.random.Generator]:
    """Coded copies, their columns, and what draws values inside bins."""
    check_count(m)
    stream = RandomStream.of_seed(seed)
    tables = drawn(published, stream.child("copies").generator())
    columns = [name for name in published.columns if name in published.domain.columns]
    return itertools.islice(tables, m), columns, stream.child("values").generator()


def drawn(published: Published, rng: np.random.Generator) -> Iterator[Table]:
    """Coded tables, one after the other, as many as are asked for.

    Raises:
        DataError: the release has no noisy measurements.
    """
    rows, evidence = published.rows, evidence_of(published)
    domain, zeros = rows.domain, zeros_of(rows.domain).masks
    pairs = [
        pair for pair in itertools.combinations(domain.names, 2) if domain.cells(pair) <= LARGEST_ADJUSTED
    ]
    singles = [(name,) for name in domain.names]
    # The cliques of rules come first: whatever does not fit, rows have to keep to these.
    ruled = {clique: rows.marginal(clique).astype(np.float64) for clique, _ in zeros}
    counts = {clique: rows.marginal(clique).astype(np.float64) for clique in (*singles, *pairs)}
    masks = {_places(domain, clique): mask for clique, mask in zeros}
    tied = sorted({name for clique in ruled for name in clique}, key=domain.position)
    while True:
        margins, wanted = _draw(domain, evidence, counts, pairs, rng)
        start = rows.take(_resample_rows(rows, {name: margins[name] for name in tied}, rng))
        targets = {_places(domain, clique): marginal for clique, marginal in (ruled | wanted).items()}
        yield refined(start, targets, rng, masks)


class Combined(NamedTuple):
    """An estimate from several copies.

    Attributes:
        estimate: mean over the copies.
        low: lower end of the interval.
        high: upper end of the interval.
        std_error: standard error.
        freedom: degrees of freedom of the t distribution.
    """

    estimate: Array
    low: Array
    high: Array
    std_error: Array
    freedom: Array


def combine(estimates: ArrayLike, variances: ArrayLike | None = None, level: float = 0.95) -> Combined:
    """Combines what an analysis found in each copy.

    Args:
        estimates: of each copy, shape (m,) or (m, q).
        variances: the squared standard errors that the analysis stated, same shape, for an interval of the
            population; None for one of the real table.
        level: share of intervals that are to contain the value.

    Raises:
        DataError: fewer than two copies, shapes that differ, or a level that is not between 0 and 1.
    """
    found = np.asarray(estimates, dtype=np.float64)
    within = np.zeros_like(found) if variances is None else np.asarray(variances, dtype=np.float64)
    if found.ndim == 0 or len(found) < 2 or found.shape != within.shape:
        raise DataError(
            "expected the estimates of two or more copies, and as many variances, got others; "
            "give one row for each copy"
        )
    if not 0 < level < 1:
        raise DataError(f"level: expected a number between 0 and 1, got {level}; 0.95 is common")
    m = len(found)
    between = (1 + 1 / m) * found.var(axis=0, ddof=1)
    inside = within.mean(axis=0)
    share = np.divide(inside, between, out=np.full_like(between, np.inf), where=between > 0)
    freedom = (m - 1) * (1 + share) ** 2
    error = np.sqrt(between + inside)
    half = stdtrit(freedom, (1 + level) / 2) * error
    estimate = found.mean(axis=0)
    return Combined(estimate, estimate - half, estimate + half, error, freedom)


def _places(domain: Domain, clique: Clique) -> tuple[int, ...]:
    return tuple(map(domain.position, clique))


def _draw(
    domain: Domain,
    evidence: Evidence,
    counts: Mapping[Clique, Array],
    pairs: Sequence[Clique],
    rng: np.random.Generator,
) -> tuple[dict[str, Array], dict[Clique, Array]]:
    """A draw of the real table's margins and pairs, in counts of the synthetic table."""
    rows = float(counts[domain.names[:1]].sum())
    scale = rows / evidence.records

    def drawn_of(clique: Clique, effects: Array | float = 0.0) -> Array:
        known = evidence.known.get(clique)
        error = kappa_of(evidence, clique) if len(clique) > 1 else ALONE
        shape, price = domain.shape(clique), rows * error**2
        means, variances = _posterior(counts[clique], shape, known, effects, scale, price)
        cells = _positive(means, variances, rng)
        found: Array = cells * (rows / cells.sum())
        return found

    margins = {name: drawn_of((name,)) for name in domain.names}
    changes = {name: margin - counts[(name,)] for name, margin in margins.items()}
    found: dict[Clique, Array] = {}
    for one, other in pairs:
        sizes = domain.shape((one, other))
        # What the changes of the margins add to each cell of a pair whose interaction is as measured.
        effects = np.add.outer(changes[one] / sizes[1], changes[other] / sizes[0])
        found[one, other] = _scale_to_margins(
            drawn_of((one, other), effects.ravel()), margins[one], margins[other]
        )
    return margins, found


def _resample_rows(rows: Table, margins: Mapping[str, Array], rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows, some several times and some not at all, that have about these margins, in random order.

    Rules may tie the values of several columns, so that they cannot be changed one by one.
    """
    weights = np.ones(rows.record_count)
    for name, margin in (each for _ in range(_MARGIN_ROUNDS) for each in margins.items()):
        codes = rows.column(name)
        sums = np.bincount(codes, weights, len(margin))
        weights *= np.divide(margin, sums, out=np.zeros_like(sums), where=sums > 0)[codes]
    order = rng.permutation(rows.record_count)
    reached = np.cumsum(weights[order]) * (rows.record_count / weights.sum()) + rng.random()
    places = np.searchsorted(reached, np.arange(rows.record_count) + 1.0).clip(max=rows.record_count - 1)
    return rng.permutation(order[places])


def _posterior(
    released: Array,
    shape: tuple[int, ...],
    known: Known | None,
    effects: Array | float,
    scale: float,
    spread: float,
) -> tuple[Array, Array]:
    """Means and variances of the cells of the real marginal, in counts of the synthetic table."""
    most = (_LARGEST_ERROR * released) ** 2
    before = np.divide(spread * released * most, spread * released + most, where=released > 0, out=0 * most)
    if known is None:
        return released, before
    variance = (known.sigma * scale) ** 2
    gain = before / (before + variance)
    surprise = known.values * scale - interaction(released, shape) + effects
    return released + gain * surprise, gain * variance


def _positive(means: Array, variances: Array, rng: np.random.Generator) -> Array:
    """Independent gamma variables of these means and variances; means below zero count as zero."""
    means = np.maximum(means, 0)
    random = (means > 0) & (variances > 0)
    ratios = np.divide(variances, means, out=np.ones_like(means), where=random)
    drawn = ratios * rng.standard_gamma(np.divide(means, ratios, out=np.ones_like(means), where=random))
    return np.where(random, drawn, means)


def _scale_to_margins(cells: Array, first: Array, second: Array) -> Array:
    """Cells of a pair, scaled to these margins in turn."""
    found = cells.reshape(len(first), len(second))
    for _ in range(_MARGIN_ROUNDS):
        for margin, axis in ((first[:, None], 1), (second[None, :], 0)):
            sums = found.sum(axis=axis, keepdims=True)
            found = found * np.divide(margin, sums, out=np.zeros_like(sums), where=sums > 0)
    return found.ravel()
