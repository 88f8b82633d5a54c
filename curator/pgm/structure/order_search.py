"""The search for elimination orders with few cells; compiled.

A set of vertices is a row of 64-bit words, the lowest vertices first. Cells are floating-point numbers, which
are exact below `EXACT`.

The file is long because compiled functions that call each other have to be in one file (`compiled`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, compiled_part

Words = NDArray[np.uint64]
_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

EXACT = float(2**53)
"""Totals below this are exact, as all intermediate products and sums are smaller whole numbers."""

_PRICES = 3
# On 220 random sets of pairs and triples from nine domains, restarts remove 10% of the cells on average, and
# a quarter for 80 pairs; ten times this patience removes another 3%, for five times the time.
_VAIN_ATTEMPTS = 24
_MOST_RESTARTS = 256

_ONE = np.uint64(1)
_LAST = np.uint64(63)


class _Sizes(NamedTuple):
    """Sizes of vertices, and what is needed to add or multiply those of a set of vertices word by word.

    Attributes:
        each: for each vertex the number of its values.
        digits: for each binary digit of the sizes, the lowest first, the vertices whose size has it.
        usual: a single row, the vertices of the most frequent size.
        powers: the powers of that size, from 0 to the number of these vertices.
    """

    each: _Floats
    digits: Words
    usual: Words
    powers: _Floats


@compiled
def search_orders(
    base: Words, sizes: _Floats, added: Words, enough: float, totals: _Floats, order: _Integers
) -> int:
    """Triangulate a graph with each of some cliques added to it separately.

    All triangulations are computed here, one or many, so that they are identical. Simplicial vertices are
    eliminated first, which is never worse if each has at least two values. The remaining core is searched,
    except for cliques with the same core as the first.

    Args:
        base: for each vertex its neighbours, without itself.
        sizes: for each vertex the number of its values.
        added: one clique for each row.
        enough: a search ends once it finds at most this many cells in total, and unless it is the first, no
            other follows.
        totals: output: for each added clique the cells of the maximal cliques. Totals above `enough` do not
            depend on it.
        order: output: the elimination order for the last clique that was searched.

    Returns:
        The number of cliques that were searched.
    """
    count = len(base)
    graph, rest = np.empty(base.shape, np.uint64), np.empty(base.shape, np.uint64)
    vertices = np.empty(count, np.int64)
    first_core, first_vertices, first_order = graph, vertices, vertices
    first_cells, searched = np.inf, False
    for row in range(len(added)):
        _join(base, added, row, graph)
        _join(base, added, row, rest)
        done, cells = _eliminate_simplicial(rest, sizes, order, vertices)
        left = count - done
        core = _compact(rest, vertices, left)
        if (
            row > 0
            and (searched or cells + first_cells <= enough)
            and _same_core(core, vertices, first_core, first_vertices)
        ):
            core_order = first_order
        else:
            core_order = np.empty(left, np.int64)
            core_sizes = np.empty(left, np.float64)
            for i in range(left):
                core_sizes[i] = sizes[vertices[i]]
            core_cells = _search(core, core_sizes, enough - cells, core_order)
            if row == 0:
                first_core, first_vertices, first_order = core, vertices, core_order
                vertices = np.empty(count, np.int64)
                for i in range(left):
                    vertices[i] = first_vertices[i]
                first_cells, searched = core_cells, cells + core_cells > enough
        for step in range(left):
            order[done + step] = vertices[core_order[step]]
        totals[row] = _order_cells(graph, sizes, order)
        if row > 0 and totals[row] <= enough:
            return row + 1
    return len(added)


@compiled_part
def _join(base: Words, added: Words, row: int, graph: Words) -> None:
    """Write the graph with edges between all vertices of one of the cliques."""
    count, words = base.shape
    for v in range(count):
        inside = _holds(added, row, v)
        for a in range(words):
            graph[v, a] = base[v, a] | added[row, a] if inside else base[v, a]
        if inside:
            graph[v, v >> 6] &= ~(_ONE << (np.uint64(v) & _LAST))


@compiled_part
def _eliminate_simplicial(
    graph: Words, sizes: _Floats, order: _Integers, rest: _Integers
) -> tuple[int, float]:
    """Eliminate simplicial vertices of `graph` until none is left.

    Returns:
        The number of vertices written to `order`, and the cells of their maximal cliques; the others are in
        `rest`, lowest first.
    """
    count, words = graph.shape
    suspect, gone = np.empty(count, np.int64), np.empty(count, np.int64)
    for v in range(count):
        suspect[v], gone[v] = 1, 0
    waiting = np.empty(count + 1, np.int64)
    waiting[count] = 0
    done, total = 0, 0.0
    vertex = count - 1
    while vertex >= 0:
        if not suspect[vertex]:
            vertex -= 1
            continue
        suspect[vertex] = 0
        if gone[vertex] or not _is_simplicial(graph, vertex):
            vertex -= 1
            continue
        gone[vertex] = 1
        order[done] = vertex
        done += 1
        cells = _clique_cells(graph, vertex, sizes, waiting)
        total += cells
        highest = vertex - 1
        for a in range(words):
            neighbours = graph[vertex, a]
            while neighbours:
                u = (a << 6) + _lowest(neighbours)
                neighbours &= neighbours - _ONE
                graph[u, vertex >> 6] &= ~(_ONE << (np.uint64(vertex) & _LAST))
                suspect[u] = 1
                highest = max(highest, u)
        vertex = highest
    left = 0
    for v in range(count):
        if not gone[v]:
            rest[left] = v
            left += 1
    return done, total


@compiled_part
def _compact(graph: Words, vertices: _Integers, count: int) -> Words:
    """The subgraph of the first `count` of these vertices, which have all of the edges, renumbered."""
    words = graph.shape[1]
    number = np.empty(len(graph), np.int64)
    for i in range(count):
        number[vertices[i]] = i
    part = np.empty((count, max(1, (count + 63) >> 6)), np.uint64)
    for i in range(count):
        for a in range(part.shape[1]):
            part[i, a] = 0
        for a in range(words):
            neighbours = graph[vertices[i], a]
            while neighbours:
                u = number[(a << 6) + _lowest(neighbours)]
                neighbours &= neighbours - _ONE
                part[i, u >> 6] |= _ONE << (np.uint64(u) & _LAST)
    return part


@compiled_part
def _same_core(one: Words, its_vertices: _Integers, other: Words, others: _Integers) -> bool:
    if len(one) != len(other):
        return False
    for i in range(len(one)):
        if its_vertices[i] != others[i]:
            return False
        for a in range(one.shape[1]):
            if one[i, a] != other[i, a]:
                return False
    return True


@compiled_part
def _search(graph: Words, sizes: _Floats, enough: float, best_order: _Integers) -> float:
    """Eliminate greedily by each price, then with noise until `_VAIN_ATTEMPTS` in a row do not improve.

    For half of the vertices the noise of the best order so far is kept. It multiplies prices and has heavy
    tails, since prices differ by orders of magnitude.

    Returns:
        The cells of the best order.
    """
    count = len(graph)
    if not count:
        return 0.0
    order, noise, lucky = np.empty(count, np.int64), np.empty(count, np.float64), np.empty(count, np.float64)
    fills, all_sizes = np.empty(count, np.int64), _all_sizes(sizes, graph.shape[1])
    for v in range(count):
        noise[v] = lucky[v] = 1.0
        fills[v] = _fill(graph, v, all_sizes)
    best, best_price = np.inf, 0
    for price in range(_PRICES):
        cells = _eliminate(graph, all_sizes, fills, price, noise, best, order)
        if price == 0 or cells < best:
            best, best_price = cells, price
            for v in range(count):
                best_order[v] = order[v]
        if best <= enough:
            return best
    state, restart, success = np.uint64(0), 0, 0
    while best > enough and restart < min(success + _VAIN_ATTEMPTS, _MOST_RESTARTS):
        price = (restart >> 2) % _PRICES if restart % 4 == 3 else best_price
        for v in range(count):
            state += np.uint64(0x9E3779B97F4A7C15)
            bits = _mix_bits(state)
            noise[v] = lucky[v]
            if bits & _ONE:
                uniform = (np.float64(bits >> np.uint64(12)) + 0.5) / 2.0**52
                noise[v] = (uniform / (1.0 - uniform)) ** 2
        restart += 1
        cells = _eliminate(graph, all_sizes, fills, price, noise, best, order)
        if cells < best:
            best, best_price, success = cells, price, restart
            for v in range(count):
                best_order[v], lucky[v] = order[v], noise[v]
    return best


@compiled_part
def _eliminate(
    original: Words,
    sizes: _Sizes,
    fills: _Integers,
    price: int,
    noise: _Floats,
    limit: float,
    order: _Integers,
) -> float:
    """Eliminate all vertices, the one with the lowest price first.

    Args:
        original: the graph.
        sizes: of all vertices.
        fills: `_fill` of each vertex in this graph.
        price: which of the prices.
        noise: factor of each vertex's price.
        limit: see Returns.
        order: output.

    Returns:
        The cells of the maximal cliques; infinity once they reach the limit, if that is finite.
    """
    count = len(original)
    graph, left, fill = _copy_graph(original), np.empty(count, np.int64), np.empty(count, np.int64)
    waiting = np.empty(count + 1, np.int64)
    waiting[count] = 0
    separators, prices = np.empty(count, np.float64), np.empty(count, np.float64)
    changed = np.zeros(graph.shape[1], np.uint64)
    for v in range(count):
        left[v], fill[v] = v, fills[v]
        separators[v] = _separator(graph, v, sizes)
        prices[v] = _price(separators[v], sizes.each[v], fill[v], price) * noise[v]
    total = 0.0
    for step in range(count):
        remaining, at = count - step, 0
        for i in range(1, remaining):
            if prices[left[i]] < prices[left[at]]:
                at = i
        vertex = left[at]
        for i in range(at, remaining - 1):
            left[i] = left[i + 1]
        order[step] = vertex
        total += _clique_cells(graph, vertex, sizes.each, waiting)
        if total >= limit and limit < np.inf:
            return np.inf
        _take_out_counted(graph, vertex, sizes, fill, changed)
        for a in range(len(changed)):
            while changed[a]:
                u = (a << 6) + _lowest(changed[a])
                changed[a] &= changed[a] - _ONE
                if _holds(graph, vertex, u):
                    separators[u] = _separator(graph, u, sizes)
                prices[u] = _price(separators[u], sizes.each[u], fill[u], price) * noise[u]
    return total


@compiled_part
def _price(separator: float, size: float, fill: int, price: int) -> float:
    """Weighted fill x separator / size, separator, or separator / size; -1 where no edge would be added.

    On random graphs with the sizes of Adult, the best of these three has 1/2 to 1/6 of the cells of the
    better of least fill and least weight, the usual pair: they depend on what remains, not on the clique
    made.
    """
    if fill == 0:
        return -1.0
    if price == 1:
        return float(separator)
    return float(separator / size * (fill if price == 0 else 1.0))


@compiled_part
def _all_sizes(each: _Floats, words: int) -> _Sizes:
    """The sizes of all vertices, for sets of so many words."""
    largest, most, usual = 0.0, 0, 0.0
    for v in range(len(each)):
        alike = 0
        for u in range(len(each)):
            if each[u] == each[v]:
                alike += 1
        if alike > most:
            most, usual = alike, each[v]
        largest = max(largest, each[v])
    digits = np.zeros((1 + int(np.log2(largest)), words), np.uint64)
    of_usual, powers = np.zeros((1, words), np.uint64), np.ones(most + 1, np.float64)
    for v in range(len(each)):
        bit = _ONE << (np.uint64(v) & _LAST)
        for digit in range(len(digits)):
            if int(each[v]) >> digit & 1:
                digits[digit, v >> 6] |= bit
        if each[v] == usual:
            of_usual[0, v >> 6] |= bit
    for power in range(most):
        powers[power + 1] = powers[power] * usual
    return _Sizes(each, digits, of_usual, powers)


@compiled_part
def _separator(graph: Words, vertex: int, sizes: _Sizes) -> float:
    """The cells of all neighbours of a vertex together."""
    cells, alike = 1.0, 0
    for a in range(graph.shape[1]):
        alike += _ones(graph[vertex, a] & sizes.usual[0, a])
        others = graph[vertex, a] & ~sizes.usual[0, a]
        while others:
            cells *= sizes.each[(a << 6) + _lowest(others)]
            others &= others - _ONE
    return float(cells * sizes.powers[alike])


@compiled_part
def _is_simplicial(graph: Words, vertex: int) -> bool:
    """Whether all neighbours of a vertex are adjacent to each other."""
    for a in range(graph.shape[1]):
        neighbours = graph[vertex, a]
        while neighbours:
            u = (a << 6) + _lowest(neighbours)
            neighbours &= neighbours - _ONE
            for b in range(graph.shape[1]):
                missing = graph[vertex, b] & ~graph[u, b]
                if b == a:
                    missing &= ~(_ONE << (np.uint64(u) & _LAST))
                if missing:
                    return False
    return True


@compiled_part
def _fill(graph: Words, vertex: int, sizes: _Sizes) -> int:
    """Pairs of neighbours that are not adjacent, each counted twice as often as it has cells.

    In whole numbers, so that counts that are updated equal counts from the start.
    """
    fill = 0
    for a in range(graph.shape[1]):
        neighbours = graph[vertex, a]
        while neighbours:
            u = (a << 6) + _lowest(neighbours)
            neighbours &= neighbours - _ONE
            fill += int(sizes.each[u]) * _values_beyond(graph, vertex, u, sizes)
    return fill


@compiled_part
def _values_beyond(graph: Words, one: int, other: int, sizes: _Sizes) -> int:
    """Sum of the sizes of the neighbours of one vertex that are neither the other one nor adjacent to it."""
    total = 0
    for a in range(graph.shape[1]):
        beyond = graph[one, a] & ~graph[other, a]
        if a == other >> 6:
            beyond &= ~(_ONE << (np.uint64(other) & _LAST))
        for digit in range(len(sizes.digits)):
            total += _ones(beyond & sizes.digits[digit, a]) << digit
    return total


@compiled_part
def _take_out_counted(graph: Words, vertex: int, sizes: _Sizes, fill: _Integers, changed: Words) -> None:
    """`_take_out`, which updates `_fill` of all other vertices, edge by edge.

    The vertices whose `_fill` or neighbours change are added to `changed`.
    """
    words, size = graph.shape[1], int(sizes.each[vertex])
    for a in range(words):
        neighbours = graph[vertex, a]
        changed[a] |= neighbours
        while neighbours:
            u = (a << 6) + _lowest(neighbours)
            neighbours &= neighbours - _ONE
            fill[u] -= 2 * size * _values_beyond(graph, u, vertex, sizes)
            graph[u, vertex >> 6] &= ~(_ONE << (np.uint64(vertex) & _LAST))
    if fill[vertex] == 0:
        return
    for a in range(words):
        neighbours = graph[vertex, a]
        while neighbours:
            u = (a << 6) + _lowest(neighbours)
            neighbours &= neighbours - _ONE
            for b in range(words):
                missing = graph[vertex, b] & ~graph[u, b]
                if b == a:
                    missing &= ~(_ONE << (np.uint64(u) & _LAST))
                while missing:
                    _connect(graph, u, (b << 6) + _lowest(missing), sizes, fill, changed)
                    missing &= missing - _ONE


@compiled_part
def _connect(graph: Words, one: int, other: int, sizes: _Sizes, fill: _Integers, changed: Words) -> None:
    """Add an edge, and update `_fill` of its ends and of the vertices that are adjacent to both.

    The latter are added to `changed`.
    """
    cells = 2 * int(sizes.each[one]) * int(sizes.each[other])
    for a in range(graph.shape[1]):
        common = graph[one, a] & graph[other, a]
        changed[a] |= common
        while common:
            fill[(a << 6) + _lowest(common)] -= cells
            common &= common - _ONE
    fill[one] += 2 * int(sizes.each[other]) * _values_beyond(graph, one, other, sizes)
    fill[other] += 2 * int(sizes.each[one]) * _values_beyond(graph, other, one, sizes)
    graph[one, other >> 6] |= _ONE << (np.uint64(other) & _LAST)
    graph[other, one >> 6] |= _ONE << (np.uint64(one) & _LAST)


@compiled_part
def _clique_cells(graph: Words, vertex: int, sizes: _Floats, waiting: _Integers) -> float:
    """The cells of the clique that a vertex makes, or 0 if an earlier one contains it.

    That is the case if and only if it is the set of all neighbours of an earlier vertex, of which this vertex
    is the first to be eliminated.

    Source: Blair and Peyton, An introduction to chordal graphs and clique trees (1993), lemma 4.1.

    Args:
        graph: rows of eliminated vertices hold their neighbours at that time.
        vertex: the next one.
        sizes: of all vertices.
        waiting: eliminated vertices of whose neighbours none is eliminated yet, and in its last place their
            number; this vertex is added.
    """
    words = graph.shape[1]
    cells, kept, last = sizes[vertex], 0, len(waiting) - 1
    for a in range(words):
        neighbours = graph[vertex, a]
        while neighbours:
            cells *= sizes[(a << 6) + _lowest(neighbours)]
            neighbours &= neighbours - _ONE
    for i in range(waiting[last]):
        u = waiting[i]
        if not _holds(graph, u, vertex):
            waiting[kept] = u
            kept += 1
            continue
        same = True
        for a in range(words):
            clique = graph[vertex, a]
            if a == vertex >> 6:
                clique |= _ONE << (np.uint64(vertex) & _LAST)
            same = same and clique == graph[u, a]
        if same:
            cells = 0.0
    waiting[kept] = vertex
    waiting[last] = kept + 1
    return float(cells)


@compiled_part
def _order_cells(original: Words, sizes: _Floats, order: _Integers) -> float:
    """The cells of the maximal cliques of an elimination order."""
    count = len(original)
    graph = _copy_graph(original)
    waiting = np.empty(count + 1, np.int64)
    waiting[count] = 0
    total = 0.0
    for step in range(count):
        vertex = order[step]
        cells = _clique_cells(graph, vertex, sizes, waiting)
        total += cells
        _take_out(graph, vertex)
    return total


@compiled_part
def _copy_graph(graph: Words) -> Words:
    count, words = graph.shape
    copy = np.empty((count, words), np.uint64)
    for v in range(count):
        for a in range(words):
            copy[v, a] = graph[v, a]
    return copy


@compiled_part
def _take_out(graph: Words, vertex: int) -> None:
    """Join the neighbours of a vertex to each other and remove it from their rows; its own row stays."""
    for a in range(graph.shape[1]):
        neighbours = graph[vertex, a]
        while neighbours:
            u = (a << 6) + _lowest(neighbours)
            neighbours &= neighbours - _ONE
            for b in range(graph.shape[1]):
                graph[u, b] |= graph[vertex, b]
            graph[u, u >> 6] &= ~(_ONE << (np.uint64(u) & _LAST))
            graph[u, vertex >> 6] &= ~(_ONE << (np.uint64(vertex) & _LAST))


@compiled_part
def _holds(sets: Words, row: int, vertex: int) -> bool:
    return bool(sets[row, vertex >> 6] >> (np.uint64(vertex) & _LAST) & _ONE)


@compiled_part
def _lowest(word: np.uint64) -> int:
    """The index of the lowest set bit of a word."""
    return _ones((word & (~word + _ONE)) - _ONE)


@compiled_part
def _ones(word: np.uint64) -> int:
    """The number of set bits of a word; the compiler knows this form, and makes one instruction of it."""
    word -= word >> _ONE & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = word + (word >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64(word * np.uint64(0x0101010101010101) >> np.uint64(56)))


@compiled_part
def _mix_bits(word: np.uint64) -> np.uint64:
    """SplitMix64's output function."""
    word = (word ^ word >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ word >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return word ^ word >> np.uint64(31)
