"""A dealer's folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...common.federation.card import DEALER
from ..home.folder import LEDGER, Home, Opened
from . import policy
from .policy import DealerSettings

if TYPE_CHECKING:
    from ..accounts.ledger import Ledger
    from ..policies.serve import Serve
    from .dealer import Dealer


@dataclass(frozen=True)
class DealerHome(Home):
    """The folder of one dealer."""

    role: ClassVar[str] = DEALER
    policy_name: ClassVar[str] = policy.NAME
    policy_template: ClassVar[str] = policy.TEMPLATE

    def serve(self) -> Serve:
        """How the daemon is reached."""
        return DealerSettings.load(self.folder).serve

    @contextlib.contextmanager
    def open_role(self) -> Iterator[Opened]:
        """The dealer; it is charged nothing."""
        from ..accounts.ledger import Ledger

        settings = DealerSettings.load(self.folder)
        with (
            contextlib.closing(settings.workers),
            contextlib.closing(Ledger(self.folder / LEDGER)) as ledger,
        ):
            checks = {"ledger": ledger.check_writable, "certificate": self.check_certificate}
            dealer = self.dealer(settings, ledger)
            serve = settings.serve
            yield Opened(
                dealer, ledger, serve.listen, serve.metrics, None, checks, serve.proxy_url(self.folder)
            )

    def dealer(self, settings: DealerSettings, ledger: Ledger) -> Dealer:
        """The dealer."""
        from ...common.crypto.randomness import fresh_key
        from ..institution.institution import Rules
        from .dealer import Dealer

        curators = {curator.identity: curator.name for curator in self.curators()}
        rules = Rules(settings.policy, self.pinned_identities(), curators)
        return Dealer(self.keyring.name, self.keyring.identity, rules, ledger, fresh_key, settings.workers)
