"""Marginals over the parties of a federation with the protocol `masked`: the curator sees only noisy sums."""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.queries import encode_asked
from ...common.crypto.randomness import KEY_BYTES
from ...common.data.boxes import box_sums
from ...common.data.domain import Clique
from ...common.data.grouping import Groups, group_counts, grouped_shape, with_last_code_apart
from ...common.data.interactions import difference_count, from_differences, interaction
from ...common.errors import BudgetError, DataError, DeliveriesLost
from ...common.measurement import Measurement
from ...common.messages import (
    Acceptance,
    AnswerForm,
    DealRequest,
    DeliveryKind,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    ReleaseTerms,
)
from ...common.privacy.budget import Charge
from ...common.privacy.cost import (
    Neighbours,
    PrivacyUnit,
    coarser_sigma,
    gaussian_cost,
    gaussian_sigma,
    grid_of,
)
from ...common.privacy.distributed import DistributedNoise
from ...common.protocols.masked.bounds import marginal_bounds
from ...common.protocols.masked.dealers import DealerEntry
from ...common.protocols.masked.plan import MAX_OPENING_BYTES, Chain, MaskedPlan
from ...common.protocols.masked.reveal import opened_sum
from ...common.protocols.masked.ring import Ring
from ...common.protocols.masked.trust import assumed
from ...common.protocols.scores.query import Integers
from ..parties.asking import Asking
from ..parties.federation import Federation
from .labels import LabelFinder
from .limits import is_too_large
from .measurer import Observer, Query, Scores
from .scores import Batch, ScoringMeasurer, local_scores, score_charge, shared_scores, without_absent
from .size import NoisySize

_LARGEST = 3
"""Times the number of records: bounds all counts, and all distances to a rounded reference."""

_LEAST_PARTIES = 3
"""With so many parties, all evaluators of scores are parties; with two, evaluator 0 is the first dealer."""

_MOST_NAMED = 1 << 19
"""Largest number of bytes of the columns that one message names, unless it names a single chain."""

_INTERACTION = 3
"""The ring has room for interactions of at most this many attributes, each with at most ..."""

_INTERACTION_SHARE = Fraction(1, 4)
"""... this share of the budget; an interaction that it has no room for gets more noise, and costs less."""


def masked_plan(
    federation: Federation, granted: Fraction, adjacency: Neighbours, tolerated: int | None = None
) -> MaskedPlan:
    """The plan of a release over these parties.

    Args:
        federation: the parties.
        granted: upper limit of the costs of all queries together, zCDP; it bounds the noise from below.
        adjacency: which tables are neighbours.
        tolerated: number of parties that may collude; by default one, or zero for a single party.

    Raises:
        BudgetError: no honest party would be left.
    """
    partition = federation.partition
    roster = partition.roster
    if tolerated is None:
        tolerated = min(1, len(roster) - 1)
    sigma = gaussian_sigma(granted, adjacency)
    # The scale of the noise is at most 512 in units of 1/grid.
    noise = DistributedNoise(len(roster), tolerated).largest(512.0)
    records = sum(federation.record_counts)
    grid = grid_of(sigma)
    # A record changes an interaction by at least 2^(-k/2), so its grid may be finer by this factor.
    coarser = grid_of(gaussian_sigma(granted * _INTERACTION_SHARE, adjacency))
    differences = (coarser << math.ceil(_INTERACTION / 2)) * records + (noise << _INTERACTION)
    ring = Ring.holding(max(grid * _LARGEST * records + noise, differences))
    # Two colluding evaluators would see the values that they evaluate.
    evaluators = _evaluators(len(roster)) if len(roster) > 1 and tolerated <= 1 else ()
    return MaskedPlan(
        partition.domain,
        roster,
        tolerated,
        ring,
        evaluators,
        _dealers(federation, bool(evaluators)),
        alignment=partition.alignment,
        chosen=partition.chosen,
    )


