"""A party's ledger is restored from an old copy, which lacks what was charged since."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import START, Mark
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.marks import Marks
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import DOMAIN, IDENTITY, TERMS, started
from support.masked import Release
from support.parties import Link
from support.terms import RELEASE_ID, id_of

RESTORED = "was restored from an old copy or replaced"


def restore(release, name, copy):
    """Puts a copy of a party's ledger in its place and starts the party."""
    release.ledgers[name].close()
    for file in release.folder.glob(f"{name}.sqlite*"):
        file.unlink()
    shutil.copy2(copy, release.folder / f"{name}.sqlite")
    release.start(name)


def test_the_other_parties_refuse_a_party_whose_ledger_was_restored(tmp_path):
    release = Release(folder=tmp_path)
    shutil.copy2(tmp_path / "north.sqlite", tmp_path / "copy")
    release.accept().introduce()
    query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a",)), 3.0)
    list(release.parties["north"].answer(query))
    release.terms = replace(release.terms, release_id=id_of("second"))
    release.accept().introduce()
    restore(release, "north", tmp_path / "copy")
    release.terms = replace(release.terms, release_id=id_of("third"))
    release.accept()
    release.parties["north"].introduce(release.introduction())
    for name in ("east", "west", "south"):
        with pytest.raises(ProtocolError, match=f"ledger of party 'north' {RESTORED}"):
            release.parties[name].introduce(release.introduction())


def test_a_party_whose_ledger_lacks_what_the_curator_saw_refuses_itself(tmp_path):
    table = Table.from_codes(DOMAIN, np.zeros((700, 3), dtype=np.int64))
    kept, lost = (PartyClient(Link(started(table, Ledger()))) for _ in range(2))
    Marks(tmp_path / "marks.json").follow("north", IDENTITY.public, START, kept.accept(TERMS).mark)
    seen = Marks(tmp_path / "marks.json").of(IDENTITY.public)
    kept.accept(replace(TERMS, release_id=id_of("s")), b"", seen)
    lost.accept(replace(TERMS, release_id=id_of("s")))
    with pytest.raises(ProtocolError, match=f"ledger of this party {RESTORED}"):
        lost.accept(replace(TERMS, release_id=id_of("t")), b"", seen)


def test_the_curator_refuses_a_party_that_states_an_earlier_mark():
    marks, mark = Marks(), Mark(5, b"h" * 32)
    marks.follow("north", IDENTITY.public, START, mark)
    for earlier in (Mark(4, b"h" * 32), Mark(5, b"o" * 32)):
        with pytest.raises(ProtocolError, match=f"ledger of party 'north' {RESTORED}"):
            marks.follow("north", IDENTITY.public, marks.of(IDENTITY.public), earlier)
    assert marks.of(IDENTITY.public) == mark
