"""A party's folder."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..common.card import PARTY
from ..common.data.domain import Domain
from . import policy_file
from .approvals import Approvals
from .folder import Home, Opened
from .names import LEDGER, POLICY, REQUESTS
from .policy_file import Settings

if TYPE_CHECKING:
    from .ledger import Ledger
    from .party import Party
    from .toml_file import Serve


@dataclass(frozen=True)
class PartyHome(Home):
    """The folder of one party: also its requested releases, and its domain."""

    role: ClassVar[str] = PARTY
    policy_name: ClassVar[str] = POLICY
    policy_template: ClassVar[str] = policy_file.TEMPLATE
    databases: ClassVar[tuple[str, ...]] = (LEDGER, REQUESTS)

    def domain(self) -> Domain:
        """The attributes that the party holds."""
        return Settings.load(self.folder).domain

    def serve(self) -> Serve:
        """How the daemon is reached."""
        return Settings.load(self.folder).serve

    def opened(self) -> AbstractContextManager[Opened]:
        """The party, after its rows are read."""
        from .opening import opened

        return opened(self)

    def party(self, settings: Settings, ledger: Ledger, approvals: Approvals) -> Party:
        """The party; reads its rows, or has them encoded where they are."""
        from .opening import party_of

        return party_of(self, settings, ledger, approvals)

    def approvals(self, *, automatic: bool = False) -> Approvals:
        """Requests and decisions; for `automatic` see `Approvals`."""
        return Approvals(self.file(REQUESTS), self.keyring.identity, automatic=automatic)
