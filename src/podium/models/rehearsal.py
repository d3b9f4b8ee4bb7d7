"""The offline `rehearsal` model: free, deterministic, and every text says that it is made up.

It answers with a sentence that names keywords of the request, or with data that fits the schema. A workflow
registers scripted answers where its choreography needs them:

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
from podium.models.messages import ToolCall, tool_calls_of
from podium.models.model import FREE, Call, OnDelta, Price, Reply, estimate, worst_case
from podium.models.sample_values import LABEL, Words, keywords, without_codes
from podium.models.sampler import sample

Answer = Callable[[Call], Any]
"""Returns a text, a dictionary, one or more `ToolCall`s, or `None` for the general answer."""
F = TypeVar("F", bound=Answer)

_ANSWERS: dict[tuple[str, str], Answer] = {}
_PIECE = re.compile(r"\S+\s*|\s+")
_HEADINGS = re.compile(r"\A(?:#+ [^\n]*\n+)*")
"""Titles at the start of a text: the label follows them."""


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
            answer = _sampled_calls(call) or rehearse(call)
        if calls := tool_calls_of(answer):
            return Reply("", estimate(call, encode(calls).decode()), self.name, tool_calls=calls)
        text = answer if isinstance(answer, str) else encode(answer).decode()
        if call.schema is None and LABEL not in text:
            text = _HEADINGS.sub(lambda match: f"{match[0]}{LABEL} ", text, count=1)
        if on_delta is not None:
            for piece in _PIECE.findall(text):
                on_delta(piece)
        return Reply(text, estimate(call, text), self.name)

    def worst_case(self, call: Call) -> Charge:
        return worst_case(call, self.price)


def rehearse(call: Call) -> Any:
    """Return the general answer: text, or data for the call's schema. Scripted answers may start from it."""
    words = _words(call)
    if call.schema is not None:  # a repair is answered more cautiously: types may want more than schemas say
        return sample(call.schema, words, cautious=call.attempt > 1)
    agent = f"{call.agent} ({call.role})" if call.role and call.role != call.agent else call.agent
    about = ", ".join(words.some(4, ("text",)))
    return f"{LABEL} Here {agent} would {call.task.replace('_', ' ')} at {call.path}, about: {about}."


def _words(call: Call) -> Words:
    seed = (call.workflow, call.path, call.agent, call.role, call.task, call.prompt, str(call.attempt))
    return Words(keywords(call.prompt), "\x1f".join(seed))


def _sampled_calls(call: Call) -> tuple[ToolCall, ...]:
    """Return one or two calls of the offered tools in the first turn; none in later ones."""
    first = bool(call.messages) and call.messages[-1].role == "user" and call.attempt == 1
    if not call.tools or not first or call.must_answer:
        return ()
    words, count = _words(call), len(call.tools)
    start = words.choose(count, ("tool",))
    chosen = [call.tools[(start + index) % count] for index in range(min(count, 2))]
    return tuple(ToolCall(tool.name, sample(tool.schema, words)) for tool in chosen)


def section(prompt: str, title: str) -> str:
    """Return the text under the first heading of the top level that starts with `title`."""
    match = re.search(rf"^# {re.escape(title)}[^\n]*\n(.*?)(?=^# |\Z)", prompt, re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


def request_in(prompt: str) -> str:
    """Return what stands between the request tags of a prompt, on one line."""
    match = re.search(r"^<request>\n(.*?)\n</request>", prompt, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def _own_answer(call: Call) -> Any:
    for workflow in (call.workflow, "*"):
        scripted = _ANSWERS.get((workflow, call.task))
        answer = scripted(call) if scripted is not None else None
        if answer is not None:
            return answer
    return None
