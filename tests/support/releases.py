"""Releases over parties in this process, for tests: see `Trial`, and a release of a plan."""

import contextlib

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.over_parties import release_over_parties


def release_of_plan(plan, links, folder, **options):
    """A release of a plan over parties that are trusted to be who they say; keeps a journal in the folder."""
    described = [PartyClient(link).describe() for row in links for link in row]
    described += [PartyClient(link).describe() for link in options.get("dealers", {}).values()]
    identities = {said.name: said.identity for said in described}
    signer = Identity.from_seed(bytes(32))
    with contextlib.closing(Journal.create(folder / "journal.sqlite", plan.text)) as journal:
        return release_over_parties(plan, links, journal, signer=signer, identities=identities, **options)
