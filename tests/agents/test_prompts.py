"""Prompts are strict: nothing is silently empty, and every change shows in the hash."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pydantic
import pytest

import podium
from podium.agents.prompts import Prompts, listed, template_of
from podium.errors import UsageError
from podium.stores import open_store


class Grade(msgspec.Struct):
    score: int
    notes: list[str]


class Person(pydantic.BaseModel):
    name: str


def load(folder: Path, **files: str) -> Prompts:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return Prompts.load(folder)


def test_one_file_is_one_task(tmp_path: Path) -> None:
    prompts = load(tmp_path, grade="Grade: {{ text }}\n", draft="Draft.", _style="Be brief.")
    (tmp_path / "notes.txt").write_text("not a prompt")
    assert list(prompts) == ["draft", "grade"]
    assert "grade" in prompts
    assert "_style" not in prompts
    assert prompts["grade"].name == "grade.md"
    assert prompts["grade"].render({"text": "ä <b> & {{ no }}"}) == "Grade: ä <b> & {{ no }}"


def test_a_missing_variable_is_an_error_that_names_template_and_variable(tmp_path: Path) -> None:
    prompts = load(tmp_path, grade="Grade {{ text }} by {{ rule.name }}")
    with pytest.raises(UsageError, match=r"grade\.md cannot be rendered: 'text' is undefined") as caught:
        prompts["grade"].render({"rule": {"name": "x"}, "other": 1})
    assert "other, rule" in caught.value.hint
    with pytest.raises(UsageError, match=r"grade\.md .* no attribute 'name'"):
        prompts["grade"].render({"text": "t", "rule": {}})


@pytest.mark.parametrize(
    "use",
    [
        "{% if gone %}x{% endif %}",
        "{% for a in gone %}x{% endfor %}",
        "{{ gone ~ 'x' }}",
        "{{ gone | json }}",
    ],
)
def test_every_use_of_a_missing_variable_is_an_error(use: str) -> None:
    with pytest.raises(UsageError, match="'gone' is undefined"):
        template_of(use, "inline").render({})


def test_a_template_may_ask_whether_a_variable_was_given() -> None:
    template = template_of("{% if notes is defined %}{{ notes }}{% else %}none{% endif %}", "inline")
    assert template.render({}) == "none"
    assert template.render({"notes": "some"}) == "some"


def test_a_mistake_in_a_template_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"grade\.md has a mistake in line 2"):
        load(tmp_path, grade="fine\n{% if %}")


def test_a_missing_folder_and_a_missing_task_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder of prompts"):
        Prompts.load(tmp_path / "gone")
    prompts = load(tmp_path, grade="x", draft="y")
    with pytest.raises(UsageError, match=r"There is no prompt grad\.md") as caught:
        prompts["grad"]
    assert caught.value.hint == "Did you mean grade?"
    with pytest.raises(UsageError) as caught:
        prompts["zzz"]
    assert "draft, grade" in caught.value.hint


def test_data_is_written_as_json_and_parts_of_it_can_be_reached() -> None:
    grade, person = Grade(3, ["a"]), Person(name="Ada")
    template = template_of(
        "{{ grade }}|{{ grade.score }}|{{ person.name }}|{{ person }}|{{ items | json }}", "inline"
    )
    assert template.render({"grade": grade, "person": person, "items": [1]}) == (
        '{\n  "score": 3,\n  "notes": [\n    "a"\n  ]\n}|3|Ada|{\n  "name": "Ada"\n}|[\n  1\n]'
    )


def test_blocks_leave_no_empty_lines() -> None:
    template = template_of("A\n{% for x in xs %}\n- {{ x }}\n{% endfor %}\nB\n", "inline")
    assert template.render({"xs": [1, 2]}) == "A\n- 1\n- 2\nB"


def test_a_template_cannot_reach_into_python() -> None:
    with pytest.raises(UsageError, match=r"unsafe|undefined"):
        template_of("{{ ''.__class__.__mro__ }}", "inline").render({})


def test_the_hash_covers_the_text_and_what_it_includes(tmp_path: Path) -> None:
    first = load(tmp_path, grade="{% include '_style.md' %} Grade.", draft="Draft.", _style="Be brief.")
    assert first["grade"].render({}) == "Be brief. Grade."
    second = load(tmp_path, _style="Be kind.")
    assert second["grade"].hash != first["grade"].hash
    assert second["draft"].hash == first["draft"].hash
    third = load(tmp_path, draft="Draft!")
    assert third["draft"].hash != second["draft"].hash


def test_an_include_that_is_computed_counts_the_whole_folder(tmp_path: Path) -> None:
    first = load(tmp_path, grade="{% include name %}", _a="A", _b="B")
    second = load(tmp_path, _b="C")
    assert first["grade"].render({"name": "_a.md"}) == "A"
    assert second["grade"].hash != first["grade"].hash


def test_without_a_template_variables_are_listed() -> None:
    assert listed({"request": " a storm ", "past_grades": [1]}) == (
        "## Request\n\na storm\n\n## Past grades\n\n[\n  1\n]"
    )


@pytest.mark.parametrize("template", ["Grade {{ missing }}", "Grade {{ text.a.b }}", "Grade {{ text + 1 }}"])
async def test_a_prompt_that_cannot_be_rendered_ends_the_run_at_once(tmp_path: Path, template: str) -> None:
    attempts = 0

    @podium.workflow
    async def stubborn(run: podium.Run, request: str) -> str:
        nonlocal attempts
        while attempts < 4:
            attempts += 1
            try:
                return await run.ask(podium.Agent("Nora"), "grade", prompt=template, text="a text")
            except podium.StepFailedError:
                continue
        return "gave up"

    async with open_store(str(tmp_path / "store.sqlite")) as store:
        result = await podium.run(stubborn, "go", store=store, model="rehearsal")
        assert (result.status, attempts) == ("failed", 1)
        assert "The prompt grade cannot be rendered" in result.error
        template = "Grade {{ text }}"
        resumed = await podium.resume(result.run_id, workflow=stubborn, store=store)
        assert (await resumed.result()).status == "completed"
        assert attempts == 2


async def test_the_hint_of_such_a_run_names_the_variables(tmp_path: Path) -> None:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Nora"), "grade", prompt="Grade {{ missing }}", text="a text")

    async with open_store(str(tmp_path / "store.sqlite")) as store:
        result = await podium.run(flow, "go", store=store, model="rehearsal")
    assert "Variables that were passed: text" in result.hint
