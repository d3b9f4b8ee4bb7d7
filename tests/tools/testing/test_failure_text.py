"""What models see of a failing test: the error, then the project's own code."""

from __future__ import annotations

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.execution import run_tests
from podium.tools.testing.failure_text import shortened
from podium.tools.testing.report import Failure
from podium.workflows.build.workspace import shown_to_models
from tests.tools.testing.test_running import user, with_files
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.users import UserRepository

__all__ = ["user"]

FILES = {
    "conftest.py": "",
    "config.py": (
        "import json\n\n\ndef parse(text):\n    return json.loads(text)\n\n\n"
        "def load(text):\n    return parse(text)\n"
    ),
    "tests/test_config.py": (
        "from config import load\n\n\ndef test_fine():\n    assert load('1') == 1\n\n\n"
        "def test_broken():\n    load('{')\n\n\ndef test_wrong():\n    print('printed')\n"
        "    assert load('[1]') == [2], 'not two'\n"
    ),
}


async def test_failures_are_short(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    workspace = await with_files(opened, user, FILES)
    report = await run_tests(workspace, sandbox)
    broken, wrong = map(shortened, report.failures)
    assert broken.startswith("json.decoder.JSONDecodeError: Expecting property name")
    places = [broken.index(place) for place in ("config.py:5: ", "config.py:9: ", "tests/test_config.py:9: ")]
    assert places == sorted(places), "the innermost frame first"
    assert "raw_decode" not in broken
    assert "`pytest tests/test_config.py::test_broken --tb=long` shows all" in broken
    assert wrong.startswith("AssertionError: not two\nassert [1] == [2]\n")
    assert wrong.endswith(
        "def test_wrong():\n        print('printed')\n>       assert load('[1]') == [2], 'not two'\n"
        "tests/test_config.py:14: AssertionError"
    )
    shown = shown_to_models(report)
    assert shown.count("not two") == 3, "in the heading, the error and the code"
    for noise in ("test session starts", "PASSED", "collected", "short test summary", "test_fine"):
        assert noise not in shown


def test_other_texts_stay_as_they_are() -> None:
    assert (
        shortened(Failure("a", "broken", output="Error: x\n    at a.js:3:1")) == "Error: x\n    at a.js:3:1"
    )
