"""The pages of a party's console. Everything is read anew for every page; only forms change something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ...common.canonical.terms import decode_terms
from ...common.console.doors import Door, visitor_of
from ...common.console.site import Site, form_of
from ...common.errors import DataError
from ...common.processes.stopping import Stop
from ..accounts.rows import CERTIFIED
from ..approving.approvals import Request as Asked
from ..approving.decisions import PENDING
from ..approving.logins import Login, is_login
from ..deciding.desk import Desk
from ..deciding.sentences import in_words, missing_approvals
from ..deciding.trail import KINDS, Entry, Filter, as_csv, trail
from ..home.home import PartyHome
from ..operating.doctor import diagnose
from ..policies.file import Settings
from .question import Question, question_of
from .standing import CHART_HEIGHT, CHART_WIDTH, Standing, chart_of, standing_of

_TEMPLATES = Path(__file__).parent / "templates"
_MENU = {
    "/": "Overview",
    "/releases": "Releases",
    "/certificates": "Certificates",
    "/health": "Health",
    "/trail": "Audit trail",
}
_MAX_NAME, _MAX_REASON = 200, 2000
_ENTRIES_SHOWN = 500


@dataclass(frozen=True)
class PartyPages:
    """Answers the requests of a party's console.

    Attributes:
        folder: folder of the party.
        site: renders the pages.
        stop: ends the console.
        address: host and port of the daemon; None for the policy's.
    """

    folder: Path
    site: Site
    stop: Stop
    address: str | None

    def overview(self, request: Request) -> Response:
        """What waits for a decision, and the budget."""
        with Desk.opened(self.folder) as desk:
            questions = _questions(desk, lambda request: request.state == PENDING)
            standing = _standing(desk)
        chart = chart_of(standing, datetime.now(UTC))
        served = PartyHome.open(self.folder).is_served()
        return self.site.page(
            request,
            "overview.html",
            "/",
            questions=questions,
            standing=standing,
            chart=chart,
            size=(CHART_WIDTH, CHART_HEIGHT),
            served=served,
        )

    def releases(self, request: Request) -> Response:
        """All requested releases."""
        with Desk.opened(self.folder) as desk:
            questions = _questions(desk)[::-1]
            standing = _standing(desk)
        return self.site.page(request, "releases.html", "/releases", questions=questions, standing=standing)

    def release(self, request: Request) -> Response:
        """One release, with all that a decision needs."""
        with Desk.opened(self.folder) as desk:
            form = desk.explain(_whole_id(desk, request))
            standing = _standing(desk)
        return self.site.page(
            request,
            "release.html",
            "/releases",
            asked=question_of(form, datetime.now(UTC).date()),
            decisions=form["decisions"],
            approvers=form["approvers"]["may"],
            typed=[one for one in form["approvers"]["may"] if not is_login(one)],
            missing=missing_approvals(form),
            standing=standing,
            sentences=list(in_words(form)),
            longest=(_MAX_NAME, _MAX_REASON),
        )

    def approve(self, request: Request) -> Response:
        """Approves a release."""
        by, reason = _signed_by(request)
        if form_of(request).get("read") != "yes":
            raise DataError("expected that you tick that you have read what is asked; nothing was changed")
        with Desk.opened(self.folder) as desk:
            release_id = desk.approve(_whole_id(desk, request), by, reason)
        return self.site.to(f"/releases/{release_id}")

    def deny(self, request: Request) -> Response:
        """Denies a release, and stops it if it is running."""
        by, reason = _signed_by(request)
        if not reason:
            raise DataError("expected a reason, which the audit trail keeps; nothing was changed")
        with Desk.opened(self.folder) as desk:
            release_id, _ = desk.deny(_whole_id(desk, request), by, reason)
        return self.site.to(f"/releases/{release_id}")

    def certificates(self, request: Request) -> Response:
        """The certificates that the party signed."""
        with Desk.opened(self.folder) as desk:
            about = {r.terms.release_id: r.terms.spec.about for r in desk.approvals.requests()}
            spent = {one.release_id: one for one in desk.ledger.summaries()}
            signed = [one for one in desk.ledger.events() if one.certificate is not None]
            standing = _standing(desk)
        rows = [(one, spent[one.release_id], about.get(one.release_id)) for one in reversed(signed)]
        return self.site.page(request, "certificates.html", "/certificates", rows=rows, standing=standing)

    def health(self, request: Request) -> Response:
        """Whether the party can answer, and its alignments."""
        with Desk.opened(self.folder) as desk:
            lines = list(diagnose(desk.home, self.address))
            aligned = _alignments(desk)
        return self.site.page(request, "health.html", "/health", lines=lines, aligned=aligned, kept=CERTIFIED)

    def trail(self, request: Request) -> Response:
        """The audit trail."""
        wanted = Filter.of(request.query_params)
        entries = [entry for entry in self._trail() if wanted.takes(entry)]
        query = urlencode({name: value for name, value in vars(wanted).items() if value})
        return self.site.page(
            request,
            "trail.html",
            "/trail",
            entries=entries[:_ENTRIES_SHOWN],
            count=len(entries),
            wanted=wanted,
            kinds=KINDS,
            query=f"?{query}" if query else "",
        )

    def trail_csv(self, request: Request) -> Response:
        """The audit trail as a CSV file."""
        wanted = Filter.of(request.query_params)
        text = as_csv(entry for entry in self._trail() if wanted.takes(entry))
        named = {"Content-Disposition": 'attachment; filename="audit-trail.csv"'}
        return Response(text, media_type="text/csv", headers=named)

    def end(self, request: Request) -> Response:
        """Ends the console, for whoever opened it on its own machine."""
        if visitor_of(request).login:
            raise HTTPException(404)
        self.stop.request()
        return self.site.page(request, "ended.html", "")

    def _trail(self) -> list[Entry]:
        with Desk.opened(self.folder) as desk:
            return trail(desk)


def party_pages(folder: Path, address: str | None, door: Door, stop: Stop) -> ASGIApp:
    """The console of a party.

    Args:
        folder: folder of the party.
        address: host and port of its daemon; None for the policy's.
        door: the way into the console.
        stop: ends the console.
    """
    name = PartyHome.open(folder).keyring.name
    site = Site(door, "Data protection console", name, _MENU, _TEMPLATES)
    pages = PartyPages(folder, site, stop, address)
    return site.app(
        [
            Route("/", pages.overview),
            Route("/releases", pages.releases),
            Route("/releases/{release}", pages.release),
            Route("/releases/{release}/approve", pages.approve, methods=["POST"]),
            Route("/releases/{release}/deny", pages.deny, methods=["POST"]),
            Route("/certificates", pages.certificates),
            Route("/health", pages.health),
            Route("/trail", pages.trail),
            Route("/trail.csv", pages.trail_csv),
            Route("/end", pages.end, methods=["POST"]),
        ]
    )


def _questions(desk: Desk, wanted: Callable[[Asked], bool] = lambda request: True) -> list[Question]:
    """The questions of the wanted requests, in order of arrival."""
    today = datetime.now(UTC).date()
    ids = [request.terms.release_id for request in desk.approvals.requests() if wanted(request)]
    return [question_of(desk.explain(release_id), today) for release_id in ids]


def _standing(desk: Desk) -> Standing:
    policy, ledger = Settings.load(desk.home.folder).policy, desk.ledger
    standing = standing_of(
        policy.lifetime_rho, ledger.summaries(), desk.approvals.requests(), ledger.events(), ledger.charges()
    )
    return replace(standing, counted=float(policy.total(ledger.costs()).zcdp_rho))


def _whole_id(desk: Desk, request: Request) -> str:
    """The id in the address, which is no prefix: a later request could make another one match."""
    asked: str = request.path_params["release"]
    found = desk.approvals.request(asked).terms.release_id
    if found != asked:
        raise DataError("expected the whole id of a release; choose it on the page of releases")
    return found


def _signed_by(request: Request) -> tuple[str | Login, str]:
    """Who decides and why: who signed in, or on this machine the name of the form."""
    form, login = form_of(request), visitor_of(request).login
    by, reason = form.get("by", "").strip(), form.get("reason", "").strip()
    if not (login or 0 < len(by) <= _MAX_NAME) or len(reason) > _MAX_REASON:
        raise DataError(
            f"expected your name, of at most {_MAX_NAME} characters, and a reason of at most {_MAX_REASON}; "
            "nothing was changed"
        )
    return Login(login) if login else by, reason


def _alignments(desk: Desk) -> list[tuple[str, str, float, list[str]]]:
    """Id, state, cost and other parties of every alignment that the party accepted."""
    own = desk.home.keyring.name
    found = []
    for one in desk.ledger.summaries():
        encoded = desk.ledger.terms(one.release_id)
        assert encoded is not None, "an accepted release has terms"
        terms = decode_terms(encoded)
        if terms.aligning is not None:
            others = [entry.name for entry in terms.plan.roster if entry.name != own]
            found.append((one.release_id, one.state, float(one.spent), others))
    return found
