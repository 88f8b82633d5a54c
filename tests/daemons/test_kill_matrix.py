"""SIGKILL of every role at many steps of a release: the release is the same, and budget is spent once."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.over_parties import release_over_parties
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.simulations.local_network.network import program

STEPS = {3: "before", 13: "after", 26: "before", 41: "after"}
"""Calls during which a role is killed: review, introduce, openings, answers."""

FIRST = {("Multiply", "before"), ("PrepareScores", "after"), ("AnswerScores", "before")}
"""Calls at the first of which it is killed as well: products and scores."""

DEALT = {
    ("Accept", 2): "after",
    ("Deal", 3): "before",
    ("Deal", 7): "after",
    ("Open", 2): "before",
    ("Certify", 2): "before",
}
"""Calls of each kind from which on one called dealer is killed; the first six calls to deal are for seeds."""


class Died(BaseException):
    """Stands for the death of the curator; no product code catches it."""


class Link:
    """A connection that notifies the test before every call and after its first reply."""

    def __init__(self, connection, told):
        self.connection, self.told = connection, told

    def call(self, method, requests):
        self.told("before", method)
        replied = False
        for reply in self.connection.call(method, requests):
            yield reply
            if not replied:
                self.told("after", method)
            replied = True


class Network:
    """The parties and dealers of one slice, as processes at fixed addresses.

    `dealing` is told the dealer, the moment and the method of each call of a dealer.
    """

    def __init__(self, network, dealing=lambda name, when, method: None):
        self.network, self.daemons, self.repeated = network, {}, {}
        self.dealing = dealing
        self.home = CuratorHome.open(network.folder / "curator")
        self.plan = ReleasePlan.load(network.plan)
        for name in (*network.all_names, *network.dealers):
            self.daemons[name] = network.start(name)
        for name, daemon in self.daemons.items():
            network.enroll(name, daemon)

    def start(self, name):
        self.daemons[name] = self.network.start(name)
        self.network.enroll(name, self.daemons[name])

    def kill(self, name):
        self.daemons[name].process.kill()
        self.daemons[name].process.wait()
        self.daemons[name].process.stdin.close()

    def restart(self, name):
        self.kill(name)
        self.start(name)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.stop()

    def run(self, journal, told=lambda when, method: None, away_s=20.0):
        retry_policy = RetryPolicy(call_s=60, tries=3)
        with self.home.links(self.plan.participants, self.plan.listen, retry_policy) as links:

            def observed(moment, method):
                if (moment, method) == ("before", "Certify") and journal.release_id not in self.repeated:
                    self.repeated[journal.release_id] = self._repeat(journal, links, away_s)
                told(moment, method)

            return self._release(journal, links, observed, away_s)

    def _release(self, journal, links, told, away_s):
        slices = [[Link(links[name], told) for name in row] for row in self.plan.slices]
        dealers = {name: Link(links[name], partial(self.dealing, name)) for name in self.network.dealers}
        return release_over_parties(
            self.plan,
            slices,
            journal,
            signer=self.home.keyring.identity,
            identities={name: card.identity for name, card in self.home.cards().items()},
            dealers=dealers,
            away_s=away_s,
        )

    def _repeat(self, journal, links, away_s):
        """The answers to all queries, asked again by a curator that lost them, before any party certified."""

        def ending(moment, method):
            if method == "Certify":
                raise Died

        path = journal._path.with_name("copy.sqlite")
        path.touch(0o600)
        with contextlib.closing(sqlite3.connect(path)) as copied:
            journal._database.backup(copied)
            copied.execute("DELETE FROM answer")
            copied.execute("DELETE FROM header WHERE name = 'certificate'")
            copied.commit()
        with contextlib.closing(Journal(path)) as forgetful:
            with contextlib.suppress(Died):
                self._release(forgetful, links, ending, away_s)
            return answers_in(forgetful)

    def spent(self, release_id):
        """Spent budget and queries of a release in each party's ledger."""
        found = {}
        for name in self.network.all_names:
            with contextlib.closing(Ledger(self.network.party(name) / "ledger.sqlite")) as ledger:
                (entry,) = [e for e in ledger.summaries() if e.release_id == release_id]
                found[name] = (entry.spent, entry.queries)
        return found


@pytest.fixture(scope="module")
def network(tmp_path_factory, network_of):
    # Its releases make all calls that parties know, and few of them.
    made = network_of(tmp_path_factory.mktemp("matrix"), grid="1x3", mechanism="mst")
    running = Network(made)
    yield running
    running.stop()


@pytest.fixture
def attached(tmp_path, network_of):
    made = network_of(tmp_path, grid="1x2", mechanism="mst", attach=True)
    running = Network(made)
    yield running
    running.stop()


@pytest.fixture
def dealt(tmp_path, network_of):
    made = network_of(tmp_path, grid="1x2", mechanism="mst", dealers=3)
    running = Network(made)
    yield running
    running.stop()


@pytest.fixture
def journal(network, tmp_path):
    made = Journal.create(tmp_path / "journal.sqlite", network.plan.text)
    yield made
    made.close()


def check_one_release(network, journal, released):
    """Every ledger agrees with the certificate, and all queries were answered the same when repeated."""
    promise = released.certificate.promise
    (state,) = set(network.spent(journal.release_id).values())
    assert float(state[0]) == promise.zcdp_rho_spent
    assert state[0] <= Fraction(promise.zcdp_rho_granted)
    assert 0 < state[1] <= len(released.certificate.charges)
    answers = answers_in(journal)
    assert len(answers) == state[1]
    assert network.repeated[journal.release_id] == answers


