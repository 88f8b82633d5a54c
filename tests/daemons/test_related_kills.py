"""SIGKILL of the curator and of parties in the middle of a release of related tables: all is charged once."""

import contextlib
import itertools

import numpy as np
import pytest

from dpmosaic.common.errors import DeliveriesLost, PartyUnavailable
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.people.files import verify_people
from dpmosaic.curator.people.release import PeopleRelease, load_people
from dpmosaic.curator.related.session import RelatedSession, _Parts
from dpmosaic.curator.releasing.session import Session
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.accounts.rows import CERTIFIED
from support.related import DOMAINS, patients
from support.related_network import APART, WHOLE, network

pytestmark = pytest.mark.slow

PARTS = 5
"""Choices of bins of patients and of stays, and the records of three tables; an alignment is one more."""

KILLS = {17, 120, 260, 420}
"""Calls at which a party is killed: of the alignment, of a choice of bins, and of records."""


class Died(BaseException):
    """Stands for the death of the curator; no product code catches it."""


class Dying:
    """Links of which one call, and its first reply, may be the last thing that a curator sees."""

    def __init__(self, told):
        self.told = told

    def watch(self, name, link):
        told = self.told

        class Link:
            def call(self, method, requests):
                told("before", method)
                replied = False
                for reply in link.call(method, requests):
                    yield reply
                    if not replied:
                        told("after", method)
                    replied = True

        return Link()


def interrupted(made, out, told):
    """Runs or resumes the release; whether the curator lived."""
    home = CuratorHome.open(made.folder / "curator")
    begun = out.with_name(out.name + ".private").exists()
    session = Session.resume(out) if begun else Session.begin(out, made.plan, home, TableFile())
    try:
        RelatedSession(session).run(activity=Dying(told))
    except Died:
        return False
    return True


def check(made, out, entries):
    """Everybody charged each part once, what the certificate states, and the release can be verified."""
    release = load_people(out)
    assert set(release.tables) == set(DOMAINS)
    for name in made.all_names:
        with contextlib.closing(Ledger(made.party(name) / "ledger.sqlite")) as ledger:
            found = ledger.summaries()
        assert [entry.state for entry in found] == [CERTIFIED] * entries
        assert float(sum(entry.spent for entry in found)) == pytest.approx(
            float(release.certificate.zcdp_rho_spent), rel=1e-9
        )
    federation = CuratorHome.open(made.folder / "curator").federation()
    assert all(one.passed for one in verify_people(out, federation))


def test_a_curator_that_dies_again_and_again_charges_nothing_twice(tmp_path):
    made, out = network(tmp_path / "net", patients(people=60), APART), tmp_path / "out"
    rng, deaths, calls = np.random.default_rng(1), 0, 0
    with made.running():
        while True:
            left = [int(rng.integers(5, 40)) + 12 * deaths]

            def told(when, method, left=left):
                left[0] -= 1
                if left[0] < 0:
                    raise Died

            calls += 1
            if interrupted(made, out, told):
                break
            deaths += 1
    assert deaths > 5
    check(made, out, PARTS + 1)


def test_a_curator_that_dies_before_and_after_it_writes_finishes(tmp_path, monkeypatch):
    made, out = network(tmp_path / "net", patients(people=60), WHOLE), tmp_path / "out"
    written, finished = [], []

    def dying(method, seen):
        def called(*arguments, **options):
            if not seen:
                seen.append(True)
                raise Died
            return method(*arguments, **options)

        return called

    monkeypatch.setattr(PeopleRelease, "write", dying(PeopleRelease.write, written))
    monkeypatch.setattr(_Parts, "finish", dying(_Parts.finish, finished))
    with made.running():
        lived = [interrupted(made, out, lambda when, method: None) for _ in range(3)]
    assert lived == [False, False, True]
    check(made, out, PARTS)


def restart(made, daemons, name):
    """Kills a party, and starts it again."""
    daemons[name].process.kill()
    daemons[name].process.wait()
    daemons[name].process.stdin.close()
    daemons[name] = made.start(name)
    made.enroll(name, daemons[name])


@pytest.mark.parametrize("place", [0, 1])
def test_a_party_killed_and_restarted_at_many_steps_charges_nothing_twice(tmp_path, place):
    made, out = network(tmp_path / "net", patients(people=60), APART), tmp_path / "out"
    name, calls = made.all_names[place], []
    with made.running() as daemons:

        def told(when, method):
            calls.append(method)
            if len(calls) in KILLS:
                restart(made, daemons, name)

        assert interrupted(made, out, told)
    assert len(calls) > max(KILLS)
    check(made, out, PARTS + 1)


def test_a_release_that_stops_because_deliveries_are_lost_is_resumed_and_charges_nothing_twice(tmp_path):
    """A party is killed every some calls; the curator delivers nothing again before it is resumed."""
    made, out = network(tmp_path / "net", patients(people=60), APART), tmp_path / "out"
    name, stops = made.all_names[1], []
    made.plan.write_text(made.plan.read_text() + "\n[network]\naway_seconds = 0\n")
    with made.running() as daemons:
        while True:
            # Rarer after each stop: a part ends only if its party lives through a whole step.
            calls, every = itertools.count(1), 61 + 20 * len(stops)

            def told(when, method, calls=calls, every=every):
                if not next(calls) % every:
                    restart(made, daemons, name)

            try:
                interrupted(made, out, told)
            except (DeliveriesLost, PartyUnavailable) as stopped:
                stops.append(type(stopped))
            else:
                break
    assert stops.count(DeliveriesLost) > 2
    check(made, out, PARTS + 1)
