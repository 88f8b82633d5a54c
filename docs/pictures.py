"""Pictures of pages for the documentation, drawn from the pages: python docs/pictures.py FOLDER."""

import contextlib
import json
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from dpmosaic import load
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.console.serving import serve
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.common.promises.statement import TERMS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.console.operations import Operations
from dpmosaic.curator.console.pages import Place, curator_pages
from dpmosaic.curator.dossier.writing import PAGE, verifier_page
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.releasing.release import ReleaseOrder
from dpmosaic.curator.results.outputs import write_certificate
from dpmosaic.party.console.pages import party_pages
from support.attacked import people
from support.browsing import CHROMIUM, chromium
from support.consoles import ABOUT, PROMISE, WAITING, institution
from support.every_page import written
from support.operators import CURATOR_IDENTITY, DEALERS, OTHER_IDENTITY, RECORDS, Operator
from support.parties import started
from support.small_network import small_network
from support.terms import id_of
from support.two_releases import LIMITS, listed, released

OWN = {"diagnosis": 40, "age_group": 9, "district": 12, "days_in_hospital": 15}
OTHERS = {"insured_since": 20, "yearly_cost": 25}
WIDTH = 960
WINDOWS = {"verify": (1280, 900), "narrow": (390, 844)}
GALLERY = ("report", "evaluation", "demo", "related", "attack", "data-card", "impact-assessment", "epsilon")
"""Pages of which the upper part is shown."""


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
            page.goto(address.rpartition("/enter")[0] + "/")
            page.screenshot(path=folder / "overview.png")
            page.context.close()
        _verify(Path(scratch), browser, folder)
        _gallery(Path(scratch), browser, folder)
        _curator(Path(scratch), browser, folder)


def _gallery(scratch: Path, browser: Any, folder: Path) -> None:
    """Pages of small tables, and the figure that compares one with its release."""
    pages = written(scratch / "pages")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    for name in GALLERY:
        page.goto(pages[name].as_uri())
        page.screenshot(path=folder / f"{name}.png")
    page.context.close()
    real, _ = people(1)
    compared = load(scratch / "pages" / "release").compare(real)
    compared.plot().figure.savefig(folder / "comparison.png", dpi=80)


def _curator(scratch: Path, browser: Any, folder: Path) -> None:
    """The console of a curator whose parties do not serve yet."""
    plan = small_network(scratch, "1x2").plan
    place = Place(plan, scratch / "out", plan.parent)
    with (
        contextlib.closing(Operations()) as operations,
        serve(partial(curator_pages, place, operations), Stop()) as address,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.get_by_role("heading", level=1).wait_for()
        page.screenshot(path=folder / "curator.png")
        page.context.close()


def _verify(scratch: Path, browser: Any, folder: Path) -> None:
    """A release of three institutions on the page that verifies it."""
    domain = Domain.coded(OWN)
    codes = np.column_stack([np.arange(RECORDS) % size for size in domain.sizes])
    links = started([[Table.from_codes(domain, codes)]] * 3, LIMITS, RandomStream.from_seed(1))
    spec = ReleaseSpec(Budget(epsilon=1.0, delta=1e-9), about=ABOUT)
    order = ReleaseOrder(domain, spec, mechanism_named("independent"), Workload.parse(domain, "1way"))
    write_certificate(scratch / "waiting-times", released(order, links, id_of("r"))[1])
    (scratch / "federation.json").write_text(json.dumps(listed(links, domain).to_json()))
    (scratch / PAGE).write_text(verifier_page())
    for name, (width, height) in WINDOWS.items():
        page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=1.5)
        page.goto((scratch / PAGE).as_uri())
        page.set_input_files("#cards", scratch / "federation.json")
        page.set_input_files("#folder", scratch / "waiting-times")
        page.wait_for_selector("#found h2")
        page.screenshot(path=folder / f"{name}.png")
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
