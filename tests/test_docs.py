"""Everything that the documentation shows is executed: its files, its commands, and what they print.

A block of Python or YAML whose first line is a comment with a file name becomes that file. Lines of a console
block that begin with `$` are commands; what follows must match their output, where `...` stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from podium.settings import Settings
from tests import warm

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str, language: str) -> list[str]:
    return [
        body
        for block_language, body in BLOCK.findall((ROOT / page).read_text())
        if block_language == language
    ]


def commands(page: str) -> list[tuple[str, str]]:
    """Commands and the output that the page promises for each."""
    lines: list[tuple[str, str]] = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            lines.append((command, output))
    return lines


def write_files(page: str, folder: Path) -> list[str]:
    """Write the files that a page shows; the names of its Python files."""
    names: list[str] = []
    for body in (*blocks(page, "python"), *blocks(page, "yaml")):
        first = body.splitlines()[0]
        if match := re.fullmatch(r"# (\w+\.(?:py|yaml))", first):
            (folder / match[1]).write_text(body)
            names.append(match[1])
    return [name for name in names if name.endswith(".py")]


@pytest.mark.parametrize("page", PAGES)
def test_the_settings_of_a_page_are_valid(page: str, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        (tmp_path / "podium.toml").write_text(block)
        assert Settings.load(tmp_path, {"PODIUM_CONFIG": os.devnull}).sources, block


def end_servers(folder: Path) -> None:
    """A page that starts a server ends it, unless something went wrong in between."""
    for file in folder.glob("*.pid"):
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def program(command: str) -> list[str] | None:
    """The words of a command that needs no shell: a forked process is enough for it."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    first, *words = list(lexer)
    if set("$`*~\\") & set(command) or any(set(word) <= set("();<>|&") for word in words):
        return None
    if first == "podium":
        return [sys.executable, "-m", "podium", *words]
    return [sys.executable, *words] if first == "python" and words[0].endswith(".py") else None


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_print_what_it_says(
    page: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    write_files(page, tmp_path)
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PODIUM_STORE": str(tmp_path / "podium.sqlite"),
        "COLUMNS": "120",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        # A pytest of a page would otherwise delete the folders of earlier test runs, which can take minutes.
        "PYTEST_DEBUG_TEMPROOT": str(tmp_path),
    }
    if "DATABASE_URL" in (ROOT / page).read_text():
        env["DATABASE_URL"] = request.getfixturevalue("pg_server").new_database()
    checker = doctest.OutputChecker()
    request.addfinalizer(lambda: end_servers(tmp_path))
    shown = [pair for pair in commands(page) if not pair[0].startswith("make ")]
    assert shown, "a page without a single command"
    for command, expected in shown:
        words = program(command) if page != "README.md" else None
        completed = warm.run(words or ["bash", "-c", command], cwd=tmp_path, env=env, text=True, timeout=60)
        assert "Traceback" not in completed.stderr, completed.stderr
        matches = checker.check_output(expected, completed.stdout, OPTIONS) if expected.strip() else True
        assert matches, (
            f"{page}: $ {command}\nexpected:\n{expected}\ngot:\n{completed.stdout}\n{completed.stderr}"
        )


@pytest.mark.parametrize(
    "page", [page for page in PAGES[1:] if any("@podium.workflow" in body for body in blocks(page, "python"))]
)
def test_the_workflows_of_a_page_run(page: str, tmp_path: Path) -> None:
    names = [
        name for name in write_files(page, tmp_path) if "@podium.workflow" in (tmp_path / name).read_text()
    ]
    assert names
    for name in names:
        words = ["run", name, "a quiet harbour", "--model", "rehearsal", "--json"]
        completed = warm.run(
            [sys.executable, "-m", "podium", *words],
            cwd=tmp_path,
            env={**os.environ, "PODIUM_STORE": str(tmp_path / "podium.sqlite"), "HOME": str(tmp_path)},
            text=True,
            timeout=60,
        )
        assert completed.returncode in {0, 5}, f"{name}: {completed.stdout}\n{completed.stderr}"
