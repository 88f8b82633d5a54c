"""Message passing in a junction tree, compiled: from log-potentials to marginals of the measured cliques.

Where that pays, no table of a clique's size is stored, and no exponential computed for each of its cells: a
clique is a product of three smaller tables (see `layout`), and each of its sums to one of them is a matrix
product. The whole table of other cliques is built from smaller ones in stages (see `stages`).

Tables are kept as logarithms until a maximum is subtracted: in S and whole tables that of each cell of the
separator, in B and E that of each row. So messages are exact for potentials of any range, unless two tables
contradict each other within one run by more than e^230.

The file is long because compiled functions that call each other have to be in one file (`compiled`).

Source: Lauritzen and Spiegelhalter (1988), the messages; Jensen, Lauritzen and Olesen (1990), the quotients.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, compiled_part
from .layout import CONSTANT, CONTIGUOUS, Integers, Layout, Records, Sizes

Array = NDArray[np.float64]

_LEAST_LOGARITHM = -230.0
"""Logarithm of the least value of a row of B or E over its largest, and of S or a whole table over its
largest for the separator's cell: products of three neither overflow nor underflow, and smaller values are
negligible."""


class Workspace(NamedTuple):
    """Memory that the kernels write.

    Attributes:
        logs: shape (potentials + messages + stages,): log-potentials, messages to the root, smaller tables of
            cliques that are stored whole.
        sums: same shape: the corresponding marginals.
        collected: shape (messages,): sums of the pass to the root; later the factors to multiply them by.
        tables: S, B and E of all cliques, or the whole table.
        gathered: sums to the tables of one clique.
        peaks: logarithm of the largest scale for each cell of a separator.
    """

    logs: Array
    sums: Array
    collected: Array
    tables: Array
    gathered: Array
    peaks: Array

    @classmethod
    def of(cls, sizes: Sizes) -> Workspace:
        """Memory for a layout."""
        logs = sizes.potentials + sizes.messages + sizes.stages
        lengths = (logs, logs, sizes.messages, sizes.tables, sizes.largest, sizes.messages)
        return cls(*(np.zeros(length) for length in lengths))


@compiled_part
def exponential(value: float) -> float:
    """The exponential of a value from -708 to 708, relative error 2e-15; vectorised, unlike the library's."""
    whole = math.floor(value * 1.4426950408889634 + 0.5)
    rest = (value - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10
    series = 1.0 / 479001600
    series = series * rest + 1.0 / 39916800
    series = series * rest + 1.0 / 3628800
    series = series * rest + 1.0 / 362880
    series = series * rest + 1.0 / 40320
    series = series * rest + 1.0 / 5040
    series = series * rest + 1.0 / 720
    series = series * rest + 1.0 / 120
    series = series * rest + 1.0 / 24
    series = series * rest + 1.0 / 6
    series = series * rest + 0.5
    series = series * rest + 1.0
    series = series * rest + 1.0
    return series * np.int64((np.int64(whole) + 1023) << 52).view(np.float64)


@compiled_part
def logarithm(value: float) -> float:
    """Natural logarithm of a normal positive number, error 1e-15; vectorised, unlike the library's."""
    bits = np.float64(value).view(np.int64)
    whole = float((bits >> 52) - 1023)
    part = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    if part > 1.4142135623730951:
        part *= 0.5
        whole += 1.0
    ratio = (part - 1.0) / (part + 1.0)
    square = ratio * ratio
    series = 1.0 / 21
    series = series * square + 1.0 / 19
    series = series * square + 1.0 / 17
    series = series * square + 1.0 / 15
    series = series * square + 1.0 / 13
    series = series * square + 1.0 / 11
    series = series * square + 1.0 / 9
    series = series * square + 1.0 / 7
    series = series * square + 1.0 / 5
    series = series * square + 1.0 / 3
    series = series * square + 1.0
    return float(whole * 0.6931471805599453 + 2.0 * ratio * series)


@compiled
def pass_messages(layout: Layout, work: Workspace, total: float) -> float:
    """From the log-potentials in `work.logs` to all marginals in `work.sums`.

    Returns:
        the logarithm of the partition function.

    Assumes (not enforced): potentials are finite.
    """
    cliques, sources, steps, maps = layout
    logs, sums, collected, tables, gathered, peaks = work
    potentials = cliques[0].separator
    log_partition = 0.0
    for place in range(len(cliques) - 1, -1, -1):
        clique = cliques[place]
        shared = collected[clique.separator - potentials :][: clique.separator_cells]
        message = logs[clique.separator :][: clique.separator_cells]
        shared[:] = 0.0
        if clique.rows > 0:
            _build(clique, sources, steps, maps, logs, tables, peaks, shared)
        else:
            _prepare(clique, sources, maps, logs, tables, peaks)
            # A literal argument would compile the callee once more.
            for table in range(1):
                _sum_to(clique, table, tables, gathered)
                _scatter(clique, table, clique.row, clique.column, clique.kind, maps, gathered, shared)
        for cell in range(len(message)):
            message[cell] = peaks[cell] + logarithm(shared[cell])
        if len(message) == 1:
            log_partition += float(message[0])
    sums[:] = 0.0
    for place in range(len(cliques)):
        clique = cliques[place]
        ratios = collected[clique.separator - potentials :][: clique.separator_cells]
        for cell in range(len(ratios)):
            marginal = total if len(ratios) == 1 else sums[clique.separator + cell]
            ratios[cell] = marginal / ratios[cell]
        if clique.rows > 0:
            _take_apart(clique, sources, steps, maps, ratios, tables, sums)
            continue
        _multiply(clique, maps, ratios, tables)
        for table in range(3):
            summed = False
            for number in range(clique.sources, clique.sources_end):
                source = sources[number]
                if source.table == table:
                    if not summed:
                        _sum_to(clique, table, tables, gathered)
                        summed = True
                    _scatter(
                        clique,
                        table,
                        source.row,
                        source.column,
                        source.kind,
                        maps,
                        gathered,
                        sums[source.cells :],
                    )
    return log_partition


@compiled_part
def _add(cells: Array, along: Integers, kind: int, line: Array) -> None:
    """Add the cells of a source to a row of a table."""
    if kind == CONTIGUOUS:
        for i in range(len(line)):
            line[i] += cells[i]
    elif kind == CONSTANT:
        value = cells[0]
        for i in range(len(line)):
            line[i] += value
    else:
        for i in range(len(line)):
            line[i] += cells[along[i]]


@compiled_part
def _add_back(line: Array, along: Integers, kind: int, cells: Array) -> None:
    """Add a row of a table to the cells of a source."""
    if kind == CONTIGUOUS:
        for i in range(len(line)):
            cells[i] += line[i]
    elif kind == CONSTANT:
        total = 0.0
        for i in range(len(line)):
            total += line[i]
        cells[0] += total
    else:
        for i in range(len(line)):
            cells[along[i]] += line[i]


@compiled_part
def _build(
    clique: Any,
    sources: Records,
    steps: Records,
    maps: Integers,
    logs: Array,
    tables: Array,
    peaks: Array,
    shared: Array,
) -> None:
    """The whole table of a clique, over the largest for each cell of the separator, and its sums to that."""
    logs[clique.stages : clique.stages_end] = 0.0
    for number in range(clique.steps, clique.steps_end):
        step = steps[number]
        along = maps[step.column :]
        for row in range(step.rows):
            line = logs[step.target + row * step.columns :][: step.columns]
            _add(logs[step.cells + maps[step.row + row] :], along, step.kind, line)
    rows, columns = clique.rows, clique.columns
    across = maps[clique.column :]
    peaks[: clique.separator_cells] = -math.inf
    for row in range(rows):
        line = tables[clique.whole + row * columns :][:columns]
        line[:] = 0.0
        for number in range(clique.sources, clique.sources_end):
            source = sources[number]
            _add(logs[source.cells + maps[source.row + row] :], maps[source.column :], source.kind, line)
        own = peaks[maps[clique.row + row] :]
        if clique.kind == CONTIGUOUS:
            for i in range(columns):
                own[i] = max(own[i], line[i])
        else:
            for i in range(columns):
                own[across[i]] = max(own[across[i]], line[i])
    for row in range(rows):
        line = tables[clique.whole + row * columns :][:columns]
        own = peaks[maps[clique.row + row] :]
        if clique.kind == CONTIGUOUS:
            for i in range(columns):
                line[i] = exponential(max(line[i] - own[i], _LEAST_LOGARITHM))
        elif clique.kind == CONSTANT:
            peak = own[0]
            for i in range(columns):
                line[i] = exponential(max(line[i] - peak, _LEAST_LOGARITHM))
        else:
            for i in range(columns):
                line[i] = exponential(max(line[i] - own[across[i]], _LEAST_LOGARITHM))
        _add_back(line, across, clique.kind, shared[maps[clique.row + row] :])


@compiled_part
def _take_apart(
    clique: Any,
    sources: Records,
    steps: Records,
    maps: Integers,
    ratios: Array,
    tables: Array,
    sums: Array,
) -> None:
    """Multiply a whole table by a number for each cell of the separator, and sum it to its sources."""
    columns = clique.columns
    across = maps[clique.column :]
    for row in range(clique.rows):
        line = tables[clique.whole + row * columns :][:columns]
        factors = ratios[maps[clique.row + row] :]
        if clique.kind == CONTIGUOUS:
            for i in range(columns):
                line[i] *= factors[i]
        elif clique.kind == CONSTANT:
            factor = factors[0]
            for i in range(columns):
                line[i] *= factor
        else:
            for i in range(columns):
                line[i] *= factors[across[i]]
        for number in range(clique.sources, clique.sources_end):
            source = sources[number]
            _add_back(line, maps[source.column :], source.kind, sums[source.cells + maps[source.row + row] :])
    for number in range(clique.steps_end - 1, clique.steps - 1, -1):
        step = steps[number]
        along = maps[step.column :]
        for row in range(step.rows):
            line = sums[step.target + row * step.columns :][: step.columns]
            _add_back(line, along, step.kind, sums[step.cells + maps[step.row + row] :])


@compiled_part
def _extent(clique: Any, table: int) -> tuple[int, int, int]:
    """Offset of a table of a clique, its rows and its columns."""
    if table == 0:
        return clique.scales, clique.batch * clique.outer, clique.middle
    if table == 1:
        return clique.wide, clique.batch * clique.outer, clique.run
    return clique.narrow, clique.batch * clique.middle, clique.run


@compiled_part
def _prepare(clique: Any, sources: Records, maps: Integers, logs: Array, tables: Array, peaks: Array) -> None:
    """The tables of a clique from the logarithms of its factors."""
    split = clique.middle > 1
    for table in range(3 if split else 2):
        begin, rows, columns = _extent(clique, table)
        tables[begin : begin + rows * columns] = 0.0
    for number in range(clique.sources, clique.sources_end):
        source = sources[number]
        begin, rows, columns = _extent(clique, source.table)
        along = maps[source.column :]
        for row in range(rows):
            line = tables[begin + row * columns :][:columns]
            _add(logs[source.cells + maps[source.row + row] :], along, source.kind, line)
    outer, middle = clique.outer, clique.middle
    scales = tables[clique.scales :][: clique.batch * outer * middle]
    for row in range(clique.batch * outer):
        peak = _exponentiate(tables[clique.wide + row * clique.run :][: clique.run])
        for column in range(middle):
            scales[row * middle + column] += peak
    if split:
        for row in range(clique.batch * middle):
            peak = _exponentiate(tables[clique.narrow + row * clique.run :][: clique.run])
            first = row // middle * outer * middle + row % middle
            for other in range(outer):
                scales[first + other * middle] += peak
    across = maps[clique.column :]
    peaks[: clique.separator_cells] = -math.inf
    for row in range(clique.batch * outer):
        own = peaks[maps[clique.row + row] :]
        for column in range(middle):
            own[across[column]] = max(own[across[column]], scales[row * middle + column])
    for row in range(clique.batch * outer):
        own = peaks[maps[clique.row + row] :]
        for column in range(middle):
            scales[row * middle + column] -= own[across[column]]
    for at in range(len(scales)):
        scales[at] = exponential(max(scales[at], _LEAST_LOGARITHM))


@compiled_part
def _exponentiate(line: Array) -> float:
    """Replace a row by its exponentials over the largest; returns the logarithm of that."""
    peak = line[0]
    for i in range(len(line)):
        peak = max(peak, line[i])
    for i in range(len(line)):
        line[i] = exponential(max(line[i] - peak, _LEAST_LOGARITHM))
    return float(peak)


@compiled_part
def _sum_to(clique: Any, table: int, tables: Array, gathered: Array) -> None:
    """Sum a clique to the cells of one of its tables."""
    outer, middle, run = clique.outer, clique.middle, clique.run
    for batch in range(clique.batch):
        scales = tables[clique.scales + batch * outer * middle :][: outer * middle]
        wide = tables[clique.wide + batch * outer * run :][: outer * run]
        if middle == 1 and table == 0:
            for row in range(outer):
                gathered[batch * outer + row] = scales[row] * wide[row * run :][:run].sum()
        elif middle == 1:
            for row in range(outer):
                target, line = gathered[(batch * outer + row) * run :][:run], wide[row * run :][:run]
                for i in range(run):
                    target[i] = scales[row] * line[i]
        else:
            narrow = tables[clique.narrow + batch * middle * run :][: middle * run]
            if table == 0:
                _dots(scales, wide, narrow, gathered[batch * outer * middle :], outer, middle, run)
            else:
                own, lines, rows, count, row_stride, column_stride = wide, narrow, outer, middle, middle, 1
                if table == 2:
                    own, lines, rows, count, row_stride, column_stride = (
                        narrow,
                        wide,
                        middle,
                        outer,
                        1,
                        middle,
                    )
                target = gathered[batch * rows * run :]
                _combine(own, scales, row_stride, column_stride, lines, target, rows, count, run)


@compiled_part
def _dots(
    scales: Array, left: Array, right: Array, target: Array, rows: int, columns: int, length: int
) -> None:
    """Write scales * (left right'): shapes (rows, columns), (rows, length), (columns, length)."""
    for row in range(rows):
        line = left[row * length :][:length]
        column = 0
        while column + 4 <= columns:
            first = right[column * length :][:length]
            second = right[(column + 1) * length :][:length]
            third = right[(column + 2) * length :][:length]
            fourth = right[(column + 3) * length :][:length]
            a = b = c = d = 0.0
            for i in range(length):
                a += line[i] * first[i]
                b += line[i] * second[i]
                c += line[i] * third[i]
                d += line[i] * fourth[i]
            at = row * columns + column
            target[at] = scales[at] * a
            target[at + 1] = scales[at + 1] * b
            target[at + 2] = scales[at + 2] * c
            target[at + 3] = scales[at + 3] * d
            column += 4
        while column < columns:
            first = right[column * length :][:length]
            a = 0.0
            for i in range(length):
                a += line[i] * first[i]
            target[row * columns + column] = scales[row * columns + column] * a
            column += 1


@compiled_part
def _combine(
    table: Array,
    weights: Array,
    row_stride: int,
    column_stride: int,
    lines: Array,
    target: Array,
    rows: int,
    count: int,
    length: int,
) -> None:
    """Write table * (weights lines): shapes (rows, length), (rows, count) with strides, (count, length)."""
    for row in range(rows):
        own, out = table[row * length :][:length], target[row * length :][:length]
        out[:] = 0.0
        at = 0
        while at + 4 <= count:
            first = lines[at * length :][:length]
            second = lines[(at + 1) * length :][:length]
            third = lines[(at + 2) * length :][:length]
            fourth = lines[(at + 3) * length :][:length]
            start = row * row_stride + at * column_stride
            a, b = weights[start], weights[start + column_stride]
            c, d = weights[start + 2 * column_stride], weights[start + 3 * column_stride]
            for i in range(length):
                out[i] += a * first[i] + b * second[i] + c * third[i] + d * fourth[i]
            at += 4
        while at < count:
            first = lines[at * length :][:length]
            a = weights[row * row_stride + at * column_stride]
            for i in range(length):
                out[i] += a * first[i]
            at += 1
        for i in range(length):
            out[i] *= own[i]


@compiled_part
def _scatter(
    clique: Any,
    table: int,
    row_map: int,
    column_map: int,
    kind: int,
    maps: Integers,
    gathered: Array,
    cells: Array,
) -> None:
    """Add the cells of a table to those that they map to."""
    _, rows, columns = _extent(clique, table)
    along = maps[column_map:]
    for row in range(rows):
        _add_back(gathered[row * columns :][:columns], along, kind, cells[maps[row_map + row] :])


@compiled_part
def _multiply(clique: Any, maps: Integers, ratios: Array, tables: Array) -> None:
    """Multiply S by a number for each cell of the separator."""
    along = maps[clique.column :]
    for row in range(clique.batch * clique.outer):
        line, cells = tables[clique.scales + row * clique.middle :], ratios[maps[clique.row + row] :]
        for i in range(clique.middle):
            line[i] *= cells[along[i]]


@compiled
def write_belief(layout: Layout, work: Workspace, place: int, belief: Array) -> None:
    """The marginal of a clique, after `pass_messages`; shape (batch, outer, middle, run)."""
    clique = layout.cliques[place]
    outer, middle, run = clique.outer, clique.middle, clique.run
    if clique.rows > 0:
        # To assign an array would compile the text of an error, which takes seconds.
        whole, line = work.tables[clique.whole :], belief[0, 0, 0]
        for i in range(clique.rows * clique.columns):
            line[i] = whole[i]
    for row in range(clique.batch * outer):
        wide = work.tables[clique.wide + row * run :][:run]
        for column in range(middle):
            scale = work.tables[clique.scales + row * middle + column]
            line = belief[row // outer, row % outer, column]
            for i in range(run):
                line[i] = scale * wide[i]
            if middle > 1:
                narrow = work.tables[clique.narrow + (row // outer * middle + column) * run :][:run]
                for i in range(run):
                    line[i] *= narrow[i]
