"""Two of twenty institutions vanish in the middle of a release, which ends as its plan says."""

import contextlib
import json

import pytest

from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.party.accounts.ledger import Ledger

pytestmark = pytest.mark.slow

PARTIES, EARLY, LATE = 20, "party-5-1", "party-12-1"
CHANGES = {
    "[network]": "[network]\naway_seconds = 0.5",
    "tries = 6": "tries = 1",
    "rho = 0.5": "rho = 0.5\nmay_drop_out = 2",
}


def kill(daemons, name):
    daemons[name].process.kill()
    daemons[name].process.wait()


def dying(monkeypatch, method, number, victim):
    """Kills a party before the curator's call of a kind that has this number."""
    asked, calls = getattr(PartyClient, method), []

    def call(client, *arguments, **options):
        calls.append(method)
        if len(calls) == number:
            victim()
        return asked(client, *arguments, **options)

    monkeypatch.setattr(PartyClient, method, call)


def spent(network, name):
    with contextlib.closing(Ledger(network.party(name) / "ledger.sqlite")) as ledger:
        (entry,) = ledger.summaries()
        return float(entry.spent), entry.queries


def test_a_release_by_twenty_institutions_ends_although_two_vanish_in_one_round(
    tmp_path, network_of, command, monkeypatch
):
    """One before it answers the second query, one after it answered and before the sum is opened."""
    network, out = network_of(tmp_path, grid=f"{PARTIES}x1", changes=CHANGES), tmp_path / "out"
    with network.running() as daemons:
        dying(monkeypatch, "answer", PARTIES + 3, lambda: kill(daemons, EARLY))
        dying(monkeypatch, "unmask", PARTIES + 2, lambda: kill(daemons, LATE))
        command("curator", "release", network.plan, "--out", out)
    certificate = json.loads((out / "certificate.json").read_text())
    assert {one["party"]: one["answers"] for one in certificate["dropouts"]} == {EARLY: 1, LATE: 2}
    charged, queries = certificate["promise"]["zcdp_rho_spent"], len(certificate["charges"])
    remaining = set(network.all_names) - {EARLY, LATE}
    assert {spent(network, name) for name in remaining} == {(charged, queries)}
    assert [spent(network, name)[1] for name in (EARLY, LATE)] == [1, 2]
    listed = tmp_path / "federation.json"
    command("curator", "federation", network.plan.parent, "--out", listed)
    verified = command("curator", "verify", out / "certificate.json", "--federation", listed)
    assert "FAILED" not in verified
    for name, count in ((EARLY, 1), (LATE, 2)):
        assert f"party {name}: dropped out; it is in the first {count} of {queries} answers" in verified
