"""A release over daemons that chooses bins first, by the commands as a user types them."""

import json

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.sources.source import read_table

OPEN = {
    "kind": ["x", "y, z"],
    "age": {"type": "numeric", "min": 0, "max": 99, "integer": True, "bins": "auto"},
    "code": 3,
    "bit": 2,
}


@pytest.mark.slow
def test_two_releases_of_one_promise_over_2_x_2_daemons(tmp_path, network_of, command):
    network = network_of(tmp_path, domain=OPEN, changes={"rho = 0.5": "rho = 100.0"})
    assert "[bins]\nshare = 0.1 " in network.plan.read_text()
    out, listed = tmp_path / "out", tmp_path / "federation.json"
    with network.running():
        forecast = json.loads(command("curator", "release", network.plan, "--dry-run", "--json"))
        assert forecast["bins_zcdp_rho"] == 10.0
        assert forecast["zcdp_rho"] == 90.0
        command("curator", "release", network.plan, "--out", out)
        command("curator", "federation", network.plan.parent, "--out", listed)
        shown = [
            json.loads(command("party", "ledger", network.party(name), "--json"))
            for name in network.all_names
        ]
    for folder in (out / "bins", out):
        assert "FAILED" not in command(
            "curator", "verify", folder / "certificate.json", "--federation", listed
        )
    bins, main = (json.loads((folder / "certificate.json").read_text()) for folder in (out / "bins", out))
    assert main["plan"]["bins"]["zcdp_rho"] == bins["promise"]["zcdp_rho_granted"] == 10.0
    for chosen, used in shown:
        assert chosen["release"] == main["plan"]["bins"]["release_id"]
        assert chosen["spent_rho"] + used["spent_rho"] <= 100.0
        assert chosen["spent_rho"] > 9.9
    domain = Domain.load(out / "bins/domain.json")
    assert not domain.open
    assert read_table(out / "synthetic.csv", domain).record_count == 240
