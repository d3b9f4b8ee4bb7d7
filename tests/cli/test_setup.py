"""`init`, `doctor`, `completion`, `--help`, `--version`, and what they cost."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import podium as package
from tests.cli.shell import Shell


def test_help_leads_with_three_examples_that_work(podium: Shell) -> None:
    out = podium("--help").out
    examples = [line.strip() for line in out.splitlines() if line.startswith("  podium ")]
    assert len(examples) == 3
    assert out.index(examples[0]) < out.index("Start a workflow")
    for example in examples:
        words = (
            subprocess.run(["sh", "-c", f"printf '%s\\0' {example}"], capture_output=True, check=True)
            .stdout.decode()
            .split("\0")
        )
        podium(*words[1:-1])


def test_every_command_has_help(podium: Shell) -> None:
    for command in (
        "run",
        "runs",
        "show",
        "events",
        "resume",
        "cancel",
        "answer",
        "fork",
        "replay",
        "report",
        "artifacts",
        "doctor",
        "init",
        "completion",
    ):
        assert podium(command, "--help").out.startswith(f"Usage: podium {command}"), command


def test_version(podium: Shell) -> None:
    assert podium("--version").out == f"podium {package.__version__}\n"


def test_no_words_show_the_help(podium: Shell) -> None:
    assert podium().out == podium("--help").out


def test_init_writes_files_that_work_and_overwrites_nothing(podium: Shell) -> None:
    output = podium("init")
    assert "hello.py" in output.out
    podium("run", "hello.py", "Plan", "--voices", "2", "--json")
    (podium.folder / "hello.py").write_text("mine")
    assert "already exist" in podium("init", code=2).err
    assert (podium.folder / "hello.py").read_text() == "mine"
    podium("init", "--force")
    assert (podium.folder / "hello.py").read_text() != "mine"
    assert podium("init", "sub/folder", "--json").json["written"] == [
        "sub/folder/podium.toml",
        "sub/folder/hello.py",
    ]


def test_the_example_can_ask_a_person(podium: Shell) -> None:
    podium("init")
    run_id = podium("run", "hello.py", "Plan", "--review", "--json", code=5).json["run_id"]
    assert podium("answer", run_id, "reject", "--json", code=3).json["stop_reason"] == "rejected"


def test_every_commented_setting_of_init_is_valid(podium: Shell) -> None:
    podium("init")
    file = podium.folder / "podium.toml"
    lines = [line.removeprefix("# ") for line in file.read_text().splitlines() if "=" in line or "[" in line]
    file.write_text("\n".join(line for line in lines if not line[0].isupper() and "PODIUM_" not in line))
    assert "max_usd = 1.00" in file.read_text()
    assert "settings" in podium("doctor").out


def test_doctor_finds_a_healthy_machine(podium: Shell) -> None:
    output = podium("doctor", "--json", OPENAI_API_KEY="sk-very-secret-value")
    checks = {check["name"]: check for check in output.json["checks"]}
    assert output.json["ok"]
    assert {check["state"] for check in checks.values()} <= {"ok", "warn"}
    assert set(checks) == {
        "python",
        "sqlite",
        "settings",
        "store",
        "privacy",
        "disk",
        "lock",
        "keys",
        "extras",
        "models",
        "sandbox",
    }
    assert "wal" in checks["store"]["told"]
    assert "OPENAI_API_KEY" in checks["keys"]["told"]
    assert "sk-very-secret-value" not in output.out
    assert "lock" in podium("doctor").out
    assert not [path for path in podium.folder.iterdir() if path.name.startswith(".podium-doctor")]


def test_doctor_shows_which_sandbox_is_in_force_and_why(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text(
        '[sandbox]\ntier = "bubblewrap"\nbubblewrap = "nowhere/bwrap"\n'
    )
    checks = {check["name"]: check for check in podium("doctor", "--json").json["checks"]}
    assert checks["sandbox"]["state"] == "warn"
    assert "nowhere/bwrap no longer exists" in checks["sandbox"]["told"]
    assert "apt-get install bubblewrap" in checks["sandbox"]["fix"]
    (podium.folder / "podium.toml").write_text('[sandbox]\ntier = "landlock"\n')
    checks = {check["name"]: check for check in podium("doctor", "--json").json["checks"]}
    assert "landlock" in checks["sandbox"]["told"]


def test_doctor_fails_with_a_fix_when_the_store_does_not_open(podium: Shell) -> None:
    (podium.folder / "file").write_text("")
    output = podium("doctor", "--store", "file/podium.sqlite", code=1)
    lines = output.out.splitlines()
    [place] = [number for number, line in enumerate(lines) if "✗ fail  store" in line]
    assert "file" in lines[place]
    assert lines[place + 1].startswith(" " * 20)
    assert lines[place + 1][20] != " "
    assert "lock" not in output.out


def test_doctor_warns_of_a_model_that_cannot_be_opened_and_fails_on_wrong_settings(podium: Shell) -> None:
    (podium.folder / "podium.toml").write_text('model = "nobody"\n')
    assert "! warn" in podium("doctor").out
    (podium.folder / "podium.toml").write_text("max_uds = 1\n")
    assert "max_usd" in podium("doctor", code=1).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_commands_and_flags(podium: Shell, shell: str) -> None:
    script = podium("completion", shell).out
    assert "artifacts" in script
    assert "max-usd" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_bash_script_is_valid_bash(podium: Shell) -> None:
    script = podium("completion", "bash").out
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0


def test_run_ids_are_completed(podium: Shell) -> None:
    run_id = podium.run("say", "hello there")["run_id"]
    assert run_id in podium("__complete", "show", "").out


def test_completion_is_installed_where_the_shell_looks(podium: Shell) -> None:
    podium("completion", "fish", "--install", HOME=str(podium.folder))
    assert (podium.folder / ".config" / "fish" / "completions" / "podium.fish").exists()


@pytest.mark.parametrize("words", [["--help"], ["runs"], ["--version"], ["runs", "--nonsense"]])
def test_quick_commands_import_nothing_heavy(podium: Shell, words: list[str]) -> None:
    program = (
        "import sys\nfrom podium.cli.main import main\nmain(sys.argv[1:])\n"
        "heavy = {'pydantic', 'jinja2', 'nh3', 'markdown_it', 'podium.api'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=podium.folder,
        env=podium.env,
        capture_output=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr.decode()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_files_runs_and_choices(podium: Shell) -> None:
    run_id = podium.run("say", "x")["run_id"]
    (podium.folder / "mine.py").touch()
    (podium.folder / "notes.txt").touch()
    (podium.folder / "podium").write_text(f'#!/bin/sh\nexec {sys.executable} -m podium "$@"\n')
    (podium.folder / "podium").chmod(0o755)
    script = podium("completion", "bash").out
    tried = [("run", "mi"), ("run", "no"), ("show", run_id[:4]), ("runs --status", "ca")]
    assert [_completed(podium, script, *words) for words in tried] == [
        ["mine.py"],
        [],
        [run_id],
        ["cancelled"],
    ]


def _completed(podium: Shell, script: str, before: str, begun: str) -> list[str]:
    """What bash would offer for `podium BEFORE BEGUN`."""
    words = ["podium", *before.split(), begun]
    program = (
        f"{script}\nCOMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}\n"
        f"COMP_LINE='{' '.join(words)}'; COMP_POINT=${{#COMP_LINE}}; _podium podium '{begun}' x\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    env = {**podium.env, "PATH": f"{podium.folder}:{podium.env['PATH']}"}
    completed = subprocess.run(
        ["bash", "-c", program], cwd=podium.folder, env=env, capture_output=True, text=True, check=True
    )
    return [line.strip() for line in completed.stdout.splitlines() if line.strip()]
