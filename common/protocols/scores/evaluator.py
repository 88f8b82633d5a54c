"""The steps of an evaluator, from its part of d to its share of the scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ...crypto.randomness import RandomStream
from ..arithmetic.ring import Words
from .bits import Planes, negate_cells, planes_of, unpack_bits
from .carry import digit_products, digit_wires, factors, merge_digits, products_of
from .checking import check
from .exchange import Exchange
from .relations import Side, join_sides, sign_side
from .replicated import Components, draw_planes, product_component
from .shape import ROLES, ScoreShape, Step

ASSISTANT = 0
"""Index of the evaluator that ends without a share."""

Steps: TypeAlias = "Generator[bytes, bytes, Words | None]"


def evaluate(shape: ScoreShape, role: int, words: Words, streams: Mapping[int, RandomStream]) -> Steps:
    """Run by an evaluator: yields each message that it sends, and `AWAITS` for each that it receives.

    The order is that of its steps in `ScoreShape.steps`. What it receives is passed by `send`; after a
    message of its own, `AWAITS` is.

    Guarantee: for any inputs of the other two, all that it receives is uniform, or follows from the rest, if
        the stream of the others was uniform. If another evaluator sent other messages than the protocol says,
        evaluator 1 or 2 raises, except with probability below 2^-40; any of the three may.

    Args:
        shape: shape of the batch.
        role: index of the evaluator.
        words: cliques one after the other, shape (cells,): a for evaluator 0, b for evaluators 1 and 2.
        streams: index of each other evaluator -> stream of the pair.

    Returns:
        Its share of the scores, shape (cliques,); None for evaluator 0. The two shares sum to the scores.

    Raises:
        ValueError: the arguments are inconsistent; raised by the first `next`.
        ProtocolError: another evaluator deviates.

    Assumes (not enforced): the streams are fresh, and used for this batch only; evaluators 1 and 2 have the
        same b; every message that is sent has the length of its step.
    """
    if role not in range(ROLES) or set(streams) != set(range(ROLES)) - {role}:
        raise ValueError("expected an evaluator from 0 to 2 and the streams of its two pairs")
    if words.shape != (shape.total,) or words.dtype != shape.ring.dtype:
        raise ValueError(f"expected {shape.total} words of {shape.ring.bits} bits")
    circuit = _Circuit(shape, role, words, streams)
    share = yield from circuit.run()
    yield from check(shape, role, circuit.exchange, circuit.sides, streams)
    return share


class _Circuit:
    """The steps before the proofs, which also collect what the evaluator knows of the equations.

    Component c of shared bits is known to evaluators c and c - 1.
    """

    def __init__(
        self, shape: ScoreShape, role: int, words: Words, streams: Mapping[int, RandomStream]
    ) -> None:
        self._shape, self._role, self._words, self._streams = shape, role, words, streams
        self._bits = planes_of(words)
        self._components = (role, (role + 1) % ROLES)
        self.exchange = Exchange(role)
        """Its messages."""
        self.sides: dict[tuple[int, int], list[Side]] = defaultdict(list)
        """(prover, other evaluator) -> what the other one knows of each block, as far as it is known here."""

    def run(self) -> Steps:
        """See `evaluate`."""
        tables, carries, *layers, signs = self._shape.stages
        products = yield from self._tables(tables)
        wires = yield from self._wires(carries, products)
        carry = yield from self._merge_carries(layers, wires)
        return (yield from self._absolute(signs, products, carry))

    def _tables(self, stage: Sequence[Step]) -> Generator[bytes, bytes, dict[int, Planes]]:
        """The assistant shares the products of its digits and its highest bit.

        Returns:
            Components 0 and 1, as far as known, each with the component of the empty product first.
        """
        shape, rows = self._shape, self._shape.tables
        if self._role == ASSISTANT:
            pads = self._draw_planes(1, rows)
            sent = np.vstack([digit_products(shape.digits, self._bits), self._bits[-1:]]) ^ pads
            yield from self.exchange.stage(stage, sent)
            shares = {0: sent, 1: pads}
        elif self._role == 1:
            shares = {1: self._draw_planes(ASSISTANT, rows)}
        else:
            shares = {0: self._planes((yield from self.exchange.stage(stage)))}
        return {c: np.vstack([np.full_like(share[:1], 0xFF * c), share]) for c, share in shares.items()}

    def _wires(
        self, stage: Sequence[Step], products: Mapping[int, Planes]
    ) -> Generator[bytes, bytes, Components]:
        """Evaluators 1 and 2 compute shares of the wires and open them under two drawn components."""
        shape, role = self._shape, self._role
        wires: dict[int, Planes] = {}
        for component, share in products.items():
            # Component 0 hides what evaluator 2 opens, component 1 what evaluator 1 opens.
            opens = 2 - component
            wires[component] = self._draw_planes(opens if role == ASSISTANT else ASSISTANT, shape.wires)
            self._know(opens, ASSISTANT, Side(share[:-1], wires[component]))
        if role != ASSISTANT:
            ((component, share),) = products.items()
            known = np.vstack([share[:1] | 0xFF, digit_products(shape.digits, self._bits)])
            own = digit_wires(shape.digits, known, share) ^ wires[component]
            theirs = self._planes((yield from self.exchange.stage(stage, own)))
            wires[2] = own ^ theirs
            self._know(role, ROLES - role, Side(known, own))
            self._know(ROLES - role, role, Side(known, theirs))
        return np.stack([wires[component] for component in self._components])

    def _merge_carries(
        self, stages: Sequence[Sequence[Step]], wires: Components
    ) -> Generator[bytes, bytes, Components]:
        """Neighbouring digits are merged, until one is left."""
        sides: dict[tuple[int, int], list[Side]] = defaultdict(list)
        for digits, stage in zip(self._shape.layers, stages, strict=True):
            left, right = factors(wires, digits)
            # The pads of evaluators c - 1 and c, for its components c.
            pads = [self._draw_planes((self._role + k) % ROLES, products_of(digits)) for k in (2, 1)]
            own = product_component(left, right, pads[0] ^ pads[1])
            following = self._planes((yield from self.exchange.stage(stage, own)))
            products = np.stack([own, following])
            for i, component in enumerate(self._components):
                both = np.vstack([left[i], right[i]])
                before = (component - 1) % ROLES
                local = (left[i] & right[i]) ^ pads[i] ^ products[i]
                sides[component, before].append(Side(both, local))
                sides[before, component].append(Side(both, pads[i]))
            wires = merge_digits(wires, products, digits)
        for (prover, other), parts in sides.items():
            self._know(prover, other, join_sides(parts))
        return wires[:, 0]

    def _absolute(self, stage: Sequence[Step], products: Mapping[int, Planes], carry: Components) -> Steps:
        """The sum of |d| over each clique, from the signs; (-1)^u a is a, inverted where u is 1, plus u."""
        shape, role, ring = self._shape, self._role, self._shape.ring
        components = dict(zip(self._components, carry, strict=True))
        valid = np.packbits(np.ones(shape.total, dtype=np.uint8), bitorder="little")
        signs = {c: (components[c] ^ products[c][-1]) & valid for c in products}
        words: dict[int, Words] = {}
        if role == ASSISTANT:
            sign = unpack_bits(signs[0] ^ signs[1], shape.total)
            plain = np.stack([np.where(sign, ~self._words, self._words), sign.astype(ring.dtype)])
            words[1] = ring.uniform(self._streams[1], 2, shape.total)
            words[0] = plain - words[1]
            yield from self.exchange.stage(stage, words[0])
        elif role == 1:
            words[1] = ring.uniform(self._streams[ASSISTANT], 2, shape.total)
        else:
            received = yield from self.exchange.stage(stage)
            words[0] = np.frombuffer(received, dtype=ring.dtype).reshape(2, -1)
        for c, shares in words.items():
            self._know(ASSISTANT, 2 - c, sign_side(shape.digits, products[c], signs[c], shares))
        if role == ASSISTANT:
            return None
        ((inverted, unit),) = words.values()
        signed = inverted + unit + (2 - role - 2 * unit) * self._words
        absolute = negate_cells(signed, components[2] ^ self._bits[-1])
        starts = np.cumsum((0, *shape.cells[:-1]))
        return np.add.reduceat(absolute, starts, dtype=ring.dtype)

    def _know(self, prover: int, other: int, side: Side) -> None:
        """Keeps what an evaluator knows of the prover's next block."""
        self.sides[prover, other].append(side)

    def _draw_planes(self, other: int, rows: int) -> Planes:
        """The next planes of the stream of the pair."""
        return draw_planes(self._streams[other], rows, self._shape.plane_bytes)

    def _planes(self, message: bytes) -> Planes:
        return np.frombuffer(message, dtype=np.uint8).reshape(-1, self._shape.plane_bytes)
