"""A party as its daemon serves it: its rows read, its ledger and requests open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..common.crypto.randomness import fresh_key
from ..common.errors import DataError
from ..common.notices import APPROVAL_WAITS, BUDGET_LOW
from .approvals import Approvals
from .counting.folders import empty
from .counting.people import People
from .direct import Direct
from .folder import Opened
from .institution import Institution, Rules
from .ledger import Ledger
from .names import CODES, LEDGER
from .party import Party
from .policy_file import Settings
from .records import records_of
from .serving.watch import Condition, budget_low
from .sources.catalogue import stamp_of

if TYPE_CHECKING:
    from .home import PartyHome


@contextlib.contextmanager
def opened(home: PartyHome) -> Iterator[Opened]:
    """The party, after its rows are read."""
    settings = Settings.load(home.folder)
    with (
        contextlib.closing(settings.workers),
        contextlib.closing(Ledger(home.folder / LEDGER)) as ledger,
        contextlib.closing(home.approvals(automatic=not settings.approval)) as approvals,
    ):
        before = stamp_of(settings.source())

        def check_source() -> None:
            source = settings.source()
            source.columns()
            if stamp_of(source) != before:
                raise DataError(
                    "the file of its rows was replaced since the party was started; its operator restarts it"
                )

        checks = {
            "ledger": ledger.check_writable,
            "source": check_source,
            "certificate": home.check_certificate,
        }
        party, lifetime = party_of(home, settings, ledger, approvals), settings.policy.lifetime_rho
        serve = settings.serve
        watched: dict[str, Condition] = {APPROVAL_WAITS: approvals.waiting}
        if settings.notify is not None and settings.notify.budget_below:
            below = settings.notify.budget_below
            watched[BUDGET_LOW] = budget_low(lifetime, ledger.reserved, below)
        direct = Direct(
            settings.direct.get("send", {}), frozenset(settings.direct.get("take", [])), home.cards
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


def party_of(home: PartyHome, settings: Settings, ledger: Ledger, approvals: Approvals) -> Party:
    """The party; reads its rows, or has them encoded where they are."""
    curators = [curator.identity for curator in home.curators()]
    rules = Rules(settings.policy, home.pinned(), curators, approvals)
    empty(home.folder / CODES)
    people = People(settings.key, settings.policy.max_rows_per_person, settings.identifiers)
    rows, order, identifiers = records_of(
        settings.source(), settings.domain, people, settings.timeout_s, home.folder / CODES
    )
    institution = Institution(home.keyring.name, home.keyring.identity, rows, rules, order, identifiers)
    return Party(institution, ledger, fresh_key, settings.workers)
