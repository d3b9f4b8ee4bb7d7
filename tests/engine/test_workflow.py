"""Workflows are found by name or file, and their options are checked before anything starts."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.engine.workflow import Estimate, Prepared, load_workflow
from podium.errors import UsageError, WorkflowLoadError
from podium.stores import open_store

TWO = """
import podium

@podium.workflow
async def first(run, request): return 1

@podium.workflow(name="zweite", closing=0.1, gates=["plan"])
async def second(run, request, *, size: int = 3, name: str = "x"): return 2

def third(): pass
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "flows.py"
    path.write_text(TWO)
    return path


def test_a_workflow_in_a_file(file: Path) -> None:
    workflow = load_workflow(f"{file}:second")
    assert (workflow.name, workflow.closing, workflow.gates) == ("zweite", 0.1, ("plan",))
    assert workflow.ref == f"{file}:second", "a later process finds it by file and function"
    assert [(o.name, o.type, o.default) for o in workflow.options] == [("size", int, 3), ("name", str, "x")]


@pytest.mark.parametrize(
    ("ref", "says", "hint"),
    [
        ("{file}", "holds 2 workflows", "flows.py:first"),
        ("{file}:third", "holds no workflow third", "flows.py:second"),
        ("{file}.missing.py:x", "There is no file", "FILE.py:name"),
        ("nothing-known", "There is no workflow nothing-known", "podium run FILE.py:name"),
    ],
)
def test_what_cannot_be_found_is_reported(file: Path, ref: str, says: str, hint: str) -> None:
    with pytest.raises(WorkflowLoadError) as refused:
        load_workflow(ref.format(file=file))
    assert says in str(refused.value)
    assert hint in refused.value.hint


@pytest.mark.parametrize("body", ["import nothing_like_this", "def broken(:", "1/0"])
def test_a_file_that_does_not_import_is_one_sentence(tmp_path: Path, body: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(body)
    with pytest.raises(WorkflowLoadError, match=r"cannot be imported: \w+Error"):
        load_workflow(f"{path}:flow")


def test_options_are_converted_and_mistakes_named(file: Path) -> None:
    workflow = load_workflow(f"{file}:second")
    assert workflow.check_options({"size": "7"}) == {"size": 7}
    with pytest.raises(UsageError, match="no option sice") as refused:
        workflow.check_options({"sice": 1})
    assert refused.value.hint == "Did you mean size?"
    with pytest.raises(UsageError, match="cannot be 'many'"):
        workflow.check_options({"size": "many"})


def test_a_workflow_must_be_async() -> None:
    def plain(run: podium.Run, request: str) -> int:
        return 1

    with pytest.raises(WorkflowLoadError, match="async def"):
        podium.workflow(plain)  # pyright: ignore[reportArgumentType, reportCallIssue]


async def test_nothing_is_stored_when_the_start_is_refused(store: Store, file: Path) -> None:
    for kwargs in (
        {"options": {"sice": 1}},
        {"approve": ["result"]},
        {"model": "nobody:knows"},
    ):
        with pytest.raises(UsageError):
            await podium.run(f"{file}:second", "go", store=store, **kwargs)  # pyright: ignore[reportArgumentType]
    assert await store.list_runs() == []


def test_an_edited_file_is_read_again_even_within_the_same_second(tmp_path: Path) -> None:
    path = tmp_path / "flow.py"
    seen: list[str | None] = []
    for text in ("one", "two", "six"):
        path.write_text(
            f'import podium\n\n@podium.workflow\nasync def flow(run, request):\n    """{text}"""\n'
        )
        seen.append(load_workflow(str(path)).__doc__)
    assert seen == ["one", "two", "six"]


def test_a_workflow_and_a_model_in_one_file_share_its_state(tmp_path: Path) -> None:
    path = tmp_path / "both.py"
    path.write_text("import podium\nSEEN = []\n@podium.workflow\nasync def flow(run, request): return SEEN\n")
    first, second = load_workflow(str(path)), load_workflow(str(path))
    assert first.fn.__globals__["SEEN"] is second.fn.__globals__["SEEN"]


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


async def test_options_reach_the_function_in_their_declared_types(store: Store) -> None:
    seen: list[Any] = []

    async def flow(run: podium.Run, request: str, *, mode: Mode = Mode.FAST, folder: Path = Path()) -> None:
        seen.append((mode, folder))

    workflow = podium.Workflow(flow, "flow")
    options = {"mode": "slow", "folder": "out"}
    result = await podium.run(workflow, "go", store=store, options=options)
    await podium.replay(result.run_id, workflow=workflow, store=store)
    assert seen == [(Mode.SLOW, Path("out"))] * 2


def test_a_plain_function_marked_as_a_workflow_is_one_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("import podium\n@podium.workflow\ndef flow(run, request): return 1\n")
    with pytest.raises(WorkflowLoadError) as refused:
        load_workflow(str(path))
    assert str(refused.value) == "The workflow flow is not an `async def` function."


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": {"calls": 3}}, "The budget is not a podium.Budget"),
        ({"options": [1]}, "The options are not a mapping"),
        ({"request": None}, "The request is empty"),
        ({"approve": "plan"}, "has no gate plan"),
        ({"concurrency": -1}, "The concurrency must be a whole number from 0"),
        ({"concurrency": "many"}, "The concurrency must be a whole number from 0"),
        ({"concurrency": 2.5}, "The concurrency must be a whole number from 0"),
    ],
)
async def test_a_program_that_starts_a_run_wrongly_is_reported_so(
    store: Store, wrong: dict[str, Any], message: str
) -> None:
    async def plain(run: podium.Run, request: str) -> str:
        return request

    given: dict[str, Any] = {"request": "go", **wrong}
    with pytest.raises(UsageError, match=message):
        await podium.run(podium.Workflow(plain, "plain"), given.pop("request"), store=store, **given)
    assert await store.list_runs() == []


