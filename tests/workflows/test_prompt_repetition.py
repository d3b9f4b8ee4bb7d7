"""No prompt says a sentence of the request or of its own template twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

import podium
from podium.engine.log import Store
from podium.models.events import ModelAsked
from podium.settings import Settings
from podium.workflows.prompt_sets import prompt_set
from tests.workflows.scripted import BARE

REQUEST = (
    "Plan an open day of a small harbour museum for 200 guests on a Saturday in May. "
    "We have a budget of 3,000 euros and eleven volunteers who each work at most five hours. "
    "The programme must also work in the rain, because the yard has no roof. "
    "Please say who does what on the day, what it costs and what may go wrong."
)
GOAL = (
    "Write a function that adds two numbers in calc.py with tests. "
    "It has to accept negative numbers and floats as well as integers."
)
RUNS: dict[str, tuple[str, dict[str, object]]] = {
    "council": (REQUEST, {**BARE, "preset": "full", "rounds": 2}),
    "studio": (REQUEST, {**BARE, "departments": "story,audio"}),
    "studio batch": (REQUEST, {**BARE, "departments": "story", "batch_grading": True}),
    "build": (GOAL, {"max_iterations": 1}),
}
CALLS = {"build": 12}
"""Enough to see most prompts; a build whose tests cannot run would go on for long."""
LEAST_WORDS = 8
"""Shorter texts are labels and headings, which may recur."""
_TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
_END = re.compile(r"(?<=[.!?:])\s+|\n+")


def sentences(texts: Iterable[str]) -> set[str]:
    """The sentences of these texts that have at least eight words; a template's tags end a sentence."""
    parts = (part.strip() for text in texts for part in _END.split(_TAG.sub("\n", text)))
    return {part for part in parts if len(part.split()) >= LEAST_WORDS}


def test_tags_and_line_ends_end_a_sentence_and_labels_do_not_count() -> None:
    text = (
        "Say {{ nth }} of the things that have to be said here. No more.\nThis line of eight words has no end"
    )
    assert sentences([text]) == {
        "of the things that have to be said here.",
        "This line of eight words has no end",
    }


async def prompts(store: Store, run_id: str) -> dict[str, str]:
    """Every prompt of a run with its system prompt, by the path of its step."""
    texts: dict[str, str] = {}
    for row in await store.read(run_id, types=(ModelAsked.type,)):
        event = row.to_event(run_id)
        assert isinstance(event.data, ModelAsked)
        blob = event.data.blob
        prompt = (await store.get_blob(blob)).decode() if blob else event.data.prompt
        texts[event.path] = f"{event.data.system}\n\n{prompt}"
    return texts


@pytest.mark.parametrize("name", RUNS)
async def test_no_prompt_repeats_the_request_or_its_own_sentences(name: str, store: Store) -> None:
    request, options = RUNS[name]
    workflow, _, _ = name.partition(" ")
    result = await podium.run(
        workflow,
        request,
        model="rehearsal",
        store=store,
        options=options,
        budget=podium.Budget(calls=CALLS.get(name)),
        settings=Settings(),
    )
    prompt_texts = await prompts(store, result.run_id)
    prompt_texts = {
        path: text for path, text in prompt_texts.items() if "/turn#" not in path
    }  # these continue a prompt
    from_request = sentences([request])
    own = from_request | sentences(prompt_set(workflow, Settings()).shipped_texts.values())
    assert len(own) > len(from_request) > 1
    assert all(text in prompt for prompt in prompt_texts.values() for text in from_request), (
        "else nothing is tested"
    )
    repeated = {
        f"{path}: {text}" for path, prompt in prompt_texts.items() for text in own if prompt.count(text) > 1
    }
    assert repeated == set()
