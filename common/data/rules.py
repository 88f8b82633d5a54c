"""Public statements of a table's owner about its rows, which no synthetic row breaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

if TYPE_CHECKING:
    from .domain import Clique, Domain


class Rule(ABC):
    """One rule."""

    @property
    @abstractmethod
    def columns(self) -> Clique:
        """The columns that it is about, in the order of the rule."""

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Refuses a rule that does not fit the domain.

        Raises:
            DataError: it names an unknown column or category, or a bound that is no edge.
        """

    @abstractmethod
    def allowed(self, domain: Domain) -> tuple[Clique, NDArray[np.bool_]] | None:
        """The cells of a marginal that rows may have.

        Returns:
            A clique in domain order and an array of its shape; None if the rule is about values alone.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The rule as in a domain file."""


def read_rules(form: object) -> tuple[Rule, ...]:
    """Reads the list `rules` of a domain file.

    Raises:
        DataError: it is no list of rules.
    """
    if form != []:
        raise DataError("rules: expected a list of rules; fix the domain")
    return ()
