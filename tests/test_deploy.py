"""The files under `deploy/` fit the program: every command that they run exists with these options, and what
belongs together in them agrees."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli.app import build_app
from podium.cli.commands.serve import PORT
from podium.server.security import PROBES
from podium.server.users import add_user
from tests.server.serving import served

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def compose_commands() -> list[list[str]]:
    return [service["command"] for service in COMPOSE["services"].values() if "command" in service]


def containers() -> list[dict[str, Any]]:
    pods = [
        manifest["spec"]["template"]["spec"]
        for manifest in MANIFESTS
        if "template" in manifest.get("spec", {})
    ]
    return [container for pod in pods for container in pod["containers"]]


def unit_commands() -> list[list[str]]:
    text = "\n".join(unit.read_text() for unit in UNITS).replace("%i", "1")
    return [line.split() for line in re.findall(r"^Exec\w+=/usr/local/bin/podium (.*)$", text, re.MULTILINE)]


def commented_commands() -> list[list[str]]:
    """What comments in the files tell their reader to run."""
    files = [DEPLOY / "compose.yaml", DEPLOY / "kubernetes.yaml", *UNITS]
    text = "\n".join(file.read_text() for file in files)
    return [
        line.split()
        for line in re.findall(r"^#\s+(?:docker compose .* run --rm tool|podium) (.*)$", text, re.M)
    ]


COMMANDS = [
    *compose_commands(),
    *(container["args"] for container in containers()),
    *unit_commands(),
    *commented_commands(),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_a_command_is_understood_with_all_its_options(command: list[str]) -> None:
    _, bound, _ = build_app(command[0]).parse_args(command, exit_on_error=False, print_error=False)
    assert bound.arguments or len(command) == 1


def test_there_are_commands_of_every_kind() -> None:
    assert {command[0] for command in COMMANDS} == {"migrate", "serve", "worker", "users"}


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def drain_of(command: list[str]) -> float:
    return float(command[command.index("--drain-timeout") + 1])


def test_a_worker_is_given_longer_to_stop_than_it_may_take() -> None:
    """Whoever kills it earlier makes its calls be paid for twice."""
    service = COMPOSE["services"]["worker"]
    assert seconds(service["stop_grace_period"]) > drain_of(service["command"])
    (pod,) = [
        manifest["spec"]["template"]["spec"]
        for manifest in MANIFESTS
        if _is(manifest, "Deployment", "podium-worker")
    ]
    assert pod["terminationGracePeriodSeconds"] > drain_of(pod["containers"][0]["args"])
    (unit,) = [unit.read_text() for unit in UNITS if "worker" in unit.name]
    stop = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    drain = re.search(r"--drain-timeout (\d+)", unit)
    assert stop is not None
    assert drain is not None
    assert int(stop[1]) > int(drain[1])


def _is(manifest: dict[str, Any], kind: str, name: str) -> bool:
    return manifest["kind"] == kind and manifest["metadata"]["name"] == name


def test_selectors_find_their_pods_and_probes_their_ports() -> None:
    deployments = [manifest for manifest in MANIFESTS if manifest["kind"] == "Deployment"]
    assert len(deployments) == 2
    for deployment in deployments:
        template = deployment["spec"]["template"]
        assert deployment["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        for container in template["spec"]["containers"]:
            ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
            args = container["args"]
            assert args[args.index("--port") + 1] in ports.values()
            for probe in ("readinessProbe", "livenessProbe"):
                ((_, action),) = [item for item in container[probe].items() if isinstance(item[1], dict)]
                assert action["port"] in ports


def test_the_autoscaler_scales_the_workers() -> None:
    (scaler,) = [manifest for manifest in MANIFESTS if manifest["kind"] == "HorizontalPodAutoscaler"]
    target = scaler["spec"]["scaleTargetRef"]
    assert any(_is(manifest, target["kind"], target["name"]) for manifest in MANIFESTS)
    (worker,) = [container for container in containers() if container["name"] == "worker"]
    metric = scaler["spec"]["metrics"][0]["external"]
    assert metric["metric"]["name"] in (ROOT / "src/podium/cluster/health.py").read_text()
    assert metric["target"]["averageValue"] == worker["args"][worker["args"].index("--concurrency") + 1]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_valid(unit: Path, tmp_path: Path) -> None:
    program = tmp_path / "podium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / unit.name.replace("@", "@1")).write_text(
        unit.read_text().replace("/usr/local/bin/podium", str(program))
    )
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit.name.replace("@", "@1")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = [line for line in checked.stderr.splitlines() if unit.name.split("@")[0] in line]
    assert lines == [], checked.stderr


# ── the image ────────────────────────────────────────────────────────────────────────────────────

EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
NEEDED = {"serve": {"server"}, "worker": {"cluster"}, "migrate": {"postgres"}, "users": set[str]()}
"""Extras without which a command refuses to work in these deployments."""
NOT_IN_IMAGE = {"temporal"}
"""Needs a server of its own, which none of these files starts."""


def final_stage() -> list[tuple[str, str]]:
    """Instructions of the image that is shipped, with continued lines joined."""
    lines = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    instructions = [
        (word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines()) if word
    ]
    last = max(number for number, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[last:]


def shell_commands() -> list[list[str]]:
    """Every command of the final stage's RUN instructions, in words."""
    runs = [rest for word, rest in final_stage() if word == "RUN"]
    return [shlex.split(part) for rest in runs for part in rest.split("&&")]


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def owned_folders() -> dict[str, str]:
    """Folders that the image makes, with the user id that owns each."""
    made: dict[str, str] = {}
    ids: dict[str, str] = {}
    for command in shell_commands():
        if command[:1] == ["useradd"]:
            ids[command[-1]] = option(command, "--uid")
            made[option(command, "--home-dir")] = ids[command[-1]]
        elif command[:2] == ["install", "--directory"]:
            made[command[-1]] = ids[option(command, "--owner")]
    return made