def _dealers(federation: Federation, scores: bool) -> tuple[DealerEntry, ...]:
    """The dealers of the plan: none if every slice has one party and no dealer evaluates scores.

    Raises:
        DataError: the release needs a dealer, and there is none.
    """
    evaluates = scores and len(federation.members) == _LEAST_PARTIES - 1
    if not evaluates and all(len(members) == 1 for members in federation.slices):
        return ()
    if not federation.dealers:
        raise DataError("the release needs dealers, and the plan names none; name one or three in dealers")
    return tuple(dealer.entry for dealer in federation.dealers)


def _evaluators(parties: int) -> tuple[int, int, int]:
    """Places of the evaluators: the party in the middle, the first and the last; of two, the dealer first."""
    return (parties // 2 if parties >= _LEAST_PARTIES else parties, 0, parties - 1)


def masked_sigma(
    plan: MaskedPlan,
    adjacency: Neighbours,
    clique: Clique,
    zcdp_rho: Fraction,
    interaction: bool = False,
    groups: Groups = (),
) -> float:
    """Standard deviation of every cell at this cost; infinite if the openings exceed their limit."""
    if not plan.feasible(clique, groups):
        return math.inf
    shape = grouped_shape(plan.domain.shape(clique), groups) if interaction else ()
    scale = _scale(plan, gaussian_sigma(zcdp_rho, adjacency, shape), shape)
    return factor_of(plan, clique) * plan.noise.total_sigma(scale)


def factor_of(plan: MaskedPlan, clique: Clique) -> float:
    """What answers for a clique, and their noise, are multiplied by: rows for each row that answers."""
    return plan.sampling.factor if plan.sampling is not None and plan.is_sampled(clique) else 1.0


def _scale(plan: MaskedPlan, sigma: float, shape: tuple[int, ...]) -> float:
    """A scale of noise; for an interaction the least one from `sigma` on that the ring has room for."""
    while shape and not plan.ring.holds(plan.largest(sigma, interaction=shape)) and grid_of(sigma) > 1:
        sigma = coarser_sigma(sigma)
    return sigma


class MaskedMeasurer(ScoringMeasurer):
    """Measures through shares that parties compute, mask and add noise to.

    Args:
        federation: the parties.
        terms: terms of the release.
        acceptances: signed acceptance of each party; empty if all answers are recalled, so that parties are
            not introduced.
        granted: upper limit of the costs of all queries together, zCDP.
        asking: recalls answers and retries.
    """

    def __init__(
        self,
        federation: Federation,
        terms: ReleaseTerms,
        acceptances: tuple[Acceptance, ...],
        granted: Fraction,
        asking: Asking | None = None,
    ) -> None:
        super().__init__(federation.domain, federation.record_count, granted)
        if terms.masked is None:
            raise ValueError("the terms of a masked release have a masked plan")
        self._terms = terms
        self._plan = terms.masked
        self._clients = [member.client for member in federation.members]
        self._release_id = terms.release_id
        self._unit = terms.unit
        self._participants = [*self._clients, *(d.client for d in federation.dealers_of(terms))]
        self._opened: set[tuple[int, Chain, int]] = set()
        self._ranges: set[tuple[int, Chain, int, int]] = set()
        self._multiplied: set[tuple[int, Chain]] = set()
        self._seeded: set[int] = set()
        self._ordered: set[int] = set()
        self._lost: set[int] = set()
        self._sigmas: dict[tuple[Fraction, tuple[int, ...], float], float] = {}
        self._asked = 0
        self._asking = asking or Asking()
        self._finder = LabelFinder(federation, terms, self._asking)
        self._size = _noisy_size(self._plan, self._unit)
        self.sampling = self._plan.sampling
        self.observers = observers_of(self._plan)
        if acceptances:
            self._introduce(acceptances)

    def expected_sigma(
        self, clique: Clique, zcdp_rho: Fraction, interaction: bool = False, groups: Groups = ()
    ) -> float:
        """Standard deviation of every cell; infinite if openings exceed their limit, or terms exclude it."""
        if is_too_large(self._terms, self.domain, clique, groups) or not self._plan.feasible(clique, groups):
            return math.inf
        # A mechanism asks for thousands of cliques of few shapes.
        shape = grouped_shape(self.domain.shape(clique), groups) if interaction else ()
        key = zcdp_rho, shape, factor_of(self._plan, clique)
        if key not in self._sigmas:
            self._sigmas[key] = masked_sigma(self._plan, self._unit, clique, zcdp_rho, interaction, groups)
        return self._sigmas[key]

    def is_sampled(self, clique: Clique) -> bool:
        """See `Measurer.is_sampled`."""
        return self._plan.is_sampled(clique)

    def measurable_groups(self, groups: Groups) -> Groups:
        """The groups with `absent` apart, where it is the last code; see `Measurer.measurable_groups`."""
        return tuple(map(with_last_code_apart, groups)) if self._plan.absent else groups

    def multiplied_bytes(self, clique: Clique, groups: Groups = ()) -> int:
        """See `Measurer.multiplied_bytes`."""
        return self._plan.multiplied_bytes(clique, groups)

    def _check_groups(self, clique: Clique, groups: Groups) -> None:
        self._plan.check_groups(clique, groups)

    @property
    def scores_exactly(self) -> bool:
        """Whether the plan names evaluators, or there is only one party."""
        return bool(self._plan.evaluators) or len(self._clients) == 1

    def _introduce(self, acceptances: tuple[Acceptance, ...]) -> None:
        introduction = Introduction(self._release_id, acceptances)
        for client in self._participants:
            self._asking.persist(partial(client.introduce, introduction), self._forget)
        # Slices whose rows differ in order are refused before anything is charged.
        for number in range(self._plan.slice_count):
            self._asking.persist(partial(self._begin, number), self._forget)

    def score(
        self,
        cliques: Sequence[Clique],
        references: Iterable[Integers],
        zcdp_rho: Fraction,
        step: str,
        groups: Sequence[Groups] = (),
    ) -> Scores:
        """Noisy L1 distances; see `Measurer.score`. Of sampled rows, references and distances are scaled."""
        factors = np.array([factor_of(self._plan, clique) for clique in cliques])
        scaled = (
            reference if factor == 1 else np.rint(reference / factor).astype(np.int64)
            for reference, factor in zip(references, factors, strict=True)
        )
        scores = super().score(cliques, scaled, zcdp_rho, step, groups)
        return Scores(scores.values * factors, scores.sigma * float(factors.max(initial=1.0)))

    def _compared(self, references: Iterable[Integers]) -> Iterable[Integers]:
        return map(without_absent, references) if self._plan.absent else references

    def _score_charge(
        self, cliques: Sequence[Clique], zcdp_rho: Fraction, step: str, groups: Sequence[Groups]
    ) -> Charge:
        for clique, of_clique in zip(cliques, groups, strict=True):
            self._check_feasible(clique, of_clique)
        charge = score_charge(step, len(cliques), zcdp_rho, self._unit, self._plan.slice_count)
        self._check_noise(self._plan.largest(charge.sigmas[0][0], _LARGEST * self.record_count))
        return charge

    def _scored(self, batch: Batch, sigma: float) -> NDArray[np.float64]:
        self._asked += 1
        query = batch.query(self._release_id, f"{self._asked:06d}", sigma)

        def scored() -> NDArray[np.float64]:
            self._prepare(query.grouped_cliques)
            if self._plan.evaluators:
                return shared_scores(self._participants, self._plan, query, batch.references)
            return local_scores(self._clients[0], query, batch.references)

        return self._asking.ask(query.query_id, encode_asked(query), scored, self._forget)

    def _score_noise(self, sigma: float) -> float:
        return self._plan.noise.factor * sigma

    def _charge(self, query: Query) -> Charge:
        self._check_feasible(query.clique, query.groups)
        sizes = self._plan.domain.shape(query.clique)
        shape = grouped_shape(sizes, query.groups) if query.interaction else ()
        sigma = _scale(self._plan, gaussian_sigma(query.zcdp_rho, self._unit, shape), shape)
        self._check_noise(self._plan.largest(sigma, interaction=shape))
        # One noise variable hides a record, in any slice.
        sigmas = ((sigma,),) * self._plan.slice_count
        cost = gaussian_cost(sigma, self._unit, shape)
        counted = group_counts(sizes, query.groups)
        return Charge(query.step, query.clique, cost, sigmas, interaction=shape, groups=counted)

    def _answers(self, queries: Sequence[Query], charges: Sequence[Charge]) -> list[Measurement]:
        asked = [self._marginal_query(query, charge) for query, charge in zip(queries, charges, strict=True)]
        new = [(a.clique, a.groups) for a in asked if not self._asking.knows(a.query_id, encode_asked(a))]
        self._asking.persist(lambda: self._prepare(new), self._forget)
        return [self._measurement(a, charge) for a, charge in zip(asked, charges, strict=True)]

    def _check_feasible(self, clique: Clique, groups: Groups) -> None:
        if self._plan.feasible(clique, groups):
            return
        longest = max(len(self._plan.chain(clique, n, groups)) for n in range(self._plan.slice_count))
        if self._plan.check and longest > 2:
            raise DataError(
                f"measuring {', '.join(clique)} needs openings of what three parties hold, which are not "
                "checked; choose a smaller marginal, or leave check out of the plan"
            )
        raise DataError(
            f"measuring {', '.join(clique)} needs an opening of more than {MAX_OPENING_BYTES >> 30} GiB; "
            "choose a smaller marginal or a partition in which fewer parties hold it"
        )

    def _check_noise(self, largest: int) -> None:
        if not self._plan.ring.holds(largest):
            raise BudgetError(
                "expected noise that fits the plan's ring, got more; allot the query more budget"
            )

    def _prepare(self, asked: Sequence[tuple[Clique, Groups]]) -> None:
        """Opens, deals and multiplies what cliques with these groups need and earlier ones did not."""
        for number in range(self._plan.slice_count):
            chains = dict.fromkeys(self._plan.chain(clique, number, groups) for clique, groups in asked)
            together: dict[Chain, list[Chain]] = {}
            for chain in chains:
                if len(chain) > 1 and (number, chain) not in self._multiplied:
                    # Openings of longer chains are large: they are made once for all products that need them,
                    # and freed after the multiplication.
                    together.setdefault(chain[:-1] if len(chain) > 2 else (), []).append(chain)
            for group in together.values():
                for piece in _pieces(group):
                    self._multiply(piece, number)

    def _compare_order(self, number: int) -> None:
        """The parties of a slice compare the order of their records, unless they did."""
        if number in self._ordered or self._plan.alignment is not None:
            return
        members = self._plan.members(number)
        for sender, recipient in itertools.permutations(members, 2):
            request = OpeningRequest(self._release_id, (), recipient, DeliveryKind.RECORD_ORDER)
            self._clients[sender].relay(sender, request, self._clients[recipient])
        self._ordered.add(number)

    def _begin(self, number: int) -> None:
        """Before the first opening of a slice: its parties get seeds of masks, and compare their order."""
        if number not in self._seeded and len(self._plan.members(number)) > 1:
            for recipient, dealer in itertools.product(
                self._plan.members(number), self._plan.dealers_of(number)
            ):
                self._deal(dealer, DealRequest(self._release_id, DeliveryKind.MASK_SEEDS, recipient))
        self._seeded.add(number)
        self._compare_order(number)

    def _multiply(self, chains: Sequence[Chain], number: int) -> None:
        self._begin(number)
        for before in dict.fromkeys(chain[:k] for chain in chains for k in range(2, len(chain))):
            self._exchange(before, number)
            self._deal_rows(before, number)
        for chain in chains:
            self._exchange(chain, number)
        for recipient in dict.fromkeys(self._plan.holders(chain, number)[-1] for chain in chains):
            dealt = tuple(c for c in chains if self._plan.holders(c, number)[-1] == recipient)
            request = DealRequest(self._release_id, DeliveryKind.DEALT_PRODUCTS, recipient, dealt)
            self._deal_all(number, request)
        for party in self._plan.members(number):
            own = tuple(c for c in chains if party in self._plan.holders(c, number))
            if own:
                self._clients[party].multiply(MultiplyRequest(self._release_id, own))
        self._multiplied.update((number, chain) for chain in chains)
        self._lost = set()
        # The parties keep openings of single parts.
        self._opened = {opened for opened in self._opened if len(opened[1]) == 1}

    def _exchange(self, chain: Chain, number: int) -> None:
        """The holders of the last part and of the parts before it exchange openings of what they multiply."""
        last = self._plan.holders(chain, number)[-1]
        for owner in self._plan.openers(chain, number):
            self._open(owner, chain[:-1], last)
            self._open(last, chain[-1:], owner)

    def _open(self, owner: int, chain: Chain, recipient: int) -> None:
        if (owner, chain, recipient) in self._opened:
            return
        for place in range(self._plan.opened_ranges(chain, self._plan.roster[owner].slice)):
            opened = (owner, chain, recipient, place)
            if opened not in self._ranges:
                request = OpeningRequest(self._release_id, chain, recipient, step=place)
                self._clients[owner].relay(owner, request, self._clients[recipient])
                self._ranges.add(opened)
        if self._plan.check:
            self._check(owner, chain, recipient)
        self._opened.add((owner, chain, recipient))
        self._ranges = {known for known in self._ranges if known[:3] != (owner, chain, recipient)}

    def _check(self, owner: int, chain: Chain, recipient: int) -> None:
        """Has an opening proved to its receiver, by coins that its owner could not know when it opened."""
        coins = secrets.token_bytes(KEY_BYTES)
        request = OpeningRequest(self._release_id, chain, recipient, DeliveryKind.PROOF, coins=coins)
        self._clients[owner].relay(owner, request, self._clients[recipient])
        (dealer,) = self._plan.dealers_of(self._plan.roster[owner].slice)
        attested = DealRequest(self._release_id, DeliveryKind.ATTESTATION, recipient, (chain,), owner, coins)
        self._deal(dealer, attested)

    def _deal_rows(self, chain: Chain, number: int) -> None:
        """Has a row-wise product dealt and checked with every owner of the left factor."""
        recipient = self._plan.holders(chain, number)[-1]
        for owner in self._plan.openers(chain, number):
            for kind in (DeliveryKind.DEALT_ROWS, DeliveryKind.DEALT_CHECK):
                self._deal_all(number, DealRequest(self._release_id, kind, recipient, (chain,), owner))
            check = OpeningRequest(self._release_id, chain, recipient, DeliveryKind.CHECK)
            self._clients[owner].relay(owner, check, self._clients[recipient])

    def _deal_all(self, number: int, request: DealRequest) -> None:
        """All dealers of a slice deal at the same time."""
        dealers = self._plan.dealers_of(number)
        with ThreadPoolExecutor(len(dealers)) as threads:
            list(threads.map(lambda dealer: self._deal(dealer, request), dealers))

    def _deal(self, dealer: int, request: DealRequest) -> None:
        self._participants[dealer].relay_dealt(dealer, request, self._clients[request.recipient])

    def _answer(self, query: Query, charge: Charge) -> Measurement:
        return self._measurement(self._marginal_query(query, charge), charge)

    def _marginal_query(self, query: Query, charge: Charge) -> MarginalQuery:
        """The query to every party, under a new id."""
        self._asked += 1
        return MarginalQuery(
            self._release_id,
            f"{self._asked:06d}",
            AnswerForm.SHARE,
            query.clique,
            charge.sigmas[0][0],
            query.boxes,
            query.interaction,
            groups=query.groups,
        )

    def _measurement(self, asked: MarginalQuery, charge: Charge) -> Measurement:
        def counted() -> NDArray[np.float64]:
            self._prepare([(asked.clique, asked.groups)])
            opened = opened_sum(self._plan.ring, self._shares(asked))
            bounds.check(opened)
            counts = opened / grid_of(asked.sigma)
            counts = from_differences(counts, shape) if asked.interaction else counts
            counts = counts * factor
            return counts + self._absent(asked, shape) if self._plan.absent else counts

        shape, factor = asked.shape(self.domain), factor_of(self._plan, asked.clique)
        sampling = self._plan.sampling if self._plan.is_sampled(asked.clique) else None
        bounds = marginal_bounds(
            self._plan,
            asked.sigma,
            len(asked.boxes) or math.prod(shape),
            boxes=bool(asked.boxes),
            interaction=shape if asked.interaction else (),
            sampled=sampling is not None,
        )
        counts = self._asking.ask(asked.query_id, encode_asked(asked), counted, self._forget)
        total = factor * self._plan.noise.total_sigma(asked.sigma)
        if not asked.boxes and not asked.interaction and sampling is None:
            self._learn_size(counts, total)
        if sampling is not None:
            total = math.hypot(total, sampling.cell_sigma(len(asked.boxes) or math.prod(shape)))
        rho = float(charge.zcdp_rho)
        return Measurement(
            asked.clique,
            counts,
            total,
            rho,
            boxes=asked.boxes,
            interaction=asked.interaction,
            groups=asked.groups,
            sampled=sampling is not None,
        )

    def _learn_size(self, counts: NDArray[np.float64], sigma: float) -> None:
        """Improves a noisy number of records by the sum of a noisy marginal."""
        if self._size is not None:
            self._size = self._size.combined(float(counts.sum()), sigma**2 * counts.size)
            self.record_count = self._size.record_count

    def _absent(self, asked: MarginalQuery, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """What the alignment adds to an answer: the people for whom all attributes of the clique are absent.

        The parties leave them out, since dummies are among them. Their number is noisy already.
        """
        cells = np.zeros(math.prod(shape))
        cells[-1] = self._plan.absent_count(asked.clique)
        if asked.boxes:
            return box_sums(cells, shape, asked.boxes)
        return interaction(cells, shape) if asked.interaction else cells

    def _forget(self, lost: DeliveriesLost) -> None:
        """Forgets what was delivered to the participant that lost it.

        If that is not known, or was no help since the last product, all deliveries are forgotten.
        """
        places = {place for place, client in enumerate(self._participants) if client is lost.at}
        if not places or places == self._lost:
            places = set(range(len(self._participants)))
        self._lost = places
        self._opened = {one for one in self._opened if one[2] not in places}
        self._ranges = {one for one in self._ranges if one[2] not in places}
        holders = self._plan.holders
        self._multiplied = {
            (number, chain) for number, chain in self._multiplied if places.isdisjoint(holders(chain, number))
        }
        # Seeds and tags are small.
        self._seeded.clear()
        self._ordered.clear()

    def _shares(self, asked: MarginalQuery) -> Iterator[NDArray[np.int64]]:
        shape = asked.shape(self.domain)
        words = difference_count(shape) if asked.interaction else len(asked.boxes) or math.prod(shape)
        for client in self._clients:
            (answer,) = client.answer(asked, 1, words, 1)
            yield answer[0]


def _pieces(chains: Sequence[Chain]) -> Iterator[list[Chain]]:
    """The chains in messages of limited size: the columns of grouped attributes have long names."""
    piece, size = list[Chain](), 0
    for chain in chains:
        named = sum(len(column.encode()) for part in chain for column in part)
        if piece and size + named > _MOST_NAMED:
            yield piece
            piece, size = [], 0
        piece.append(chain)
        size += named
    yield piece


def _noisy_size(plan: MaskedPlan, unit: PrivacyUnit) -> NoisySize | None:
    """What the alignment says of the number of people everywhere; None if marginals do not say more.

    With the population anywhere, sums of marginals contain the same noisy numbers of people.
    """
    alignment = plan.alignment
    if alignment is None or plan.absent:
        return None
    found = sum(counts[-1] for counts in alignment.people)
    return NoisySize(found, plan.slice_count * alignment.sigma(unit) ** 2)


def observers_of(plan: MaskedPlan) -> tuple[Observer, ...]:
    """The noise and the assumptions against each observer."""
    factor, parties, tolerated = plan.noise.factor, len(plan.roster), plan.tolerated
    dealing = assumed(plan)
    observers = [
        Observer("the public", "every party adds its noise", factor),
        Observer("the curator", dealing or "every party adds its noise", factor),
    ]
    if tolerated:
        observers.append(
            Observer(
                f"up to {tolerated} of the {parties} parties together, with the public's view",
                "; ".join(filter(None, [f"at most {tolerated} of the parties collude", dealing])),
                1.0,
            )
        )
    return tuple(observers)
