"""Rows from a finished release, as many as wanted, perhaps under a condition; costs no budget.

Rows come in blocks of `BLOCK_ROWS` that are drawn independently, each with the model's marginals up to
rounding without bias, so memory does not grow with their number. Few rows, at most `ADJUSTED`, are adjusted
to the model's marginals as those of a release are. More rows are not: of a model that is a junction tree the
only difference is sampling error, which gets smaller with their number. A `SupplementedModel` has pairs
outside of its tree, which rows have only after they were adjusted; so of such a model `ADJUSTED` rows are,
and all rows repeat their codes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.rules.determines import Determines
from ...common.data.rules.inside import rules_by_source
from ...common.data.rules.rule import Rule
from ...common.data.table import Table
from ...common.errors import DataError, ModelError, MosaicWarning
from ...common.processes.blocks import made_in_order
from ..mechanisms.parts.fitted import FittedModel
from ..mechanisms.parts.records import SelectedRecords
from ..mechanisms.parts.released import ReleasedModel
from ..pgm.conditioning import conditioned
from ..pgm.model import MarkovRandomField
from ..pgm.rows.sampling import generate
from ..pgm.structure.junction_tree import JunctionTree, tree_cells
from ..pgm.structure.zeros import zeros_of
from ..pgm.supplemented import SupplementedModel
from ..releasing.obedience import Source, breaking, obeying, with_dependents, with_maps
from ..results.row_values import Block
from .asked_numbers import check_memory, check_number
from .conditions import Condition, Where
from .decoding import Column, Counts, Decoder
from .published import Published

Array = NDArray[np.float64]

Made = TypeVar("Made")

BLOCK_ROWS = 2**18
"""Rows that are drawn at once."""

ADJUSTED = 2**18
"""Most rows that are adjusted to the marginals of the model, in about ten seconds."""

RAREST = 1e-4
"""Rows are selected among others only if at least this share of them is kept."""

FEWEST = 20
"""Least number of selected records that have to meet a condition."""

_LARGEST_TREE = 2**22
"""Most cells of a junction tree that is made of a network (32 MiB)."""

_TRIAL = 4096
"""Rows from which a dependency without a map gets one."""

_FEWEST_AGAIN = 256
"""Rows that are drawn at least when others were refused."""


def generate_rows(
    published: Published, rows: int, where: Where | None = None, seed: int | None = None
) -> pd.DataFrame:
    """Rows of a release as one data frame.

    Args:
        published: the release.
        rows: number of rows.
        where: condition that all of them meet; see `Condition.of`.
        seed: makes the rows reproducible; they are after-processing of a release, so it harms no promise.

    Raises:
        DataError: the condition does not fit the release, its model has no rows that meet it, or memory does
            not hold so many.
    """
    check_memory("rows", rows, len(published.columns))
    condition = Condition.of(published.domain, where)
    return pd.concat(list(draw(published, rows, condition, seed)), ignore_index=True)


def draw(
    published: Published, rows: int, condition: Condition | None = None, seed: int | None = None
) -> Iterator[pd.DataFrame]:
    """Rows of a release in blocks; see `generate_rows`."""
    drawing = Drawing.of(published, rows, condition, seed)
    return map(drawing.decoder.forms.frame, drawing.blocks())


@dataclass(frozen=True, eq=False)
class Drawing:
    """A number of rows that are drawn block by block.

    Attributes:
        decoder: values of codes.
        source: what rows are drawn from; they may break rules or miss the condition.
        rules: rules of the domain, with maps.
        weights: for attributes of the condition that rows of the source may miss, the share of each
            code's rows to keep.
        rows: their number.
        stream: randomness.
        repeated: whether rows repeat the codes of fewer rows.
    """

    decoder: Decoder
    source: Source
    rules: tuple[Rule, ...]
    weights: dict[str, Array]
    rows: int
    stream: RandomStream
    repeated: bool

    @classmethod
    def of(
        cls, published: Published, rows: int, condition: Condition | None = None, seed: int | None = None
    ) -> Drawing:
        """Prepares to draw; warns if the rows will repeat codes.

        Raises:
            DataError: no rows are asked for, or the model has none that meet the condition.
        """
        check_number("rows", rows)
        stream = RandomStream.of_seed(seed)
        domain, model = published.domain, published.model
        held = condition or Condition.of(domain, None)
        decoder = Decoder(held, _counts(model))
        rules = _rules(published, stream)
        weights = {name: _weights(decoder, name) for name in held.allowed}
        source, weights = _conditional_source(model, weights, _late(domain, rules))
        repeated = rows > ADJUSTED and isinstance(source, SupplementedModel)
        if repeated:
            warnings.warn(
                f"more than {ADJUSTED} rows of this model: {ADJUSTED} are adjusted to its pairs, and all "
                "rows repeat their codes; numbers within bins are drawn anew",
                MosaicWarning,
                stacklevel=3,
            )
            pool = source.generate(ADJUSTED, stream.child("pool").generator())
            source = SelectedRecords(pool, model.cliques, published.records)
        elif rows > ADJUSTED and isinstance(source, MarkovRandomField):
            source = _Tree(source)
        return cls(decoder, source, rules, weights, rows, stream, repeated)

    def blocks(self) -> Iterator[Block]:
        """The blocks in order."""
        return self.made(lambda block: block)

    def made(self, make: Callable[[Block], Made]) -> Iterator[Made]:
        """What is made of each block, in order; two are made at a time.

        Args:
            make: may be called in several threads.
        """
        return made_in_order(partial(self._make_block, make), range(-(-self.rows // BLOCK_ROWS)))

    def _make_block(self, make: Callable[[Block], Made], place: int) -> Made:
        return make(self._block(place))

    def _block(self, place: int) -> Block:
        rng, start = self.stream.child("block", str(place)).generator(), place * BLOCK_ROWS
        wanted = min(BLOCK_ROWS, self.rows - start)
        tables, columns, found, drawn = [], [], 0, 0
        while found < wanted:
            # As many again as are missing, by the share that was kept so far.
            share = max((found + 1) / (drawn + 1), RAREST) if drawn else self.decoder.least_share
            asked = int(min(BLOCK_ROWS, max((wanted - found) / share, _FEWEST_AGAIN if drawn else 1)))
            table = self._kept_codes(self.source.generate(asked, rng), rng)
            table, values = self.decoder.draw_values(table, rng)
            drawn += asked
            tables.append(table)
            columns.append(values)
            found += table.record_count
            if drawn > 10 / RAREST and found < RAREST * drawn:
                raise DataError(_RARE)
        table = tables[0] if len(tables) == 1 else Table.concatenate(tables)
        return Block(table.rows(0, wanted), _cut(columns, wanted), start + 1)

    def _kept_codes(self, table: Table, rng: np.random.Generator) -> Table:
        """The rows, with dependents, that break no rule and meet the condition."""
        if not self.decoder.condition.allowed:
            return obeying(table, self.rules, self.source, rng)
        if not self.rules and not self.weights:
            return table
        table = with_dependents(table, self.rules)
        kept = ~breaking(table, self.rules)
        for name, weights in self.weights.items():
            kept &= rng.random(table.record_count) < weights[table.column(name)]
        return table.take(np.flatnonzero(kept))


@dataclass(frozen=True, eq=False)
class _Tree:
    """Rows of a junction tree that are not adjusted."""

    model: MarkovRandomField

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        return generate(self.model, rows, rng)


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Records, each as often as its weight makes expect, rounded at random."""

    table: Table
    weights: Array

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        ends = np.cumsum(self.weights) * (rows / self.weights.sum())
        ends[-1] = rows
        times = np.diff(np.floor(ends + rng.random()), prepend=0.0).astype(np.int64)
        places = np.repeat(np.arange(len(times)), times)[:rows]
        return self.table.take(rng.permutation(places))