def answers_in(journal):
    """Every answer in a journal, by the id of its query."""
    return dict(journal._database.execute("SELECT query_id, answered FROM answer").fetchall())


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_party_killed_and_restarted_at_many_steps_charges_nothing_twice(network, journal, place):
    name, calls, due = network.network.all_names[place], [], set(FIRST)

    def told(moment, method):
        if moment == "before":
            calls.append(method)
        if STEPS.get(len(calls)) == moment or (method, moment) in due:
            due.discard((method, moment))
            network.restart(name)

    released = network.run(journal, told)
    assert len(calls) > max(STEPS)
    assert not due
    check_one_release(network, journal, released)


@pytest.mark.slow
def test_random_parties_killed_at_random_steps_charge_nothing_twice(network, journal):
    """Several at once as well: what the ledgers hold then is what the certificate states."""
    rng, kills = np.random.default_rng(3), []

    def told(moment, method):
        if len(kills) < 4 and rng.random() < 0.08:
            killed = rng.choice(network.network.all_names, int(rng.integers(1, 3)), replace=False)
            kills.append((moment, method))
            for name in killed:
                network.kill(str(name))
            for name in killed:
                network.start(str(name))

    released = network.run(journal, told)
    assert len(kills) == 4
    ((spent, _),) = set(network.spent(journal.release_id).values())
    assert float(spent) == released.certificate.promise.zcdp_rho_spent


@pytest.mark.slow
def test_an_attached_party_killed_and_restarted_charges_nothing_twice(attached, tmp_path):
    calls = []

    def told(moment, method):
        calls.append(method)
        if len(calls) in (15, 44):
            attached.restart(attached.network.all_names[1])

    with contextlib.closing(Journal.create(tmp_path / "journal.sqlite", attached.plan.text)) as journal:
        released = attached.run(journal, told)
        check_one_release(attached, journal, released)


@pytest.mark.slow
def test_dealers_killed_and_restarted_at_each_step_deal_the_same(dealt, tmp_path):
    """Both parties answer from what was dealt before and after; dealer 1 evaluates scores as well."""
    counts, alive, lock = Counter(), dict(DEALT), threading.Lock()

    def dealing(name, moment, method):
        with lock:
            counts[method] += moment == "before"
            due = [at for at in alive if at[0] == method and at[1] <= counts[method] and alive[at] == moment]
            for at in due:
                del alive[at]
        if due:
            dealt.restart(name)

    dealt.dealing = dealing
    with contextlib.closing(Journal.create(tmp_path / "journal.sqlite", dealt.plan.text)) as journal:
        released = dealt.run(journal)
        assert not alive
        check_one_release(dealt, journal, released)
    for name in dealt.network.dealers:
        with contextlib.closing(Ledger(dealt.network.dealer(name) / "ledger.sqlite")) as ledger:
            (entry,) = ledger.summaries()
            assert (entry.release_id, entry.spent, entry.queries) == (journal.release_id, 0, 0)


@pytest.mark.slow
def test_two_concurrent_releases_are_separate(network, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with contextlib.ExitStack() as stack:
        journals = [
            stack.enter_context(contextlib.closing(Journal.create(f / "journal.sqlite", network.plan.text)))
            for f in folders
        ]
        with ThreadPoolExecutor(2) as threads:
            results = list(threads.map(network.run, journals))
        for journal, released in zip(journals, results, strict=True):
            check_one_release(network, journal, released)
    assert results[0].synthetic.digest() != results[1].synthetic.digest()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_curator_killed_at_many_steps_resumes_the_same_release(network, journal, when):
    steps = list(range(1, 200, 7))

    def dying(at):
        calls = []

        def told(moment, method):
            if moment == when:
                calls.append(method)
                if len(calls) == at:
                    raise Died

        return told

    released = None
    for at in steps:
        with contextlib.suppress(Died):
            released = network.run(journal, dying(at))
            break
    assert released is not None
    check_one_release(network, journal, released)


@pytest.mark.slow
@pytest.mark.parametrize("answers", [0, 2, 5])
def test_the_command_resumes_the_release_of_a_killed_curator_process(network, command, tmp_path, answers):
    out = tmp_path / "out"
    line = [*program(), "curator", "release", str(network.network.plan), "--out", str(out)]
    process = subprocess.Popen(line, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until and _answers(out) < answers + 1:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "certificate.json").exists()
    command("curator", "resume", out)
    certificate = json.loads((out / "certificate.json").read_text())
    release_id = decode_terms(bytes.fromhex(certificate["signed"]["terms"])).release_id
    (state,) = set(network.spent(release_id).values())
    assert float(state[0]) == certificate["promise"]["zcdp_rho_spent"]


def _answers(out):
    """Number of answers in the journal of a running release, plus one once its terms are noted."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{out}.private/journal.sqlite?mode=ro", uri=True)
        ) as database:
            (terms,) = database.execute("SELECT count(*) FROM header WHERE name = 'terms'").fetchone()
            (count,) = database.execute("SELECT count(*) FROM answer").fetchone()
            return terms + count
    except sqlite3.OperationalError:
        return 0


@pytest.mark.slow
def test_a_party_that_stays_unavailable_stops_the_release_and_is_named(network, journal):
    name, calls = network.network.all_names[1], []

    def told(moment, method):
        calls.append(method)
        if len(calls) == 20:
            network.kill(name)

    with pytest.raises(Exception, match=f"party '{name}' does not answer"):
        network.run(journal, told, away_s=1.5)
    network.start(name)
    check_one_release(network, journal, network.run(journal))
