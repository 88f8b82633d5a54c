"""A view of a table: the public linear function of its rows that one query asks for.

A view counts the cells of a marginal, of codes or of groups of codes; then it may add up boxes of cells, or
keep only the interaction. Whoever asks, counts, prices, sends or fits takes its sizes from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from .boxes import Box, box_labels, box_sums
from .domain import Clique, Domain
from .grouping import Grouping, Groups, check_groups, group_counts, group_labels, group_sums, grouped_shape
from .interactions import difference_count, differences, from_differences, interaction
from .people import adding_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .rows import Rows

_Number = TypeVar("_Number", bound="np.number[Any]")


@dataclass(frozen=True)
class View:
    """What is asked of a marginal.

    Attributes:
        clique: attributes of the marginal, in domain order.
        groups: groups of codes of each attribute, which are counted instead of single codes; empty if no
            attribute is grouped.
        boxes: disjoint boxes of cells whose sums are asked for, instead of single cells.
        interaction: whether only the interaction is asked for, which costs less at the same noise.
    """

    clique: Clique
    groups: Groups = ()
    boxes: tuple[Box, ...] = ()
    interaction: bool = False

    def __post_init__(self) -> None:
        if self.boxes and (self.interaction or self.groups):
            raise ValueError("a view is of boxes, or of groups or an interaction, not of both")

    @property
    def is_plain(self) -> bool:
        """Whether it is the marginal itself."""
        return not (self.groups or self.boxes or self.interaction)

    @property
    def adds_up(self) -> bool:
        """Whether cells are added up, so that weights of a person have to; see `PeopleRows.adding_up`."""
        return bool(self.boxes)

    @property
    def groupings(self) -> tuple[tuple[str, Grouping], ...]:
        """Each attribute with its grouping; () of one that is not grouped."""
        return tuple(zip(self.clique, self.groups or ((),) * len(self.clique), strict=True))

    def is_of(self, domain: Domain) -> bool:
        """Whether all attributes are of this domain, and in its order.

        Raises:
            DataError: an attribute is named twice.
        """
        return set(domain.names).issuperset(self.clique) and domain.canonical(self.clique) == self.clique

    def check(self, domain: Domain) -> None:
        """Refuses groups and boxes that do not fit the attributes.

        Raises:
            DataError: see `check_groups` and `box_labels`.
        """
        check_groups(domain.shape(self.clique), self.groups)
        if self.boxes:
            box_labels(domain.shape(self.clique), self.boxes)

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The number of codes or groups of each attribute: the shape of the cells that are counted."""
        return grouped_shape(domain.shape(self.clique), self.groups)

    def cells(self, domain: Domain) -> int:
        """The number of cells that are counted."""
        return math.prod(self.shape(domain))

    def size(self, domain: Domain) -> int:
        """The number of values: cells or boxes."""
        return len(self.boxes) or self.cells(domain)

    def labels(self, domain: Domain) -> NDArray[np.int64]:
        """The place among the values of each cell of all codes, shape (n_r,); `size` for those in no box."""
        shape = domain.shape(self.clique)
        return box_labels(shape, self.boxes) if self.boxes else group_labels(shape, self.groups)

    def varying(self, domain: Domain) -> View:
        """The same cells, of the attributes of several codes alone, or of one attribute if there are none."""
        kept = [place for place, name in enumerate(self.clique) if domain[name].size > 1] or [0]
        groups = tuple(self.groups[place] for place in kept) if self.groups else ()
        return replace(self, clique=tuple(self.clique[place] for place in kept), groups=groups)

    def cells_of_each(self, domain: Domain) -> float:
        """The mean number of cells of codes that a value adds up."""
        if self.boxes:
            return sum(math.prod(b - a for a, b in box) for box in self.boxes) / len(self.boxes)
        return domain.cells(self.clique) / self.cells(domain)

    def interaction_shape(self, domain: Domain) -> tuple[int, ...]:
        """The shape of the cells if only their interaction is asked for; its cost depends on it. Else ()."""
        return self.shape(domain) if self.interaction else ()

    def group_counts(self, domain: Domain) -> tuple[int, ...]:
        """The number of groups of each attribute; empty if none is grouped."""
        return group_counts(domain.shape(self.clique), self.groups)

    def counted(self, rows: Rows) -> NDArray[np.int64]:
        """Exact counts of the cells or boxes, shape (size,)."""
        held = adding_up(rows) if self.adds_up else rows
        return self.in_boxes(held.marginal(self.clique, self.groups), rows.domain)

    def in_boxes(self, cells: NDArray[_Number], domain: Domain) -> NDArray[_Number]:
        """Of counted cells, shape (cells,), those or the sums over boxes, shape (size,)."""
        return box_sums(cells, self.shape(domain), self.boxes) if self.boxes else cells

    def of_codes(self, codes: NDArray[_Number], domain: Domain) -> NDArray[_Number]:
        """Of the cells of all codes, shape (n_r,), the counts of groups or of boxes, shape (size,)."""
        return self.in_boxes(group_sums(codes, domain.shape(self.clique), self.groups), domain)

    def of_cells(self, cells: NDArray[np.float64], domain: Domain) -> NDArray[np.float64]:
        """Of counted cells, shape (cells,), the values of the view, shape (size,)."""
        if self.interaction:
            return interaction(cells, self.shape(domain))
        return self.in_boxes(cells, domain)

    def sent_count(self, domain: Domain) -> int:
        """The number of values that a party sends: differences of cells in place of an interaction."""
        return difference_count(self.shape(domain)) if self.interaction else self.size(domain)

    def sent(self, values: NDArray[_Number], domain: Domain) -> NDArray[_Number]:
        """What a party sends of noisy counts of shape (size,), shape (sent_count,)."""
        return differences(values, self.shape(domain)) if self.interaction else values

    def received(self, sent: NDArray[np.float64], domain: Domain) -> NDArray[np.float64]:
        """The values of the view, shape (size,), that follow from what was sent."""
        return from_differences(sent, self.shape(domain)) if self.interaction else sent


@dataclass(frozen=True)
class ComparedView(View):
    """A view whose distance to a reference is asked for, for which weights of a person have to add up."""

    @property
    def adds_up(self) -> bool:
        """True."""
        return True
