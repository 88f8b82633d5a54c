"""The proof that rows are one-hot where a mask has several components or 64 bits: masks are integers.

How often a sum of three components and an opening wraps around is known to its owner alone, and a word of
64 bits does not fit the field. So, in a plan with the check, each component is an integer below 2^58. The
owner opens E = V - (a + b + c), without a modulus, in words of 64 bits. Words of the ring are the low bits
of all of these. Whoever lacks one component sees a word of E whose distribution for V = 0 and for V = 1
differs by 2^-58.

If |E| is at most 3 2^58, then V = E + a + b + c is smaller than the field's prime, so that V is 0 or 1 where
it is so in the field. There

    z^2 - y = 0    and    s - 1 = 0,      z = sum r V, y = sum r^2 V, s = sum V,

say that a row is one-hot. All sums are sums over components. Of z^2, each product of two components belongs
to a dealer that knows both; what is left is the inner product of the sums z of the mask and of the opening
(`one_hot`). Where rows of zeros are allowed, the further column makes s equal to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...crypto.randomness import RandomStream
from ...errors import ProtocolError
from ...later import np
from ..arithmetic.field import Elements, dot, elements, minus, plus, times, total
from ..arithmetic.ring import Words
from .dealers import REPLICATED, dealt_terms, known_components
from .one_hot import Challenge, Sums, group_vectors, sums_of_rows, sums_of_units
from .plan import COMPONENT_BITS, Chain, MaskedPlan

if TYPE_CHECKING:
    from .products import Codes

_MOST = REPLICATED << COMPONENT_BITS
"""No opening of a one-hot matrix is below minus this."""


@dataclass(frozen=True, eq=False)
class IntegerChallenge(Challenge):
    """Public random elements of one check of integers."""

    vectors: ClassVar[int] = 1

    def sketch(self, blocks: Iterable[Words], *, masks: bool) -> Sums:
        """See `Challenge.sketch`; of a mask, one component or the sum of all.

        Raises:
            ProtocolError: the opening has words that are no integers less a mask.
        """
        shifted = blocks if masks else map(_shift_opened, blocks)
        sums = sums_of_rows(self._own_columns, shifted, 0 if masks else _MOST, whole=False)
        return self._with_last(sums, masks=masks)

    def own_sums(self, blocks: Iterable[tuple[Words, Codes]]) -> tuple[Sums, Sums]:
        """See `Challenge.own_sums`; of integers, U is the matrix."""
        held: list[Codes] = []

        def masks() -> Iterator[Words]:
            for mask, codes in blocks:
                held.append(codes)
                yield mask

        hidden = sums_of_rows(self._own_columns, masks(), 0, whole=False)
        codes = np.concatenate(held)
        opened = sums_of_units(self._own_columns, codes, np.ones(codes.size, dtype=np.uint64)).less(hidden)
        return self._with_last(hidden, masks=True), self._with_last(opened, masks=False)

    @property
    def _own_columns(self) -> Elements:
        """The elements r of the matrix, without that of the further column."""
        return self.columns[: self.columns.size - self.empty]

    def _with_last(self, sums: Sums, *, masks: bool) -> Sums:
        """The sums with those of the further column, where rows may be zero."""
        if not self.empty:
            return sums
        last, r = minus(elements([not masks]), sums.plain), self.columns[-1:]
        return Sums(
            plus(sums.weighted, times(r, last)), plus(sums.squared, times(times(r, r), last)), sums.plain
        )

    def local(self, share: Sums, *, masks: bool) -> int:
        """What the receiver's shares alone add to the sum that must be zero."""
        return dot(times(self.rows, share.weighted), share.weighted) + self._linear(share)

    def dealer_terms(self, known: Mapping[int, Sums], dealers: int, position: int) -> int:
        """See `Challenge.dealer_terms`."""
        found = self._linear(known[known_components(dealers, position)[0]])
        for x, ys in dealt_terms(dealers, position):
            for y in ys:
                found += dot(times(self.rows, known[x].weighted), known[y].weighted)
        if position or self.empty:
            return found
        return found - total(self.rows) * int(self.weight[0])

    def _linear(self, share: Sums) -> int:
        found = -dot(self.rows, share.squared)
        if not self.empty:
            found += dot(self.rows, share.plain) * int(self.weight[0])
        return found

    def left_vector(self, share: Sums, blinds: Sequence[RandomStream]) -> Elements:
        """See `Challenge.left_vector`."""
        return group_vectors([times(self.rows, share.weighted)], blinds)

    def right(self, share: Sums, blind: RandomStream) -> Elements:
        """See `Challenge.right`."""
        return group_vectors([plus(share.weighted, share.weighted)], [blind])


def challenge_of(plan: MaskedPlan, number: int, chain: Chain, coins: bytes) -> Challenge:
    """The challenge by which an opening of one part is checked.

    Args:
        plan: plan of the release.
        number: of the slice.
        chain: chain of the opened matrix.
        coins: of its receiver.
    """
    kind = IntegerChallenge if plan.integer_masks else Challenge
    return kind.from_coins(coins, plan.opened_records(number), plan.cells(chain), empty=plan.empty_rows)


def attested_vectors(plan: MaskedPlan) -> int:
    """Vectors of one element for each row whose inner product is proved."""
    return IntegerChallenge.vectors if plan.integer_masks else Challenge.vectors


def _shift_opened(block: Words) -> Words:
    """Opened integers plus the largest mask, which are not negative."""
    shifted: Words = block + np.uint64(_MOST)
    if (shifted > np.uint64(_MOST + 1)).any():
        raise ProtocolError(
            "expected an opening with one value for each record, got integers that no mask hides: a party "
            "did not follow the protocol; ask the operators of its slice"
        )
    return shifted