def image_user() -> str:
    (user,) = [rest for word, rest in final_stage() if word == "USER"]
    return user


def image_extras() -> set[str]:
    """Extras that the image installs, with those that they bring."""
    (command,) = [command for command in shell_commands() if command[:2] == ["pip", "install"]]
    match = re.search(r"\.whl\)\[([a-z,]+)\]", " ".join(command))
    assert match is not None
    return with_inner(set(match[1].split(",")))


def with_inner(names: set[str]) -> set[str]:
    assert names <= set(EXTRAS), names - set(EXTRAS)
    inner = {
        part
        for name in names
        for wanted in EXTRAS[name]
        if (match := re.fullmatch(r"podium\[([a-z,]+)\]", wanted))
        for part in match[1].split(",")
    }
    return names if inner <= names else with_inner(names | inner)


def podium_services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in COMPOSE["services"].items() if service["image"] == "podium"}


def test_every_volume_is_mounted_where_the_process_may_write() -> None:
    """A new volume takes over the owner of the folder that it is mounted at; without one, it is root's."""
    user, made = image_user(), owned_folders()
    assert user.isdigit()
    assert user != "0"
    mounts = [
        mount.split(":") for service in podium_services().values() for mount in service.get("volumes", ())
    ]
    assert mounts
    for name, path, *mode in mounts:
        assert name in COMPOSE["volumes"]
        assert made.get(path) == user, f"{path} must be made in the image and owned by {user}"
        assert mode in ([], ["ro"])


def test_files_of_a_command_are_in_a_mounted_volume_that_may_be_written_where_it_writes() -> None:
    commands = {
        name: [service["command"]] for name, service in podium_services().items() if "command" in service
    }
    text = (DEPLOY / "compose.yaml").read_text()
    commands["tool"] = [line.split() for line in re.findall(r"run --rm tool (.*)$", text, re.MULTILINE)]
    assert commands["tool"]
    for name, given in commands.items():
        mounts = [mount.split(":") for mount in podium_services()[name].get("volumes", ())]
        for command in given:
            for flag, writes in (("--users", False), ("--file", True)):
                if flag not in command:
                    continue
                folder = str(Path(option(command, flag)).parent)
                (mode,) = [mount[2:] for mount in mounts if mount[1] == folder]
                assert not (writes and mode)


