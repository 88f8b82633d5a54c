"""A party as its daemon serves it: its rows read, its ledger and requests open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from fractions import Fraction

from ...common.crypto.randomness import fresh_key
from ...common.errors import DataError
from ...common.processes.notices import APPROVAL_WAITS, BUDGET_LOW
from ...common.processes.private_folders import empty
from ..accounts.ledger import Ledger
from ..approving.approvals import Approvals
from ..approving.approvers import Approvers
from ..counting.identifiers import Identifiers
from ..counting.people import People
from ..institution.institution import Institution, Rules
from ..institution.reading import read_related
from ..institution.records import records_of
from ..names import CODES, LEDGER, REQUESTS
from ..party import Party
from ..policies.direct import Direct
from ..policies.file import Settings
from ..policies.source import stamp_of
from .folder import Condition, Home, Opened


@contextlib.contextmanager
def open_party(home: Home) -> Iterator[Opened]:
    """The party, after its rows are read."""
    settings = Settings.load(home.folder)
    with (
        contextlib.closing(settings.workers),
        contextlib.closing(Ledger(home.folder / LEDGER)) as ledger,
        contextlib.closing(requests_of(home, settings)) as approvals,
    ):
        before = {name: stamp_of(source) for name, source in settings.sources().items()}

        def check_source() -> None:
            sources = settings.sources()
            for source in sources.values():
                source.columns()
            if {name: stamp_of(source) for name, source in sources.items()} != before:
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
            watched[BUDGET_LOW] = budget_low(lifetime, ledger.total_reserved, below)
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
            serve.proxy_url(home.folder),
            settings.notify,
            watched,
            direct,
            serve.authorities_file(home.folder),
        )


def party_of(home: Home, settings: Settings, ledger: Ledger, approvals: Approvals) -> Party:
    """The party; reads its rows, or has them encoded where they are."""
    curators = {curator.identity: curator.name for curator in home.curators()}
    rules = Rules(settings.policy, home.pinned_identities(), curators, approvals)
    empty(home.folder / CODES)
    name, identity = home.keyring.name, home.keyring.identity
    if settings.tables:
        related, named = read_related(settings.tables, home.folder / CODES)
        named = named if settings.identifiers else Identifiers()
        institution = Institution(name, identity, related.people, rules, identifiers=named, related=related)
        return Party(institution, ledger, fresh_key, settings.workers)
    people = People(settings.key, settings.policy.max_rows_per_person, settings.identifiers)
    rows, order, identifiers = records_of(
        settings.source(), settings.domain, people, settings.timeout_s, home.folder / CODES
    )
    institution = Institution(name, identity, rows, rules, order, identifiers)
    return Party(institution, ledger, fresh_key, settings.workers)


def requests_of(home: Home, settings: Settings) -> Approvals:
    """Requested releases, which are approved at once if the policy asks for no approval."""
    return Approvals(
        home.file(REQUESTS),
        home.keyring.identity,
        automatic=not settings.approval,
        approvers=Approvers(*settings.approvers),
    )


def budget_low(lifetime: Fraction, reserved: Callable[[], Fraction], below: float) -> Condition:
    """Whether less of a budget is left than a share.

    Args:
        lifetime: the budget, zCDP.
        reserved: what of it is reserved or spent now.
        below: the share.
    """
    return lambda: ["budget"] if lifetime - reserved() < Fraction(below) * lifetime else []
