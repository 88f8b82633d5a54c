"""A party's folder."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..common.card import PARTY
from .folder import Home, Opened
from .names import LEDGER, POLICY, REQUESTS
from .policy_template import TEMPLATE

if TYPE_CHECKING:
    from ..common.data.domain import Domain
    from .approvals import Approvals
    from .ledger import Ledger
    from .party import Party
    from .policy_file import Settings
    from .toml_file import Serve


@dataclass(frozen=True)
class PartyHome(Home):
    """The folder of one party: also its requested releases, and its domain."""

    role: ClassVar[str] = PARTY
    policy_name: ClassVar[str] = POLICY
    policy_template: ClassVar[str] = TEMPLATE
    databases: ClassVar[tuple[str, ...]] = (LEDGER, REQUESTS)

    def domain(self) -> Domain:
        """The attributes that the party holds."""
        from .own_domain import domain_of

        return domain_of(self.folder)

    def serve(self) -> Serve:
        """How the daemon is reached."""
        from .policy_form import FORM
        from .toml_file import Serve, read_toml

        return Serve.of(read_toml(self.folder / POLICY, FORM, PARTY))

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
        from .approvals import Approvals

        return Approvals(self.file(REQUESTS), self.keyring.identity, automatic=automatic)
