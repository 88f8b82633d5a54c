"""The console of a party for people of its institution's network, who sign in and have roles."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from ...common.console.client_certificates import ClientCertificates
from ...common.console.serving import serve_https
from ...common.console.sessions import Attempts, Clock, Sessions
from ...common.console.signing_in import BACK, REFUSED, Method, SignIn
from ...common.console.tls import ServerFiles
from ...common.console.visitors import Person, Visitor
from ...common.errors import DataError, MosaicError
from ...common.extras import require_extra
from ...common.processes.locks import exclusive
from ...common.processes.stopping import Stop
from ..home.home import PartyHome
from ..names import CONSOLE_LOG
from ..policies.console import ConsoleSettings
from ..policies.form import read_policy
from ..serving.events import Event, EventLog
from ..serving.log_files import log_of
from .pages import party_pages


@contextlib.contextmanager
def serve_network(
    folder: Path, daemon: str | None, listen: tuple[str, int], stop: Stop, clock: Clock = time.monotonic
) -> Iterator[str]:
    """Serves the console of a party on a network while the context lasts.

    Args:
        folder: folder of the party.
        daemon: host and port of its daemon; None for the policy's.
        listen: host and port to listen on.
        stop: stop request of the process.
        clock: of sessions and attempts, seconds from some moment on.

    Yields:
        The address for browsers.

    Raises:
        DataError: the policy does not say how people sign in, or a file that it names does not hold together.
    """
    home = PartyHome.open(folder)
    settings = ConsoleSettings.of(folder, read_policy(folder))
    files = ServerFiles(
        folder / settings.entries["certificate"],
        folder / settings.entries["key"],
        settings.file("people_authority"),
    )
    refusal = f"a console on the network is already served from {folder}; stop it first"
    with exclusive(folder / "console.lock", refusal), log_of(home, CONSOLE_LOG) as local:
        log = EventLog(local)

        def record(event: str, login: str, address: str, why: str) -> None:
            log(
                Event(
                    event, caller=login, address=address, reason=why, code=event if event == REFUSED else "OK"
                )
            )

        door = SignIn(
            _method_of(settings, clock),
            partial(_roles_of, folder),
            may,
            Sessions(settings.idle_s, settings.longest_s, clock),
            record,
            Attempts(clock=clock),
        )
        pages = partial(party_pages, folder, daemon)
        with serve_https(pages, stop, door, listen, urlsplit(settings.address).netloc, files):
            yield settings.address


def may(visitor: Visitor, method: str, page: str) -> bool:
    """Whether a visitor may send a request for a page.

    Args:
        visitor: who.
        method: of HTTP.
        page: its path.
    """
    if method != "GET":
        return visitor.decides
    return visitor.repairs or page.rstrip("/") != "/health"


def _roles_of(folder: Path, person: Person) -> frozenset[str]:
    """By the policy as it is now, so that who is taken out of it sees nothing more; none if it is damaged."""
    try:
        return ConsoleSettings.of(folder, read_policy(folder)).roles_of(person.values)
    except MosaicError:
        return frozenset()


def _method_of(settings: ConsoleSettings, clock: Clock) -> Method:
    if "provider" not in settings.entries:
        return ClientCertificates()
    require_extra("sso")
    from ...common.console.openid import Client, OpenId, fetcher

    authority = settings.file("provider_authority")
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as cause:
        raise DataError(
            f"expected the provider's authority in PEM in {authority}, found none; fix provider_authority in "
            "[console] of the policy"
        ) from cause
    entries = settings.entries
    client = Client(
        entries["provider"],
        entries["client"],
        settings.client_secret(),
        entries.get("claim", ""),
        settings.address + BACK,
    )
    return OpenId(client, fetcher(context), clock)