async def test_a_store_may_be_a_path_and_nothing_that_is_none(tmp_path: Path) -> None:
    async def plain(run: podium.Run, request: str) -> str:
        return request

    workflow = podium.Workflow(plain, "plain")
    result = await podium.run(workflow, "go", store=tmp_path / "here.sqlite")
    async with open_store(tmp_path / "here.sqlite") as store:
        assert (await store.get(result.run_id)).status == "completed"
    wrong: Any = 42
    with pytest.raises(UsageError, match="neither a path, nor a URL, nor a store"):
        await podium.run(workflow, "go", store=wrong)


# ── what a workflow may settle before it starts ──


async def capped(run: podium.Run, request: str = "", *, max_usd: float | None = None, about: str = "") -> Any:
    return [request, max_usd, run.budget.usd]


def settle(request: Any, options: dict[str, Any]) -> Prepared:
    return Prepared(request or options["about"], {"max_usd": 3.0, **options})


CAPPED = podium.Workflow(capped, "capped", prepare=settle)


async def test_a_ceiling_that_a_workflow_settles_on_is_the_runs(store: Store) -> None:
    assert (await podium.run(CAPPED, "x", store=store)).output == ["x", 3.0, 3.0]
    given = await podium.run(CAPPED, "x", store=store, budget=podium.Budget(usd=2.0))
    assert given.output == ["x", 2.0, 2.0], "a budget of the caller is told to the workflow"
    both = await podium.run(CAPPED, "x", store=store, budget=podium.Budget(usd=2.0), options={"max_usd": 5.0})
    assert both.output == ["x", 5.0, 2.0], "the lower one holds"
    lower = podium.Settings(max_usd=1.0)
    assert (await podium.run(CAPPED, "x", store=store, settings=lower)).output == ["x", 3.0, 1.0]


async def test_a_request_may_come_from_the_options_where_the_function_has_a_default(store: Store) -> None:
    assert not CAPPED.needs_request
    assert (await podium.run(CAPPED, "", store=store, options={"about": "tea"})).output[0] == "tea"
    with pytest.raises(UsageError, match="The request is empty"):
        await podium.run(CAPPED, "", store=store)

    async def strict(run: podium.Run, request: str, *, about: str = "") -> str:
        return request

    with pytest.raises(UsageError, match="The request is empty"):
        await podium.run(podium.Workflow(strict, "strict"), "", store=store, options={"about": "tea"})


def test_only_a_workflow_that_can_show_is_asked_what_a_run_would_take() -> None:
    def take(request: Any, options: dict[str, Any]) -> Estimate:
        return Estimate(data={"usd": options["max_usd"]}, lines=[f"{request}: $3"])

    shown = podium.Workflow(capped, "capped", prepare=settle, estimate=take)
    assert shown.can_estimate
    assert shown.estimate("", {"about": "tea"}) == Estimate(data={"usd": 3.0}, lines=["tea: $3"])
    assert not CAPPED.can_estimate
    with pytest.raises(UsageError, match="cannot tell what a run would take"):
        CAPPED.estimate("x", {})
