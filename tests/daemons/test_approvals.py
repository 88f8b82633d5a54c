"""Four institutions whose operators approve: one round of requests, one round of decisions, one resume."""

import json

import pytest

WAITING = ("party-1-1", "party-1-2", "party-2-2")
"""Their operators approve every release; the policy of the fourth party does so by itself."""


def decide_by_hand(network):
    for name in WAITING:
        path = network.party(name) / "policy.toml"
        assert "approval = false" in path.read_text()
        path.write_text(path.read_text().replace("approval = false", "approval = true"))


def requests(command, network, name):
    return json.loads(command("party", "releases", network.party(name), "--json"))


@pytest.mark.slow
def test_all_operators_are_asked_at_once_and_one_resume_goes_on(tmp_path, network_of, command):
    network = network_of(tmp_path)
    decide_by_hand(network)
    with network.running():
        told = command("curator", "preflight", network.plan)
        assert "FIX" not in told
        assert told.count("its operator decides when it is asked") == len(WAITING)
        assert [requests(command, network, name) for name in network.all_names] == [[]] * 4
        stopped = command("curator", "release", network.plan, "--out", tmp_path / "out", fails=True)
        assert f"waits for the operators of {', '.join(WAITING)}" in stopped
        for name in WAITING:
            (request,) = requests(command, network, name)
            assert request["decision"] == "pending"
            assert request["release"] in command("party", "show", network.party(name))
            command("party", "approve", network.party(name), "--yes", "--reason", "a trial")
            undecided = command("party", "approve", network.party(name), "--yes", fails=True)
            assert "expected one release that waits for a decision, found 0" in undecided
        command("curator", "resume", tmp_path / "out")
    assert (tmp_path / "out/certificate.json").exists()


@pytest.mark.slow
def test_an_operator_who_denies_ends_the_release_for_all_and_frees_their_budgets(
    tmp_path, network_of, command
):
    network = network_of(tmp_path)
    decide_by_hand(network)
    with network.running():
        command("curator", "release", network.plan, "--out", tmp_path / "out", fails=True)
        for name, verdict in zip(WAITING, ("approve", "approve", "deny"), strict=True):
            (request,) = requests(command, network, name)
            more = (
                ("--yes", "--reason", "a trial")
                if verdict == "approve"
                else ("--reason", "the purpose is not ours")
            )
            command("party", verdict, network.party(name), request["release"], *more)
        stopped = command("curator", "resume", tmp_path / "out", fails=True)
        assert "denied the release" in stopped
        assert "abandoned" in stopped
    for name in network.all_names:
        for entry in json.loads(command("party", "ledger", network.party(name), "--json")):
            assert (entry["state"], entry["reserved_rho"]) == ("abandoned", 0.0)
