"""Policy of an institution; everything that it does not allow is refused."""

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
        protocols: allowed measurement protocols.
        adjacencies: allowed adjacencies.
        max_release_rho: upper limit of the budget of one release, zCDP.
        lifetime_rho: upper limit of the total budget of all releases, zCDP.
        min_records: smallest number of rows for which queries are answered.
        max_cells: upper limit of the cells of a marginal.
        min_tolerated: with `masked`, smallest number of colluding parties that a release must tolerate; at
            most all parties other than this one.
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
            terms: terms of the release.
            record_count: number of rows of the party.
            reserved: total budget of the releases accepted so far.

        Raises:
            PolicyError: a limit is exceeded; the message names it.
        """
        granted = Fraction(terms.granted_rho)
        if terms.protocol_version != PROTOCOL_VERSION:
            raise PolicyError(
                f"this party uses protocol version {PROTOCOL_VERSION}, the curator version "
                f"{terms.protocol_version}; install the same version of the software on both sides"
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
                "the party has fewer records than its policy requires; its owner can lower min_records"
            )
        if terms.masked is not None:
            others = len(terms.masked.roster) - 1
            if terms.masked.tolerated < min(self.min_tolerated, others):
                raise PolicyError(
                    "the release tolerates fewer collusions than min_tolerated of the policy; raise its "
                    "number of tolerated collusions"
                )
        if not terms.purpose.budget.allows(granted):
            raise PolicyError(
                "the release states a smaller epsilon, delta or rho than it requests; correct its promise"
            )
        if granted > self.max_release_rho:
            raise PolicyError("the release requests more than max_release_rho; lower its epsilon")
        if reserved + granted > self.lifetime_rho:
            raise PolicyError("the release requests more than is left of lifetime_rho; lower its epsilon")

    def check_cells(self, cells: int) -> None:
        """Refuses a marginal that is too large."""
        if cells > self.max_cells:
            raise PolicyError(
                "the query has more cells than max_cells of the policy; query a smaller marginal"
            )
