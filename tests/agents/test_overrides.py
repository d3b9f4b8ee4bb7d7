"""Prompts of a project or user: which count, and every mistake in one with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.agents.overrides import Overrides, PromptSet, estimated_tokens, fixed_characters
from podium.agents.prompts import Prompts
from podium.errors import UsageError

SHIPPED = {
    "plan.md": '{% include "_whole.md" %}\n{% if notes %}\nNotes: {{ notes }}\n{% endif %}\nPlan it.\n',
    "grade.md": "Grade {{ text }}.\n",
    "_whole.md": "The whole: {{ request }}\n",
}


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return write(tmp_path / "shipped", **{name.removesuffix(".md"): text for name, text in SHIPPED.items()})


def own(tmp_path: Path, shipped: Path, **files: str) -> PromptSet:
    write(tmp_path / "own" / "team", **files)
    return PromptSet("team", shipped, [tmp_path / "own"])


def refused(prompts: PromptSet) -> UsageError:
    with pytest.raises(UsageError) as caught:
        Overrides([prompts])
    return caught.value


def test_without_files_of_ones_own_everything_is_shipped(tmp_path: Path, shipped: Path) -> None:
    prompts = PromptSet("team", shipped, [tmp_path / "gone"])
    assert prompts.tasks == ["grade", "plan"]
    assert prompts.overridden() == {}
    assert Overrides([prompts]).hashes == {}
    assert prompts.shipped_files("plan") == ["plan.md", "_whole.md"]


def test_a_file_replaces_the_shipped_prompt_of_its_name(tmp_path: Path, shipped: Path) -> None:
    loaded = Prompts.load(shipped)
    overrides = Overrides([own(tmp_path, shipped, grade="Grade {{ text }} strictly.")])
    assert overrides.template(loaded["grade"]).render({"text": "x"}) == "Grade x strictly."
    assert overrides.template(loaded["plan"]) is loaded["plan"]
    assert list(overrides.hashes) == ["team/grade"]
    assert overrides.hashes["team/grade"] != loaded["grade"].hash


def test_a_part_replaces_it_in_every_prompt_that_includes_it(tmp_path: Path, shipped: Path) -> None:
    prompts = own(tmp_path, shipped, _whole="All of it: {{ request }}\n")
    assert list(prompts.overridden()) == ["plan"]
    assert prompts.current["plan"].render({"request": "r", "notes": ""}) == "All of it: r\n\nPlan it."
    assert [file.name for file in prompts.own_files("plan")] == ["_whole.md"]


def test_a_copy_that_was_not_changed_overrides_nothing(tmp_path: Path, shipped: Path) -> None:
    prompts = own(tmp_path, shipped, plan=SHIPPED["plan.md"], _whole=SHIPPED["_whole.md"])
    assert prompts.overridden() == {}
    assert prompts.current["plan"].hash == prompts.shipped["plan"].hash


def test_the_project_is_stronger_than_the_user_file_by_file(tmp_path: Path, shipped: Path) -> None:
    write(tmp_path / "project" / "team", grade="Project {{ text }}")
    write(tmp_path / "user" / "team", grade="User {{ text }}", plan="User {{ request }}")
    prompts = PromptSet("team", shipped, [tmp_path / "project", tmp_path / "user"])
    assert prompts.current["grade"].render({"text": "x"}) == "Project x"
    assert prompts.current["plan"].render({"request": "x"}) == "User x"


def test_an_unknown_variable_is_reported_with_file_and_line(tmp_path: Path, shipped: Path) -> None:
    error = refused(own(tmp_path, shipped, plan="Fine {{ request }}\n\n{{ note }}\n"))
    file = tmp_path / "own" / "team" / "plan.md"
    assert error.message == f"The prompt {file} uses the unknown variable note in line 3."
    assert error.hint == "Did you mean notes? team/plan is given: notes, request."


def test_an_unknown_variable_in_a_part_is_reported_where_the_part_is(tmp_path: Path, shipped: Path) -> None:
    error = refused(own(tmp_path, shipped, plan='{% include "_new.md" %}\n', _new="\n{{ budget }}"))
    assert error.message.endswith("_new.md uses the unknown variable budget in line 2.")


def test_what_a_prompt_declares_itself_is_no_unknown_variable(tmp_path: Path, shipped: Path) -> None:
    text = (
        "{% set x = request %}{% for n in notes %}{{ loop.index }} {{ n }} {{ x }}{% endfor %}{{ range(2) }}"
    )
    assert list(own(tmp_path, shipped, plan=text).overridden()) == ["plan"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fine\n{% if %}", "plan.md has a mistake in line 2: "),
        ("{{ request | shout }}", "plan.md has a mistake in line 1: No filter named 'shout'."),
        ("a\nb\n{% for x in notes %}", "plan.md has a mistake in line 3: Unexpected end of template"),
        ('a\n{% include "_gone.md" %}', "plan.md includes _gone.md in line 2, which is not there."),
    ],
)
def test_syntax_is_reported_with_file_and_line(tmp_path: Path, shipped: Path, text: str, said: str) -> None:
    assert said in refused(own(tmp_path, shipped, plan=text)).message


def test_a_misspelt_file_is_refused_rather_than_ignored(tmp_path: Path, shipped: Path) -> None:
    error = refused(own(tmp_path, shipped, plam="x"))
    assert error.message.endswith("plam.md replaces no prompt: team has none of that name.")
    assert "Did you mean plan.md?" in error.hint


def test_a_file_that_is_no_text_is_refused(tmp_path: Path, shipped: Path) -> None:
    prompts = own(tmp_path, shipped)
    (tmp_path / "own" / "team" / "plan.md").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in refused(PromptSet("team", shipped, [tmp_path / "own"])).message
    assert prompts.own == {}


def test_a_prompt_of_ones_own_cannot_reach_into_python(tmp_path: Path, shipped: Path) -> None:
    prompts = own(tmp_path, shipped, grade="{{ text.__class__.__mro__ }}")
    with pytest.raises(UsageError, match=r"unsafe|undefined"):
        prompts.current["grade"].render({"text": "x"})


def test_the_size_is_that_of_the_fixed_text() -> None:
    assert fixed_characters("Plan {{ request }}.{% if notes %}Notes{% endif %}") == len("Plan .Notes")
    assert estimated_tokens(9) == 3
