"""Pictures of the consoles for the documentation, drawn from their pages: python docs/pictures.py FOLDER."""

import contextlib
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.console.serving import serve
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.common.promises.statement import TERMS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.party.console.pages import party_pages
from support.browsing import CHROMIUM, chromium
from support.consoles import ABOUT, PROMISE, WAITING, institution
from support.operators import CURATOR_IDENTITY, DEALERS, OTHER_IDENTITY, RECORDS, Operator

OWN = {"diagnosis": 40, "age_group": 9, "district": 12, "days_in_hospital": 15}
OTHERS = {"insured_since": 20, "yearly_cost": 25}
WIDTH = 960


def write(folder: Path) -> None:
    """Draws all pictures, in files that the pages of the documentation name."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        operator = institution(Path(scratch), waiting=False)
        _ask(operator)
        with serve(partial(party_pages, operator.home.folder, None), Stop()) as address:
            page = browser.new_page(viewport={"width": WIDTH, "height": 800}, device_scale_factor=1.5)
            page.goto(address)
            page.get_by_role("link", name="Read and decide").click()
            page.get_by_role("heading", name="Your decision").wait_for()
            page.get_by_label("Your name").first.fill("D. P. Officer")
            page.get_by_label("Your name").last.fill("D. P. Officer")
            page.evaluate("document.activeElement.blur()")
            page.screenshot(path=folder / "release.png", full_page=True)
            page.context.close()


def _ask(operator: Operator) -> None:
    """A release over columns with names that a reader understands."""
    own = operator.home.keyring.identity.public
    roster = (
        RosterEntry("clinic", 0, tuple(OWN), RECORDS, own),
        RosterEntry("other", 0, tuple(OTHERS), RECORDS, OTHER_IDENTITY.public),
    )
    plan = MaskedPlan(Domain.coded(OWN | OTHERS), roster, 1, Ring(32), (2, 0, 1), DEALERS)
    rho = float(PROMISE.granted(gaussian_only=True))
    terms = operator.terms(WAITING, rho, PROMISE, words="all 15 pairs of columns")
    terms = replace(terms, plan=plan, spec=replace(terms.spec, about=ABOUT))
    signature = CURATOR_IDENTITY.sign(TERMS, encode_terms(terms))
    with contextlib.closing(operator.home.approvals()) as approvals, contextlib.suppress(PolicyError):
        approvals.check(terms, CURATOR_IDENTITY.public, signature)


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit("needs chromium or google-chrome on the PATH")
    write(Path(sys.argv[1]))
