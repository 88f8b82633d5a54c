"""A party's folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..common.card import PARTY
from ..common.crypto.randomness import fresh_key
from ..common.data.domain import Domain
from ..common.errors import DataError
from ..common.notices import APPROVAL_WAITS, BUDGET_LOW
from . import policy_file, policy_form
from .approvals import Approvals
from .counting.catalogue import engine_of
from .counting.rows import CountedRows
from .counting.spool import empty
from .direct import Direct
from .folder import LEDGER, Home, Opened
from .held import HeldRows
from .identifiers import Identifiers
from .institution import Institution, Rules
from .ledger import Ledger
from .party import Party
from .policy_file import Settings
from .records import read_records
from .serving.watch import Condition, budget_low
from .sources.catalogue import stamp_of
from .toml_file import Serve

REQUESTS = "requests.sqlite"

CODES = ".codes"
"""Folder of the codes of single rows, while a release reads them."""


@dataclass(frozen=True)
class PartyHome(Home):
    """The folder of one party: also its requested releases, and its domain."""

    role: ClassVar[str] = PARTY
    policy_name: ClassVar[str] = policy_form.NAME
    policy_template: ClassVar[str] = policy_file.TEMPLATE
    databases: ClassVar[tuple[str, ...]] = (LEDGER, REQUESTS)

    def domain(self) -> Domain:
        """The attributes that the party holds."""
        return Settings.load(self.folder).domain

    def serve(self) -> Serve:
        """How the daemon is reached."""
        return Settings.load(self.folder).serve

    @contextlib.contextmanager
    def opened(self) -> Iterator[Opened]:
        """The party, after its rows are read."""
        settings = Settings.load(self.folder)
        empty(self.folder / CODES)
        with (
            contextlib.closing(settings.workers),
            contextlib.closing(Ledger(self.folder / LEDGER)) as ledger,
            contextlib.closing(self.approvals(automatic=not settings.approval)) as approvals,
        ):
            before = stamp_of(settings.source())

            def check_source() -> None:
                source = settings.source()
                source.columns()
                if stamp_of(source) != before:
                    raise DataError(
                        "the file of its rows was replaced since the party was started; its operator "
                        "restarts it"
                    )

            checks = {
                "ledger": ledger.check_writable,
                "source": check_source,
                "certificate": self.check_certificate,
            }
            party, lifetime = self.party(settings, ledger, approvals), settings.policy.lifetime_rho
            serve = settings.serve
            watched: dict[str, Condition] = {APPROVAL_WAITS: approvals.waiting}
            if settings.notify is not None and settings.notify.budget_below:
                below = settings.notify.budget_below
                watched[BUDGET_LOW] = budget_low(lifetime, ledger.reserved, below)
            direct = Direct(
                settings.direct.get("send", {}), frozenset(settings.direct.get("take", [])), self.cards
            )
            yield Opened(
                party,
                ledger,
                serve.listen,
                serve.metrics,
                lifetime,
                checks,
                serve.proxy,
                settings.notify,
                watched,
                direct,
            )

    def party(self, settings: Settings, ledger: Ledger, approvals: Approvals) -> Party:
        """The party; reads its rows, or has them encoded where they are."""
        curators = [known.curator.identity for known in self.trusted()]
        rules = Rules(settings.policy, self.pinned(), curators, approvals)
        most = settings.policy.max_rows_per_person
        source, named = settings.source(), settings.identifiers
        order, identifiers, connect = None, Identifiers(), engine_of(source)
        rows: HeldRows
        if connect is None or settings.key is not None or named:
            rows, order, identifiers = read_records(source, settings.domain, settings.key, most, named)
        else:
            rows = CountedRows.connected(connect, settings.domain, settings.timeout_s, self.folder / CODES)
        institution = Institution(self.keyring.name, self.keyring.identity, rows, rules, order, identifiers)
        return Party(institution, ledger, fresh_key, settings.workers)

    def approvals(self, *, automatic: bool = False) -> Approvals:
        """Requests and decisions; for `automatic` see `Approvals`."""
        return Approvals(self.file(REQUESTS), self.keyring.identity, automatic=automatic)
