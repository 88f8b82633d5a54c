"""Check that a party opens its share of a row-wise product, and nothing else.

Three and more parties multiply row by row (`products`). Every holder of a product W of the first parts of a
chain opens its share less a mask to the holder of the next part, which multiplies what it received by its
own records: words of the holder's choice would show these. With the check, shares are such that they are
known without their holder. Let M be the masks of the holders of the left factor, L what was opened of it, A
and E mask and opening of the last part, so that W is the row-wise product of L + M and E + A. With dealt
words S and C of M A, a holder opens

    a holder of the left factor:     M E + S - M',
    the holder of the last part:     L A + C - M',

and L E is left, which all have who have L and E. The dealers know M, A, S, C and the new mask M', or parts
of them that add up. The receiver gets L and E too, each checked as this one is, or proved one-hot. So what
a holder opens is a row-wise product of a mask and a matrix that the receiver knows, plus words that dealers
know. That is the check of `sacrifice`: the dealers are the owner of the mask, the receiver has the other
factor, and the holder is tested. The receiver tells dealers its coins, of which the weights are a stream,
once it has the opening and the holder's words, and takes no others. So words that are opened have 64 bits
in a ring of 32.

A holder, also together with all others of the slice and the curator, passes with other words with probability
2^-32 at most. Nothing here depends on rows but through openings of one part.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...crypto.randomness import RandomStream
from ..arithmetic.ring import WIDE, Words
from .masks import Mask, Masks
from .plan import Chain, MaskedPlan, labels
from .sacrifice import repetitions

_CHECK = "check of opened rows"


def holds_left(plan: MaskedPlan, chain: Chain, number: int, holder: int) -> bool:
    """Whether a holder of a row-wise product holds its left factor, and not the last part.

    Args:
        plan: plan of the release.
        chain: chain of the product.
        number: of the slice.
        holder: index in the roster.
    """
    return plan.holders(chain, number)[-1] != holder


def other_cells(plan: MaskedPlan, chain: Chain, left: bool) -> int:
    """Columns of the factor that the receiver knows.

    Args:
        plan: plan of the release.
        chain: chain of the product.
        left: whether the tested party holds the left factor.
    """
    return plan.cells(chain[-1:] if left else chain[:-1])


def opened_weights(coins: bytes) -> RandomStream:
    """Run by dealers and receiver: the stream of the weights, which no holder of the product knows.

    Args:
        coins: coins of the receiver for this opening.
    """
    return RandomStream(coins).child(_CHECK)


def opened_check_mask(masks: Masks, recipient: int, chain: Chain) -> Mask:
    """Run by holder and dealer: the mask X', from the holder's masks.

    Args:
        masks: the holder's masks.
        recipient: index of the receiver in the roster.
        chain: chain of the product.
    """
    return masks.child(_CHECK, "mask", str(recipient), *labels(chain))


def opened_check_pad(plan: MaskedPlan, pair: RandomStream, recipient: int, chain: Chain) -> Words:
    """Run by holder and dealer: the words z', shape (repetitions,).

    Args:
        plan: plan of the release.
        pair: stream of the key that the two share.
        recipient: index of the receiver in the roster.
        chain: chain of the product.
    """
    stream = pair.child(_CHECK, "pad", str(recipient), *labels(chain))
    pad: Words = WIDE.uniform(stream, 1, repetitions(plan.ring))[0]
    return pad


def opened_check_labels(chain: Chain) -> Sequence[str]:
    """Labels of the holder's message to the receiver."""
    return [_CHECK, *labels(chain)]
