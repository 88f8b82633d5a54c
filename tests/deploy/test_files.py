"""Files of deploy/: what can be closed is closed, no file holds a secret, and every command line exists."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from dpmosaic.party.dealing.policy import DealerSettings
from dpmosaic.party.policies.file import Settings
from support.command_lines import check, in_script

DEPLOY = Path(__file__).parents[2] / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DAEMONS = {name: service for name, service in SERVICES.items() if "healthcheck" in service}
SCRIPTS = [path for path in (DEPLOY / "compose").iterdir() if path.read_bytes().startswith(b"#!")]
MANIFESTS = {
    role: {
        found["kind"]: found
        for found in yaml.safe_load_all((DEPLOY / f"kubernetes/{role}/{role}.yaml").read_text())
    }
    for role in ("party", "dealer", "curator")
}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def containers(role):
    pod = MANIFESTS[role]["StatefulSet"]["spec"]["template"]["spec"]
    return [*pod["initContainers"], *pod["containers"]]


def test_the_trial_is_four_parties_three_dealers_and_a_curator():
    assert sorted(DAEMONS) == [
        *(f"dealer-{number}" for number in (1, 2, 3)),
        *(f"party-{row}-{place}" for row in (1, 2) for place in (1, 2)),
    ]
    assert set(SERVICES) - set(DAEMONS) == {"curator", "federation", "tables"}
    assert SERVICES["federation"]["command"] == [
        *(n for n in DAEMONS if n[0] == "p"),
        *(n for n in DAEMONS if n[0] == "d"),
    ]


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_a_service_runs_without_rights_and_writes_only_to_its_volumes(service):
    assert service["read_only"] is True
    assert service["user"] == "10001:10001"
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["networks"] == ["federation"]
    assert not {"ports", "privileged", "environment", "env_file", "network_mode", "pid"} & set(service)


def test_nothing_reaches_the_trial_from_outside():
    assert COMPOSE["networks"] == {"federation": {"internal": True}}


def test_each_institution_of_the_trial_has_a_volume_of_its_own():
    held = [volume.split(":")[0] for service in DAEMONS.values() for volume in service["volumes"]]
    private = [name for name in held if name not in ("public", "./")]
    assert sorted(private) == sorted(DAEMONS)


def test_the_curator_waits_until_everybody_is_healthy():
    waits = SERVICES["curator"]["depends_on"]
    healthy = {name for name, wait in waits.items() if wait["condition"] == "service_healthy"}
    assert healthy == set(DAEMONS)


@pytest.mark.parametrize("role", MANIFESTS)
def test_a_pod_runs_without_rights_on_a_root_that_it_cannot_write(role):
    pod = MANIFESTS[role]["StatefulSet"]["spec"]["template"]["spec"]
    secured = pod["securityContext"]
    assert secured["runAsNonRoot"] is True
    assert secured["runAsUser"] == secured["runAsGroup"] == secured["fsGroup"] == 10001
    assert secured["fsGroupChangePolicy"] == "OnRootMismatch"
    assert secured["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in containers(role):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("role", MANIFESTS)
def test_a_network_policy_lets_nothing_in_or_out_before_somebody_opens_it(role):
    policy = MANIFESTS[role]["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["ingress"] == policy["egress"] == []


@pytest.mark.parametrize("role", MANIFESTS)
def test_there_is_one_pod_of_a_ledger_and_no_secret_in_its_manifest(role):
    assert MANIFESTS[role]["StatefulSet"]["spec"]["replicas"] == 1
    assert "Secret" not in MANIFESTS[role]
    given = [variable for container in containers(role) for variable in container.get("env", [])]
    assert all("valueFrom" in variable or variable["name"] == "NAME" for variable in given)


def test_the_image_is_built_from_the_product_alone_and_runs_as_its_own_user():
    kept = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    assert [line for line in kept if line[0] not in "#!"] == ["*", "**/__pycache__"]
    assert {line[1:] for line in kept if line[0] == "!"} == {
        *("__init__.py", "command.py", "testing.py", "py.typed"),
        *("common", "curator", "party", "simulations", "synthesis"),
        *("pyproject.toml", "setup.py", "README.md", "LICENSE"),
    }
    assert re.findall(r"^USER (.*)$", DOCKERFILE, flags=re.M) == ["10001:10001"]
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index(" AS party")


def dockerfile_commands():
    commands = [json.loads(text) for text in re.findall(r"CMD (\[.*\])$", DOCKERFILE, flags=re.M)]
    return [command[1:] if command[0] == "dpmosaic" else command for command in commands]


def unit_commands():
    lines = [line for unit in UNITS for line in unit.read_text().splitlines()]
    return [shlex.split(line.split("/bin/dpmosaic ")[1]) for line in lines if "/bin/dpmosaic " in line]


def manifest_commands():
    for role in MANIFESTS:
        for container in containers(role):
            if "args" in container:
                yield container["args"]
            for probe in ("startupProbe", "readinessProbe"):
                if probe in container:
                    yield container[probe]["exec"]["command"][1:]
            if "command" in container:
                yield from in_script(container["command"][-1])


COMMANDS = {
    "Dockerfile": dockerfile_commands(),
    "systemd": unit_commands(),
    "kubernetes": list(manifest_commands()),
    "health checks of compose": [service["healthcheck"]["test"][2:] for service in DAEMONS.values()],
    **{script.name: in_script(script.read_text()) for script in SCRIPTS},
}


@pytest.mark.slow
@pytest.mark.parametrize("commands", COMMANDS.values(), ids=COMMANDS)
def test_every_command_line_is_one_that_the_command_takes(commands):
    assert commands
    for arguments in commands:
        check(arguments)


@pytest.mark.parametrize(
    "wrong", ["party serve", "party serves DIR", "curator release plan --where out", "patry"]
)
def test_a_command_line_that_does_not_exist_is_found(wrong):
    with pytest.raises(AssertionError):
        check(shlex.split(wrong))


@pytest.mark.parametrize("place", ["compose", "kubernetes"])
def test_policies_are_read_as_they_stand_and_only_the_trials_opens_anything(tmp_path, place):
    party, dealer = (
        (DEPLOY / place / name for name in ("policy.toml", "dealer.toml"))
        if place == "compose"
        else (DEPLOY / place / "party/policy.toml", DEPLOY / place / "dealer/dealer.toml")
    )
    shutil.copy(DEPLOY / "kubernetes/party/domain.json", tmp_path)
    shutil.copy(party, tmp_path / "policy.toml")
    shutil.copy(dealer, tmp_path / "dealer.toml")
    policy = Settings.load(tmp_path).policy
    deals = DealerSettings.load(tmp_path).policy
    opened = place == "compose"
    assert (policy.lifetime_rho > 0, policy.max_cells > 0, bool(policy.protocols)) == (opened,) * 3
    assert (deals.max_records > 0, deals.max_cells > 0) == (opened,) * 2
    assert Settings.load(tmp_path).approval is not opened
    assert policy.min_dealers == (3 if opened else 1)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_gives_its_daemon_the_time_to_stop_and_no_rights(unit):
    lines = unit.read_text().splitlines()
    for expected in (
        *("User=dpmosaic", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict"),
        *("TimeoutStopSec=40", "UMask=0077", "LimitCORE=0", "SystemCallFilter=@system-service"),
    ):
        assert expected in lines
