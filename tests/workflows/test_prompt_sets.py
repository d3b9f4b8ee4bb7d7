"""The shipped prompts: below their budgets, and beginning with what stays the same."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

import podium
from podium.agents.overrides import fixed_characters
from podium.api.admission import enqueue
from podium.api.control import go_on
from podium.engine.history import HISTORY, history_of
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.errors import UsageError
from podium.models.events import ModelAsked
from podium.settings import Settings
from podium.workflows import SHIPPED
from podium.workflows.prompt_sets import SETS, overrides_for, prompt_budget, prompt_set

REQUEST = "Plan an open day of a small harbour museum for 200 guests, with a budget of 3,000 euros"
BUILD = "Write a function that adds two numbers in calc.py with tests"
"""One of the few that a rehearsal can build."""
OPTIONS: dict[str, dict[str, object]] = {
    "build": {"max_iterations": 1},
    "council": {"preset": "extended"},
    "research": {"corpus": str(Path(__file__).parents[2] / "examples" / "corpus"), "min_sources": 3},
}
FIRST = 2_500
"""Characters of stable text that may stand before the request."""


def test_every_prompt_is_below_its_budget() -> None:
    sizes = {
        f"{name}/{task}": (fixed_characters(prompts.text(task)), prompt_budget(name))
        for name in SETS
        for prompts in [prompt_set(name, Settings())]
        for task in prompts.tasks
    }
    assert len(sizes) > 45
    assert {name: size for name, size in sizes.items() if size[0] > size[1]} == {}


def test_every_folder_of_prompts_is_a_set() -> None:
    folders = (Path(podium.__file__).parent / "workflows").glob("*/prompts")
    assert sorted(folder.parent.name for folder in folders) == sorted(SETS)


async def asked(store: Store, run_id: str) -> dict[str, list[str]]:
    """The prompts of each agent in their order, by its system prompt, which names it."""
    prompts: dict[str, list[str]] = defaultdict(list)
    for row in await store.read(run_id):
        data = row.to_event(run_id).data
        if isinstance(data, ModelAsked):
            text = (await store.get_blob(data.blob)).decode() if data.blob else data.prompt
            prompts[data.system].append(text)
    return prompts


@pytest.mark.parametrize("workflow", SHIPPED)
async def test_calls_of_an_agent_share_a_prefix_that_holds_the_request(workflow: str, store: Store) -> None:
    request = BUILD if workflow == "build" else REQUEST
    few = podium.Budget(calls=6) if workflow == "build" else None  # enough to ask somebody twice
    result = await podium.run(
        workflow,
        request,
        model="rehearsal",
        store=store,
        options=OPTIONS.get(workflow),
        budget=few,
        settings=Settings(),
    )
    prompts = await asked(store, result.run_id)
    pairs = [pair for texts in prompts.values() for pair in pairwise(texts)]
    assert prompts
    if not pairs:  # each agent is asked once: the request comes first all the same
        assert all(0 <= text.find(request) < FIRST for texts in prompts.values() for text in texts)
    for first, second in pairs:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
        shared = "".join(sign for sign, _ in same)
        assert request in shared, f"{first[:300]}\n---\n{second[:300]}"
        assert shared.index(request) < FIRST


def test_a_folder_that_is_not_there_and_a_misspelt_set_are_reported(tmp_path: Path) -> None:
    gone = Settings.load(tmp_path, {"PODIUM_PROMPTS": "gone"})
    with pytest.raises(UsageError, match="gone is not there") as caught:
        overrides_for("tree", gone)
    assert "PODIUM_PROMPTS" in caught.value.hint
    (tmp_path / ".podium" / "prompts" / "trees").mkdir(parents=True)
    with pytest.raises(UsageError, match="trees replaces no prompts") as caught:
        overrides_for("tree", Settings.load(tmp_path, {}))
    assert caught.value.hint == "Did you mean tree?"


def test_a_mistake_in_another_workflows_prompt_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / ".podium" / "prompts" / "studio"
    folder.mkdir(parents=True)
    (folder / "brief.md").write_text("{% if %}")
    settings = Settings.load(tmp_path, {})
    assert overrides_for("tree", settings).hashes == {}
    with pytest.raises(UsageError, match="line 1"):
        overrides_for("studio", settings)


def with_own_plan(folder: Path) -> Settings:
    """Settings of a project that overrides one prompt of `tree`."""
    own = folder / ".podium" / "prompts" / "tree"
    own.mkdir(parents=True)
    shipped = prompt_set("tree", Settings())
    (own / "plan.md").write_text(shipped.shipped_texts["plan.md"] + "\nBe brief.\n")
    return Settings.load(folder, {})


async def logged(store: Store, run_id: str) -> list[str]:
    _, config, _ = history_of(await store.read(run_id, types=HISTORY))
    return list(config.get("prompts", {}))


async def test_a_queued_run_has_the_prompts_of_the_process_that_drives_it(
    store: Store, tmp_path: Path
) -> None:
    row = await enqueue("tree", REQUEST, store=store, settings=Settings(), model="rehearsal")
    assert await logged(store, row.run_id) == []
    handle = await go_on(store, with_own_plan(tmp_path), row.run_id)
    await handle.result()
    assert await logged(store, row.run_id) == ["tree/plan"]
    state = RunState.of([event.to_event(row.run_id) for event in await store.read(row.run_id)])
    assert list(state.config["prompts"]) == ["tree/plan"]


async def test_a_fork_has_the_prompts_of_now(store: Store, tmp_path: Path) -> None:
    settings = with_own_plan(tmp_path)
    run = await podium.run("tree", REQUEST, model="rehearsal", store=store, settings=settings)
    assert await logged(store, run.run_id) == ["tree/plan"]
    fork = await podium.fork(run.run_id, "plan", store=store, settings=Settings())
    await fork.result()
    assert await logged(store, fork.run_id) == []
