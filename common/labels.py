"""Labels of open categories: which are looked for in a release, and how an answer holds them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .data.attributes.texts import has_open_categories, is_label
from .data.domain import Clique, Domain
from .errors import BudgetError, ProtocolError
from .later import np
from .privacy.budget import Budget
from .privacy.partition_selection import LARGEST_DELTA

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELTA_SHARE = 0.1
"""Share of the delta of a promise with which labels are looked for; noise keeps the rest (ADR 47)."""


@dataclass(frozen=True)
class LabelSearch:
    """The open categories whose labels a release looks for by partition selection.

    Attributes:
        attributes: their names, each asked for once.
        delta: probability with which a release may state a label that only one person has, for all attributes
            together; a part of the delta of the promise.
    """

    attributes: Clique
    delta: float

    def __post_init__(self) -> None:
        if not self.attributes or len(set(self.attributes)) < len(self.attributes):
            raise ValueError("a search for labels names attributes, each once")
        if not 0 < self.delta <= LARGEST_DELTA:
            raise ValueError(f"the delta of labels must be above 0 and at most {LARGEST_DELTA}")

    @property
    def delta_each(self) -> float:
        """The part of delta of one attribute."""
        return self.delta / len(self.attributes)

    def query_id(self, attribute: str) -> str:
        """The id of the only query for an attribute's labels.

        Raises:
            ProtocolError: the attribute's labels are not looked for.
        """
        if attribute not in self.attributes:
            raise ProtocolError("the release looks for no labels of this attribute; compare the plan")
        return f"labels {self.attributes.index(attribute) + 1}"


def label_search(domain: Domain, budget: Budget) -> LabelSearch | None:
    """The search for the labels of all open categories of a domain, with `DELTA_SHARE` of delta.

    Args:
        domain: domain of the table.
        budget: promise of the release that uses the labels.

    Returns:
        None if the domain has no open categories.

    Raises:
        BudgetError: it has, and the promise has no delta.
    """
    names = tuple(attribute.name for attribute in domain.attributes if has_open_categories(attribute))
    if not names:
        return None
    if budget.delta is None:
        raise BudgetError(
            f"delta: expected one to find labels of the open categories {', '.join(names)}, got none; give "
            "delta, or list all categories"
        )
    # A short number, which a policy can state exactly.
    return LabelSearch(names, min(float(f"{DELTA_SHARE * budget.delta:.6g}"), LARGEST_DELTA))


def encode_labels(labels: Iterable[str]) -> NDArray[np.int64]:
    """The code points of labels, each label with a zero after it."""
    points = [[*map(ord, label), 0] for label in labels]
    return np.array(list(itertools.chain(*points)), dtype=np.int64)


def decode_labels(words: NDArray[np.int64]) -> list[str]:
    """The labels that `encode_labels` wrote, perhaps of several parties.

    Raises:
        ProtocolError: the words hold no labels, or texts that cannot be labels.
    """
    try:
        *labels, rest = "".join(map(chr, words.tolist())).split("\0")
    except (ValueError, OverflowError):
        raise ProtocolError("expected labels as code points, got other numbers; compare versions") from None
    if rest or not all(map(is_label, labels)):
        raise ProtocolError("expected labels of printable text, got other text; compare versions")
    return labels
