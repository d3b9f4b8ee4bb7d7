"""`podium models`, `podium models test`, and the models that a run takes by itself."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from tests.cli.shell import FLOWS, Output, Shell
from tests.models.wire.answers import Hang, Refuse, Say
from tests.models.wire.server import Wire, serving

OPENAI, ANTHROPIC = "sk-planted-openai-key", "sk-planted-anthropic-key"
REPLY = Say(json.dumps({"sum": 42, "sentence": "Here you are."}), input_tokens=100, output_tokens=10)


async def on(podium: Shell, env: dict[str, str], *words: str, code: int = 0) -> Output:
    """A command while the provider of this process answers."""
    shell = Shell(podium.folder)
    shell.env |= {"PODIUM_RETRY_WAIT": "1ms", **env}
    return await asyncio.to_thread(lambda: shell(*words, code=code))


def openai(wire: Wire) -> dict[str, str]:
    return {"OPENAI_API_KEY": OPENAI, "OPENAI_BASE_URL": f"{wire.url}/v1"}


def anthropic(wire: Wire) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": ANTHROPIC, "ANTHROPIC_BASE_URL": wire.url}


# ── the list ──


def test_the_list_shows_who_answers_now_and_what_the_others_need(podium: Shell) -> None:
    out = podium("models", OPENAI_API_KEY=OPENAI).out
    expected = ["openai:gpt-6-luna", "1.00", "1.05M", "Chosen because OPENAI_API_KEY is set", "rehearsal"]
    expected += ["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "ollama:MODEL", "openai-compatible:MODEL@URL"]
    assert [part for part in expected if part not in out] == []
    assert OPENAI not in out


def test_without_a_key_the_list_says_that_answers_are_made_up(podium: Shell) -> None:
    out = podium("models").out
    assert "No provider key is set, so the answers are made up" in out
    assert "set OPENAI_API_KEY" in out


LIMITS = """reply_timeout = "6m"
[agents.writer]
reply_timeout = "2h"
[providers.ollama]
reply_tokens = 2048
[models."opnai:gpt"]
reply_tokens = 512
"""


def test_the_list_shows_the_limits_of_replies_that_are_in_force(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text(LIMITS)
    rows = [line.split() for line in podium("models").out.splitlines()]
    assert ["agents", "writer", "2h", "00m"] in rows
    assert ["providers", "ollama", "2,048"] in rows
    assert ["every", "agent", "6m", "00s"] in rows
    assert '[models."opnai:gpt"] has no effect: there is no such provider' in podium("models").out
    rules = podium("models", "--json").json["reply_limits"]
    assert rules[0] == {"table": "agents", "name": "writer", "reply_timeout_s": 7200, "reply_tokens": None}
    assert (rules[-1]["table"], rules[-1]["reply_tokens"]) == ("code", 4096)
    checks = {check["name"]: check for check in podium("doctor", "--json").json["checks"]}
    assert checks["limits"]["state"] == "warn"
    assert "opnai:gpt" in checks["limits"]["told"]


def test_the_list_as_json(podium: Shell) -> None:
    data = podium("models", "--json", OPENAI_API_KEY=OPENAI, PODIUM_PROFILE_FAST="rehearsal").json
    assert data["chosen_by"] == "OPENAI_API_KEY"
    assert data["profiles"]["fast"]["from"] == "settings"
    assert data["profiles"]["fast"]["models"][0]["price"] == "free"
    [powerful] = data["profiles"]["powerful"]["models"]
    assert powerful["model"].startswith("openai:")
    assert powerful["input_usd_per_million"] > 0
    assert powerful["context_window"] > 100_000
    providers = {entry["provider"]: entry for entry in data["providers"]}
    assert providers["openai"]["usable"]
    assert not providers["anthropic"]["usable"]
    assert providers["anthropic"]["missing"] == "set ANTHROPIC_API_KEY"


def test_a_model_of_the_settings_is_reported_with_its_source(podium: Shell) -> None:
    out = podium("models", OPENAI_API_KEY=OPENAI, PODIUM_MODEL="rehearsal").out
    assert "Model of every agent: rehearsal" in out
    assert "PODIUM_MODEL" in out
    assert "openai:gpt-6-luna" in out


def test_a_provider_that_may_have_its_key_elsewhere_is_reported_with_that_reservation(podium: Shell) -> None:
    note = "bedrock: credentials and region as AWS's own tools find them; availability not checked."
    assert note in podium("models").out
    assert note not in podium("models", AWS_BEARER_TOKEN_BEDROCK="a key").out


def test_all_models_of_a_provider_are_listed(podium: Shell) -> None:
    lines = podium("models", "anthropic").out.splitlines()
    assert any(line.startswith("anthropic:claude-sonnet-5-5 ") for line in lines)
    assert "models in the price tables" in lines[-1]
    listed = podium("models", "anthropic", "--json").json["models"]
    assert len(listed) == len(lines) - 2
    everything = {entry["model"] for entry in podium("models", "--all", "--json").json["models"]}
    assert {entry["model"] for entry in listed} < everything
    assert "no models of ollama" in podium("models", "ollama").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["opnai"], "Did you mean openai?"),
        (["openai:gpt-5"], "podium models test openai:gpt-5"),
        (["openai", "gpt-5"], "podium models test gpt-5"),
        (["test"], "needs MODEL"),
        (["test", "nobody:x"], "There is no model nobody:x"),
        (["test", "openai:gpt-5"], "OPENAI_API_KEY"),
        (["test", "replay:abc"], "nothing to test"),
    ],
)
def test_wrong_words_are_reported_in_a_sentence(podium: Shell, words: list[str], message: str) -> None:
    output = podium("models", *words, code=2)
    assert message in output.err
    assert output.out == ""


@pytest.mark.parametrize("columns", [40, 64, 120])
def test_on_a_narrow_terminal_names_stay_whole(podium: Shell, columns: int) -> None:
    terminal = podium.terminal("models", columns=columns, OPENAI_API_KEY=OPENAI)
    assert terminal.wait() == 0
    assert "openai:gpt-6.1-terra" in terminal.seen
    table = [line for line in terminal.screen if "openai:gpt-" in line]
    assert all(len(line) <= columns for line in table)


def test_the_list_needs_no_client_to_be_imported(podium: Shell) -> None:
    program = (
        "import sys\nfrom podium.cli.main import main\nmain(sys.argv[1:])\n"
        "heavy = {'pydantic_ai', 'openai', 'anthropic', 'jinja2', 'podium.api'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program, "models"],
        cwd=podium.folder,
        capture_output=True,
        check=False,
        env={**podium.env, "OPENAI_API_KEY": OPENAI},
    )
    assert completed.returncode == 0, completed.stderr.decode()


# ── one small call ──


async def test_a_test_shows_latency_mode_tokens_cost_and_reply(podium: Shell) -> None:
    async with serving(REPLY) as wire:
        output = await on(podium, openai(wire), "models", "test", "fast")
        expected = [
            "✓ answered",
            "openai:gpt-6-luna",
            "latency",
            "native",
            "100 in, 10 out",
            "$0.0000",
            '"sum":42',
        ]
        assert [part for part in expected if part not in output.out] == []
        assert len(wire.requests) == 1
    assert podium("runs", "--json").json == {"runs": []}


async def test_a_test_as_json(podium: Shell) -> None:
    async with serving(Refuse(500), REPLY) as wire:
        output = await on(podium, anthropic(wire), "models", "test", "anthropic:claude-haiku-5-5", "--json")
    data = output.json
    assert data["ok"]
    assert data["model"] == data["asked"] == "anthropic:claude-haiku-5-5"
    assert data["attempts"] == data["usage"]["calls"] == 2
    assert data["mode"]
    assert data["latency_ms"] > 0
    assert data["usage"]["cost_usd"] == pytest.approx((100 * 0.1 + 10 * 0.5) / 1_000_000)
    assert data["reply"] == {"sum": 42, "sentence": "Here you are."}


@pytest.mark.parametrize(
    ("answer", "calls", "message"),
    [
        (Refuse(401, "bad key"), 1, "OPENAI_API_KEY"),
        (Refuse(404, "no such model"), 1, "podium models openai"),
        (Refuse(503), 3, "try later"),
        (Say("no data here"), 3, "another model"),
    ],
)
async def test_a_failed_test_is_one_sentence_with_a_hint(
    podium: Shell, answer: Refuse | Say, calls: int, message: str
) -> None:
    async with serving(answer) as wire:
        output = await on(podium, openai(wire), "models", "test", "openai:gpt-6-luna", code=1)
        assert len(wire.requests) == calls
    lines = output.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["Error", "Hint"]
    assert message in lines[1]
    assert OPENAI not in output.err


async def test_a_failed_test_as_json_is_one_object(podium: Shell) -> None:
    async with serving(Refuse(401, f"the key {OPENAI} is wrong")) as wire:
        output = await on(podium, openai(wire), "models", "test", "openai:gpt-6-luna", "--json", code=1)
    assert not output.json["ok"]
    assert "OPENAI_API_KEY" in output.json["hint"]
    assert OPENAI not in output.out


async def test_the_next_model_of_a_profile_is_asked_as_in_a_run(podium: Shell) -> None:
    async with serving(Refuse(400), REPLY) as wire:
        names = {"PODIUM_PROFILE_FAST": "openai:gpt-4o,openai:gpt-6-luna"}
        output = await on(podium, openai(wire) | names, "models", "test", "fast", "--json")
    assert output.json["model"] == "openai:gpt-6-luna"
    assert output.json["fell_back_from"] == ["openai:gpt-4o"]


async def test_a_model_of_unknown_price_can_be_tested_under_a_ceiling_of_money(podium: Shell) -> None:
    async with serving(REPLY) as wire:
        name = f"openai-compatible:mine@{wire.url}/v1"
        output = await on(podium, {"PODIUM_MAX_USD": "1"}, "models", "test", name)
    assert "price unknown" in output.out


async def test_a_test_that_hangs_can_be_interrupted(podium: Shell) -> None:
    async with serving(Hang()) as wire:
        asking = podium.start("models", "test", "fast", **openai(wire))
        await asyncio.wait_for(wire.asked.wait(), 60)
        asking.send_signal(signal.SIGINT)
        _, err = await asyncio.to_thread(asking.communicate, timeout=60)
        assert len(wire.requests) == 1
    assert (asking.returncode, err) == (130, b"")


def test_offline_models_can_be_tested_too(podium: Shell) -> None:
    output = podium("models", "test", "balanced")
    assert "made up" in output.out
    assert "free" in output.out
    assert "did not fit after 2 repairs" in podium("models", "test", f"python:{FLOWS}:reply", code=1).err


# ── what a run takes by itself ──


async def test_a_key_in_the_environment_chooses_the_models_and_the_run_says_so(podium: Shell) -> None:
    async with serving() as wire:
        output = await on(podium, openai(wire), "run", f"{FLOWS}:chain", "rain")
        assert {seen.body["model"] for seen in wire.requests} == {"gpt-6.1-terra"}
    assert "openai:gpt-6.1-terra  (chosen because OPENAI_API_KEY is set)" in output.out
    shown = podium("show", "--json").json
    assert shown["model"] == "openai:gpt-6.1-terra"
    assert not shown["rehearsal"]


async def test_a_run_keeps_its_models_when_the_environment_changes(podium: Shell) -> None:
    async with serving(Refuse(400)) as first, serving() as other:
        failed = await on(podium, anthropic(first), "run", f"{FLOWS}:chain", "rain", "--json", code=1)
        run_id = failed.json["run_id"]
        assert failed.json["model"] == "anthropic:claude-sonnet-5-5"
        without = await on(podium, openai(other), "resume", run_id, code=2)
        assert "ANTHROPIC_API_KEY" in without.err
        first.answer_with(Say())
        output = await on(podium, anthropic(first) | openai(other), "resume", run_id, "--json")
        assert output.json["model"] == "anthropic:claude-sonnet-5-5"
        assert other.requests == []


def test_a_run_that_began_as_a_rehearsal_stays_one(podium: Shell) -> None:
    run_id = podium.run("chain", "rain", "--max-calls", "1", code=4)["run_id"]
    result = podium("resume", run_id, "--max-calls", "9", "--json", OPENAI_API_KEY=OPENAI).json
    assert result["model"] == "rehearsal"
    assert result["rehearsal"]


def test_offline_is_one_flag_away(podium: Shell) -> None:
    result = podium.run("chain", "rain", "--model", "rehearsal", OPENAI_API_KEY=OPENAI)
    assert result["model"] == "rehearsal"


def test_the_demo_is_a_rehearsal_whatever_keys_are_set() -> None:
    completed = subprocess.run(
        ["make", "--dry-run", "demo"], cwd=FLOWS.parents[3], capture_output=True, text=True, check=True
    )
    lines = [line for line in completed.stdout.splitlines() if "podium run " in line]
    assert len(lines) == 2, "the tree and the studio"
    assert all(line.endswith("--model rehearsal") for line in lines)


def test_doctor_shows_keys_extras_and_profiles_and_that_nobody_was_asked(podium: Shell) -> None:
    output = podium("doctor", "--json", OPENAI_API_KEY=OPENAI, PODIUM_PROFILE_FAST="rehearsal")
    checks = {check["name"]: check for check in output.json["checks"]}
    assert "openai" in checks["extras"]["told"]
    assert "fast rehearsal, balanced openai:gpt-6.1-terra" in checks["models"]["told"]
    assert "OPENAI_API_KEY" in checks["models"]["told"]
    assert "no call was made" in checks["models"]["fix"]
    assert OPENAI not in output.out


def test_doctor_names_the_extra_of_a_key_that_is_of_no_use(podium: Shell) -> None:
    program = "import sys; sys.modules['groq'] = None; from podium.cli.main import main; main(['doctor'])"
    completed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=podium.folder,
        capture_output=True,
        text=True,
        check=False,
        env={**podium.env, "GROQ_API_KEY": "gsk-planted-key"},
    )
    assert "without its client: GROQ_API_KEY" in completed.stdout
    assert "pip install 'podium[groq]'" in completed.stdout
    assert "balanced rehearsal" in completed.stdout
