"""Which findings of a program close the code gate, and functions that only know their tests' answers."""

from __future__ import annotations

import pytest

from podium.workflows.build.answer_checks import hard_coded_answers
from podium.workflows.build.policy import closes_the_gate, is_shown, secrets_in


@pytest.mark.parametrize(
    ("kind", "severity", "closes"),
    [
        ("no_tests", "major", True),
        ("asserts_nothing", "major", True),
        ("tests_deleted", "critical", True),
        ("tests_weakened", "critical", True),
        ("tests_weakened", "major", False),
        ("tests_skipped", "major", True),
        ("outside_step", "major", True),
        ("outside_step", "minor", False),
        ("hard_coded", "major", False),
        ("test_setup_changed", "critical", True),
        ("test_setup_changed", "major", False),
    ],
)
def test_which_findings_close_the_gate_and_which_are_only_told(
    kind: str, severity: str, closes: bool
) -> None:
    assert closes_the_gate(kind, severity) is closes
    assert is_shown(kind, severity) is (not closes and (kind, severity) != ("outside_step", "minor"))


def test_keys_are_critical_by_rule_and_words_about_keys_are_not() -> None:
    secrets = secrets_in(
        {"a.py": "x = 'AKIA" + "ABCDEFGHIJKLMNOP'", "b.md": "Put your private key into a vault."}
    )
    assert secrets == ["an access key of a cloud in a.py"]


KEYS = {
    "a private key": "-----BEGIN EC PRIVATE " + "KEY-----",
    "an access key of a cloud": "AKIA" + "ABCDEFGHIJKLMNOP",
    "an access token of a code host": "ghp_" + "a1" * 18,
    "a key of a model provider": "sk-ant-" + "a1" * 20,
}


@pytest.mark.parametrize("kind", KEYS)
def test_every_kind_of_key_is_known_and_one_that_was_there_before_is_not_held_against_a_change(
    kind: str,
) -> None:
    text = f"KEY = '{KEYS[kind]}'\n"
    assert secrets_in({"a.py": text}) == [f"{kind} in a.py"]
    assert secrets_in({"a.py": f"{text}x = 1\n"}, {"a.py": text}) == []
    assert secrets_in({"a.py": text}, {"b.py": text}) == [f"{kind} in a.py"]


TABLE = "def f(x):\n" + "".join(f"    if x == {n}:\n        return {n * n}\n" for n in (1, 2, 3))
TESTS = {"test_a.py": "def test_f():\n    assert f(2) == 4\n    assert f(0) == 1\n    assert not odd(2)\n"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return 4\n",
        "def f(x):\n    '''Doc.'''\n    if x == 2:\n        return 4\n    return 1\n",
        "def f(x):\n    return 4 if x == 2 else 1\n",
        "class A:\n    def f(self, x):\n        return 4\n",
        "def odd(x):\n    return False\n",
    ],
)
def test_a_function_that_does_nothing_but_answer_its_tests_is_found(source: str) -> None:
    assert len(hard_coded_answers({"a.py": source}, TESTS)) == 1


def test_a_function_that_was_there_before_is_not_held_against_a_change() -> None:
    stub = "def f(x):\n    return 4\n"
    after = {"a.py": f"{stub}\n\ndef g(x):\n    return x\n"}
    assert hard_coded_answers(after, TESTS, {"a.py": stub}) == []
    assert len(hard_coded_answers(after, TESTS, {"a.py": "def f(x):\n    return x * 2\n"})) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    if x == 0:\n        return 1\n    return x * f(x - 1)\n",
        "def f(x):\n    return x * 2\n",
        "def f(x):\n    if x > 1:\n        return 4\n    return 1\n",
        TABLE,
        "def f():\n    return 4\n",
        "def g(x):\n    return 4\n",
        "def f(x:\n    return 4\n",
        "def f(x):\n    return 'unrelated'\n",
    ],
)
def test_what_may_well_be_meant_is_left_alone(source: str) -> None:
    assert hard_coded_answers({"a.py": source}, TESTS) == []
