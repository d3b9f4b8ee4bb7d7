"""The files under `deploy/` fit the program: every command that they run exists with these options, and what
belongs together in them agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli.app import build_app

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def compose_commands() -> list[list[str]]:
    return [service["command"] for service in COMPOSE["services"].values() if "command" in service]


def containers() -> list[dict[str, Any]]:
    pods = [one["spec"]["template"]["spec"] for one in MANIFESTS if "template" in one.get("spec", {})]
    return [container for pod in pods for container in pod["containers"]]


def unit_commands() -> list[list[str]]:
    text = "\n".join(unit.read_text() for unit in UNITS).replace("%i", "1")
    return [line.split() for line in re.findall(r"^Exec\w+=/usr/local/bin/podium (.*)$", text, re.MULTILINE)]


def commented_commands() -> list[list[str]]:
    """What the head of the compose file tells its reader to run."""
    text = (DEPLOY / "compose.yaml").read_text()
    return [line.split() for line in re.findall(r"run --rm tool (.*)$", text, re.MULTILINE)]


COMMANDS = [
    *compose_commands(), *(one["args"] for one in containers()), *unit_commands(), *commented_commands(),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one))
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
    (pod,) = [one["spec"]["template"]["spec"] for one in MANIFESTS if _is(one, "Deployment", "podium-worker")]
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
    deployments = [one for one in MANIFESTS if one["kind"] == "Deployment"]
    assert len(deployments) == 2
    for one in deployments:
        template = one["spec"]["template"]
        assert one["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        for container in template["spec"]["containers"]:
            ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
            args = container["args"]
            assert args[args.index("--port") + 1] in ports.values()
            for probe in ("readinessProbe", "livenessProbe"):
                ((_, action),) = [item for item in container[probe].items() if isinstance(item[1], dict)]
                assert action["port"] in ports


def test_the_autoscaler_scales_the_workers() -> None:
    (scaler,) = [one for one in MANIFESTS if one["kind"] == "HorizontalPodAutoscaler"]
    target = scaler["spec"]["scaleTargetRef"]
    assert any(_is(one, target["kind"], target["name"]) for one in MANIFESTS)
    (worker,) = [one for one in containers() if one["name"] == "worker"]
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
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    said = [line for line in checked.stderr.splitlines() if unit.name.split("@")[0] in line]
    assert said == [], checked.stderr