def _conditional_source(
    model: ReleasedModel, weights: dict[str, Array], late: frozenset[str]
) -> tuple[Source, dict[str, Array]]:
    """What to draw rows from under a condition, and the share to keep of the rows with each code.

    Args:
        model: distribution of all rows.
        weights: for each attribute of the condition the share of each code's rows that meets it.
        late: attributes that rules change after rows were drawn.
    """
    if not weights:
        return model, {}
    if isinstance(model, (MarkovRandomField, SupplementedModel)):
        # Rows that were adjusted to marginals may have left the condition.
        kept = {
            name: of_code if name in late else (of_code > 0).astype(np.float64)
            for name, of_code in weights.items()
        }
        early = {name: of_code for name, of_code in weights.items() if name not in late}
        try:
            return conditioned(model, early).model if early else model, kept
        except ModelError as cause:
            raise DataError(_NOTHING) from cause
    if isinstance(model, SelectedRecords):
        shares = np.prod([w[model.table.column(name)] for name, w in weights.items()], axis=0)
        if not 0 < np.count_nonzero(shares):
            raise DataError(_NOTHING)
        if np.count_nonzero(shares) < FEWEST:
            raise DataError(
                f"the condition: expected at least {FEWEST} of this release's selected records to meet it, "
                f"got fewer; widen it, or {_WITH_A_TREE}"
            )
        return _Chosen(model.table, shares), {}
    tree = _tree_of(model)
    if tree is not None:
        return _conditional_source(tree, weights, late)
    clique = model.domain.canonical(weights)
    marginal = model.marginals_within_limits([clique])[0]
    if marginal is not None:
        table = marginal.reshape(model.domain.shape(clique))
        for axis, name in enumerate(clique):
            table = table * np.expand_dims(weights[name], [k for k in range(len(clique)) if k != axis])
        if not table.sum() > 0:
            raise DataError(_NOTHING)
        if table.sum() < RAREST * marginal.sum():
            raise DataError(_RARE)
    return model, weights


