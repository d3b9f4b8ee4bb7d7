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

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.models.model import FREE, Call, OnDelta, Price, Reply, estimate, worst_case
from podium.models.sample import sample
from podium.models.values import LABEL, Words
from podium.models.words import keywords, pick

Answer = Callable[[Call], Any]
"""A text, a dictionary, or `None` to leave the call to the general answer."""
F = TypeVar("F", bound=Answer)

_ANSWERS: dict[tuple[str, str], Answer] = {}
_PIECE = re.compile(r"\S+\s*|\s+")


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
        answer = _own_answer(call)
        if answer is None:
            answer = rehearse(call)
        text = answer if isinstance(answer, str) else encode(answer).decode()
        if call.schema is None and LABEL not in text:
            text = f"{LABEL} {text}"
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
    "{agent} takes up {task} and begins with {a}.",
    "For {task}, {agent} looks at {a} first.",
    "{agent} answers the ask to {task}: it starts from {a}.",
)
_MIDDLES = (
    "What matters here is how {b} and {c} belong together.",
    "{B} is held against {c}, and both stay in view.",
    "From {b} a line leads to {c}.",
)
_ENDINGS = (
    "It closes with {d}, at {path}.",
    "{D} comes last, at {path}.",
    "At {path} that leaves {d} to be settled.",
)


def _text(call: Call, words: Words) -> str:
    """A few sentences that could only belong to this call."""
    a, b, c, d = (words.some(4, ("text",)) * 4)[:4]
    agent = f"{call.agent} ({call.role})" if call.role and call.role != call.agent else call.agent
    sentences = [pick(options, words.seed, options[0]) for options in (_OPENINGS, _MIDDLES, _ENDINGS)]
    told = " ".join(sentences).format(
        agent=agent, task=f"“{call.task}”", a=a, b=b, B=_upper(b), c=c, d=d, D=_upper(d), path=call.path
    )
    return f"{LABEL} {told}"


def _upper(word: str) -> str:
    return word[:1].upper() + word[1:]
