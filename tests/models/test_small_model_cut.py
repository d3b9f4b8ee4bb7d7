"""The five workflows with a real small model whose server cuts every reply off at 110 tokens.

Nothing useful can come of most of these runs. What counts is that each ends in an honest state, says what was
cut off and what to do, and counts every call. `make test-small-model` runs this.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.models.short_replies import ShortReplies, short_replies

LIMIT = 110
PATIENCE_S = 900
"""The longest that one run and the reading of it may take, on a busy machine."""
EXIT_CODES = {"completed": (0,), "failed": (1,), "partial": (3, 4)}
CUT = f"cut off after {LIMIT} tokens, before its limit of "
WHAT_TO_DO = "raise that, or use another model"
RUNS = {
    "tree": ("Plan a weekend in Lisbon", "--max-depth", "1", "--max-calls", "10"),
    "council": ("How can a small library attract students?", "--max-calls", "12"),
    "studio": ("A short scene in which two rivals meet on a night train", "--max-calls", "14"),
    "research": (
        "How is green tea made", "--corpus", "corpus", "--min-sources", "2", "--length", "500", "--depth",
        "light", "--time-limit", "600s", "--max-calls", "10",
    ),
    "build": (
        "Fix add in calc.py", "--workspace", "workspace", "--test-command", "python3 -m unittest",
        "--max-iterations", "1", "--max-calls", "10",
    ),
}  # fmt: skip


class Ended:
    """A finished run: what it printed, and everything that can be read of it afterwards."""

    def __init__(self, shell: Shell, workflow: str, model: str) -> None:
        words = ["run", workflow, *RUNS[workflow], "--model", model]
        if "--time-limit" not in words:
            words += ["--time-limit", "300s"]
        process = shell.start(*words)
        out, err = process.communicate()
        self.code = process.returncode
        self.printed = out.decode() + err.decode()
        self.data: dict[str, Any] = shell("show", "last", "--json").json
        self.shown = shell("show", "last").out
        self.markdown = shell("report", "last").out
        self.html = shell("report", "last", "--format", "html").out
        self.report: dict[str, Any] = shell("report", "last", "--json").json

    @property
    def reported(self) -> str:
        """The error and the warnings."""
        return "\n".join([self.data["error"] or "", *self.data["warnings"]])

    @property
    def cut_steps(self) -> list[str]:
        return [step["path"] for step in self.data["steps"] if step["cut"]]

    @property
    def lost_steps(self) -> list[str]:
        """Steps that failed because their replies were cut off."""
        return [step["path"] for step in self.data["steps"] if "cut off" in (step["error"] or "")]


@pytest.fixture
def proxy(small_model: str) -> Iterator[ShortReplies]:
    with short_replies(small_model, LIMIT) as opened:
        yield opened


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A folder with a few sources, and a small git workspace with a mistake in it."""
    corpus, workspace = tmp_path / "corpus", tmp_path / "workspace"
    corpus.mkdir()
    (corpus / "tea.md").write_text("# Tea\n\nGreen tea is dried quickly. Black tea oxidises for hours.\n")
    (corpus / "water.md").write_text("# Water\n\nWater of 70 to 80 degrees keeps green tea sweet.\n")
    workspace.mkdir()
    (workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (workspace / "test_calc.py").write_text(
        "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    )
    author = ("-c", "user.name=Nora", "-c", "user.email=nora@example.org")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "Add calc"]):
        subprocess.run(["git", *command], cwd=workspace, check=True)
    opened = Shell(tmp_path)
    yield opened
    opened.close()


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("workflow", RUNS)
def test_a_workflow_whose_replies_are_cut_off_ends_honestly(
    workflow: str, shell: Shell, proxy: ShortReplies
) -> None:
    ended = Ended(shell, workflow, f"openai-compatible:smollm2@{proxy.url}/v1")
    print(ended.printed)  # shown by `pytest -s`, and when a check fails
    for text in (ended.printed, ended.shown, ended.markdown):
        assert "Traceback" not in text
        assert "this is a bug" not in text
    assert ended.code in EXIT_CODES[ended.data["status"]], ended.data["status"]
    assert proxy.cut(), "the server has cut nothing off"
    check_counts(ended, proxy)
    if ended.cut_steps or ended.lost_steps:
        assert CUT in ended.reported
        assert WHAT_TO_DO in ended.reported
        assert CUT in ended.printed
        assert WHAT_TO_DO in ended.printed
        assert CUT in ended.shown
    check_reports(ended)


def check_counts(ended: Ended, proxy: ShortReplies) -> None:
    """Check that the run counted what the server was asked."""
    usage = ended.data["usage"]
    assert usage["calls"] == proxy.asked
    if len(proxy.answers) == proxy.asked and ended.data["stop_reason"] != "time":
        assert usage["input_tokens"] == sum(answer.input_tokens for answer in proxy.answers)
        assert usage["output_tokens"] == sum(answer.output_tokens for answer in proxy.answers)


def check_reports(ended: Ended) -> None:
    """Check that the reports say on top which texts are not complete."""
    page = ended.html.partition("<body")[2]
    assert page
    assert ended.report["status"] == ended.data["status"]
    assert json.dumps(ended.report["warnings"]) == json.dumps(ended.data["warnings"])
    if not ended.cut_steps:
        assert "Not complete" not in page
        return
    assert "not complete" in ended.report["incomplete"]
    assert 0 < page.index("Not complete") < page.index('aria-label="Result"')
    assert 0 < ended.markdown.index("**Not complete.**") < ended.markdown.index("## ")
