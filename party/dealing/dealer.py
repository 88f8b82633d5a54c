"""A dealer: the releases that it accepted, and the randomness that it deals for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...common.crypto.identity import Identity
from ...common.crypto.randomness import FreshKeys
from ...common.errors import MosaicError, PolicyError, ProtocolError
from ...common.federation.protocol_versions import NEWEST, OLDEST
from ...common.messages import DealRequest, Delivery, OpeningRequest, PartyDescription
from ...common.privacy.spending import Cost
from ...common.processes.workers import NONE, Workers
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.registry import MASKED
from ...common.terms import ReleaseTerms
from ...common.version import __version__
from ..accounts.accepted import AcceptedRelease
from ..accounts.ledger import Ledger
from ..institution.institution import Rules, caught
from ..institution.role import Refusals, Role
from .policy import DealerPolicy
from .release import DealtRelease

_NO_DATA = ""


class Dealer(Role[DealtRelease]):
    """Deals the randomness of masked releases within its policy; it holds no rows and is charged nothing.

    Its ledger keeps the secret of each release until the release is certified or abandoned.

    Args:
        name: name in the federation.
        identity: long-term key.
        rules: limits, and who is trusted.
        ledger: ledger of the dealer.
        keys: source of secrets and salts; `fresh_key` in every release.
        workers: compute beside the current thread.
    """

    def __init__(
        self,
        name: str,
        identity: Identity,
        rules: Rules[DealerPolicy],
        ledger: Ledger,
        keys: FreshKeys,
        workers: Workers = NONE,
    ) -> None:
        super().__init__(identity, rules, ledger, keys, _NO_DATA, workers)
        self._name = name

    def describe(self) -> PartyDescription:
        """Public facts about the dealer."""
        return PartyDescription(
            name=self._name,
            protocol_version=OLDEST,
            software_version=__version__,
            domain=None,
            record_count=None,
            protocols=(MASKED.name,),
            identity=self._identity.public,
            max_cells=self._rules.policy.max_cells,
            newest_protocol=NEWEST,
        )

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Frames of dealt randomness, sealed for a party; see `DealtRelease.deal`."""
        return self._releases.of(request.release_id).deal(request)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Frames of a step of a score query, sealed for another evaluator."""
        return self._releases.of(request.release_id).open(request)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores what an evaluator of scores receives."""
        self._releases.of(delivery.release_id).deliver(delivery, chunks)

    def _admission(self, terms: ReleaseTerms, curator: bytes) -> Refusals:
        active = len(self._ledger.open_releases())

        def check(reserved: Sequence[Cost]) -> Iterator[MosaicError]:
            yield from self._rules.policy.refusals(terms, active)
            if terms.masked_plan is not None:
                plan = terms.masked_plan
                yield from caught(lambda: self._check_plan(plan, curator))

        return check

    def _check_plan(self, plan: MaskedPlan, curator: bytes) -> None:
        """Refuses a plan that does not name this dealer, or names a member that it did not pin.

        Raises:
            ProtocolError: the plan does not name this dealer as one that is no party.
            PolicyError: a party or dealer of the plan is not pinned, or pinned with another key.
        """
        own = (self._name, self._identity.public)
        named = [(entry.name, entry.identity) for entry in plan.participants]
        # Not in the roster: a dealer knows masks of parties, so it must not be one of them.
        if own not in named[len(plan.roster) :]:
            raise ProtocolError(
                "expected a plan that names this dealer with its identity among its dealers, got another; "
                "describe the dealer again"
            )
        for name, identity in named:
            pinned = (curator or identity) if name == CURATOR_DEALS else self._rules.known.get(name)
            if (name, identity) != own and identity != pinned:
                raise PolicyError(
                    f"the plan names {name!r} with an identity that is not pinned here; compare fingerprints "
                    "with its operator and pin it"
                )

    def _begin(self, terms: ReleaseTerms) -> DealtRelease:
        assert terms.masked_plan is not None, "a dealer accepts only terms with a masked plan"
        release = AcceptedRelease(terms, self._ledger, self._digest, self._identity, self._keys)
        processors = self._processors_of(terms.release_id)
        return DealtRelease(release, terms.masked_plan, self._name, self._rules.policy, processors)
