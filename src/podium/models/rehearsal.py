"""`rehearsal`: the whole choreography without a model. Offline, free, and always the same.

It answers with text that is made of the request's own words, or with data that fits the schema. What
it says is never a model's work, and says so. A workflow whose story needs better answers brings them:

    @rehearses("studio", "grade")
    def grade(call: Call) -> dict[str, Any]:
        return {"quality": 0.9, "relevance": 0.8, "consistency": 0.9, "feedback": "…", "suggestions": []}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.models.model import FREE, Call, OnDelta, Price, Reply, estimate, worst_case
from podium.models.request_words import keywords, pick, without_codes
from podium.models.sample_values import LABEL, Words
from podium.models.sampler import sample

Answer = Callable[[Call], Any]
"""A text, a dictionary, or `None` to leave the call to the general answer."""
F = TypeVar("F", bound=Answer)

_ANSWERS: dict[tuple[str, str], Answer] = {}
_PIECE = re.compile(r"\S+\s*|\s+")
_HEADINGS = re.compile(r"\A(?:#+ [^\n]*\n+)*")
"""What a text begins with, if it has titles: they stay titles."""


def rehearses(workflow: str, task: str) -> Callable[[F], F]:
    """Register an answer for a task of a workflow; `"*"` stands for every workflow."""

    def register(answer: F) -> F:
        _ANSWERS[workflow, task] = answer
        return answer

    return register


class Rehearsal:
    """The model behind the name `rehearsal`."""

    name: str = "rehearsal"
    rehearsal: bool = True
    price: Price = FREE

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        call = msgspec.structs.replace(call, prompt=without_codes(call.prompt))
        answer = _own_answer(call)
        if answer is None:
            answer = rehearse(call)
        text = answer if isinstance(answer, str) else encode(answer).decode()
        if call.schema is None and LABEL not in text:
            text = _HEADINGS.sub(lambda found: f"{found[0]}{LABEL} ", text, count=1)
        if on_delta is not None:
            for piece in _PIECE.findall(text):
                on_delta(piece)
        return Reply(text, estimate(call, text), self.name)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)


def rehearse(call: Call) -> Any:
    """The general answer: text, or data for the call's schema. Registered answers may start from it."""
    words = Words(keywords(call.prompt), _seed(call))
    if call.schema is None:
        return _text(call, words)
    # A schema cannot tell everything that its type wants, so a repair is answered more cautiously.
    return sample(call.schema, words, cautious=call.attempt > 1)


def _own_answer(call: Call) -> Any:
    for workflow in (call.workflow, "*"):
        answer = _ANSWERS.get((workflow, call.task))
        found = answer(call) if answer is not None else None
        if found is not None:
            return found
    return None


def _seed(call: Call) -> str:
    """Everything that makes calls differ; not the run, so that a rehearsal can be repeated."""
    return "\x1f".join(
        (call.workflow, call.path, call.agent, call.role, call.task, call.prompt, str(call.attempt))
    )


_OPENINGS = (
    "Here {agent} would {task}.",
    "This is where {agent} would {task}.",
    "With a real model, {agent} would {task} now.",
)
_MIDDLES = (
    "The ask is about {words}.",
    "On the table: {words}.",
    "There is {words} to work with.",
)
_ENDINGS = (
    "The answer of {path} belongs in this place.",
    "What {path} needs would be written out here.",
    "This stands for the answer of {path}.",
)


def _text(call: Call, words: Words) -> str:
    """A few sentences that could only belong to this call, and that nobody takes for a model's."""
    *most, last = words.some(4, ("text",))
    agent = f"{call.agent} ({call.role})" if call.role and call.role != call.agent else call.agent
    sentences = [pick(options, words.seed, options[0]) for options in (_OPENINGS, _MIDDLES, _ENDINGS)]
    told = " ".join(sentences).format(
        agent=agent,
        task=call.task.replace("_", " "),
        words=f"{', '.join(most)} and {last}" if most else last,
        path=call.path,
    )
    return f"{LABEL} {told}"