def test_mounts_of_a_pod_are_volumes_of_it() -> None:
    pods = [
        manifest["spec"]["template"]["spec"]
        for manifest in MANIFESTS
        if "template" in manifest.get("spec", {})
    ]
    seen = 0
    for pod in pods:
        volumes = {volume["name"] for volume in pod.get("volumes", ())}
        for container in pod["containers"]:
            for mount in container.get("volumeMounts", ()):
                assert mount["name"] in volumes
                users = option(container["args"], "--users")
                assert str(Path(users).parent) == mount["mountPath"]
                seen += 1
    assert seen


def test_the_image_has_the_extras_that_its_commands_need() -> None:
    extras = image_extras()
    for command in COMMANDS:
        assert NEEDED[command[0]] <= extras, command


def test_no_command_in_the_image_answers_that_something_is_not_installed() -> None:
    hinted = {
        extra
        for file in (ROOT / "src" / "podium").rglob("*.py")
        for extras in re.findall(r"podium\[([a-z,]+)\]", file.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert {"otel", "server", "postgres", "research"} <= hinted
    assert hinted - image_extras() == NOT_IN_IMAGE


def test_the_guide_names_extras_that_exist() -> None:
    guide = (ROOT / "docs" / "scale.md").read_text()
    sentence = re.search(r"installation with the extras\s+([^:.]*)", guide)
    assert sentence is not None
    assert with_inner(set(re.findall(r"`([a-z]+)`", sentence[1]))) <= image_extras()


# ── ports and probes ─────────────────────────────────────────────────────────────────────────────


def paths_of(command: str) -> set[str]:
    """Where a command answers probes."""
    if command == "serve":
        return set(PROBES)
    return set(re.findall(r'Route\("(/\w+)"', (ROOT / "src/podium/cluster/health.py").read_text()))


def port_of(command: list[str]) -> str:
    return option(command, "--port") if "--port" in command else str(PORT)


def healthchecks() -> dict[str, list[str]]:
    return {
        name: service["healthcheck"]["test"]
        for name, service in podium_services().items()
        if "healthcheck" in service
    }


def test_healthchecks_of_compose_ask_the_port_and_path_that_answer() -> None:
    assert set(healthchecks()) == {"serve", "worker"}
    for name, check in healthchecks().items():
        command = podium_services()[name]["command"]
        match = re.search(r"http://127\.0\.0\.1:(\d+)(/[\w/]+)", check[-1])
        assert match is not None
        assert match[1] == port_of(command)
        assert match[2] in paths_of(command[0])


def test_published_ports_are_those_that_the_server_listens_at() -> None:
    for service in podium_services().values():
        for published in service.get("ports", ()):
            address, _, inside = published.split(":")
            assert address == "127.0.0.1", "not open to everybody, unless somebody means it"
            assert inside == port_of(service["command"])


def test_probes_of_pods_ask_paths_that_answer() -> None:
    probed = [container for container in containers() if "livenessProbe" in container]
    assert len(probed) == 2
    for container in probed:
        paths = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
        assert len(paths) == 2
        assert paths <= paths_of(container["args"][0])


def test_the_healthcheck_of_the_server_passes_on_a_real_one_and_fails_without(tmp_path: Path) -> None:
    """The very program of the compose file, at the port of the test's server."""
    _, _, flag, program = healthchecks()["serve"]
    add_user(tmp_path / "users.toml", "ada", {})

    def outcome(port: str) -> int:
        command = [sys.executable, flag, program.replace(str(PORT), port)]
        return subprocess.run(command, capture_output=True, timeout=60).returncode

    with served(tmp_path, host="0.0.0.0", users=tmp_path / "users.toml") as server:
        port = server.base.rpartition(":")[2]
        assert outcome(port) == 0
    assert outcome(port) != 0