def _tree_of(model: ReleasedModel) -> MarkovRandomField | None:
    """The distribution of a network as a junction tree; None if that is too large.

    A product of factors over the network's cliques is Markov with respect to their graph, so it is determined
    by its marginals of the cliques of a junction tree of the graph.
    """
    if tree_cells(model.domain, model.cliques) > _LARGEST_TREE:
        return None
    tree = JunctionTree.build(model.domain, model.cliques)
    beliefs = [found for found in model.marginals_within_limits(tree.cliques) if found is not None]
    if len(beliefs) < len(tree.cliques):
        return None
    shaped = tuple(belief.reshape(shape) for belief, shape in zip(beliefs, tree.shapes, strict=True))
    return MarkovRandomField(model.domain, tree, shaped, float(shaped[0].sum()), {}, 0.0, 0)


_WITH_A_TREE = "release with a mechanism whose model is a junction tree (mosaic, mst, aim)"
_NOTHING = (
    "the condition: expected one that some rows of this release meet, got one that none meets; widen it"
)
_RARE = (
    f"the condition: expected one that 1 in {1 / RAREST:.0f} rows of this release meet, got a rarer one; "
    f"widen it, or {_WITH_A_TREE}"
)


def _weights(decoder: Decoder, name: str) -> Array:
    """The share of each code's rows that meets the condition; of related values, whether any."""
    weights = decoder.condition.weights(name, decoder.counts[name])
    within = name in decoder.from_ranges or name not in decoder.forms.together
    return weights if within else (weights > 0).astype(np.float64)


def _counts(model: ReleasedModel) -> Counts:
    """Records of each code by the model, for every attribute."""
    return {name: np.rint(model.marginal((name,))).astype(np.int64) for name in model.domain}


def _rules(published: Published, stream: RandomStream) -> tuple[Rule, ...]:
    """The rules of the domain; a dependency without a map gets that of the release's rows, or its model's."""
    model, domain = published.model, published.domain
    if not domain.rules:
        return ()
    tree = model.model if isinstance(model, SupplementedModel) else model
    source: Source = _Tree(tree) if isinstance(tree, MarkovRandomField) else tree
    some = source.generate(_TRIAL, stream.child("maps").generator())
    mapped = with_maps(domain, FittedModel(model, (), (), ()), some)
    return tuple(
        _as_released(new, published) if new != rule and isinstance(new, Determines) else new
        for rule, new in zip(domain.rules, mapped, strict=True)
    )


def _as_released(rule: Determines, published: Published) -> Determines:
    """The dependency with the values that the release's rows have."""
    if published.table is None:
        return rule
    domain, (found, determined) = published.domain, (published.rows.column(name) for name in rule.columns)
    every = np.arange(domain[rule.determinant].size)
    codes = dict(zip(rule.columns, (every, np.zeros_like(every)), strict=True))
    places = rule.dependent(domain, codes)[rule.dependent_column].astype(np.int64)
    places[found] = determined
    return rule.with_map(domain, places)


def _late(domain: Domain, rules: Sequence[Rule]) -> frozenset[str]:
    """Columns that follow from others by rules that models do not hold (`zeros`), so rows get them later."""
    zeros = zeros_of(domain)
    one = {name: np.zeros(1, dtype=np.int64) for name in domain}
    left = (rule for rule in rules if not all(zeros.hold(domain, part) for part in rule.parts))
    # Rules that hold one by one may not together.
    together = (
        rule for several in rules_by_source(domain, rules).values() if len(several) > 1 for rule in several
    )
    return frozenset(name for rule in (*left, *together) for name in rule.dependent(domain, one))


def _cut(parts: Sequence[dict[str, Column]], rows: int) -> dict[str, Column]:
    """The first rows of all parts."""
    if len(parts) == 1:
        return {name: column[:rows] for name, column in parts[0].items()}
    return {name: np.concatenate([part[name] for part in parts])[:rows] for name in parts[0]}
