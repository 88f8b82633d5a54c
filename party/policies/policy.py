"""Policy of an institution; everything that it does not allow is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ...common.errors import BudgetError, PolicyError
from ...common.federation.protocol_versions import refusals_of_version
from ...common.privacy.cost import ALL_ROWS, ROWS_PER_PERSON, Adjacency
from ...common.privacy.rows_of_person import rows_stated
from ...common.privacy.spending import Cost, together
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.partition import Partition, RosterEntry
from ...common.protocols.related import RelatedPart
from ...common.terms import ReleaseTerms
from .quotas import NOBODY, Asking, Quotas, Taken


@dataclass(frozen=True)
class Records:
    """Whose records a party holds, and with whom it shares them. The defaults allow no other party in a plan.

    Attributes:
        same_as: names of the pinned parties that hold other columns of the same people; None if the party
            does not say.
        together: take part only in releases in which all of them take part, so that every ledger counts what
            the same records spend.
        order_guaranteed: their rows are in the same order by other means than a comparison of keys.
    """

    same_as: frozenset[str] | None = None
    together: bool = False
    order_guaranteed: bool = False

    def check_plan(self, plan: Partition, own: RosterEntry, pinned: Mapping[str, bytes]) -> None:
        """Refuses a plan that counts a record twice, or that joins the rows of different people.

        Args:
            plan: plan whose parties are all pinned.
            own: entry of this party.
            pinned: names and identities of the pinned parties.

        Raises:
            PolicyError: the plan contradicts what the policy says about records; names the party.
        """
        others = [entry for entry in plan.roster if entry is not own]
        if self.same_as is None:
            if others:
                raise PolicyError(
                    "the plan names other parties, and the policy does not say whose records they hold; its "
                    "owner states same_as in [records]"
                )
            return
        unknown = sorted(self.same_as - set(pinned))
        if others and unknown:
            raise PolicyError(
                f"same_as of the policy names {unknown[0]!r}, which is not pinned here; its owner corrects "
                "the name or pins the party"
            )
        same = {pinned[name] for name in self.same_as if name in pinned}
        for entry in others:
            if entry.slice != own.slice and entry.identity in same:
                raise PolicyError(
                    f"the plan puts {entry.name!r} into another slice, but it holds the same records as this "
                    "party, which would count twice; put both into one slice"
                )
            if entry.slice == own.slice and entry.identity not in same:
                raise PolicyError(
                    f"the plan puts {entry.name!r} into the slice of this party, but same_as of the policy "
                    "does not name it; put it into another slice, or its owner adds it"
                )
        if self.together and not same <= {entry.identity for entry in others}:
            raise PolicyError(
                "the policy takes part only together with all parties that hold the same records; add them "
                "to the plan"
            )


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
        records: whose records the party holds.
        max_rows_per_person: largest number of rows of one person that are used, or `ALL_ROWS`; a release
            covers at least so many.
        min_parties: smallest number of parties with distinct identities in a release.
        veto_evaluators: names of parties that may not evaluate scores.
        dealers: allowed dealers of a masked release.
        min_dealers: with `masked`, least number of dealers of a release that needs any; with three or more,
            no dealer knows a mask alone.
        may_deal: with `masked`, whether this party may deal for slices that it is no party of.
        max_alignment_rho: upper limit of what one alignment of rows may cost, zCDP; zero allows none, and
            makes the number of rows public.
        max_match_keys: largest number of match keys of an alignment; with several, the matcher sees which
            rows of different parties agree in which of them, and nothing hides that.
        max_labels_delta: largest delta with which one release may state labels of open categories that only
            one person has; zero states none.
        require_check: with `masked`, whether a release must check openings, so that no other party of a slice
            learns more about this one's records by opening wrong rows.
        max_memory_mb: memory that one release may reserve, MiB.
        max_disk_mb: openings of other parties and codes of rows of one release on disk, MiB; also the files
            in which rows of people are sorted when the party is opened.
        max_cpu_seconds: seconds that the party computes for one release.
        max_queries: number of queries that are charged in one release.
        max_active_releases: number of releases whose deliveries are kept at the same time; so many times the
            memory and the disk of one may be used in total.
        lifetime_labels_delta: largest delta of the labels of all releases together; None for that of one.
        tables: names of the related tables of which releases may be.
        quotas: limits of one calendar year, and of single curators.
    """

    protocols: frozenset[str] = frozenset()
    adjacencies: frozenset[Adjacency] = frozenset()
    max_release_rho: Fraction = Fraction(0)
    lifetime_rho: Fraction = Fraction(0)
    min_records: int = 1
    max_cells: int = 0
    min_tolerated: int = 1
    records: Records = field(default_factory=Records)
    max_rows_per_person: int = 1
    min_parties: int = 1
    veto_evaluators: frozenset[str] = frozenset()
    dealers: frozenset[str] = frozenset({CURATOR_DEALS})
    min_dealers: int = 1
    may_deal: bool = False
    max_alignment_rho: Fraction = Fraction(0)
    max_match_keys: int = 1
    max_labels_delta: float = 0.0
    require_check: bool = False
    max_memory_mb: int = 2048
    max_disk_mb: int = 16_384
    max_cpu_seconds: int = 36_000
    max_queries: int = 10_000
    max_active_releases: int = 8
    lifetime_labels_delta: float | None = None
    tables: frozenset[str] = frozenset()
    quotas: Quotas = field(default_factory=Quotas)

    def refusals(
        self, terms: ReleaseTerms, record_count: int, taken: Sequence[Taken], asking: Asking = NOBODY
    ) -> Iterator[PolicyError]:
        """Every reason for which the policy does not allow a release; none if it does.

        Args:
            terms: terms of the release.
            record_count: number of rows of the party.
            taken: what the releases accepted so far take of the budgets.
            asking: the curator.
        """
        part = terms.plan.related
        # Of a release in parts, all that are left are decided on with each.
        granted = Fraction(terms.granted_rho if part is None else part.zcdp_rho)
        asked = terms.decided_cost
        total = self.total((*(one.cost for one in taken), asked))
        yield from refusals_of_version("party", terms.protocol_version)
        if terms.aligning is not None:
            yield from self._of_alignment(terms)
        elif terms.spec.protocol not in self.protocols:
            yield PolicyError(
                f"the policy does not allow the protocol {terms.spec.protocol!r}; its owner can add it"
            )
        if terms.spec.adjacency not in self.adjacencies:
            yield PolicyError(
                f"the policy does not allow the adjacency {terms.spec.adjacency.value!r}; its owner can "
                "add it"
            )
        if record_count < self.min_records:
            yield PolicyError(
                "the party has fewer records than its policy requires; its owner can lower min_records"
            )
        yield from self._of_people(terms)
        if terms.masked_plan is not None:
            yield from self._of_masked(terms.masked_plan)
        yield from self._of_labels(terms, total.delta)
        if terms.purpose.max_cells is not None and terms.purpose.max_cells > self.max_cells:
            yield PolicyError(
                "the release may measure marginals with more cells than max_cells of the policy; start a new "
                "one, which asks for the limit"
            )
        if not _keeps_promise(terms):
            yield PolicyError(
                "the release states a smaller epsilon, delta or rho than it requests; correct its promise"
            )
        if terms.aligning is None and granted > self.max_release_rho:
            yield PolicyError("the release requests more than max_release_rho; lower its epsilon")
        if part is not None and not part.has_room_after(_cost_of_parts(part, taken, asking)):
            yield PolicyError(
                "the parts of the release that this party accepted, and those left, cost more together than "
                "its terms state for all parts; begin a new release"
            )
        if total.zcdp_rho > self.lifetime_rho:
            yield PolicyError(
                "the release requests more than is left of lifetime_rho, which counts all releases under the "
                "strictest of their adjacencies; lower its epsilon"
            )
        yield from self.quotas.refusals(asked, taken, self.max_rows_per_person, asking)

    def total(self, costs: Iterable[Cost]) -> Cost:
        """What releases cost a person of this party together."""
        return together(costs, self.max_rows_per_person)

    def _of_labels(self, terms: ReleaseTerms, total: Fraction) -> Iterator[PolicyError]:
        search = terms.purpose.labels
        if search is None:
            return
        if not self.max_labels_delta:
            yield PolicyError(
                "the release looks for labels of open categories, and the policy states none; its owner can "
                "set max_labels_delta, or list all categories"
            )
        elif search.delta > self.max_labels_delta:
            yield PolicyError(
                "the release looks for labels with more than max_labels_delta of the policy; plan it with a "
                "smaller delta"
            )
        elif total > self.most_labels_delta:
            yield PolicyError(
                "the release looks for labels with more than is left of lifetime_labels_delta; plan it with "
                "a smaller delta, or list all categories"
            )

    @property
    def most_labels_delta(self) -> float:
        """Largest delta of the labels of all releases together."""
        return self.max_labels_delta if self.lifetime_labels_delta is None else self.lifetime_labels_delta

    def _of_alignment(self, terms: ReleaseTerms) -> Iterator[PolicyError]:
        if not self.max_alignment_rho:
            yield PolicyError(
                "the policy does not allow rows to be aligned; its owner can set max_alignment_rho"
            )
        elif Fraction(terms.granted_rho) > self.max_alignment_rho:
            yield PolicyError(
                "the alignment requests more than max_alignment_rho; lower rho in [alignment] of its plan"
            )
        if terms.aligning is not None and len(terms.aligning.match) > self.max_match_keys:
            yield PolicyError(
                "the alignment has more match keys than max_match_keys of the policy; plan fewer, or its "
                "owner raises the limit"
            )
        if terms.unit.multiple > 1:
            yield PolicyError(
                "an alignment uses one row of each person, and these terms cover several; plan it with "
                f"{ROWS_PER_PERSON} = 1 or {rows_stated(ALL_ROWS)}"
            )

    def _of_people(self, terms: ReleaseTerms) -> Iterator[PolicyError]:
        if len({entry.identity for entry in terms.plan.roster}) < self.min_parties:
            yield PolicyError(
                "the release has fewer parties than min_parties of the policy; plan it with more parties"
            )
        covered, used = terms.spec.rows_per_person, self.max_rows_per_person
        if covered == ALL_ROWS != used:
            yield PolicyError(
                "the release uses all rows of a person, and the policy does not allow that; its owner can "
                f"set max_rows_per_person = {rows_stated(ALL_ROWS)}"
            )
        elif used == ALL_ROWS != covered or covered < used:
            yield PolicyError(
                "the release covers fewer rows of a person than max_rows_per_person of the policy; plan it "
                f"with {ROWS_PER_PERSON} = {rows_stated(used)}"
            )

    def _of_masked(self, plan: MaskedPlan) -> Iterator[PolicyError]:
        if plan.tolerated < min(self.min_tolerated, len(plan.roster) - 1):
            yield PolicyError(
                "the release tolerates fewer collusions than min_tolerated of the policy; raise its "
                "number of tolerated collusions"
            )
        if self.require_check and len(plan.roster) > 1 and not plan.check:
            yield PolicyError(
                "the release checks no openings, and require_check of the policy demands it; add "
                'check = "one-hot" to its plan'
            )
        refused = [dealer.name for dealer in plan.dealers if dealer.name not in self.dealers]
        if refused:
            yield PolicyError(f"the policy does not allow the dealer {refused[0]!r}; its owner can add it")
        if plan.dealers and len(plan.dealers) < self.min_dealers:
            yield PolicyError(
                "the release has fewer dealers than min_dealers of the policy; name more of them in its plan"
            )
        vetoed = sorted(set(plan.evaluator_names) & self.veto_evaluators)
        if vetoed:
            yield PolicyError(
                f"the policy vetoes {vetoed[0]!r} as evaluator of scores; order the parties of the plan so "
                "that others are the first, the last and the one in the middle"
            )

    def check_cells(self, cells: int) -> None:
        """Refuses a marginal that is too large."""
        if cells > self.max_cells:
            raise PolicyError(
                "the query has more cells than max_cells of the policy; query a smaller marginal"
            )


def _cost_of_parts(part: RelatedPart, taken: Iterable[Taken], asking: Asking) -> Fraction:
    """What the parts of the same whole cost that were accepted before."""
    whose = (None, asking.identity)
    return sum(
        (one.cost.zcdp_rho for one in taken if one.whole == part.whole and one.curator in whose), Fraction(0)
    )


def _keeps_promise(terms: ReleaseTerms) -> bool:
    """Whether the promise covers the grant, what chose the release's codes, and the delta of labels."""
    try:
        return terms.noise_budget.allows((terms.before + terms.granted_cost).zcdp_rho)
    except BudgetError:
        return False
