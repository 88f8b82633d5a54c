"""A party whose ledger is a file: it can be killed, restarted, restored from an old copy, out of disk."""

import shutil
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import MosaicError
from dpmosaic.common.history import START
from dpmosaic.common.messages import Acceptance, AnswerRequest
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec, statements
from dpmosaic.common.wire.refusals import decode_refusal, encode_refusal
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.institution.institution import Institution
from dpmosaic.party.party import Party
from dpmosaic.party.serving.servicer import PartyServicer

LEDGER = "ledger.sqlite"
FILES = (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm")
ANSWERS = {
    "Answer": lambda request: codec.decode(AnswerRequest, request).query,
    "AnswerScores": partial(codec.decode, ScoreQuery),
}
"""Methods that answer, and how to read the query of a request."""


class Died(BaseException):
    """Stands for the death of a process; no product code catches it."""


class Broken(AssertionError):
    """A promise that does not hold."""


class Mortal:
    """Counts the steps at which the process may die; every use of a key and every frame is one."""

    def __init__(self):
        self.steps_left = None

    def step(self):
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                self.steps_left = None
                raise Died


class MortalIdentity(Identity):
    """Signs, if the process lives that long."""

    def __init__(self, identity, mortal):
        super().__init__(identity._key)
        self._mortal = mortal

    def sign(self, purpose, message):
        self._mortal.step()
        signature = super().sign(purpose, message)
        self._mortal.step()
        return signature


class DiskParty:
    """One party, its files, and what ever left it.

    Args:
        folder: empty folder for the party's files.
        name: of the party.
        identity: of the party.
        table: its rows.
        rules: its rules, without approvals.
        automatic: whether its operator approves every release.
        keys: source of noise keys and salts.
        mortal: decides when the process dies.
    """

    def __init__(self, folder, name, identity, table, rules, automatic, keys, mortal):
        self._folder, self._lives = folder, 0
        self.name, self.table, self.rules = name, table, rules
        self.identity = MortalIdentity(identity, mortal)
        self._keys, self._mortal, self._automatic = keys, mortal, automatic
        self.sent: dict[tuple[str, bytes], tuple[bytes, ...]] = {}
        self.noise_keys: dict[bytes, tuple[str, str]] = {}
        self.asked: dict[tuple[str, str], bytes] = {}
        self.secrets: dict[str, set[bytes]] = {}
        self.closed: set[str] = set()
        self.denied: set[str] = set()
        self.seen = self.introduced = START
        self.clock = 1e9
        self.backup = None
        self.home.mkdir(parents=True)
        Ledger.create(self.home / LEDGER).close()
        self.open()

    @property
    def home(self) -> Path:
        """Folder of the files; each life after a kill has its own, as the kill left them."""
        return self._folder / str(self._lives)

    def open(self):
        self.ledger = Ledger(self.home / LEDGER)

        def fresh():
            self._mortal.step()
            return self._keys()

        signer = Identity(self.identity._key)
        self.approvals = Approvals(self._folder / "requests.sqlite", signer, automatic=self._automatic)
        rules = replace(self.rules, approvals=self.approvals)
        institution = Institution(self.name, self.identity, self.table, rules)
        self.servicer = PartyServicer(Party(institution, self.ledger, fresh), lambda: self.clock)
        self._reader = sqlite3.connect(f"file:{self.home / LEDGER}?mode=ro", uri=True)

    def close(self):
        self._reader.close()
        self.approvals.close()
        self.ledger.close()

    def restart(self, table=None):
        """Stops in good order and starts again, perhaps from other rows."""
        self.close()
        self.table = self.table if table is None else table
        self.open()

    def kill(self):
        """Ends the process without closing anything: only what is in its files stays."""
        self.start_from(self.home)

    def copy(self):
        """Copies the ledger as it is on disk."""
        self.backup = self._folder / f"backup {len(list(self._folder.iterdir()))}"
        _copy(self.home, self.backup)

    def start_from(self, files):
        """Starts a new life from a copy of these files."""
        life = self._lives + 1
        _copy(files, self._folder / str(life))
        self.close()
        self._lives = life
        self.open()

    def full(self):
        """Lets the database grow no more."""
        database = self.ledger._database
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")

    def emptied(self):
        """There is room again."""
        self.ledger._database.execute("PRAGMA max_page_count = 1073741823")

    def call(self, method, requests):
        """The replies to encoded requests; every promise about an answer is checked as it leaves."""
        requests = list(requests)
        collected = []
        try:
            for reply in self.servicer.serve(method, iter(requests), b""):
                if method in ANSWERS and not collected:
                    self._check_charged(ANSWERS[method](requests[0]))
                collected.append(reply)
                self._mortal.step()
                yield reply
        except MosaicError as error:
            raise decode_refusal(encode_refusal(error)) from error
        finally:
            if method in ANSWERS and collected:
                self._note(method, requests[0], tuple(collected))
        if method == "Accept":
            self.seen = codec.decode(Acceptance, collected[0]).mark
        elif method == "Certify":
            self.seen = max(self.seen, statements.decode_statement(collected).mark, key=lambda m: m.events)

    def _note(self, method, request, replies):
        """Compares an answer, or what left of it before a death, with what was sent before."""
        before = self.sent.get((method, request), ())
        if any(one != other for one, other in zip(before, replies, strict=False)):
            raise Broken(f"{self.name}: one query got two answers")
        self.sent[method, request] = max(before, replies, key=len)
        query = ANSWERS[method](request)
        if query.release_id in self.closed:
            raise Broken(f"{self.name}: answered in a closed release")
        if query.release_id in self.denied:
            raise Broken(f"{self.name}: answered in a denied release")
        if self.asked.setdefault((query.release_id, query.query_id), request) != request:
            raise Broken(f"{self.name}: one query id was answered for two queries")

    def _read(self, statement, *values):
        """Rows of the file, as another process sees them."""
        return self._reader.execute(statement, values).fetchall()

    def _check_charged(self, query):
        rows = self._read(
            "SELECT rho FROM answer WHERE release_id = ? AND query_id = ?", query.release_id, query.query_id
        )
        if len(rows) != 1:
            raise Broken(f"{self.name}: an answer left before its charge was on disk")

    def entries(self):
        """Release id, query id, rho and noise key of every entry on disk."""
        return self._read("SELECT release_id, query_id, rho, noise_key FROM answer")

    def note_secrets(self):
        """Remembers every key of an open release that is on disk, to look for it later."""
        for release_id, secret in self._read(
            "SELECT release_id, secret FROM release WHERE closed_at IS NULL"
        ):
            self.secrets.setdefault(release_id, set()).add(secret)

    def bytes_on_disk(self):
        """The bytes of the ledger and of its write-ahead log."""
        return b"".join(path.read_bytes() for name in FILES if (path := self.home / name).exists())


def _copy(source, target):
    target.mkdir(parents=True)
    for name in FILES[:2]:
        if (source / name).exists():
            shutil.copy(source / name, target / name)
