"""A party's folder."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...common.federation.card import PARTY
from ..names import LEDGER, POLICY, REQUESTS
from ..policies.template import TEMPLATE
from .folder import Home, Opened

if TYPE_CHECKING:
    from ...common.data.domain import Domain
    from ..approving.approvals import Approvals
    from ..policies.serve import Serve


@dataclass(frozen=True)
class PartyHome(Home):
    """The folder of one party: also its requested releases, and its domain."""

    role: ClassVar[str] = PARTY
    policy_name: ClassVar[str] = POLICY
    policy_template: ClassVar[str] = TEMPLATE
    databases: ClassVar[tuple[str, ...]] = (LEDGER, REQUESTS)

    def domain(self) -> Domain:
        """The attributes that the party holds."""
        from ..policies.domain import domain_of

        return domain_of(self.folder)

    def serve(self) -> Serve:
        """How the daemon is reached."""
        from ..policies.form import read_policy
        from ..policies.serve import Serve

        return Serve.of(read_policy(self.folder))

    def open_role(self) -> AbstractContextManager[Opened]:
        """The party, after its rows are read."""
        from .opening import open_party

        return open_party(self)

    def approvals(self) -> Approvals:
        """Requests and decisions, by the people whom the policy names."""
        from ..approving.approvals import Approvals
        from ..approving.approvers import Approvers
        from ..policies.form import approvers_of, read_policy

        approvers = Approvers(*approvers_of(read_policy(self.folder).get("policy", {})))
        return Approvals(self.file(REQUESTS), self.keyring.identity, approvers=approvers)
