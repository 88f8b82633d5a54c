"""The compose trial as processes: its own scripts, users, volumes and health checks, no container runtime."""

import json
import time
from pathlib import Path

import pytest
import yaml

from support.edits import edit
from support.services import Services, possible

TRIAL = Path(__file__).parents[2] / "deploy/compose"
PATIENCE_S = 600

pytestmark = pytest.mark.skipif(not possible(), reason="this machine lets nobody make namespaces")


@pytest.fixture
def services(tmp_path):
    made = Services(yaml.safe_load((TRIAL / "compose.yaml").read_text())["services"], TRIAL, tmp_path)
    daemons = {}
    yield made, daemons
    for daemon in daemons.values():
        daemon.terminate()
    for daemon in daemons.values():
        daemon.wait(60)
    made.network.communicate()


def until_healthy(made, daemons):
    """As compose does: asks by the health check of each service until it says yes."""
    waiting, started = set(daemons), time.monotonic()
    while waiting:
        assert time.monotonic() - started < PATIENCE_S, {name: made.log(name)[-300:] for name in waiting}
        assert all(daemon.poll() is None for daemon in daemons.values())
        # A check is a process of its own: before a daemon has logged its start, it would only slow that down.
        ready = {name for name in waiting if '"started"' in made.log(name)}
        waiting -= {n for n in ready if not made.run(n, *made.services[n]["healthcheck"]["test"][1:])}
        time.sleep(0.2 if waiting else 0.0)


@pytest.mark.slow
def test_one_start_makes_a_verified_release_among_everybody(services):
    made, daemons = services
    assert made.run("tables") == 0, made.log("tables")
    daemons |= {name: made.start(name) for name, service in made.services.items() if "healthcheck" in service}
    assert made.run("party-1-1", "sh", "-c", "! touch /usr/x /x && [ $(id -u) = 10001 ]") == 0
    assert made.run("federation") == 0, made.log("federation")
    until_healthy(made, daemons)
    # A cheaper plan than that of the trial; the rest is the trial's own script.
    slices = ("--slice", "party-1-1,party-1-2", "--slice", "party-2-1,party-2-2")
    assert made.run("curator", "dpmosaic", "curator", "plan", "/data/home", *slices) == 0
    edit(
        made.volume("curator") / "home/plan.toml",
        {'"mosaic"': '"independent"', "epsilon = 1.0  ": "rho = 0.01", "delta = 1e-9": ""},
    )
    assert made.run("curator") == 0, made.log("curator")
    out = made.volume("curator") / "release"
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["differentially_private"]
    assert "FAILED" not in made.log("curator")
    assert sorted(
        {made.volume(name).joinpath("home/ledger.sqlite").stat().st_mode & 0o777 for name in daemons}
    ) == [0o600]
    # A second start finds everything done.
    assert made.run("tables") == made.run("federation") == made.run("curator") == 0
