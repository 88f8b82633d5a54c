"""What an institution allows; everything that is not granted is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..common.errors import PolicyError
from ..common.messages import PROTOCOL_VERSION, ReleaseTerms
from ..common.privacy.cost import Adjacency


@dataclass(frozen=True)
class Policy:
    """An institution's limits. The defaults allow nothing.

    Attributes:
        protocols: measurement protocols that it takes part in.
        adjacencies: which promises it accepts.
        max_release_rho: upper limit of one release's budget, zCDP.
        lifetime_rho: upper limit of the budgets of all releases together, zCDP.
        min_records: fewer rows than this are never asked about.
        max_cells: upper limit of the cells of a marginal.
        min_tolerated: with `masked`, so many other parties may collude and still see no more than promised;
            all but this one where the release has fewer.
    """

    protocols: frozenset[str] = frozenset()
    adjacencies: frozenset[Adjacency] = frozenset()
    max_release_rho: Fraction = Fraction(0)
    lifetime_rho: Fraction = Fraction(0)
    min_records: int = 1
    max_cells: int = 0
    min_tolerated: int = 1

    def check_terms(self, terms: ReleaseTerms, record_count: int, reserved: Fraction) -> None:
        """Refuses a release that the policy does not allow.

        Args:
            terms: what is asked.
            record_count: rows of the party.
            reserved: budgets of the releases accepted so far.

        Raises:
            PolicyError: names the limit and how it is changed.
        """
        granted = Fraction(terms.granted_rho)
        if terms.protocol_version != PROTOCOL_VERSION:
            raise PolicyError(
                f"this party speaks protocol version {PROTOCOL_VERSION}, the curator version "
                f"{terms.protocol_version}; bring both to one release of the software"
            )
        if terms.protocol not in self.protocols:
            raise PolicyError(
                f"the policy does not allow the protocol {terms.protocol!r}; its owner can add it"
            )
        if terms.adjacency not in self.adjacencies:
            raise PolicyError(
                f"the policy does not allow the adjacency {terms.adjacency.value!r}; its owner can add it"
            )
        if record_count < self.min_records:
            raise PolicyError(
                "the party has fewer records than its policy asks for; its owner can lower min_records"
            )
        if terms.masked is not None:
            others = len(terms.masked.roster) - 1
            if terms.masked.tolerated < min(self.min_tolerated, others):
                raise PolicyError(
                    "the release tolerates fewer collusions than min_tolerated of the policy; raise its "
                    "number of tolerated collusions"
                )
        if granted > self.max_release_rho:
            raise PolicyError("the release asks for more than max_release_rho; lower its epsilon")
        if reserved + granted > self.lifetime_rho:
            raise PolicyError("the release asks for more than is left of lifetime_rho; lower its epsilon")

    def check_cells(self, cells: int) -> None:
        """Refuses a marginal that is too large."""
        if cells > self.max_cells:
            raise PolicyError(
                "the query has more cells than max_cells of the policy; ask for a smaller marginal"
            )
