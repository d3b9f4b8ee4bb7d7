"""Keys in the environment, prompts, replies, error messages and addresses: none is kept or shown."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from podium.errors import ModelUnavailableError
from podium.models.registry import open_model
from podium.settings import Settings
from tests import warm
from tests.models.wire.answers import Refuse, Say
from tests.models.wire.server import Wire

ROOT = Path(__file__).parents[2]
FLOW = Path(__file__).parent / "programs" / "secret_flow.py"

IN_ENVIRONMENT = "wholly-unremarkable-value-4711"
"""A key that looks like nothing: only the environment tells that it is one."""
IN_ADDRESS = "gateway-path-key-0815"
FAMILIAR = "sk-proj-" + "Zq7" * 12
"""A key that nobody told us of, in a well-known format."""
SECRETS = (IN_ENVIRONMENT, IN_ADDRESS, FAMILIAR)


def environment(folder: Path, wire: Wire) -> dict[str, str]:
    return {
        **os.environ,
        "OPENAI_API_KEY": IN_ENVIRONMENT,
        "OPENAI_BASE_URL": f"{wire.url}/{IN_ADDRESS}/v1",
        "GATEWAY_TOKEN": IN_ADDRESS,
        "A_NOTE": FAMILIAR,
        "XDG_DATA_HOME": str(folder),
        "PODIUM_RETRY_WAIT": "1ms",
    }


async def podium(folder: Path, wire: Wire, *arguments: str) -> tuple[int, bytes]:
    """Run the command and give back all that it said."""
    process = await warm.spawn(
        sys.executable,
        "-m",
        "podium",
        *arguments,
        cwd=folder,
        env=environment(folder, wire),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output


def leaks(data: bytes) -> list[str]:
    return [secret for secret in SECRETS if secret.encode() in data]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("provider", ["openai", "openai-chat"])
async def test_no_key_is_kept_or_shown(provider: str, wire: Wire, tmp_path: Path) -> None:
    wire.answer_with(
        Say(f"Yours is {FAMILIAR} or {IN_ENVIRONMENT}."),
        Refuse(500, f"Key {IN_ENVIRONMENT} at {IN_ADDRESS} is tired, try {FAMILIAR}."),
        Refuse(401, f"Incorrect API key provided: {IN_ENVIRONMENT} ({FAMILIAR})."),
    )
    store, request = f"sqlite:///{tmp_path}/runs.sqlite", f"{IN_ENVIRONMENT} {FAMILIAR} {IN_ADDRESS}"
    code, output = await podium(
        tmp_path, wire, "run", f"{FLOW}:leaky", request, "--model", f"{provider}:gpt-4o", "--store", store
    )
    assert code == 0, output.decode()
    assert len(wire.requests) == 3
    assert wire.requests[0].headers["authorization"] == f"Bearer {IN_ENVIRONMENT}", "the key does its work"
    bodies = str([seen.body for seen in wire.requests]).encode()
    assert leaks(bodies) == [], "no prompt holds one"
    assert b"[redacted]" in bodies
    _, listed = await podium(tmp_path, wire, "runs", "--json", "--store", store)
    run_id = (
        listed.decode().partition('"run_id":"')[2].partition('"')[0]
        or (listed.decode().partition('"run_id": "')[2].partition('"')[0])
    )
    shown = [output, listed]
    for command in (
        ["show", run_id],
        ["events", run_id, "--json"],
        ["replay", run_id, "--json"],
        ["report", run_id, "-o", str(tmp_path / "r.html")],
        ["report", run_id, "--format", "md", "-o", str(tmp_path / "r.md")],
        ["report", run_id, "--format", "json", "-o", str(tmp_path / "r.json")],
    ):
        code, output = await podium(tmp_path, wire, *command, "--store", store)
        assert code == 0, output.decode()
        shown.append(output)
    assert [leaks(text) for text in shown] == [[]] * len(shown)
    written = {path.name: leaks(path.read_bytes()) for path in files(tmp_path)}
    assert {"runs.sqlite", "r.html", "r.md", "r.json"} <= set(written)
    assert {name: content for name, content in written.items() if content} == {}


async def test_no_key_lies_in_the_write_ahead_log_of_a_run_under_way(wire: Wire, tmp_path: Path) -> None:
    wire.answer_with(Say(f"It is {FAMILIAR} {IN_ENVIRONMENT}."), Say("7"))
    process = await warm.spawn(
        sys.executable,
        "-m",
        "tests.models.programs.read_wal",
        str(tmp_path / "wal.sqlite"),
        f"{IN_ENVIRONMENT} {FAMILIAR}",
        *SECRETS,
        cwd=ROOT,
        env=environment(tmp_path, wire),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    reported = json.loads(out.splitlines()[-1])
    assert leaks(out) == []
    assert {"wal.sqlite", "wal.sqlite-wal"} <= set(reported["files"])
    assert (reported["leaks"], reported["redacted"]) == ([], True)


def test_a_password_in_an_address_is_refused_before_anything_is_kept(wire: Wire) -> None:
    settings = Settings(store="unused")
    with pytest.raises(ModelUnavailableError) as caught:
        open_model(f"openai-compatible:m@http://me:{IN_ADDRESS}@127.0.0.1/v1", settings=settings, env={})
    assert IN_ADDRESS not in f"{caught.value} {caught.value.hint}"


async def test_the_command_line_does_not_repeat_it_either(wire: Wire, tmp_path: Path) -> None:
    name = f"openai-compatible:m@http://me:{FAMILIAR}@127.0.0.1/v1"
    code, output = await podium(tmp_path, wire, "run", f"{FLOW}:leaky", "x", "--model", name)
    assert code == 2
    assert leaks(output) == []
    assert [leaks(path.read_bytes()) for path in files(tmp_path) if leaks(path.read_bytes())] == []
